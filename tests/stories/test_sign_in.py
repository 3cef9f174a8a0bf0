"""Signing in to a plugin: the official client's own OAuth flow, a real authorization server, a published plugin.

All of it in one process: three web sites reach each other through a transport, none through the network.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tenantry_cli.host import pages
from tenantry_cli.host.authorization import Authorization, Server
from tenantry_cli.host.authorization import Client as Registered
from tenantry_cli.host.pages import Pages
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
CIMD = "https://client.example/metadata.json"
NAME = Name("acme", "zoo")
PAGES = Path(pages.__file__).parent / "page" / "public"
TOML = f"""
name = "zoo"
title = "Zoo"
entrypoint = "server:plugin"
[auth]
issuer = "{ISSUER}"
scopes = ["recipes.read", "recipes.write"]
"""
SERVER = '''
from tenantry import Context, NoAuth, OAuth2, Plugin

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[NoAuth()])
def look() -> str:
    """Looks around, for anyone."""
    return "animals"


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[OAuth2("recipes.read")])
def mine(ctx: Context) -> str:
    """Counts the signed-in user's visits."""
    ctx.state["visits"] = ctx.state.get("visits", 0) + 1
    return f"{ctx.user.sub} {ctx.state['visits']}"
'''


class Storage:
    """What a client keeps between two runs: nothing here."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


class Documented(Authorization):
    """The authorization server, with Client ID Metadata Documents, too (SEP-991)."""

    async def metadata(self, request: Request) -> Response:
        document = {**_json(await super().metadata(request)), "client_id_metadata_document_supported": True}
        return JSONResponse(document)

    def _server(self, request: Request) -> Server:
        server = super()._server(request)
        server.clients.setdefault(
            CIMD, Registered({"client_id": CIMD}, {"redirect_uris": ["http://localhost:1/back"], "client_name": "C"})
        )
        return server


class Town:
    """A plugin with sign-in, its authorization server, and people with browsers."""

    def __init__(self, gateway: Any, authorization: Authorization) -> None:
        self.transport = {
            f"https://{HOST}": httpx2.ASGITransport(gateway),
            ISSUER: httpx2.ASGITransport(authorization.app),
        }
        self.storage = Storage()
        self.answer: AuthorizationCodeResult | None = None

    def browser(self, **more: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(mounts=self.transport, **more)

    async def sign_in(self, url: str) -> None:
        """A person opens the page, chooses who to be, and is sent back."""
        assert parse_qs(urlsplit(url).query)["resource"] == [f"https://{HOST}/mcp"]
        async with self.browser() as browser:
            page = await browser.get(url)
            assert page.status_code == 200
            action = re.search(r'action="([^"]+)"', page.text)
            assert action is not None
            address = ISSUER + action[1].replace("&amp;", "&")
            sent_back = await browser.post(address, data={"person": "user-ada"})
        query = {key: values[0] for key, values in parse_qs(urlsplit(sent_back.headers["location"]).query).items()}
        self.answer = AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])

    async def back(self) -> AuthorizationCodeResult:
        assert self.answer is not None
        return self.answer

    @asynccontextmanager
    async def client(self, *, mode: Any = "auto", cimd: bool = False) -> AsyncIterator[Client]:
        metadata = OAuthClientMetadata(
            client_name="Stories", redirect_uris=["http://localhost:1/back"], token_endpoint_auth_method="none"
        )
        auth = OAuthClientProvider(
            f"https://{HOST}/mcp",
            metadata,
            self.storage,
            redirect_handler=self.sign_in,
            callback_handler=self.back,
            client_metadata_url=CIMD if cimd else None,
        )
        async with (
            self.browser(auth=auth) as http,
            Client(streamable_http_client(f"https://{HOST}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client


def _json(response: Response) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads(bytes(response.body))
    return found


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    source = tmp_path / "zoo"
    source.mkdir()
    (source / "plugin.toml").write_text(TOML)
    (source / "server.py").write_text(SERVER)
    objects = FileObjects(tmp_path / "store")
    await ensure(objects)
    authorization = Documented(Pages(PAGES), "")
    runner = ProcessRunner(objects, folder=tmp_path / "cache")

    async def web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(authorization.app)) as http:
            answer = await http.get(url)
            return answer.content

    async def no_secrets(name: Name, wanted: Any) -> Mapping[str, str]:
        return {}

    settings = GatewaySettings(mode="development", origin="https://shared.example.com", base="plugins.example.com")
    gateway = create_app(objects=objects, runner=runner, settings=settings, authenticate=Door(Issuers(web), no_secrets))
    try:
        await publish(objects=objects, runner=runner, name=NAME, bundle=pack(source))
        yield Town(gateway, authorization)
    finally:
        await runner.aclose()


@pytest.mark.row("P05")
@pytest.mark.parametrize("cimd", [False, True], ids=["registered", "documented"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_signs_in_when_a_tool_asks_for_it(town: Town, mode: Any, cimd: bool) -> None:
    async with town.client(mode=mode, cimd=cimd) as client:
        looked = await client.call_tool("look", {})
        assert town.storage.tokens is None  # nobody was asked yet
        first = await client.call_tool("mine", {})
        second = await client.call_tool("mine", {})
    assert looked.content[0].text == "animals"
    assert [first.content[0].text, second.content[0].text] == ["user-ada 1", "user-ada 2"]
    assert town.storage.tokens is not None
    assert town.storage.info is not None
    assert (town.storage.info.client_id == CIMD) == cimd
