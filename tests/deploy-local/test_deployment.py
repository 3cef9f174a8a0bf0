"""`platform deploy` from nothing to a serving platform, an update that is broken off and goes on, a broken update, back
again, and gone.

The tests run in order: each finds what the one before left standing.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenantry_cli import client

FUNCTIONS = "Tenantry-local-Functions"


def other_zips(zips: Path, folder: Path, **others: Callable[[Path], None]) -> Path:
    """The functions, some of them made otherwise: each is handed the zip of its room."""
    shutil.copytree(zips, folder)
    for room, change in others.items():
        change(folder / f"{room}-host.zip")
    return folder


def with_a_file_more(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("more.txt", "The same function, of another build.")


def with_nothing_in_it(path: Path) -> None:
    """A package that Lambda takes, of a function that can't start."""
    path.unlink()
    zipfile.ZipFile(path, "w").close()


def no_package(path: Path) -> None:
    path.write_text("Lambda takes no such package.")


def status(cloud: Any, stack: str = FUNCTIONS) -> str:
    return str(cloud.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"])


def updates_begun(cloudformation: Any) -> int:
    """How often an update of the functions' stack began."""
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=FUNCTIONS)
    events = [(e["LogicalResourceId"], e["ResourceStatus"]) for page in pages for e in page["StackEvents"]]
    return events.count((FUNCTIONS, "UPDATE_IN_PROGRESS"))


def mails(cloud: Any) -> list[str]:
    return [topic["Endpoint"] for topic in cloud.client("sns").list_subscriptions()["Subscriptions"]]


@pytest.fixture(scope="module")
def newer(zips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same functions, but for another build of the sandbox."""
    return other_zips(zips, tmp_path_factory.mktemp("newer") / "zips", sandbox=with_a_file_more)


def test_one_command_deploys_everything_and_uses_it(record: dict[str, Any]) -> None:
    assert record["url"].endswith(".cloudfront.net")
    assert record["account"] == "123456789012"
    assert set(record["zips"]) == {"gateway", "control", "publisher", "sandbox"}


@pytest.mark.parametrize(
    ("role", "action", "resource", "may"),
    [
        ("SandboxPublicRole", "s3:GetObject", "arn:aws:s3:::{store}/secrets/acme/hello/KEY", False),
        (
            "SandboxPublicRole",
            "logs:PutLogEvents",
            "arn:aws:logs:us-east-1:123456789012:log-group:a:*",
            False,
        ),
        ("SandboxClosedRole", "s3:GetObject", "arn:aws:s3:::{store}/bundles/acme/hello/9f.zip", False),
        ("PublisherRole", "s3:GetObject", "arn:aws:s3:::{store}/secrets/acme/hello/KEY", False),
        ("PublisherRole", "s3:GetObject", "arn:aws:s3:::{store}/tokens/acme/9f.json", False),
        ("PublisherRole", "s3:PutObject", "arn:aws:s3:::{store}/plugins/acme/hello.json", True),
        ("ControlRole", "s3:GetObject", "arn:aws:s3:::{store}/secrets/acme/hello/KEY", False),
        ("ControlRole", "s3:PutObject", "arn:aws:s3:::{store}/secrets/acme/hello/KEY", True),
        ("GatewayRole", "s3:PutObject", "arn:aws:s3:::{store}/plugins/acme/hello.json", False),
        ("GatewayRole", "s3:GetObject", "arn:aws:s3:::{store}/plugins/acme/hello.json", True),
    ],
)
def test_the_deployed_roles_are_judged_by_a_second_evaluator(
    cloud: Any, record: dict[str, Any], role: str, action: str, resource: str, may: bool
) -> None:
    roles = [r for page in cloud.client("iam").get_paginator("list_roles").paginate() for r in page["Roles"]]
    (found,) = [r for r in roles if f"-{role}" in r["RoleName"]]
    asked = cloud.client("iam").simulate_principal_policy(
        PolicySourceArn=found["Arn"], ActionNames=[action], ResourceArns=[resource.format(store=record["store"])]
    )
    assert (asked["EvaluationResults"][0]["EvalDecision"] == "allowed") is may


def test_an_update_is_broken_off_and_cloudformation_ends_what_it_has_begun(
    operator: Any, record: dict[str, Any], cloud: Any, newer: Path
) -> None:
    written = (operator.folder / ".platform" / "local.json").read_text()
    cloudformation = cloud.client("cloudformation")
    before = updates_begun(cloudformation)
    options = ("--notify", "ops@example.com", "--yes", "--no-smoke", "--zips", str(newer))
    stopped = operator.breaks_off(
        "deploy", "--stage", "local", *options, when=lambda: updates_begun(cloudformation) > before
    )
    assert stopped.returncode == 130
    assert "CloudFormation finishes or undoes by itself what it has begun" in stopped.stdout
    assert "platform deploy --stage local" in stopped.stdout
    cloudformation.get_waiter("stack_update_complete").wait(
        StackName=FUNCTIONS, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    assert mails(cloud) == []  # the stacks behind it were not reached
    assert (operator.folder / ".platform" / "local.json").read_text() == written


def test_the_same_again_goes_on_from_there(operator: Any, record: dict[str, Any], cloud: Any, newer: Path) -> None:
    options = ("--notify", "ops@example.com", "--yes", "--no-smoke", "--zips", str(newer))
    said = operator.platform("deploy", "--stage", "local", *options).stdout
    assert "1 to add" in said  # what is left of it
    assert "SNS::Subscription" in said
    assert mails(cloud) == ["ops@example.com"]
    recorded = json.loads((operator.folder / ".platform" / "local.json").read_text())
    changed = {room for room, digest in recorded["zips"].items() if digest != record["zips"][room]}
    assert changed == {"sandbox"}


def test_a_deployment_of_what_stands_changes_nothing(operator: Any, record: dict[str, Any], newer: Path) -> None:
    answer = json.loads(
        operator.platform("deploy", "--stage", "local", "--plan", "--json", "--zips", str(newer)).stdout
    )
    assert answer["changes"] == []


@pytest.mark.usefixtures("at_the_operators")
async def test_a_broken_update_is_rolled_back_and_the_old_version_serves(
    cloud: Any, operator: Any, record: dict[str, Any], newer: Path, tmp_path: Path
) -> None:
    broken = other_zips(newer, tmp_path / "zips", gateway=with_nothing_in_it, publisher=no_package)
    refused = operator.platform("deploy", "--stage", "local", "--yes", "--zips", str(broken), ok=False)
    assert refused.returncode == 1
    assert "deploy.failed" in refused.stderr
    assert "Could not unzip uploaded file" in refused.stderr
    assert "What stood before serves on." in refused.stderr
    assert status(cloud) == "UPDATE_ROLLBACK_COMPLETE"
    events = cloud.client("cloudformation").describe_stack_events(StackName=FUNCTIONS)["StackEvents"]
    begun = next(n for n, e in enumerate(events) if (e["LogicalResourceId"], e["ResourceStatus"]) ==
                 (FUNCTIONS, "UPDATE_IN_PROGRESS"))  # fmt: skip
    done = [e["LogicalResourceId"] for e in events[:begun] if e["ResourceStatus"] == "UPDATE_COMPLETE"]
    assert any(name.startswith("GatewayLive") for name in done)  # the gateway that can't start was live by then
    async with client.connect(f"{record['url']}/t/smokeone/probe/mcp") as session:
        assert len((await session.list_tools()).tools) == 3
        answered = await session.call_tool("echo", {"text": "as before"})
    assert answered.structured_content == {"text": "as before"}


def test_going_back_deploys_what_stood_before(operator: Any, cloud: Any, record: dict[str, Any]) -> None:
    operator.platform("deploy", "--stage", "local", "--rollback", "--yes", "--no-smoke")
    assert mails(cloud) == []


def test_destroying_keeps_the_data(operator: Any, cloud: Any, record: dict[str, Any]) -> None:
    operator.platform("destroy", "--stage", "local", "--yes")
    standing = {s["StackName"] for s in cloud.client("cloudformation").describe_stacks()["Stacks"]}
    assert "Tenantry-local-Storage" in standing
    assert "Tenantry-local-Functions" not in standing
    assert cloud.client("s3").list_objects_v2(Bucket=record["store"], Prefix="plugins/")["KeyCount"] >= 2


def test_data_goes_only_after_a_second_yes(operator: Any, cloud: Any, record: dict[str, Any]) -> None:
    refused = operator.platform("destroy", "--stage", "local", "--yes", "--data", ok=False)
    assert refused.returncode == 1
    assert "deploy.unconfirmed" in refused.stderr
    cloud.client("s3").head_bucket(Bucket=record["store"])
    operator.platform("destroy", "--stage", "local", "--yes", "--data", "--yes-delete-data-of", "local")
    buckets = [b["Name"] for b in cloud.client("s3").list_buckets()["Buckets"]]
    assert not [name for name in buckets if name.startswith("tenantry-")]
    assert not (operator.folder / ".platform" / "local.json").exists()
