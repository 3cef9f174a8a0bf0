"""Reads what any MCP endpoint answers, as raw JSON, for `platform check URL`.

The official client would lose what its types don't know (a tool's securitySchemes, for one); a check must see all of
it. So this speaks the few requests itself: 2026-07-28 first, the handshake of 2025-11-25 where that is not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from tenantry_registry.errors import PlatformError
from tenantry_registry.report import Report
from tenantry_registry.rules_wire import check_answers, templates_of

from tenantry_cli.client import http_client

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"
UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
CLIENT = {"name": "tenantry-check", "version": "1"}
PAGES = 100  # of one list; a server that never ends is not waited for
METHOD_UNKNOWN = -32601


class Refused(Exception):
    """A JSON-RPC error, or an answer that is none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Endpoint:
    """One MCP address. `revision` is what was agreed on; `session` the handshake's id, where it gave one."""

    http: httpx2.AsyncClient
    url: str
    revision: str = MODERN
    session: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    async def meet(self) -> dict[str, Any]:
        """What the server says of itself. Raises: PlatformError `call.unreachable`, `call.not-mcp`."""
        try:
            return await self.ask("server/discover", {})
        except Refused:
            self.revision = ""
        hello = {"protocolVersion": HANDSHAKE, "capabilities": {"extensions": UI}, "clientInfo": CLIENT}
        try:
            answer = await self.ask("initialize", hello)
        except Refused as error:
            raise PlatformError("call.not-mcp", f"{self.url} does not speak MCP: {error}", "Look at it.") from None
        self.revision = str(answer.get("protocolVersion") or HANDSHAKE)
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, "notifications/initialized", {})
        return answer

    async def every(self, method: str, key: str) -> list[dict[str, Any]]:
        """All pages of a list; what goes wrong is kept in `errors`."""
        entries: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(PAGES):
            try:
                answer = await self.ask(method, {} if cursor is None else {"cursor": cursor})
            except Refused as error:
                if error.code != METHOD_UNKNOWN:
                    self.errors[method] = str(error)
                return entries
            entries += [entry for entry in answer.get(key) or [] if isinstance(entry, dict)]
            cursor = answer.get("nextCursor")
            if not isinstance(cursor, str):
                return entries
        self.errors[method] = f"There are more than {PAGES} pages."
        return entries

    async def read(self, uri: str) -> dict[str, Any]:
        """resources/read, or {"error": ...}."""
        try:
            return await self.ask("resources/read", {"uri": uri})
        except Refused as error:
            return {"error": str(error)}

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One request's result. Raises: Refused; PlatformError `call.unreachable`."""
        told = dict(params)
        if self.revision == MODERN:
            told["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {"extensions": UI},
                "io.modelcontextprotocol/clientInfo": CLIENT,
            }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": told}
        response = await self.post(message, method, params)
        self.session = response.headers.get("mcp-session-id", self.session)
        answer = body_of(response)
        if "error" in answer:
            error = answer["error"] if isinstance(answer["error"], dict) else {}
            raise Refused(str(error.get("message") or answer["error"]), int(error.get("code") or 0))
        if not isinstance(answer.get("result"), dict):
            raise Refused(f"HTTP {response.status_code} without a result")
        return dict(answer["result"])

    async def post(self, message: Mapping[str, Any], method: str, params: Mapping[str, Any]) -> httpx2.Response:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self.revision:
            headers["MCP-Protocol-Version"] = self.revision
        if self.revision == MODERN:
            headers["Mcp-Method"] = method
            headers |= {"Mcp-Name": str(params["uri"])} if "uri" in params else {}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        try:
            return await self.http.post(self.url, content=json.dumps(message), headers=headers)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise PlatformError("call.unreachable", f"Nobody answers at {self.url}: {error}", "Is it up?") from None


def body_of(response: httpx2.Response) -> dict[str, Any]:
    """The JSON-RPC answer of a body, JSON or a whole stream of events; {} where there is none."""
    texts = [response.text]
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        events = response.text.replace("\r\n", "\n").split("\n\n")
        texts = ["\n".join(li[5:].strip() for li in event.splitlines() if li.startswith("data:")) for event in events]
    for text in texts:
        try:
            answer = json.loads(text)
        except ValueError:
            continue
        if isinstance(answer, dict) and ("result" in answer or "error" in answer):
            return answer
    return {}


async def examine(url: str, token: str | None = None) -> Report:
    """Everything the rules want of an endpoint, and what they say of it.

    Raises: PlatformError `call.unreachable`, `call.not-mcp`.
    """
    async with http_client({"Authorization": f"Bearer {token}"} if token else None) as http:
        endpoint = Endpoint(http, url)
        server = await endpoint.meet()
        tools = await endpoint.every("tools/list", "tools")
        resources = await endpoint.every("resources/list", "resources")
        reads = {uri: await endpoint.read(uri) for uri in templates_of(tools, resources)}
    return check_answers(tools=tools, resources=resources, reads=reads, server=server, errors=endpoint.errors)
