"""The same templates on a second emulator that knows fewer types: created, updated, left alone, destroyed.

moto's CloudFormation silently ignores what it does not know, and fails on a reference to it (aws.md), so what it lacks
is taken out of the assembly first, with everything that refers to it. What remains is what is compared: the store, its
keys, the tables, the roles and their policies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from tenantry_cli.cloud.toolkit import Toolkit

ACCOUNT, REGION = "123456789012", "us-east-1"
# What moto 5.2 makes of these templates.
KNOWN = {
    "AWS::DynamoDB::Table",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
}
# What an assembly expects of the bootstrap stack, which moto can't make.
BOOTSTRAPPED = (
    "stackTemplateAssetObjectUrl", "requiresBootstrapStackVersion", "bootstrapStackVersionSsmParameter",
    "assumeRoleArn", "cloudFormationExecutionRoleArn", "lookupRole",
)  # fmt: skip


def referred(value: Any) -> Iterator[str]:
    """Every logical id that a value refers to."""
    if isinstance(value, list):
        for item in value:
            yield from referred(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield item
            elif key == "Fn::GetAtt":
                yield item[0]
            else:
                yield from referred(item)


def filtered(template: dict[str, Any]) -> dict[str, Any]:
    """The template without what moto does not know, and without what refers to that."""
    kept = {name: found for name, found in template["Resources"].items() if found["Type"] in KNOWN}
    while True:
        broken = [name for name, found in kept.items() if set(referred(found["Properties"])) - set(kept)
                  - {"AWS::AccountId", "AWS::Partition", "AWS::Region", "AWS::URLSuffix"}]  # fmt: skip
        if not broken:
            break
        for name in broken:
            del kept[name]
    for found in kept.values():
        found.pop("DependsOn", None)
        if found["Type"] == "AWS::KMS::Key":
            found["Properties"].pop("Tags", None)  # moto looks for them under another name, and fails
    outputs = {
        name: out for name, out in template.get("Outputs", {}).items() if set(referred(out["Value"])) <= set(kept)
    }
    return {"Resources": kept, "Outputs": outputs}


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    yield f"http://localhost:{port}"
    server.stop()


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Storage and Functions of the local stage, filtered, as the CDK CLI takes them without a bootstrap."""
    folder = tmp_path_factory.mktemp("moto")
    zips = folder / "zips"
    zips.mkdir()
    for room in ("gateway", "control", "publisher", "sandbox"):
        (zips / f"{room}-host.zip").write_bytes(b"PK\x05\x06" + b"\0" * 18)
    out = folder / "assembly"
    Toolkit().synthesise({"stage": "local", "account": ACCOUNT, "region": REGION}, zips, out)
    manifest_path = out / "manifest.json"
    manifest = json.loads(manifest_path.read_text())
    artifacts = manifest["artifacts"]
    for name in list(artifacts):
        if "Edge" in name or "Watch" in name or artifacts[name]["type"] == "cdk:asset-manifest":
            del artifacts[name]
    for artifact in artifacts.values():
        if artifact["type"] != "aws:cloudformation:stack":
            continue
        properties = artifact["properties"]
        for gone in BOOTSTRAPPED:
            properties.pop(gone, None)
        artifact["dependencies"] = [d for d in artifact.get("dependencies", ()) if d in artifacts]
        path = out / properties["templateFile"]
        path.write_text(json.dumps(filtered(json.loads(path.read_text()))))
    manifest_path.write_text(json.dumps(manifest))
    return out


def cdk(moto: str, *arguments: str) -> list[str]:
    environment = {"AWS_ENDPOINT_URL": moto, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
                   "AWS_REGION": REGION, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}  # fmt: skip
    said: list[str] = []
    code = Toolkit(environment).cdk(arguments, said.append)
    assert code == 0, "\n".join(said[-30:])
    return said


def client(moto: str, service: str) -> Any:
    return boto3.client(service, endpoint_url=moto, region_name=REGION, aws_access_key_id="test",
                        aws_secret_access_key="test")  # type: ignore[call-overload]  # fmt: skip


def deploy(moto: str, assembly: Path) -> list[str]:
    return cdk(moto, "deploy", "--app", str(assembly), "--all", "--require-approval", "never", "--method=direct",
               "--progress", "events")  # fmt: skip


def test_what_moto_knows_is_created(moto: str, assembly: Path) -> None:
    deploy(moto, assembly)
    buckets = [b["Name"] for b in client(moto, "s3").list_buckets()["Buckets"]]
    assert f"tenantry-local-store-{ACCOUNT}-{REGION}" in buckets
    assert set(client(moto, "dynamodb").list_tables()["TableNames"]) == {
        "tenantry-local-limits",
        "tenantry-local-usage",
    }
    roles = [r["RoleName"] for r in client(moto, "iam").list_roles()["Roles"]]
    assert len([name for name in roles if "SandboxPublicRole" in name]) == 1


def test_deploying_the_same_again_changes_nothing(moto: str, assembly: Path) -> None:
    assert any("no changes" in line for line in deploy(moto, assembly))


def test_an_update_changes_what_differs(moto: str, assembly: Path) -> None:
    path = assembly / "Tenantry-local-Storage.template.json"
    template = json.loads(path.read_text())
    template["Resources"]["Further"] = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "further"}}
    path.write_text(json.dumps(template))
    deploy(moto, assembly)
    queues = [url.rpartition("/")[2] for url in client(moto, "sqs").list_queues()["QueueUrls"]]
    assert "further" in queues


def test_destroying_takes_the_stacks_down(moto: str, assembly: Path) -> None:
    cdk(moto, "destroy", "--app", str(assembly), "--all", "--force")
    standing = client(moto, "cloudformation").list_stacks(StackStatusFilter=["CREATE_COMPLETE", "UPDATE_COMPLETE"])
    assert standing["StackSummaries"] == []
