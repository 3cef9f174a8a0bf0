"""The two placeholders of a manifest and of compiled HTML, and how serving fills them.

The same release is served under several addresses (host form, path form, stages), and its hashes must not depend on
them. So manifests hold `manifest.ORIGIN` and `manifest.STORAGE`, and plain byte replacement puts the real values in.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from tenantry_registry.manifest import ORIGIN, STORAGE

_LISTED_STORAGE = f',"{STORAGE}"'.encode()
_STORAGE, _ORIGIN, _BASE = STORAGE.encode(), ORIGIN.encode(), f"{ORIGIN}/".encode()


def fill(data: bytes, base: str, storage: str = "") -> bytes:
    """Put the real addresses into HTML or compact JSON.

    `base` is the plugin's origin plus its path prefix, without a trailing slash; `storage` the origin that signed
    downloads are redirected to (empty: the plugin's own). Before a slash the origin's placeholder becomes `base`, so
    an asset's URL keeps the path prefix; alone it becomes the bare origin, which is what a CSP may name.
    """
    if _ORIGIN not in data:
        return data
    parts = urlsplit(base)
    origin = f"{parts.scheme}://{parts.netloc}"
    if storage and storage != origin:
        data = data.replace(_STORAGE, storage.encode())
    else:
        data = data.replace(_LISTED_STORAGE, b"").replace(_STORAGE, origin.encode())
    return data.replace(_BASE, f"{base}/".encode()).replace(_ORIGIN, origin.encode())
