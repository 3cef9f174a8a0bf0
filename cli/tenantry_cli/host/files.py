"""Files of the local host: uploads, the library, and download URLs that expire.

Each file belongs to the plugins it was given to; a plugin that asks for another's file gets 404. Download URLs live on
`http://localhost:PORT/_host/download/` because tools must be able to fetch them too, and Python does not resolve
*.localhost. What is served there is inert: an attachment under `Content-Security-Policy: sandbox`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

FILE_BYTES = 50_000_000  # of one file: the host keeps them in memory
TOTAL_BYTES = 500_000_000  # of all files; the oldest go first
READ_ANYWHERE = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Content-Disposition, Content-Length",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@dataclass(slots=True)
class Stored:
    """One file. `owners` are the labels of the plugins that may ask for it."""

    id: str
    name: str
    mime_type: str
    data: bytes
    library: bool
    owners: set[str] = field(default_factory=set)


class Files:
    """The files of this session; nothing is written to disk."""

    def __init__(self, *, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._files: dict[str, Stored] = {}
        self._links: dict[str, tuple[str, float]] = {}

    @property
    def routes(self) -> list[BaseRoute]:
        """What the page calls."""
        return [
            Route("/", self.add, methods=["POST"]),
            Route("/", self.library, methods=["GET"]),
            Route("/{id}/link", self.link, methods=["POST"]),
            Route("/{id}/grant", self.grant, methods=["POST"]),
        ]

    @property
    def download_routes(self) -> list[BaseRoute]:
        """What widgets and tools fetch."""
        return [Route("/{token}/{name:path}", self.download, methods=["GET", "HEAD", "OPTIONS"])]

    async def add(self, request: Request) -> Response:
        """Take the body as a file: ?label=&library=1, headers X-File-Name (percent-encoded) and Content-Type."""
        if int(request.headers.get("content-length", "0")) > FILE_BYTES:
            return PlainTextResponse(f"A file has at most {FILE_BYTES} bytes here.\n", 413)
        data = await request.body()
        stored = Stored(
            id=f"file_{secrets.token_hex(12)}",
            name=unquote(request.headers.get("x-file-name", "")) or "file",
            mime_type=request.headers.get("content-type", "application/octet-stream"),
            data=data,
            library=request.query_params.get("library") == "1",
            owners={request.query_params["label"]},
        )
        self._files[stored.id] = stored
        self._make_room()
        return JSONResponse(_shown(stored))

    async def library(self, _: Request) -> Response:
        """The library: newest first."""
        return JSONResponse([_shown(f) for f in reversed(self._files.values()) if f.library])

    async def grant(self, request: Request) -> Response:
        """A person picked this file for a plugin: {"label"}."""
        stored = self._files.get(request.path_params["id"])
        if stored is None or not stored.library:
            return PlainTextResponse("There is no such file in the library.\n", 404)
        stored.owners.add((await request.json())["label"])
        return JSONResponse(_shown(stored))

    async def link(self, request: Request) -> Response:
        """A fresh download URL for a plugin that may have the file: {"label"} -> {"downloadUrl"}."""
        stored = self._files.get(request.path_params["id"])
        if stored is None or (await request.json())["label"] not in stored.owners:
            return PlainTextResponse("This plugin has no such file.\n", 404)
        token = secrets.token_urlsafe(18)
        now = self._clock()
        self._links = {t: link for t, link in self._links.items() if link[1] > now}
        self._links[token] = (stored.id, now + self._seconds)
        base = f"{request.url.scheme}://{request.url.netloc}"
        return JSONResponse({"downloadUrl": f"{base}/_host/download/{token}/{quote(stored.name)}"})

    async def download(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={**READ_ANYWHERE, "Access-Control-Allow-Headers": "*"})
        key, expires = self._links.get(request.path_params["token"], ("", 0.0))
        stored = self._files.get(key)
        if stored is None:
            return PlainTextResponse("There is no such download.\n", 404, headers=READ_ANYWHERE)
        if expires <= self._clock():
            return PlainTextResponse("This download URL has expired: ask for a new one.\n", 410, headers=READ_ANYWHERE)
        headers = {
            **READ_ANYWHERE,
            "Cache-Control": "no-store",
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(stored.name)}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        }
        return Response(stored.data, media_type=stored.mime_type, headers=headers)

    def _make_room(self) -> None:
        total = sum(len(f.data) for f in self._files.values())
        while total > TOTAL_BYTES and len(self._files) > 1:
            total -= len(self._files.pop(next(iter(self._files))).data)


def _shown(stored: Stored) -> dict[str, object]:
    return {"fileId": stored.id, "fileName": stored.name, "mimeType": stored.mime_type, "size": len(stored.data)}
