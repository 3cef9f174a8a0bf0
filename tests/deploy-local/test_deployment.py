"""`platform deploy` from nothing to a serving platform, an update, a broken update, back again, and gone.

The tests run in order: each finds what the one before left standing.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tenantry_cli import client
from tenantry_cli.cloud.deployment import Deployment, Wish
from tenantry_cli.cloud.record import Records
from tenantry_cli.output import Terminal
from tenantry_registry.errors import PlatformError


def deployment(operator: Any, zips: Path) -> Deployment:
    records = Records(operator.folder / ".platform")
    return Deployment(Wish("local", "us-east-1"), Terminal(), lambda question: True, records=records, zips=zips)


def rename_template(assembly: Path, path: Path, text: str) -> None:
    """Put another template into an assembly: it is published under its own hash, once."""
    listing = assembly / f"{path.name.partition('.')[0]}.assets.json"
    path.write_text(text)
    assets = json.loads(listing.read_text())["files"]
    (old,) = [key for key, asset in assets.items() if asset["source"]["path"] == path.name]
    new = hashlib.sha256(text.encode()).hexdigest()
    for file in (assembly / "manifest.json", listing):
        file.write_text(file.read_text().replace(old, new))


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


def test_a_second_deployment_of_the_same_changes_nothing(operator: Any, record: dict[str, Any], zips: Path) -> None:
    answer = json.loads(operator.platform("deploy", "--stage", "local", "--plan", "--json", "--zips", str(zips)).stdout)
    assert answer["changes"] == []


def test_an_update_says_what_it_changes_and_changes_that(
    operator: Any, record: dict[str, Any], cloud: Any, zips: Path
) -> None:
    options = ("--notify", "ops@example.com", "--yes", "--no-smoke", "--zips", str(zips))
    said = operator.platform("deploy", "--stage", "local", *options).stdout
    assert "1 to add" in said
    assert "SNS::Subscription" in said
    topics = cloud.client("sns").list_subscriptions()["Subscriptions"]
    assert [t["Endpoint"] for t in topics] == ["ops@example.com"]


@pytest.mark.usefixtures("at_the_operators")
async def test_a_broken_update_is_rolled_back_and_the_old_version_serves(
    cloud: Any, operator: Any, record: dict[str, Any], zips: Path
) -> None:
    broken = deployment(operator, zips)
    broken.check()
    _, assembly = broken.prepare()
    path = assembly / "Tenantry-local-Functions.template.json"
    template = json.loads(path.read_text())
    (gateway,) = [name for name, r in template["Resources"].items() if r["Type"] == "AWS::Lambda::Function"
                  and r["Properties"]["FunctionName"] == "tenantry-local-gateway"]  # fmt: skip
    template["Resources"][gateway]["Properties"]["Handler"] = "nowhere.handler"
    template["Resources"]["Broken"] = {  # CloudFormation makes no parameter of this type; it fails after the function
        "Type": "AWS::SSM::Parameter",
        "DependsOn": [gateway],
        "Properties": {"Name": "broken", "Type": "SecureString", "Value": "x"},
    }
    rename_template(assembly, path, json.dumps(template))
    with pytest.raises(PlatformError) as refused:
        broken._deploy(assembly, ["--all"])
    assert refused.value.code == "deploy.failed"
    status = cloud.client("cloudformation").describe_stacks(StackName="Tenantry-local-Functions")["Stacks"][0]
    assert status["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    async with client.connect(f"{record['url']}/t/smokeone/probe/mcp") as session:
        assert len((await session.list_tools()).tools) == 3


def test_going_back_deploys_what_stood_before(operator: Any, cloud: Any, record: dict[str, Any]) -> None:
    operator.platform("deploy", "--stage", "local", "--rollback", "--yes", "--no-smoke")
    assert cloud.client("sns").list_subscriptions()["Subscriptions"] == []


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
