"""Signed addresses of a folder's objects: what S3's presigned GET and POST policy are, for one machine.

`{origin}/_objects/{key}?grant=...&signature=...` for a GET or HEAD; `{origin}/_objects/` with the form fields `key`,
`Content-Type`, `grant`, `signature` and then the file for a POST. The grant is JSON (base64url), the signature its
HMAC-SHA256 under a key that lies in the store's folder, readable by its owner only. The gateway serves the route and
asks `verify`, which trusts nothing but the signature.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Download, Signed, Upload
from tenantry_registry.sigv4 import MAX_SECONDS

ROUTE = "/_objects/"
KEY_BYTES = 32  # of an HMAC-SHA256 key: as long as the hash (RFC 2104, section 3)


class Grant(NamedTuple):
    """What a signed address allows: one `method` on one `key`, until `until` (seconds since the epoch).

    For GET and HEAD, `name` and `content_type` say how it is handed out (empty: as stored). For POST, the type is
    what is stored, and the size must lie between `min_bytes` and `max_bytes`.
    """

    method: str
    key: str
    until: float
    content_type: str = ""
    name: str = ""
    min_bytes: int = 0
    max_bytes: int = 0


class Signer:
    """Signs and verifies with the key in the file at `path`, which is made when there is none. `now`: the clock."""

    def __init__(self, origin: str, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._origin, self._now, self._key = origin.rstrip("/"), now, key_file(path)

    def sign(self, key: str, access: Download | Upload) -> Signed:
        until = self._now() + min(access.expires, MAX_SECONDS)
        if isinstance(access, Upload):
            grant = Grant("POST", key, until, access.content_type, "", access.min_bytes, access.max_bytes)
            text, signature = self._seal(grant)
            fields = {"key": key, "Content-Type": access.content_type, "grant": text, "signature": signature}
            return Signed(self._origin + ROUTE, fields)
        text, signature = self._seal(Grant(access.method, key, until, access.content_type, access.name))
        return Signed(f"{self._origin}{ROUTE}{quote(key)}?grant={text}&signature={signature}")

    def verify(self, method: str, url: str, fields: Mapping[str, str] | None = None) -> Grant:
        """What the request `method url` may do; `fields` are the form's fields of a POST. The host is not looked at.

        Raises: PlatformError `link.invalid` (never signed, or not for this), `link.expired`.
        """
        parts = urlsplit(url)
        if fields is None:
            query = parse_qs(parts.query)
            fields = {name: values[0] for name, values in query.items()}
        text, signature = fields.get("grant", ""), fields.get("signature", "")
        if not hmac.compare_digest(self._hmac(text).encode(), signature.encode()):
            raise PlatformError("link.invalid", "This link is not one of ours.")
        grant = Grant(**json.loads(base64.urlsafe_b64decode(text)))
        if grant.method == "POST":
            fits = fields.get("key") == grant.key and fields.get("Content-Type") == grant.content_type
        else:
            fits = parts.path == ROUTE + quote(grant.key)
        if not fits or method != grant.method:
            raise PlatformError("link.invalid", "This link is for something else.")
        if self._now() >= grant.until:
            raise PlatformError("link.expired", "This link has expired.", "Ask for a new one.")
        return grant

    def _seal(self, grant: Grant) -> tuple[str, str]:
        text = base64.urlsafe_b64encode(json.dumps(grant._asdict()).encode()).decode()
        return text, self._hmac(text)

    def _hmac(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()


def key_file(path: Path, size: int = KEY_BYTES) -> bytes:
    """The random key in the file at `path`; made, readable by its owner only, when there is none.

    Two processes that make it at once agree on one. Raises: OSError.
    """
    with suppress(FileNotFoundError):
        return path.read_bytes()
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(size))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)  # fails where a key stands: the first one wins
    finally:
        draft.unlink()
    return path.read_bytes()
