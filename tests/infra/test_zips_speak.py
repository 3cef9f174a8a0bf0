"""The zips as Lambda runs them: unzipped, under the official runtime, with nothing else on the path.

The gateway's and the sandbox's host builds stand behind the AWS simulator, S3 is moto, and the official conformance
suite is the judge: every required scenario of both revisions.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from simulators.aws_edge import AwsEdge
from simulators.lambda_runtime import Function, LambdaLoop
from simulators.serving import KEY, free_port, listening
from tenantry_infra import builder
from tenantry_publisher.publish import publish
from tenantry_registry import bundle, links
from tenantry_registry.credentials import fixed
from tenantry_registry.lambda_runner import LambdaRunner
from tenantry_registry.names import Name
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.sigv4 import Credentials

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "tests" / "conformance"
BUCKET, REGION, SECRET = "tenantry-zips", "eu-west-1", "the-origin-secret"
NAME = Name("acme", "conformance")

spec = importlib.util.spec_from_file_location("conformance_suite", SUITE / "test_conformance.py")
assert spec
assert spec.loader
suite = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suite)


def runtime(folder: Path) -> Path:
    """awslambdaric alone, as AWS has it beside the function and not in it."""
    place = folder / "runtime"
    place.mkdir()
    for name in ("awslambdaric", "snapshot_restore_py", "simplejson", "runtime_client"):
        found = importlib.util.find_spec(name)
        if found and found.origin:
            origin = Path(found.origin)
            target = origin.parent if origin.name == "__init__.py" else origin
            (place / target.name).symlink_to(target)
    return place


def unzipped(room: str, folder: Path, ric: Path) -> str:
    """Unzip a room's host build; a program that is a Python with only that and the runtime on its path."""
    made = builder.build(room, "host", folder / "zips", cache=ROOT / ".build" / "zips")
    task = folder / room
    with zipfile.ZipFile(made.path) as archive:
        archive.extractall(task)
    program = folder / f"python-{room}"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{task}:{ric}" exec "{sys.executable}" -S -s "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("zips-speak")
    ric = runtime(folder)
    moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = boto3.client("s3", endpoint_url=endpoint, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.close()
    sandbox = Function("tenantry_sandbox.on_lambda.handler", per_tenant=True, python=unzipped("sandbox", folder, ric))
    serving = free_port()
    try:
        with LambdaLoop({"sandbox": sandbox}) as loop:
            asyncio.run(put(endpoint, loop.url))
            settings = {
                "TENANTRY_MODE": "development",
                "TENANTRY_STORE": f"s3://{BUCKET}",
                "TENANTRY_STORE_ENDPOINT": endpoint,
                "TENANTRY_REGION": REGION,
                "TENANTRY_ORIGIN": f"http://localhost:{serving}",
                "TENANTRY_HOSTS": json.dumps([f"127.0.0.1:{serving}"]),
                "TENANTRY_BASE": f"localhost:{serving}",
                "TENANTRY_SCHEME": "http",
                "TENANTRY_SEAL_KEYS": KEY,
                "TENANTRY_ORIGIN_SECRET": SECRET,
                "TENANTRY_SANDBOX_NONE": "sandbox",
                "TENANTRY_SANDBOX_PUBLIC": "sandbox",
                "AWS_ENDPOINT_URL_LAMBDA": loop.url,
            }
            gateway = Function("tenantry_gateway.on_lambda.handler", settings, python=unzipped("gateway", folder, ric))
            loop._functions["gateway"] = gateway
            edge = AwsEdge(lambda: handler(loop), secret=SECRET)
            try:
                with listening(edge, serving):
                    yield f"http://localhost:{serving}/t/{NAME.tenant}/{NAME.plugin}/mcp"
            finally:
                edge._thread.shutdown()
    finally:
        moto.stop()


def handler(loop: LambdaLoop) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    def invoke(event: dict[str, Any], context: Any) -> dict[str, Any]:
        invoked = loop.invoke("gateway", event)
        assert not invoked.error, invoked.payload
        answered: dict[str, Any] = invoked.json
        return answered

    return invoke


async def put(endpoint: str, functions: str) -> None:
    """Publish the suite's plugin through the sandbox's zip."""
    objects = S3Objects(BUCKET, credentials=fixed(Credentials("x", "x")), region=REGION, endpoint=endpoint)
    client = boto3.client(
        "lambda", endpoint_url=functions, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x"
    )
    runner = LambdaRunner(objects, functions={"none": "sandbox", "public": "sandbox"}, client=lambda: client)
    await links.ensure(objects)
    try:
        await publish(objects=objects, runner=runner, name=NAME, bundle=bundle.pack(SUITE / "plugin"))
    finally:
        await runner.aclose()


@pytest.mark.parametrize("revision", suite.REQUIRED)
def test_the_zips_pass_every_required_scenario_of_the_official_suite(url: str, revision: str, tmp_path: Path) -> None:
    _, printed = suite.run(url, tmp_path, "--requirements", revision, "--expected-failures", str(suite.EXPECTED))
    made = suite.checks(tmp_path)
    names = suite.required(revision)
    assert len(names) == suite.REQUIRED[revision]
    for name in names:
        found = made.get(name, [])
        assert found, f"{name} made no check\n{printed[-2000:]}"
        assert not [check for check in found if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")], (name, found)
        assert {check["id"] for check in found if check["status"] == "SKIPPED"} <= suite.NOT_OFFERED
