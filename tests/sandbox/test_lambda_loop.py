"""The sandbox under the official Lambda runtime, invoked by boto3."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from simulators.lambda_runtime import Function, LambdaLoop
from tenantry_registry.lambda_runner import LambdaRunner, tenant_id
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.runners import Call

ROOT = Path(__file__).parents[2]
SLOT = {"id": "f1", "key": "files/f1", "max_bytes": 50_000_000}


@pytest.fixture(scope="module")
def aws() -> Iterator[LambdaLoop]:
    handler = "tenantry_sandbox.on_lambda.handler"
    functions = {
        "sandbox-public": Function(handler, timeout=6, per_tenant=True),
        "sandbox-closed": Function(handler, timeout=1.5, per_tenant=True),
        "broken": Function("tenantry_sandbox.nowhere.handler", per_tenant=True),
    }
    with LambdaLoop(functions) as loop:
        yield loop


@pytest.fixture
async def runner(aws: LambdaLoop, s3: S3Objects) -> AsyncIterator[LambdaRunner]:
    runner = LambdaRunner(
        s3, functions={"public": aws.arn("sandbox-public"), "none": "sandbox-closed"}, client=client(aws)
    )
    yield runner
    await runner.aclose()


def client(aws: LambdaLoop) -> Any:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=10)
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret", "region_name": "eu-central-1"}
    return lambda: boto3.client("lambda", endpoint_url=aws.url, config=config, **keys)


def calling(name: str, /, uploads: tuple[dict[str, Any], ...] = (), **arguments: object) -> Call:
    return Call("tools/call", {"name": name, "arguments": arguments}, uploads=uploads)


async def test_a_release_is_described_and_called_in_an_environment_of_its_own(aws, runner, publish_to_s3) -> None:
    release = await publish_to_s3(
        """
        import os
        def who(call, session):
            print("hello log")
            keys = [name for name in os.environ if "SECRET" in name or "TOKEN" in name]
            return {"result": {"keys": keys, "api": os.environ["API"]}}
        plugin = Plugin(who=who)
        """,
        egress="public",
        env={"API": "https://api.example"},
    )
    described = await runner.describe(release)
    called = await runner.call(release, calling("who"))
    assert described["description"]["tools"] == [{"name": "who"}]
    assert called["result"] == {"keys": [], "api": "https://api.example"}
    assert (called["cold"], called["stdout"]) == (False, "hello log\n")
    assert aws.environments.count(("sandbox-public", tenant_id(release))) == 1


async def test_files_and_overflow_go_straight_to_storage_by_signed_forms(runner, publish_to_s3, s3) -> None:
    release = await publish_to_s3(
        """
        def save(call, session):
            session.put(session.uploads.pop(0), b"a,b", "text/csv")
            return {"result": {"text": "x" * 7_000_000}}
        plugin = Plugin(save=save)
        """,
        egress="public",
    )
    reply = await runner.call(release, calling("save", uploads=(SLOT, {**SLOT, "id": "f2", "key": "files/f2"})))
    assert reply["overflow"]["id"] == "f2"
    stored, overflow = await s3.get("files/f1"), await s3.get("files/f2")
    assert stored is not None
    assert stored.data == b"a,b"
    assert overflow is not None
    assert len(overflow.data) == reply["overflow"]["size"]
