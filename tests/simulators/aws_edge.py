"""What AWS does to a request on its way and local emulators don't: an ASGI app in front of a Lambda handler.

    uvicorn.run(AwsEdge(handler, public="plugins.example.com", secret="..."))

CloudFront (the origin sees API Gateway's own Host; the viewer's travels in x-forwarded-host, with the origin secret;
asset paths go to S3, which answers 403 for what is missing), HTTP API (payload v2 events, headers joined and in lower
case, WWW-Authenticate renamed and then restored for 401 and 403 by our response mapping, 30 s and 10 MB), and Lambda
(6,291,556 bytes of serialised response, one event at a time in an environment).
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

PAYLOAD_BYTES = 6_291_556
REQUEST_BYTES = 10 * 1024 * 1024
SECONDS = 29.0
API_HOST = "abcdef1234.execute-api.us-east-1.amazonaws.com"
Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
Asset = Callable[[str, str], Awaitable[tuple[bytes, str] | None]]


class AwsEdge:
    """One distribution, one API, one environment of the function.

    `make` makes the handler, in the thread that will run it. `asset` reads (host, path) from S3, where it is given.
    `secret` is what CloudFront adds; without it the viewer's host gets lost, as it does for who goes around CloudFront.
    """

    def __init__(
        self, make: Callable[[], Handler], *, secret: str = "", stage: str = "$default", asset: Asset | None = None
    ) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="environment")
        self._handler = self._thread.submit(make).result()
        self._secret = secret
        self._stage = stage
        self._asset = asset
        self.events: list[dict[str, Any]] = []

    def close(self, closing: Callable[[], Awaitable[None]] | None = None) -> None:
        """End the environment. `closing` runs on its event loop, which is closed then."""
        self._thread.submit(_end, closing).result()
        self._thread.shutdown()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await _read(receive)
        if self._asset is not None and scope["method"] in ("GET", "HEAD") and "/assets/" in scope["path"]:
            await self._from_s3(scope, send)
            return
        if len(body) > REQUEST_BYTES:
            await _send(send, 413, {}, b'{"message":"Request Entity Too Large"}')
            return
        event = self.event(scope, body)
        self.events.append(event)
        loop = asyncio.get_running_loop()
        try:
            running = loop.run_in_executor(self._thread, self._handler, event, None)
            answered = await asyncio.wait_for(asyncio.shield(running), SECONDS)
        except TimeoutError:
            await _send(send, 503, {}, b'{"message":"Service Unavailable"}')
            return
        if len(json.dumps(answered)) > PAYLOAD_BYTES:
            await _send(send, 502, {}, b'{"message":"Bad Gateway"}')
            return
        await _send(send, answered["statusCode"], _mapped(answered), _decoded(answered))

    def event(self, scope: Any, body: bytes) -> dict[str, Any]:
        """The payload v2 event that HTTP API makes of a request that came through CloudFront."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            headers[key] = f"{headers[key]},{text}" if key in headers else text
        viewer = headers.get("host", "")
        if self._secret:
            headers |= {"x-forwarded-host": viewer, "x-tenantry-origin": self._secret}
        headers |= {"host": API_HOST, "x-forwarded-proto": "https", "x-forwarded-port": "443"}
        prefix = "" if self._stage == "$default" else f"/{self._stage}"
        path = prefix + scope["path"]
        text = _text(body)
        return {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": scope["query_string"].decode("latin-1"),
            "headers": headers,
            "requestContext": {
                "stage": self._stage,
                "domainName": API_HOST,
                "http": {
                    "method": scope["method"],
                    "path": quote(path),
                    "sourceIp": "203.0.113.7",
                    "protocol": "HTTP/1.1",
                },
            },
            "body": base64.b64encode(body).decode() if text is None else text,
            "isBase64Encoded": text is None,
        }

    async def _from_s3(self, scope: Any, send: Any) -> None:
        """CloudFront reads S3 by OAC, without ListBucket: what is missing is 403."""
        host = next((value.decode() for name, value in scope["headers"] if name == b"host"), "")
        found = await self._asset(host, scope["path"]) if self._asset is not None else None
        if found is None:
            await _send(send, 403, {"content-type": "application/xml"}, b"<Error><Code>AccessDenied</Code></Error>")
            return
        data, mime = found
        await _send(send, 200, {"content-type": mime}, data)


def _end(closing: Callable[[], Awaitable[None]] | None) -> None:
    loop = asyncio.get_event_loop_policy().get_event_loop()
    if closing is not None:
        loop.run_until_complete(closing())  # type: ignore[arg-type]
    loop.close()
    asyncio.set_event_loop(None)


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _mapped(answered: dict[str, Any]) -> dict[str, str]:
    """HTTP API renames the challenge; our response mapping puts it back from its second copy, for 401 and 403.

    CloudFront runs no viewer-response function for what the origin answers with 400 and above, so nothing later could.
    """
    headers = {name.lower(): str(value) for name, value in (answered.get("headers") or {}).items()}
    if "www-authenticate" in headers:
        headers["x-amzn-remapped-www-authenticate"] = headers.pop("www-authenticate")
    if answered["statusCode"] in (401, 403) and "x-mcp-challenge" in headers:
        headers["www-authenticate"] = headers["x-mcp-challenge"]
    headers.pop("content-length", None)
    return headers


def _decoded(answered: dict[str, Any]) -> bytes:
    body = answered.get("body") or ""
    return base64.b64decode(body) if answered.get("isBase64Encoded") else body.encode()


async def _read(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _send(send: Any, status: int, headers: dict[str, str], body: bytes) -> None:
    wire = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    if status not in (204, 304):
        wire.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": wire})
    await send({"type": "http.response.body", "body": body})
