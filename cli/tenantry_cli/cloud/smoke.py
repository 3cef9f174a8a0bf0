"""Uses a deployment as its clients will: publishes a small plugin and walks through everything that serves it.

The probe is published with the operator's own credentials, straight into the store, for two tenants that exist for
this alone. Then everything goes through the front door: initialize, lists, a call in the sandbox, a widget's asset, a
signed link through its redirect, and whether one release can see what another left behind.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tenantry_registry import bundle, links
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.sigv4 import Credentials

from tenantry_cli import client
from tenantry_cli.cloud import operator
from tenantry_cli.cloud.account import emulated

if TYPE_CHECKING:
    from mcp import Client

PROBE: Final = Path(__file__).with_name("probe")
TENANTS: Final = ("smokeone", "smoketwo")
ASSET: Final = re.compile(r'https://[^"]+/assets/[^"]+\.svg')


@dataclass(frozen=True, slots=True)
class Stands:
    """What is needed of a deployment: where clients and the control plane's callers reach it, its bucket, its sandbox
    functions by egress."""

    url: str
    api_url: str
    store: str
    region: str
    functions: Mapping[str, str]
    target: str = "lambda"


Told = Callable[[str, str, float], None]


def aws_credentials() -> Callable[[], Awaitable[Credentials]]:
    """The operator's credentials as the store takes them: boto3 knows profiles and single sign-on, obstore does not."""

    async def source() -> Credentials:
        import boto3

        found = boto3.Session().get_credentials()
        if found is None:
            raise PlatformError("aws.credentials", "There are no AWS credentials here.", "Sign in first.")
        frozen = found.get_frozen_credentials()
        return Credentials(str(frozen.access_key), str(frozen.secret_key), str(frozen.token or ""))

    return source


async def smoke(stands: Stands, told: Told) -> None:
    """Publish the probe and use it; `told(step, what came of it, seconds)` after each step.

    Raises: PlatformError `smoke.failed`, or what publishing or calling raises.
    """
    from tenantry_registry.lambda_runner import LambdaRunner
    from tenantry_registry.objects_open import open_objects

    objects = open_objects(
        f"s3://{stands.store}",
        region=stands.region,
        endpoint=emulated() or None,
        credentials=aws_credentials(),
    )
    runner = LambdaRunner(objects, functions=stands.functions, client=lambda: _lambda(stands.region))
    walk = _Walk(stands, told)
    try:
        await links.ensure(objects)
        await walk.control(await operator.token(objects, stands.api_url))
        for tenant in TENANTS:
            await walk.publish(objects, runner, Name(tenant, "probe"))
        await walk.through(Name(TENANTS[0], "probe"))
        await walk.apart()
    finally:
        await runner.aclose()


class _Walk:
    """The steps, each timed and told."""

    def __init__(self, stands: Stands, told: Told) -> None:
        self._stands, self._told = stands, told

    async def publish(self, objects: Objects, runner: Any, name: Name) -> None:
        from tenantry_publisher.publish import publish

        started = time.monotonic()
        published = await publish(
            objects=objects, runner=runner, name=name, bundle=bundle.pack(PROBE), target=self._stands.target
        )
        self._told("published", f"{name} {published.digest[:12]}", time.monotonic() - started)

    async def control(self, token: str) -> None:
        started = time.monotonic()
        async with client.http_client() as http:
            answer = await http.get(
                f"{self._stands.api_url}/v1/whoami",
                headers={"Authorization": f"Bearer {token}"},
                follow_redirects=False,
            )
        known = answer.status_code == 200 and answer.json()["tenant"] is None
        _want(known, f"the control plane answered {answer.status_code} to its operator")
        self._told("control", "knows you as its operator", time.monotonic() - started)

    async def through(self, name: Name) -> None:
        started = time.monotonic()
        async with self._client(name) as session:
            self._told("initialize", "answered", time.monotonic() - started)
            listed = await self._timed("tools/list", session.list_tools(), lambda r: f"{len(r.tools)} tools")
            _want(len(listed.tools) == 3, "the probe's three tools are not listed")
            heard = await self._timed("tools/call", session.call_tool("echo", {"text": "ping"}), lambda r: "echo")
            _want(not heard.is_error and heard.structured_content == {"text": "ping"}, f"echo said {_words(heard)}")
            resources = await session.list_resources()
            read = await session.read_resource(resources.resources[0].uri)
            html = str(getattr(read.contents[0], "text", ""))
            made = await session.call_tool("report", {"text": "a file"})
        address = ASSET.search(html)
        _want(address is not None, "the widget's HTML names no asset")
        assert address
        await self._timed("asset", self._get(address[0], b"<svg"), lambda r: f"{len(r)} bytes")
        _want(not made.is_error, f"report said {_words(made)}")
        await self._timed("signed link", self._get(_words(made), b"a file"), lambda r: f"{len(r)} bytes")

    async def apart(self) -> None:
        """Leave a trace as one tenant; look for it as the other, and as the first again."""
        started = time.monotonic()
        for tenant, mark in ((TENANTS[0], "one"), (TENANTS[1], "two")):
            async with self._client(Name(tenant, "probe")) as session:
                found = await session.call_tool("trace", {"mark": mark})
                before = (found.structured_content or {}).get("before", ["nothing came back"])
                _want(not [seen for seen in before if seen != mark], f"{tenant} saw {before} of somebody else")
        self._told("isolation", "two tenants saw nothing of each other", time.monotonic() - started)

    @asynccontextmanager
    async def _client(self, name: Name) -> AsyncIterator[Client]:
        url = f"{self._stands.url}/t/{name.tenant}/{name.plugin}/mcp"
        async with client.connect(url) as session:
            yield session

    async def _get(self, url: str, begins: bytes) -> bytes:
        async with client.http_client() as http:
            answer = await http.get(url, follow_redirects=True)
        found = answer.status_code == 200 and answer.content.startswith(begins)
        _want(found, f"{urlsplit(url).path} answered {answer.status_code}")
        return answer.content

    async def _timed(self, step: str, doing: Awaitable[Any], words: Callable[[Any], str]) -> Any:
        started = time.monotonic()
        done = await doing
        self._told(step, words(done), time.monotonic() - started)
        return done


def _want(true: bool, said: str) -> None:
    if not true:
        raise PlatformError("smoke.failed", f"The deployment stands, but {said}.", "Look at `platform logs`.")


def _words(result: Any) -> str:
    return " ".join(block.text for block in result.content if block.type == "text")


def _lambda(region: str) -> Any:
    import boto3

    return boto3.client("lambda", region_name=region)
