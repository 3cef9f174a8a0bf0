"""Widget documents: HTML that the page read from an MCP server, served on the widget's own origin.

The page hands a document over once (POST /_host/documents), as soon as a tool is chosen that shows it, and frames
`http://{label}.widgets.localhost/?_doc=ID` for each of its widgets. The same id is the same bytes, so the browser asks
for them once; what differs between two widgets of a template (window.openai's first values) is in the frame's name. The
one thing added to the author's HTML is a script element at its very top, `window.openai`, which takes the query off the
address again before any other script runs; the address the widget sees is `/`. A reload, or a route that the widget
pushed, comes back here without the query: the small page `resume.html` finds the id in `window.name`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from tenantry_cli.host.pages import A_YEAR, Pages
from tenantry_cli.host.policy import content_security_policy, permissions_policy

LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1035: it becomes a DNS label
DOCUMENT_BYTES = 20_000_000  # of one document: far above what the platform publishes, below what hurts the browser
KEPT = 64  # documents: more than one page shows at once
A_DAY = "private, max-age=86400, immutable"  # a document never changes under its id
PROLOGUE = re.compile(r"(?:\ufeff|\s|<!--.*?-->|<!doctype[^>]*>)*", re.I | re.S)


@dataclass(frozen=True, slots=True)
class Document:
    """A widget's HTML, in two parts with the host's own script between them, and the policies it asked for."""

    label: str
    before: str
    after: str
    csp: Mapping[str, Any] | None
    permissions: Mapping[str, Any] | None
    open: bool  # without any policy, as in developer mode


class Documents:
    """The newest `KEPT` documents, by an unguessable id."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._documents: OrderedDict[str, Document] = OrderedDict()

    @property
    def routes(self) -> list[BaseRoute]:
        """The routes of a widget origin."""
        return [Route("/_host/openai.js", self.shim), Route("/{path:path}", self.document)]

    async def create(self, request: Request) -> Response:
        """Keep a document: {"label", "html", "csp", "permissions", "open"} -> {"id"}."""
        if int(request.headers.get("content-length", "0")) > DOCUMENT_BYTES:
            return PlainTextResponse(f"A widget's document has at most {DOCUMENT_BYTES} bytes.\n", 413)
        raw = await request.json()
        if not LABEL.fullmatch(raw["label"]):
            return PlainTextResponse("This label can't be a host name.\n", 422)
        prologue = PROLOGUE.match(raw["html"])
        at = prologue.end() if prologue else 0
        key = secrets.token_urlsafe(12)
        self._documents[key] = Document(
            label=raw["label"],
            before=raw["html"][:at],
            after=raw["html"][at:],
            csp=raw.get("csp"),
            permissions=raw.get("permissions"),
            open=raw.get("open") is True,
        )
        while len(self._documents) > KEPT:
            self._documents.popitem(last=False)
        return JSONResponse({"id": key})

    async def shim(self, _: Request) -> Response:
        """The script, under an address that carries its hash: a browser asks for it once."""
        headers = {"Cache-Control": A_YEAR, "X-Content-Type-Options": "nosniff"}
        return Response(self._pages.read("openai.js"), media_type="text/javascript", headers=headers)

    async def document(self, request: Request) -> Response:
        """A document by `?_doc=ID`; for any other navigation of the frame, the page that finds its way back."""
        key = request.query_params.get("_doc")
        port = request.url.port or 80
        page, proxy = f"http://localhost:{port}", f"http://proxy.localhost:{port}"
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
        if key is None:
            if request.headers.get("sec-fetch-dest") != "iframe":
                return PlainTextResponse("Widgets have no files here: use absolute URLs of a declared domain.\n", 404)
            headers["Content-Security-Policy"] = (
                f"default-src 'none'; script-src 'unsafe-inline'; frame-ancestors {page} {proxy}"
            )
            return HTMLResponse(self._pages.read("resume.html"), headers=headers)
        found = self._documents.get(key)
        if found is None or found.label != request.path_params["label"]:
            return PlainTextResponse("This document is gone: reload the page.\n", 404)
        headers["Content-Security-Policy"] = content_security_policy(
            found.csp, ancestors=[page, proxy], files=f"{page}/_host/download/", open_=found.open
        )
        headers["Permissions-Policy"] = permissions_policy(
            found.permissions, origin=f"http://{found.label}.widgets.localhost:{port}"
        )
        headers["Cache-Control"] = A_DAY
        digest = hashlib.sha256(self._pages.read("openai.js").encode()).hexdigest()[:16]
        script = self._pages.fill("shim.html", digest=digest).strip()
        return HTMLResponse(found.before + script + found.after, headers=headers)
