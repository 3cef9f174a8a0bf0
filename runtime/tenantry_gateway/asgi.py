"""The ASGI shell of `Web`: reads a body, bounded, and sends a whole answer. `Gateway` is FastAPI around it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import FastAPI

from tenantry_gateway.request import JSON_TYPE, Request, Response
from tenantry_gateway.web import BODY_BYTES
from tenantry_gateway.wire import INVALID_REQUEST, Refusal, failure

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Shell:
    """An ASGI app around `answer`."""

    def __init__(self, answer: Callable[[Request], Awaitable[Response]]) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        body = await _body(receive)
        if body is None:
            refusal = Refusal(INVALID_REQUEST, f"A request may have {BODY_BYTES} bytes.")
            response = Response(413, failure(refusal, None), JSON_TYPE)
        else:
            client = scope.get("client") or ("", 0)
            query = scope.get("query_string", b"").decode("latin-1")
            response = await self._answer(
                Request(scope["method"], scope["path"], headers, body, query=query, client=str(client[0] or ""))
            )
        await send_response(send, response)


class Gateway(FastAPI):
    """FastAPI with an app mounted at its root, which is reached without the layers that FastAPI puts around routes
    (telemetry, errors, exit stacks): `Web` never raises and leaves nothing open. Other mounts go first, layers and all;
    middleware would be around those only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None, **settings)
        self._root: App = super().__call__
        self._others: tuple[str, ...] = ()

    def mount_root(self, shell: App) -> None:
        """Mount what answers everything else, last."""
        self._others = tuple(path for route in self.routes if (path := getattr(route, "path", "")))
        self._root = shell
        self.mount("/", shell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = scope["type"] == "http" and not scope["path"].startswith(self._others)
        await (self._root if plain else super().__call__)(scope, receive, send)


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None when it is too large or the client went away."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body if len(body) <= BODY_BYTES else None
    chunks, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > BODY_BYTES:
            return None
    return b"".join(chunks)


async def send_response(send: Send, response: Response) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
    if response.header("content-length") is None and response.status not in (204, 304):
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
