"""Sealed notes: small JSON that leaves with a client and comes back unchanged, or not at all.

HMAC-SHA256 under a key that all environments share; what is sealed is bound to its purpose, to whom it was made for,
and to a time. Two notes exist: what only `initialize` says (the Mcp-Session-Id, an aid and never an authority), and
what a half-done call needs (requestState, which 2026-07-28 calls attacker-controlled). Nothing in them is secret to
the client that holds them, so they are signed and not encrypted; the standard library does it without an import's
cost.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from tenantry_registry.errors import PlatformError

KEY_BYTES = 32  # least length of a key: that of the hash


class Seal:
    """Seals and opens with `keys`: {key id: key}. The first seals, all open, so that keys rotate.

    Raises: PlatformError `seal.key`.
    """

    def __init__(self, keys: Mapping[str, bytes], *, now: Callable[[], float] = time.time) -> None:
        if not keys or any(len(key) < KEY_BYTES for key in keys.values()):
            raise PlatformError("seal.key", f"A sealing key needs {KEY_BYTES} bytes.", "Set TENANTRY_SEAL_KEYS.")
        self._keys = dict(keys)
        self._current = next(iter(self._keys))
        self._now = now

    def close(self, purpose: str, bound: str, data: Mapping[str, Any], *, seconds: int) -> str:
        """Seal `data` for `purpose`, only to be opened with the same `bound`, for `seconds` from now."""
        note = json.dumps([int(self._now()) + seconds, data], separators=(",", ":"), ensure_ascii=True).encode()
        return f"{self._current}.{_text(note)}.{_text(self._mark(self._current, purpose, bound, note))}"

    def open(self, purpose: str, bound: str, text: str) -> dict[str, Any] | None:
        """What was sealed, or None: foreign, tampered with, expired, or by a key that is gone."""
        kid, _, rest = text.partition(".")
        payload, _, mark = rest.partition(".")
        if kid not in self._keys:
            return None
        try:
            note, given = _bytes(payload), _bytes(mark)
        except ValueError:
            return None
        if not hmac.compare_digest(given, self._mark(kid, purpose, bound, note)):
            return None
        expires, data = json.loads(note)
        return data if expires > self._now() else None

    def _mark(self, kid: str, purpose: str, bound: str, note: bytes) -> bytes:
        message = b"\0".join((purpose.encode(), bound.encode(errors="surrogatepass"), note))
        return hmac.new(self._keys[kid], message, hashlib.sha256).digest()[:20]


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
