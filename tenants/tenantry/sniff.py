"""Media types from the first bytes: what a file is, whatever it is called. Types a plugin is likely to meet."""

from __future__ import annotations

NEEDED = 512  # bytes to look at

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (0, b"wOF2", "font/woff2"),
    (0, b"\x00asm", "application/wasm"),
)
_MARKUP = (
    (b"<!doctype html", "text/html"),
    (b"<html", "text/html"),
    (b"<svg", "image/svg+xml"),
    (b"<?xml", "text/xml"),
)


def media_type(data: bytes) -> str:
    """What `data` (its first 512 bytes suffice) is: a known signature, text/plain for UTF-8 text, else
    application/octet-stream. JSON and CSV are text/plain: they have no signature."""
    head = data[:NEEDED]
    for offset, magic, name in _MAGIC:
        if head.startswith(magic, offset):
            return name
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for magic, name in _MARKUP:
        if start.startswith(magic):
            return "image/svg+xml" if name == "text/xml" and b"<svg" in start else name
    return "text/plain" if _is_text(head) else "application/octet-stream"


def _is_text(head: bytes) -> bool:
    if b"\x00" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # the cut may have gone through a character
        return len(head) == NEEDED and error.start >= NEEDED - 3
    return True


def matches(actual: str, accepted: str) -> bool:
    """Whether `actual` is `accepted`, which may end in "/*"."""
    return actual == accepted or (accepted.endswith("/*") and actual.startswith(accepted[:-1]))
