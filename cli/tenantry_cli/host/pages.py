"""The built page: static files with the right headers.

`dist` is what `npm run build` makes of page/. The page may connect to any MCP server, but loads nothing from
elsewhere and can't be framed. The proxy frames widgets only: a widget that navigates itself away is stopped here, by
`frame-src`.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src * data: blob:; media-src * data:"
    " blob:; font-src 'self'; connect-src *; frame-src http://proxy.localhost:{port}; base-uri 'none'; form-action"
    " 'none'; frame-ancestors 'none'"
)
PROXY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; frame-src http://*.widgets.localhost:{port};"
    " base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:{port}"
)
SIGN_IN_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'"
NOT_BUILT = "The page is not built. Run `make setup`, or `npm ci && npm run build` in cli/tenantry_cli/host/page.\n"
A_YEAR = "public, max-age=31536000, immutable"  # names under assets/ carry a hash of their content


class Pages:
    """Serves the files of `dist`."""

    def __init__(self, dist: Path) -> None:
        self._dist = dist.resolve()

    def read(self, name: str) -> str:
        """The text of one built file."""
        return (self._dist / name).read_text("utf-8")

    def fill(self, name: str, /, **values: str) -> str:
        """One built HTML file with its `$name` places filled; `values` are already escaped for HTML."""
        return Template(self.read(name)).safe_substitute(values)

    async def page(self, request: Request) -> Response:
        return self._html("index.html", PAGE_POLICY, request)

    async def proxy(self, request: Request) -> Response:
        return self._html("proxy.html", PROXY_POLICY, request)

    async def callback(self, request: Request) -> Response:
        return self._html("callback.html", SIGN_IN_POLICY, request)

    async def asset(self, request: Request) -> Response:
        path = (self._dist / request.path_params["path"]).resolve()
        if not path.is_relative_to(self._dist) or not path.is_file() or path.suffix == ".html":
            return PlainTextResponse("There is no such file.\n", 404)
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        cache = A_YEAR if path.parent.name == "assets" else "no-cache"
        headers = {"Cache-Control": cache, "X-Content-Type-Options": "nosniff"}
        return FileResponse(path, media_type=kind, headers=headers)

    def _html(self, name: str, policy: str, request: Request) -> Response:
        if not (self._dist / name).is_file():
            return PlainTextResponse(NOT_BUILT, 503)
        headers = {
            "Content-Security-Policy": policy.replace("{port}", str(request.url.port or 80)),
            "Cache-Control": "no-cache",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        return HTMLResponse(self.read(name), headers=headers)


def foreign(request: Request) -> bool:
    """Whether another web site in the same browser makes this request; what is no browser names no origin."""
    own = f"{request.url.scheme}://{request.url.netloc}"
    return request.headers.get("origin", own) != own


class OwnOrigin:
    """Lets only the page itself change anything: a widget, or any site open in the browser, is refused (403)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        safe = request.method in ("GET", "HEAD")
        if not safe and (foreign(request) or "origin" not in request.headers):
            await PlainTextResponse("Only the local page may do this.\n", 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)
