"""Signing in to a published plugin with its own authorization server: the official client's OAuth flow.

All of it in one process: three web sites reach each other through a transport, none through the network.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from stories.visitor import BACK, Visitor
from tenantry_cli.host.authorization import Authorization
from tenantry_cli.host.pages import Pages
from tenantry_cli.host.server import DIST
from tenantry_gateway.app import create_app
from tenantry_gateway.door import Door
from tenantry_gateway.settings import GatewaySettings
from tenantry_publisher.publish import publish
from tenantry_registry.bundle import pack
from tenantry_registry.issuers import Issuers
from tenantry_registry.links import ensure
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import ProcessRunner

ISSUER = "https://auth.zoo.example"
HOST = "zoo-acme.plugins.example.com"
DOCUMENT = "https://client.example/metadata.json"
NAME = Name("acme", "zoo")
KEY = "k1:" + "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
ZOO = Path(__file__).parent / "trees" / "zoo"


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Callable[..., Visitor]]:
    """A plugin with sign-in, in production, and its authorization server; makes the people who visit."""
    objects = FileObjects(tmp_path / "store")
    await ensure(objects)

    async def documents(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        assert url == DOCUMENT
        return json.dumps({"client_id": DOCUMENT, "client_name": "Stories", "redirect_uris": [BACK]}).encode()

    authorization = Authorization(Pages(DIST), "", fetch=documents)
    runner = ProcessRunner(objects, folder=tmp_path / "cache")

    async def web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(authorization.app)) as http:
            answer = await http.get(url)
            return answer.content

    async def no_secrets(name: Name, wanted: Any) -> Mapping[str, str]:
        return {}

    settings = GatewaySettings(
        mode="production", origin="https://shared.example.com", base="plugins.example.com", seal_keys=KEY
    )
    gateway = create_app(objects=objects, runner=runner, settings=settings, authenticate=Door(Issuers(web), no_secrets))
    sites = {
        f"https://{HOST}": httpx2.ASGITransport(gateway),
        ISSUER: httpx2.ASGITransport(authorization.app),
    }

    def browser(**more: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(mounts=sites, **more)

    try:
        await publish(objects=objects, runner=runner, name=NAME, bundle=pack(ZOO))
        yield lambda document: Visitor(f"https://{HOST}/mcp", browser=browser, document=document)
    finally:
        await runner.aclose()


@pytest.mark.row("P05")
@pytest.mark.parametrize("document", [None, DOCUMENT], ids=["registered", "documented"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_signs_in_when_a_tool_asks_for_it(
    town: Callable[..., Visitor], mode: Any, document: str | None
) -> None:
    visitor = town(document)
    async with visitor.client(mode) as client:
        looked = await client.call_tool("look", {})
        assert visitor.asked == []  # nobody was asked yet
        first = await client.call_tool("mine", {})
        second = await client.call_tool("mine", {})
    assert looked.content[0].text == "animals"
    assert [first.content[0].text, second.content[0].text] == ["user-ada 1", "user-ada 2"]
    (asked,) = visitor.asked
    assert asked["resource"] == f"https://{HOST}/mcp"
    assert (asked["client_id"] == DOCUMENT) == bool(document)
