"""The page that plays ChatGPT: its server part.

How to mount it. `create_host(...)` returns one ASGI app that wants these requests, and `takes(scope)` says which they
are, so the server around it is three lines:

    host = create_host(plugins, checks=checks, events=events)
    async def app(scope, receive, send):
        await (host if takes(scope) else gateway)(scope, receive, send)

    http://localhost:PORT/                        the page (http://127.0.0.1:PORT/ redirects there)
    http://localhost:PORT/_host/...               what the page asks for: plugins, files, documents, sign-in
    http://localhost:PORT/.well-known/oauth-authorization-server/_host/oauth    (RFC 8414, section 3.1)
    http://proxy.localhost:PORT/                  the sandbox proxy: relays messages, holds the widget's frame
    http://{label}.widgets.localhost:PORT/        widgets; one origin a plugin, documents at path `/`

Nothing else is answered, so a plugin's own host `{label}.localhost` stays the gateway's. The app has no lifespan. Its
event streams end when the browser goes; run uvicorn with `timeout_graceful_shutdown=1` for a prompt stop.

Why three origins. A widget must not read the page that shows it, yet needs an origin of its own (localStorage) and a
URL with path `/` (BrowserRouter); its CSP has to be an HTTP header. The proxy in between is what the MCP Apps
specification asks of a web host: it is the only window the widget can talk to, and its own `frame-src` keeps the
widget from navigating itself elsewhere. All are below `localhost`, so they are same-site and storage works; mixing in
127.0.0.1 would break that.

The page itself talks to /mcp as any browser client would. The server part only does what a page can't: HTTP headers
for widgets (documents, policy), bytes of files (files), news of releases (events), an authorization server for
development (authorization), a picture of a widget (screenshots).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Host, Mount, Route
from starlette.types import Receive, Scope, Send

from tenantry_cli.host.documents import Documents
from tenantry_cli.host.events import stream
from tenantry_cli.host.files import Files
from tenantry_cli.host.pages import OwnOrigin, Pages
from tenantry_cli.host.screenshots import Screenshots

if TYPE_CHECKING:
    from tenantry_cli.host.authorization import Authorization

DIST = Path(__file__).parent / "dist"
OAUTH = "/_host/oauth"
WELL_KNOWN = f"/.well-known/oauth-authorization-server{OAUTH}"
DOCUMENT = "/_host/client.json"
FILE_SECONDS = 300.0  # a download URL's life: long enough to look at, short enough to notice that it expires

Plugins = Callable[[], Sequence[Mapping[str, Any]]]
Checks = Callable[[str, str], Sequence[Mapping[str, Any]]]
Events = Callable[[], AsyncIterator[Mapping[str, Any]]]
Kept = Callable[[str, str, str, Mapping[str, Any] | None], Awaitable[Mapping[str, Any] | None]]


def takes(scope: Scope) -> bool:
    """Whether this request is the local host's (see the module's table); everything else is the gateway's."""
    if scope["type"] != "http":
        return False
    host = _host(scope)
    if host == "proxy.localhost" or host.endswith(".widgets.localhost"):
        return True
    path: str = scope["path"]
    local = host in ("localhost", "127.0.0.1", "[::1]")
    return local and (path in ("/", WELL_KNOWN) or path == "/_host" or path.startswith("/_host/"))


def create_host(
    plugins: Plugins,
    *,
    checks: Checks | None = None,
    events: Events | None = None,
    kept: Kept | None = None,
    url: str | None = None,
    dist: Path = DIST,
    sign_ins: Path | None = None,
    file_seconds: float = FILE_SECONDS,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """The ASGI app of the local host.

    `plugins()` lists what is being served, anew at each call: {"tenant", "plugin", "release", "mcp_url", "host_url"},
    and where known "title", "kind" ("kit", or that of a server brought along), "secrets" (their names) and "examples"
    ([{"prompt", "tool", "arguments"}]); "problems" are the findings for which the last save did not publish, and
    "published": False says that none ever did. `checks(tenant, plugin)` gives the
    findings of `platform check`: {"severity", "rule", "message", "hint", "tool"?, "where"?, "frames"?}. `events()`
    starts one stream of {"event", "tenant", "plugin", ...}: "release" (also where "event" is left out) with the
    "release" that has become current, "refused" for a save that did not publish, "output" with the "tool", the
    "error_id", what it "printed" and its "traceback" (lines) of a call.
    `kept(tenant, plugin, tool, user)` gives what the tool finds in its documents now, {"shared", "state"}, for a user
    with these claims or nobody; None where that can't be known. `url`: an MCP
    endpoint elsewhere, shown instead of `plugins()` (`platform dev --url`). `sign_ins` is the file where the
    authorization server remembers who signed in. `file_seconds` is how long a download URL lives by `clock`.
    """
    pages = Pages(dist)
    documents = Documents(pages)
    files = Files(seconds=file_seconds, clock=clock)
    screenshots = Screenshots()

    async def state(_: Request) -> Response:
        served = [dict(plugin) for plugin in plugins()] if url is None else []
        return JSONResponse({"plugins": served, "url": url, "screenshots": screenshots.available()})

    def findings(request: Request) -> Response:
        tenant, plugin = request.query_params.get("tenant", ""), request.query_params.get("plugin", "")
        return JSONResponse([dict(f) for f in checks(tenant, plugin)] if checks and tenant and plugin else [])

    async def documents_now(request: Request) -> Response:
        asked = await request.json()
        found = await kept(asked["tenant"], asked["plugin"], asked["tool"], asked.get("user")) if kept else None
        return JSONResponse(found)

    async def news(request: Request) -> Response:
        return stream(request, events)

    async def to_localhost(request: Request) -> Response:
        return RedirectResponse(str(request.url.replace(hostname="localhost")), 308)

    @cache
    def authorization() -> Authorization:
        from tenantry_cli.host.authorization import Authorization  # a quarter of a second: only for who signs in
        from tenantry_cli.host.ledger import Ledger

        return Authorization(pages, OAUTH, ledger=Ledger(sign_ins), title=title)

    def title(resource: str) -> str:
        """A plugin's title by its MCP address, in either form."""
        listed = (p for p in plugins() if resource in (p.get("mcp_url"), p.get("host_url")))
        return next((str(p.get("title") or p["plugin"]) for p in listed), "")

    async def document(request: Request) -> Response:
        """The page as an OAuth client: its metadata, by whose address it is known (SEP-991)."""
        origin = f"{request.url.scheme}://{request.url.netloc}"
        return JSONResponse(
            {
                "client_id": f"{origin}{DOCUMENT}",
                "client_name": "the local ChatGPT",
                "redirect_uris": [f"{origin}/_host/callback"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }
        )

    async def metadata(request: Request) -> Response:
        return await authorization().metadata(request)

    async def oauth(scope: Scope, receive: Receive, send: Send) -> None:
        await authorization().app(scope, receive, send)

    page_routes: list[BaseRoute] = [
        Route("/", pages.page),
        Route(WELL_KNOWN, metadata),
        Mount(OAUTH, app=oauth),
        Mount("/_host/download", routes=files.download_routes),
        Mount(
            "/_host",
            routes=[
                Route("/state", state),
                Route("/checks", findings),
                Route("/events", news),
                Route("/kept", documents_now, methods=["POST"]),
                Route("/callback", pages.callback),
                Route(DOCUMENT.removeprefix("/_host"), document),
                Mount("/page", routes=[Route("/{path:path}", pages.asset)]),
                Route("/documents", documents.create, methods=["POST"]),
                Mount("/files", routes=files.routes),
                Mount("/screenshots", routes=screenshots.routes),
            ],
            middleware=[Middleware(OwnOrigin)],
        ),
    ]
    proxy_routes: list[BaseRoute] = [
        Route("/", pages.proxy),
        Route("/_host/page/{path:path}", pages.asset),
    ]
    return Starlette(
        routes=[
            Host("localhost", Starlette(routes=page_routes)),
            Host("proxy.localhost", Starlette(routes=proxy_routes)),
            Host("{label}.widgets.localhost", Starlette(routes=documents.routes)),
            Host("127.0.0.1", Starlette(routes=[Route("/{path:path}", to_localhost)])),
        ]
    )


def _host(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"host":
            host: str = value.decode("latin-1").lower()
            return host.rsplit(":", 1)[0] if ":" in host and not host.endswith("]") else host
    return ""
