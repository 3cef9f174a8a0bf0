"""Signed requests to a folder's objects: what S3 answers itself on AWS, for one machine.

`/_objects/...` is GET, HEAD and Range of one object, or a POST form that uploads one; objects_grant.py says what is
signed. An ASGI app of its own, because bodies here are files and pass piece by piece.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote

from fastapi import FastAPI
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Objects
from tenantry_registry.objects_file import PIECE, FileObjects, Opened
from tenantry_registry.objects_grant import ROUTE, Grant

from tenantry_gateway.asgi import Receive, Scope, Send, send_response
from tenantry_gateway.assets import byte_range
from tenantry_gateway.form import Form
from tenantry_gateway.request import Request, Response

STATUS: Final = {  # what S3 answers
    "link.invalid": 403,
    "link.expired": 403,
    "upload.too-large": 400,
    "upload.too-small": 400,
    "upload.form": 400,
}
OPEN: Final = (
    ("access-control-allow-origin", "*"),
    ("access-control-expose-headers", "ETag, Content-Range, Accept-Ranges, Content-Disposition"),
    ("x-content-type-options", "nosniff"),
)


def mount_local_objects(app: FastAPI, objects: Objects) -> None:
    """Serve the signed addresses of a FileObjects; anything else signs addresses of its own server."""
    if isinstance(objects, FileObjects):
        app.mount(ROUTE.rstrip("/"), LocalObjects(objects))


class LocalObjects:
    """The route. It trusts nothing but the signature."""

    def __init__(self, objects: FileObjects) -> None:
        self._objects = objects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        request = Request(
            scope["method"], scope["path"], headers, query=scope.get("query_string", b"").decode("latin-1")
        )
        try:
            if request.method in ("GET", "HEAD"):
                await self._download(request, scope, send)
            elif request.method == "POST":
                await send_response(send, await self._upload(request, receive))
            else:
                allow = [*OPEN, ("allow", "GET, HEAD, POST, OPTIONS"), ("access-control-allow-headers", "*")]
                await send_response(send, Response(204 if request.method == "OPTIONS" else 405, headers=allow))
        except PlatformError as error:
            status = STATUS.get(error.code, 503)
            await send_response(send, Response(status, error.message.encode(), "text/plain; charset=utf-8", OPEN))

    async def _upload(self, request: Request, receive: Receive) -> Response:
        form = Form(request.headers.get("content-type", ""))
        body = _chunks(receive)
        await form.read_fields(body)
        grant = self._objects.signer.verify("POST", request.path, form.fields)
        version = await self._objects.receive(grant, form.file(body))
        return Response(204, headers=[*OPEN, ("etag", f'"{version}"')])

    async def _download(self, request: Request, scope: Scope, send: Send) -> None:
        raw = scope.get("raw_path") or quote(request.path).encode()
        url = raw.partition(b"?")[0].decode("latin-1") + "?" + request.query
        grant = self._objects.signer.verify(request.method, url)
        opened = self._objects.open(grant.key)
        if opened is None:
            await send_response(send, Response(404, b"There is no such object.", "text/plain; charset=utf-8", OPEN))
            return
        with opened.file:
            await _send(request, grant, opened, send)


async def _send(request: Request, grant: Grant, opened: Opened, send: Send) -> None:
    etag = f'"{opened.version}"'
    headers = [
        *OPEN,
        ("etag", etag),
        ("accept-ranges", "bytes"),
        ("content-type", grant.content_type or opened.kind.content_type),
    ]
    if opened.kind.content_encoding:
        headers.append(("content-encoding", opened.kind.content_encoding))
    if grant.name:
        headers.append(("content-disposition", f"attachment; filename*=UTF-8''{quote(grant.name, safe='')}"))
    if request.headers.get("if-none-match") == etag:
        await send_response(send, Response(304, headers=headers))
        return
    start, end, status = 0, opened.size, 200
    part = byte_range(request, etag, opened.size)
    if part is not None:
        (start, end), status = part, 206
        if start >= end:
            await send_response(send, Response(416, headers=[*headers, ("content-range", f"bytes */{opened.size}")]))
            return
        headers.append(("content-range", f"bytes {start}-{end - 1}/{opened.size}"))
    headers.append(("content-length", str(end - start)))
    wire = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": wire})
    opened.file.seek(start, 1)  # it stands at the first byte of the content, behind the header
    left = end - start if request.method == "GET" else 0
    while left > 0:
        piece = opened.file.read(min(PIECE, left))
        left -= len(piece)
        await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
    if request.method == "HEAD":
        await send({"type": "http.response.body", "body": b""})


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more: Any = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")
