"""An MCP server that says exactly what a test wants, in both protocol eras, and remembers what it was asked.

The gateway publishes only what is right; a host has to be tested with what is wrong, too.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MODERN = "2026-07-28"
HTML = "text/html;profile=mcp-app"
READS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
DESTROYS = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "*, Authorization",
    "Access-Control-Expose-Headers": "*, WWW-Authenticate, Mcp-Session-Id",
}

Handler = Callable[..., Any]


@dataclass
class Scripted:
    """One plugin. `calls` are the params of every tools/call, `requests` every message, as they came."""

    name: str
    title: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    handlers: dict[str, Handler] = field(default_factory=dict)
    resources: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    protects: Callable[[Request], Any] | None = None  # an answer in place of the server's, or None
    notifications: list[dict[str, Any]] = field(default_factory=list)  # sent before the next call's result
    instructions: str = ""
    prompts: list[dict[str, Any]] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)
    kind: str = ""  # "kit": the page takes it for a plugin that is written with the kit
    secrets: list[str] = field(default_factory=list)

    def tool(self, name: str, handler: Handler | None = None, **descriptor: Any) -> None:
        """Add a tool: reads only, takes anything, answers with its arguments, unless told otherwise."""
        described = {
            "name": name,
            "description": f"The tool {name}.",
            "inputSchema": {"type": "object"},
            "annotations": READS,
            **descriptor,
        }
        self.tools.append({k: v for k, v in described.items() if v is not None})
        self.handlers[name] = handler or (lambda arguments: result(arguments))

    def widget(self, uri: str, html: str, meta: dict[str, Any] | None = None, **entry: Any) -> None:
        """Add a template: `meta` is its `_meta`, in the list and in what is read."""
        self.resources.append({"uri": uri, "name": uri, "mimeType": HTML, "_meta": meta, "text": html, **entry})

    async def __call__(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=CORS)
        if request.method != "POST":
            return Response(status_code=405, headers=CORS)
        if self.protects and (refusal := await self.protects(request)) is not None:
            refusal.headers.update(CORS)
            return refusal
        message = await request.json()
        self.requests.append(message)
        if "id" not in message:
            return Response(status_code=202, headers=CORS)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            answer["result"] = await self._answer(message["method"], message.get("params", {}))
        except Refusal as refusal:
            answer["error"] = {"code": refusal.code, "message": str(refusal), **refusal.more}
        status = 404 if answer.get("error", {}).get("code") == -32601 else 200
        if self.notifications and message["method"] == "tools/call":
            token = message["params"].get("_meta", {}).get("progressToken")
            return self._stream(answer, token)
        return JSONResponse(answer, status, headers=CORS)

    def _stream(self, answer: dict[str, Any], token: Any) -> Response:
        sent = []
        for note in self.notifications:
            params = note["params"] | ({"progressToken": token} if note["method"].endswith("progress") else {})
            sent.append({"jsonrpc": "2.0", **note, "params": params})
        self.notifications = []
        body = "".join(f"event: message\ndata: {json.dumps(m)}\n\n" for m in [*sent, answer])
        return Response(body, media_type="text/event-stream", headers=CORS)

    async def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        info = {"name": self.name, "version": "1", "title": self.title or self.name}
        capabilities = {"tools": {}, "resources": {}, "logging": {}, "prompts": {}}
        plain: dict[str, Any] = {}
        if method == "initialize" and not modern:
            plain = {"protocolVersion": params["protocolVersion"], "serverInfo": info, "capabilities": capabilities}
            return plain | {"instructions": self.instructions}
        if method == "logging/setLevel" and not modern:
            return {}
        if method == "server/discover" and modern:
            plain = {"supportedVersions": [MODERN], "capabilities": capabilities, "instructions": self.instructions}
        elif method == "tools/list":
            plain = {"tools": self.tools}
        elif method == "resources/list":
            plain = {
                "resources": [{k: v for k, v in r.items() if k != "text" and v is not None} for r in self.resources]
            }
        elif method == "resources/templates/list":
            plain = {"resourceTemplates": []}
        elif method == "prompts/list":
            plain = {"prompts": self.prompts}
        elif method == "resources/read":
            plain = {"contents": [self._content(params["uri"])]}
        elif method == "tools/call":
            self.calls.append(params)
            plain = await self._call(params)
        else:
            raise Refusal(-32601, f"There is no method {method}")
        if modern:
            plain = {"resultType": "complete", **plain}
            if method != "tools/call":
                plain |= {"ttlMs": 0, "cacheScope": "private"}
            plain["_meta"] = {"io.modelcontextprotocol/serverInfo": info, **plain.get("_meta", {})}
        return plain

    def _content(self, uri: str) -> dict[str, Any]:
        for resource in self.resources:
            if resource["uri"] == uri and "text" in resource:
                kept = ("uri", "mimeType", "text", "_meta")
                return {k: resource[k] for k in kept if resource.get(k) is not None}
        raise Refusal(-32602, f"There is no resource {uri}")

    async def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        handler = self.handlers.get(params["name"])
        if handler is None:
            raise Refusal(-32602, f"Unknown tool {params['name']}")
        given = handler(params.get("arguments", {}))
        answer = await given if inspect.isawaitable(given) else given
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer
        return found


class Refusal(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.more = {} if data is None else {"data": data}


def result(structured: Any = None, text: str = "Done.", **more: Any) -> dict[str, Any]:
    """A tool's result."""
    found = {"content": [{"type": "text", "text": text}], **more}
    if structured is not None:
        found["structuredContent"] = structured
    return found
