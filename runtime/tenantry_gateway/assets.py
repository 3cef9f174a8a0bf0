"""Files that widgets load: `/assets/{tree}/{path}`, immutable below their tree's hash.

On AWS, CloudFront reads them from S3 itself; this is the same answer for one machine and for what slips by. An asset
is stored in one encoding; a client that does not take it gets it decoded. HTML and SVG may not run as documents of
the plugin's origin, so they carry `Content-Security-Policy: sandbox`.
"""

from __future__ import annotations

import gzip
import re
from typing import Final

from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Download, Objects, Stored

from tenantry_gateway.request import Request, Response
from tenantry_gateway.route import Site
from tenantry_gateway.shelf import Shelf

ADDRESS: Final = re.compile(r"/assets/([0-9a-f]{8,64})/(.+)")
RANGE: Final = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
DOCUMENTS: Final = ("text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml")
INLINE_BYTES: Final = 4_194_304  # answered here; what is larger would not fit Lambda in base64 and is redirected
REDIRECT_SECONDS: Final = 300
CACHE: Final = "public, max-age=31536000, immutable"


class Assets:
    """Serves assets from `objects`."""

    def __init__(self, objects: Objects, shelf: Shelf) -> None:
        self._objects = objects
        self._shelf = shelf

    async def __call__(self, request: Request, site: Site) -> Response:
        """GET and HEAD of one asset. Raises: PlatformError `plugin.unknown`, `plugin.suspended`; StorageDown."""
        found = ADDRESS.fullmatch(site.rest)
        await self._shelf.pointer(site.name)
        if found is None:
            return _missing()
        key = f"site/{site.name.tenant}/{site.name.plugin}/{found[1]}/{found[2]}"
        try:
            stored = await self._objects.get(key)
        except PlatformError as error:
            if error.code == "objects.key":  # a path that no key can be
                return _missing()
            raise
        if stored is None:
            return _missing()
        if len(stored.data) > INLINE_BYTES:
            signed = await self._objects.sign(key, Download(REDIRECT_SECONDS, method=request.method))
            return Response(302, headers=[*_shared(), ("location", signed.url), ("cache-control", "no-store")])
        return _answer(request, stored)


def _answer(request: Request, stored: Stored) -> Response:
    kind, data, etag = stored.kind, stored.data, f'"{stored.version}"'
    headers = [*_shared(), ("accept-ranges", "bytes"), ("cache-control", kind.cache_control or CACHE)]
    if kind.content_encoding:
        headers.append(("vary", "Accept-Encoding"))
        if kind.content_encoding in _accepted(request):
            headers.append(("content-encoding", kind.content_encoding))
        else:
            data, etag = _decoded(data, kind.content_encoding), f'"{stored.version}-plain"'
    headers.append(("etag", etag))
    if kind.content_type.partition(";")[0].strip() in DOCUMENTS:
        headers.append(("content-security-policy", "sandbox"))
    if _same(request.headers.get("if-none-match"), etag):
        return Response(304, headers=headers)
    part = byte_range(request, etag, len(data))
    if part is None:
        return _bodied(request, 200, data, kind.content_type, headers)
    start, end = part
    if start >= end:
        return Response(416, headers=[*headers, ("content-range", f"bytes */{len(data)}")])
    headers.append(("content-range", f"bytes {start}-{end - 1}/{len(data)}"))
    return _bodied(request, 206, data[start:end], kind.content_type, headers)


def _bodied(request: Request, status: int, data: bytes, mime: str, headers: list[tuple[str, str]]) -> Response:
    if request.method == "HEAD":
        return Response(status, b"", mime, [*headers, ("content-length", str(len(data)))])
    return Response(status, data, mime, headers)


def _shared() -> list[tuple[str, str]]:
    return [
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", "ETag, Content-Range, Accept-Ranges"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
    ]


def _missing() -> Response:
    return Response(
        404, b"There is no such asset.", "text/plain; charset=utf-8", [*_shared(), ("cache-control", "no-store")]
    )


def _accepted(request: Request) -> set[str]:
    """The encodings a client takes (RFC 9110, section 12.5.3), without the order of preference."""
    taken = set()
    for part in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.partition(";")
        if quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            taken.add(name.strip())
    return {"br", "gzip"} | taken if "*" in taken else taken


def _decoded(data: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(data)
    import brotli  # type: ignore[import-untyped]  # only for a client without it: none of today's browsers

    return bytes(brotli.decompress(data))


def _same(header: str | None, etag: str) -> bool:
    """If-None-Match, compared weakly (RFC 9110, section 13.1.2)."""
    if header is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag in tags


def byte_range(request: Request, etag: str, size: int) -> tuple[int, int] | None:
    """(start, end) of a single range, (n, n) where it can't be satisfied, None where the whole is to be sent."""
    found = RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    condition = request.headers.get("if-range")
    if found is None or (condition is not None and condition != etag):
        return None
    first, last = found[1], found[2]
    if not first and not last:
        return None
    if not first:
        return (max(size - int(last), 0), size) if int(last) else (size, size)
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else (int(first), end)
