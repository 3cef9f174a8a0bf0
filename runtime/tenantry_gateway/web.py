"""HTTP: addresses, verbs, CORS and rebinding protection around the protocol, and the plugin's other documents.

`Web` is one function from a request to a response; `asgi.py` is its ASGI shell. A browser's preflight is answered
before anything else; a host that is not exactly ours has no plugin behind it (404); a page of a foreign web origin
may not call the MCP address (403; MCP transports, Security Warning).
"""

from __future__ import annotations

import re
import secrets
import traceback
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from tenantry_registry.domains import CHALLENGE, RESOURCE, from_edge
from tenantry_registry.errors import PlatformError

from tenantry_gateway import dispatch
from tenantry_gateway.assets import Assets
from tenantry_gateway.request import JSON_TYPE, Request, Response
from tenantry_gateway.route import Site, Sites
from tenantry_gateway.turn import Answer, Desk
from tenantry_gateway.wellknown import Pages, missing
from tenantry_gateway.wire import INTERNAL_ERROR, INVALID_REQUEST, Refusal, failure

BODY_BYTES: Final = 4_194_304  # of a request: the official server's own bound, below Lambda's once it is base64
ALLOWED_HEADERS: Final = (
    "accept, authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"
)
EXPOSED_HEADERS: Final = "Mcp-Session-Id, WWW-Authenticate, X-Mcp-Challenge"
PREFLIGHT_SECONDS: Final = "7200"  # the longest that Chromium keeps one
HEADER_NAMES: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,2000}")
LOCAL_ORIGIN: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\]|[a-z0-9.-]+\.localhost)(?::\d{1,5})?")

Page = Callable[[Request, Site], Awaitable[Response]]


class Web:
    """All that the gateway answers. `origins` are web origins that may call MCP addresses besides a plugin's own;
    `local` lets pages on this machine do so, too (development)."""

    def __init__(
        self, desk: Desk, sites: Sites, pages: Pages, *, origins: Iterable[str], local: bool, origin_secret: str = ""
    ) -> None:
        self._desk = desk
        self._sites = sites
        self._origins = frozenset(origins)
        self._local = local
        self._secret = origin_secret
        self._assets = Assets(desk.objects, desk.shelf)
        self._pages: dict[str, Page] = {
            "": pages.front,
            "/": pages.front,
            CHALLENGE: pages.challenge,
            RESOURCE: pages.protected_resource,
            RESOURCE + "/mcp": pages.protected_resource,
        }
        self._below: tuple[tuple[str, Page], ...] = (("/assets/", self._assets), ("/files/", pages.file))

    async def __call__(self, request: Request) -> Response:
        """Answer anything. Never raises."""
        try:
            return await self._answer(request)
        except Answer as answer:
            return answer.response
        except PlatformError as error:
            return dispatch.whole_error(self._desk, error)
        except Exception:
            error_id = secrets.token_hex(6)
            self._desk.log("fault", status=500, error_id=error_id, path=request.path, traceback=traceback.format_exc())
            refusal = Refusal(INTERNAL_ERROR, f"The platform failed (error {error_id}).", {"error_id": error_id})
            return Response(500, failure(refusal, None), JSON_TYPE)

    async def _answer(self, request: Request) -> Response:
        host = self._host(request)
        site = self._sites.find(host, request.path)
        mcp = site is not None and site.rest in ("/mcp", "/mcp/")
        origin = request.headers.get("origin")
        trusted = origin is None or site is None or self._trusts(origin, site)
        if request.method == "OPTIONS":
            return self._preflight(request, origin if mcp and trusted else None, mcp)
        if site is None:
            return missing()
        if not mcp:
            return await self._page(request, site)
        if not trusted:
            refusal = Refusal(INVALID_REQUEST, "Pages of this web origin may not call this server.")
            return Response(403, failure(refusal, None), JSON_TYPE)
        response = await self._mcp(request, site)
        if origin is not None:
            response.headers += [
                ("access-control-allow-origin", origin),
                ("access-control-expose-headers", EXPOSED_HEADERS),
                ("vary", "Origin"),
            ]
        return response

    async def _mcp(self, request: Request, site: Site) -> Response:
        if request.method == "POST":
            return await dispatch.post(self._desk, request, site)
        response = None
        if request.method == "GET" and "last-event-id" in request.headers:
            response = await dispatch.get(self._desk, request, site)
        if response is None:
            refusal = Refusal(INVALID_REQUEST, f"{request.method[:20]} is not served here: use POST.")
            response = Response(405, failure(refusal, None), JSON_TYPE, [("allow", "POST, OPTIONS")])
        return response

    async def _page(self, request: Request, site: Site) -> Response:
        page = self._pages.get(site.rest)
        if page is None:
            page = next((below for start, below in self._below if site.rest.startswith(start)), None)
        if page is None:
            return missing()
        if request.method not in ("GET", "HEAD"):
            return Response(405, headers=[("allow", "GET, HEAD, OPTIONS")])
        return await page(request, site)

    def _preflight(self, request: Request, origin: str | None, mcp: bool) -> Response:
        """CORS for the MCP address to trusted origins, for everything else to anyone."""
        asked = request.headers.get("access-control-request-headers", "")
        headers = [("allow", "POST, OPTIONS" if mcp else "GET, HEAD, OPTIONS"), ("vary", "Origin")]
        if origin is not None or not mcp:
            headers += [
                ("access-control-allow-origin", origin or "*"),
                ("access-control-allow-methods", "GET, POST, OPTIONS" if mcp else "GET, HEAD, OPTIONS"),
                ("access-control-allow-headers", asked if HEADER_NAMES.fullmatch(asked) else ALLOWED_HEADERS),
                ("access-control-max-age", PREFLIGHT_SECONDS),
            ]
        return Response(204, headers=headers)

    def _host(self, request: Request) -> str:
        forwarded = request.headers.get("x-forwarded-host")
        if forwarded and from_edge(request.headers, self._secret):
            return forwarded.lower()
        return request.host

    def _trusts(self, origin: str, site: Site) -> bool:
        own = site.place.own_host and origin == site.place.origin
        return own or origin in self._origins or (self._local and LOCAL_ORIGIN.fullmatch(origin) is not None)
