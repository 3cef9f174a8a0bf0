"""What the gateway's tests share: a store, a plugin published into it, a runner that does as told, and HTTP."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tenantry_gateway.app import create_app
from tenantry_gateway.log import Log
from tenantry_gateway.settings import GatewaySettings
from tenantry_registry import links
from tenantry_registry.errors import StorageDown
from tenantry_registry.manifest import ORIGIN, Manifest, WidgetEntry
from tenantry_registry.names import Name
from tenantry_registry.objects import ANY as ANY
from tenantry_registry.objects import Kind
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.registry import Registry
from tenantry_registry.runners import Call, Release

NAME = Name("acme", "zoo")
HOST = "zoo-acme.plugins.example.com"
SHARED = "shared.example.com"
MODERN = "2026-07-28"
KEY = "k1:" + "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
WIDGET_URI = "ui://widget/animals.0123456789.html"
WIDGET_HTML = f'<!doctype html><script src="{ORIGIN}/assets/aaaaaaaaaaaaaaaaaaaa/app.js"></script>'.encode()
WIDGET_META = {
    "ui": {"prefersBorder": True, "csp": {"connectDomains": [], "resourceDomains": [ORIGIN]}},
    "openai/widgetPrefersBorder": True,
}
HINTS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A tool's entry as the compiler makes it."""
    return {
        "name": name,
        "description": f"Does {name}.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": HINTS,
        "securitySchemes": [{"type": "noauth"}],
        "_meta": {"securitySchemes": [{"type": "noauth"}]},
        **more,
    }


COUNT = tool(
    "count",
    inputSchema={
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 20}},
        "required": ["count"],
    },
    outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    _meta={"ui": {"resourceUri": WIDGET_URI}, "openai/outputTemplate": WIDGET_URI},
)


def manifest(**changes: Any) -> Manifest:
    """A release with two tools, a widget, resources, a template and a prompt. Its digest follows its content."""
    values: dict[str, Any] = {
        "tenant": NAME.tenant,
        "plugin": NAME.plugin,
        "digest": "",
        "created": 1.0,
        "entrypoint": "server:plugin",
        "server": {"name": "zoo", "title": "Zoo", "version": "1.2.0"},
        "instructions": "Ask about animals.",
        "tools": (COUNT, tool("echo", inputSchema={"type": "object"})),
        "resources": (
            {"uri": WIDGET_URI, "name": "animals", "mimeType": "text/html;profile=mcp-app", "_meta": WIDGET_META},
            {"uri": "zoo://rules", "name": "rules", "mimeType": "text/plain"},
            {"uri": "zoo://now", "name": "now"},
        ),
        "templates": ({"uriTemplate": "zoo://animal/{id}", "name": "animal"},),
        "prompts": ({"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]},),
        "contents": {"zoo://rules": {"uri": "zoo://rules", "mimeType": "text/plain", "text": "Don't feed."}},
        "widgets": (
            WidgetEntry(
                "animals",
                WIDGET_URI,
                f"site/{changes.get('tenant', NAME.tenant)}/{NAME.plugin}/0123456789/index.html",
                "a" * 20,
                WIDGET_META,
                len(WIDGET_HTML),
            ),
        ),
        "capabilities": {
            "logging": {},
            "tools": {"listChanged": False},
            "resources": {"subscribe": False, "listChanged": False},
            "prompts": {"listChanged": False},
            "completions": {},
            "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
        },
        **changes,
    }
    return Manifest(**values)


Answer = Callable[[Release, Call], Awaitable[dict[str, Any]]]


@dataclass
class EchoRunner:
    """A runner that keeps what it was asked and answers with `answer`, or with the call itself."""

    answer: Answer | None = None
    calls: list[Call] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)

    async def describe(self, release: Release) -> dict[str, Any]:
        raise AssertionError("the gateway describes nothing")

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        self.calls.append(call)
        self.releases.append(release)
        if self.answer is not None:
            return {"ran_ms": 7.0, **await self.answer(release, call)}
        text = json.dumps({"method": call.method, "params": call.params}, sort_keys=True)
        result = {"content": [{"type": "text", "text": text}], "structuredContent": {"n": 3}}
        return {"protocol": 1, "result": result, "ran_ms": 7.0}

    async def aclose(self) -> None:
        return None


def replying(**reply: Any) -> Answer:
    """A runner's answer that is always this reply."""

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        return {"protocol": 1, **reply}

    return answer


class Failing:
    """Objects that fail for keys below a prefix, as often as it is told."""

    def __init__(self, objects: Any, prefix: str) -> None:
        self._objects, self._prefix = objects, prefix

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def get(self, key: str) -> Any:
        if key.startswith(self._prefix):
            raise StorageDown("Storage does not answer.")
        return await self._objects.get(key)


class House:
    """A store with the zoo published, and the gateway in front of it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.objects = FileObjects(folder / "store", origin=f"https://{SHARED}")
        self.registry = Registry(self.objects)
        self.runner = EchoRunner()
        self.lines = io.StringIO()
        self.settings = GatewaySettings(
            **{
                "origin": f"https://{SHARED}",
                "base": "plugins.example.com",
                "seal_keys": KEY,
                "pointer_seconds": 0.0,
                **settings,
            }
        )
        self.extra: dict[str, Any] = {}

    async def publish(self, release: Manifest | None = None, *, current: bool = True, **more: Any) -> str:
        """Publish it; returns the digest. The bundle is its manifest's own bytes, as nobody unpacks it here."""
        await links.ensure(self.objects)
        release = release or manifest()
        data = json.dumps(asdict(release), sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        values = {**asdict(release), "digest": digest, "widgets": release.widgets}
        blobs = [(widget.key, WIDGET_HTML, Kind("text/html; charset=utf-8")) for widget in release.widgets]
        await self.registry.publish(Manifest(**values), bundle=data, blobs=blobs, set_current=current, **more)
        return digest

    def app(self) -> Any:
        return create_app(
            objects=self.objects, runner=self.runner, settings=self.settings, log=Log(self.lines), **self.extra
        )

    def http(self, host: str = HOST) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app()), base_url=f"https://{host}")

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]


def modern(method: str, params: Mapping[str, Any] | None = None, *, id: Any = 1, **meta: Any) -> dict[str, Any]:
    """A stateless request's body."""
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": method,
        "params": {**(params or {}), "_meta": {**META, **meta}},
    }


NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def modern_headers(body: Mapping[str, Any], **more: str) -> dict[str, str]:
    """The headers that a stateless request must have."""
    method = body["method"]
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
    }
    if method in NAMED and isinstance(body["params"].get(NAMED[method]), str):
        headers["mcp-name"] = body["params"][NAMED[method]]
    return headers | {key.replace("_", "-"): value for key, value in more.items()}


async def ask(
    http: httpx.AsyncClient, method: str, params: Mapping[str, Any] | None = None, **meta: Any
) -> httpx.Response:
    """One stateless request to the plugin's own host."""
    body = modern(method, params, **meta)
    return await http.post("/mcp", json=body, headers=modern_headers(body))


async def say(
    http: httpx.AsyncClient, method: str, params: Mapping[str, Any] | None = None, *, id: Any = 1, **headers: str
) -> httpx.Response:
    """One request of the handshake era."""
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
    given = {"mcp-protocol-version": "2025-11-25"} | {key.replace("_", "-"): value for key, value in headers.items()}
    return await http.post("/mcp", json=body, headers=given)


def events(response: httpx.Response) -> list[dict[str, Any]]:
    """The messages of an event-stream body."""
    assert response.headers["content-type"] == "text/event-stream"
    found = []
    for block in response.text.split("\n\n"):
        data = "".join(line[6:] for line in block.splitlines() if line.startswith("data: "))
        if data:
            found.append(json.loads(data))
    return found
