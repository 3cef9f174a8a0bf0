"""The whole loop of Lambda: the gateway under the official runtime, S3 by moto, the sandbox as a function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from gateway.house import KEY, META
from moto.server import ThreadedMotoServer
from simulators.lambda_runtime import Function, LambdaLoop
from tenantry_publisher.publish import publish
from tenantry_registry import bundle, links
from tenantry_registry.credentials import fixed
from tenantry_registry.names import Name
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.sigv4 import Credentials

HELLO = Path(__file__).parents[2] / "tenants" / "examples" / "hello"
BUCKET, REGION = "tenantry-gateway", "eu-west-1"
KEYS = Credentials("AKIDEXAMPLE", "secret")
HOST = "d111.cloudfront.net"


@dataclass
class Aws:
    """One stage: the functions, and the store behind them."""

    loop: LambdaLoop

    def post(self, body: dict[str, Any], path: str = "/t/acme/hello/mcp", **headers: str) -> dict[str, Any]:
        event = {
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"host": "api.example", "x-forwarded-host": HOST, "x-tenantry-origin": "s3cret", **headers},
            "requestContext": {
                "stage": "$default",
                "http": {"method": "POST", "path": path, "sourceIp": "203.0.113.7"},
            },
            "body": json.dumps(body),
            "isBase64Encoded": False,
        }
        invoked = self.loop.invoke("gateway", event)
        assert not invoked.error, invoked.payload
        answered: dict[str, Any] = invoked.json
        return answered

    def memory(self) -> int:
        """Resident bytes of the gateway's process."""
        environment = next(each for each in self.loop._all if each.name == "gateway")
        pages = int(Path(f"/proc/{environment.process.pid}/statm").read_text().split()[1])
        return pages * 4096


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x"
    )
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    client.close()
    asyncio.run(_publish(endpoint, tmp_path_factory.mktemp("publish")))
    sandbox = Function("tenantry_sandbox.on_lambda.handler", per_tenant=True)
    try:
        with LambdaLoop({"sandbox": sandbox}) as loop:
            loop._functions["gateway"] = Function(
                "tenantry_gateway.on_lambda.handler",
                {
                    "TENANTRY_STORE": f"s3://{BUCKET}",
                    "TENANTRY_STORE_ENDPOINT": endpoint,
                    "TENANTRY_REGION": REGION,
                    "TENANTRY_ORIGIN": f"https://{HOST}",
                    "TENANTRY_ORIGIN_SECRET": "s3cret",
                    "TENANTRY_SEAL_KEYS": KEY,
                    "TENANTRY_SANDBOX_PUBLIC": loop.arn("sandbox"),
                    "TENANTRY_SANDBOX_NONE": loop.arn("sandbox"),
                    "AWS_ENDPOINT_URL_LAMBDA": loop.url,
                },
            )
            yield Aws(loop)
    finally:
        server.stop()


async def _publish(endpoint: str, folder: Path) -> None:
    objects = S3Objects(BUCKET, region=REGION, endpoint=endpoint, credentials=fixed(KEYS))
    await links.ensure(objects)
    runner = ProcessRunner(objects, folder=folder, workers=1)
    try:
        data = bundle.pack(HELLO)
        name = Name("acme", "hello")
        await publish(objects=objects, runner=runner, name=name, bundle=data, progress=lambda step: None)
    finally:
        await runner.aclose()


def call(number: int) -> dict[str, Any]:
    params = {"name": "hello", "arguments": {"name": f"Ada {number}"}, "_meta": META}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


MODERN = {"mcp-protocol-version": "2026-07-28"}


def test_a_tool_runs_in_its_own_environment(aws: Aws) -> None:
    answered = aws.post(call(1), **MODERN, **{"mcp-method": "tools/call", "mcp-name": "hello"})
    assert answered["statusCode"] == 200, aws.loop.logged()
    assert "Ada 1" in json.dumps(json.loads(answered["body"])["result"]), aws.loop.logged()
    kinds = [name for name, _ in aws.loop.environments]
    assert sorted(kinds) == ["gateway", "sandbox"]
    assert next(tenant for name, tenant in aws.loop.environments if name == "sandbox").startswith("acme/hello/")


def test_200_events_are_answered_by_one_environment_without_drift(aws: Aws) -> None:
    bodies = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "hello", "arguments": {"name": "x"}}},
    ]
    for number in range(100):
        assert aws.post(bodies[number % 4])["statusCode"] == 200
    before = aws.memory()
    for number in range(100):
        assert aws.post(bodies[number % 4])["statusCode"] == 200
    assert aws.memory() - before < 2_000_000
    assert len(aws.loop.environments) == 2


def test_the_log_of_a_call_is_one_line_on_standard_error(aws: Aws) -> None:
    aws.post(call(7), **MODERN, **{"mcp-method": "tools/call", "mcp-name": "hello"})
    lines = [line for line in aws.loop.logged().splitlines() if '"event":"call"' in line]
    assert any('"tool":"hello"' in line and '"tool_ms"' in line for line in lines)


def test_around_cloudfront_there_is_nothing(aws: Aws) -> None:
    assert aws.post(call(8), **{"x-tenantry-origin": "wrong"})["statusCode"] == 404
