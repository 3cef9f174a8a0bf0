"""The plugin's other documents: verification, sign-in metadata, its front page, and links to files."""

from __future__ import annotations

import html
import json
from functools import cache
from importlib.resources import files
from typing import Final

from tenantry_registry.errors import PlatformError
from tenantry_registry.links import Links
from tenantry_registry.objects import Download

from tenantry_gateway import signin
from tenantry_gateway.request import JSON_TYPE, Request, Response
from tenantry_gateway.route import Site
from tenantry_gateway.turn import Desk

DOWNLOAD_SECONDS: Final = 300  # of the presigned address that a link leads to: long enough to begin
LINK_STATUS: Final = {"link.invalid": 403, "link.expired": 410, "file.unknown": 403}
TEXT: Final = "text/plain; charset=utf-8"
OPEN: Final = (("access-control-allow-origin", "*"), ("x-content-type-options", "nosniff"))
FRONT_PAGE_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class Pages:
    """Answers GET and HEAD of everything but the MCP address and assets."""

    def __init__(self, desk: Desk, links: Links) -> None:
        self._desk = desk
        self._links = links

    async def challenge(self, request: Request, site: Site) -> Response:
        """Row P01: the plugin's token alone, or 404. Only a host that is the plugin's alone can answer."""
        token = (await self._desk.shelf.pointer(site.name)).challenge if site.place.own_host else ""
        if not token:
            return missing()
        return Response(200, token.encode(), TEXT, [*OPEN, ("cache-control", "no-store")])

    async def protected_resource(self, request: Request, site: Site) -> Response:
        """RFC 9728: which authorization server this plugin trusts."""
        manifest = (await self._desk.shelf.edition(site)).manifest
        if not manifest.auth:
            return missing()
        title = str(manifest.server.get("title") or manifest.server.get("name") or manifest.plugin)
        document = signin.protected_resource(manifest.auth, site.resource, title)
        return Response(200, json.dumps(document).encode(), JSON_TYPE, [*OPEN, ("cache-control", "max-age=60")])

    async def file(self, request: Request, site: Site) -> Response:
        """A signed link: checked here, then on to storage. A file never passes through this process."""
        await self._desk.shelf.pointer(site.name)
        _, _, rest = site.rest.partition("/files/")
        token, _, filename = rest.partition("/")
        headers = [*OPEN, ("cache-control", "no-store")]
        try:
            key = await self._links.open(site.place.base, site.name, token, filename)
        except PlatformError as error:
            if error.code not in LINK_STATUS:
                raise
            return Response(LINK_STATUS[error.code], error.message.encode(), TEXT, headers)
        access = Download(DOWNLOAD_SECONDS, name=filename, method=request.method)
        signed = await self._desk.objects.sign(key, access)
        return Response(302, headers=[*headers, ("location", signed.url)])

    async def front(self, request: Request, site: Site) -> Response:
        """How to connect: for people who open the address in a browser."""
        manifest = (await self._desk.shelf.edition(site)).manifest
        server = manifest.server
        values = {
            "title": str(server.get("title") or server.get("name") or manifest.plugin),
            "description": str(server.get("description") or ""),
            "name": manifest.plugin,
            "mcp_url": site.resource,
            "tools": str(len(manifest.tools)),
            "release": manifest.digest[:12],
        }
        page = front_page()
        for key, value in values.items():
            page = page.replace("{{" + key + "}}", html.escape(value, quote=True))
        headers = [
            ("content-security-policy", FRONT_PAGE_POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ]
        return Response(200, page.encode(), "text/html; charset=utf-8", headers)


def missing() -> Response:
    return Response(404, b"There is nothing at this address.", TEXT, [*OPEN, ("cache-control", "no-store")])


@cache
def front_page() -> str:
    return files("tenantry_gateway").joinpath("front.html").read_text("utf-8")
