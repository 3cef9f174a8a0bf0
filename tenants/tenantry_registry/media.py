"""Media types of what a plugin serves, and how each is encoded: a table of our own.

Python's table lacks woff2, webp and map, and the machine's may say anything; a wrong type blocks a script or a font
outright under `nosniff`. The encoding is chosen once, at compile time, because a stored object has one form: brotli
for what only a browser loads, gzip for what other programs read as well (image proxies, link previews), none for
what is already compressed.
"""

from __future__ import annotations

import gzip
import posixpath
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]

IMMUTABLE = "public, max-age=31536000, immutable"
COMPRESS_FROM = 1024  # bytes; below, headers outweigh the gain
WORTH = 0.9  # keep an encoding only when it saves a tenth
BROTLI_QUALITY = 5  # about 50 MB a second here; 11 would cost minutes on a tree of 50 MB
GZIP_LEVEL = 6
BROTLI, GZIP, NONE = "br", "gzip", ""


@dataclass(frozen=True, slots=True)
class Media:
    """One row: the Content-Type, the encoding it may be stored in, `sandbox` when it is served with
    `Content-Security-Policy: sandbox` (documents that could run scripts on the plugin's origin)."""

    type: str
    encoding: str = NONE
    sandbox: bool = False


UNKNOWN = Media("application/octet-stream")

_JS = Media("text/javascript; charset=utf-8", BROTLI)
_HTML = Media("text/html; charset=utf-8", BROTLI, sandbox=True)
_JSON = Media("application/json", GZIP)

TYPES: dict[str, Media] = {
    "aac": Media("audio/aac"),
    "apng": Media("image/apng"),
    "avif": Media("image/avif"),
    "bin": Media("application/octet-stream"),
    "bmp": Media("image/bmp", GZIP),
    "cjs": _JS,
    "css": Media("text/css; charset=utf-8", BROTLI),
    "csv": Media("text/csv; charset=utf-8", GZIP),
    "cur": Media("image/x-icon"),
    "data": Media("application/octet-stream"),
    "eot": Media("application/vnd.ms-fontobject"),
    "flac": Media("audio/flac"),
    "geojson": Media("application/geo+json", GZIP),
    "gif": Media("image/gif"),
    "glb": Media("model/gltf-binary", BROTLI),
    "gltf": Media("model/gltf+json", GZIP),
    "gz": Media("application/gzip"),
    "hdr": Media("image/vnd.radiance"),
    "heic": Media("image/heic"),
    "htm": _HTML,
    "html": _HTML,
    "ico": Media("image/x-icon", GZIP),
    "jpeg": Media("image/jpeg"),
    "jpg": Media("image/jpeg"),
    "js": _JS,
    "json": _JSON,
    "jsonld": Media("application/ld+json", GZIP),
    "jxl": Media("image/jxl"),
    "ktx2": Media("image/ktx2"),
    "m4a": Media("audio/mp4"),
    "map": _JSON,
    "md": Media("text/markdown; charset=utf-8", GZIP),
    "mid": Media("audio/midi"),
    "mjs": _JS,
    "mov": Media("video/quicktime"),
    "mp3": Media("audio/mpeg"),
    "mp4": Media("video/mp4"),
    "oga": Media("audio/ogg"),
    "ogg": Media("audio/ogg"),
    "ogv": Media("video/ogg"),
    "opus": Media("audio/ogg"),
    "otf": Media("font/otf", BROTLI),
    "pdf": Media("application/pdf"),
    "png": Media("image/png"),
    "svg": Media("image/svg+xml", GZIP, sandbox=True),
    "tif": Media("image/tiff"),
    "tiff": Media("image/tiff"),
    "ttc": Media("font/collection", BROTLI),
    "ttf": Media("font/ttf", BROTLI),
    "txt": Media("text/plain; charset=utf-8", GZIP),
    "vtt": Media("text/vtt; charset=utf-8", GZIP),
    "wasm": Media("application/wasm", BROTLI),
    "wav": Media("audio/wav"),
    "weba": Media("audio/webm"),
    "webm": Media("video/webm"),
    "webmanifest": Media("application/manifest+json", GZIP),
    "webp": Media("image/webp"),
    "woff": Media("font/woff"),
    "woff2": Media("font/woff2"),
    "xhtml": Media("application/xhtml+xml", GZIP, sandbox=True),
    "xml": Media("application/xml", GZIP, sandbox=True),
    "zip": Media("application/zip"),
}


def media(path: str) -> Media:
    """The row for a file, by the ending of its name; UNKNOWN where the table has none."""
    ending = posixpath.splitext(path)[1][1:].lower()
    return TYPES.get(ending, UNKNOWN)


def encode(data: bytes, kind: Media) -> tuple[bytes, str]:
    """`data` as it is stored, and its Content-Encoding ("" where plain bytes are as good)."""
    if kind.encoding == NONE or len(data) < COMPRESS_FROM:
        return data, NONE
    if kind.encoding == BROTLI:
        small = brotli.compress(data, quality=BROTLI_QUALITY)
    else:
        small = gzip.compress(data, GZIP_LEVEL, mtime=0)
    return (small, kind.encoding) if len(small) <= WORTH * len(data) else (data, NONE)


def decode(data: bytes, encoding: str) -> bytes:
    """The plain bytes of what `encode` stored, for a client that does not take the encoding."""
    if encoding == BROTLI:
        plain: bytes = brotli.decompress(data)
        return plain
    return gzip.decompress(data) if encoding == GZIP else data
