"""Signed links to files that tools made: `{plugin's address}/files/{token}/{name}`.

A link says only that its holder may have this file until then; it outlives the role that made it, which a presigned
address would not (field report R76). The gateway verifies it and redirects to a short presigned one. The token is
`{kid}.{file id}.{expiry}.{mac}`; the HMAC-SHA256 covers those, the file's name and the plugin's own address, so that a
link shown at another host or path is nobody's. Keys lie in `keys/links.json`, are made once and rotate by kid: an
old one verifies until its last link has expired.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.files import FILE_ID, file_key
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.sigv4 import MAX_SECONDS

KEY = "keys/links.json"
FRESH_SECONDS = 60.0  # how long keys are kept in memory
EAGER_SECONDS = 2.0  # a kid we don't know is looked for again at most this often, whoever makes them up
TOKEN = re.compile(rf"([0-9a-f]{{8}})\.({FILE_ID.pattern})\.([0-9]{{1,12}})\.([A-Za-z0-9_-]{{43}})")


class Ring(NamedTuple):
    """The keys by kid; `current` signs. `retired` says since when a key no longer does (seconds since the epoch)."""

    current: str
    keys: Mapping[str, bytes]
    retired: Mapping[str, float]

    def to_json(self) -> bytes:
        keys = {kid: base64.b64encode(key).decode() for kid, key in self.keys.items()}
        return json.dumps({"current": self.current, "keys": keys, "retired": dict(self.retired)}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Ring:
        raw = json.loads(data)
        keys = {kid: base64.b64decode(key) for kid, key in raw["keys"].items()}
        return cls(raw["current"], keys, raw["retired"])


async def rotate(objects: Objects, *, now: Callable[[], float] = time.time) -> None:
    """Sign with a new key from now on, and forget those whose last link has expired. Makes the first one, too.

    Raises: Conflict when somebody else rotates at the same moment; StorageDown.
    """
    stored, kid = await objects.get(KEY), secrets.token_hex(4)
    old = Ring.from_json(stored.data) if stored else Ring(kid, {}, {})
    retired = {k: t for k, t in old.retired.items() if now() - t <= MAX_SECONDS}
    if stored:
        retired[old.current] = now()
    keys = {k: key for k, key in old.keys.items() if k in retired}
    ring = Ring(kid, {**keys, kid: secrets.token_bytes(32)}, retired)
    await objects.swap(KEY, ring.to_json(), expected=stored.version if stored else None)


async def ensure(objects: Objects) -> None:
    """Make the first key when there is none. Raises: StorageDown."""
    if await objects.get(KEY) is None:
        try:
            await rotate(objects)
        except Conflict:
            return  # another process just made it


class Links:
    """Makes and opens links with the keys in `objects`. `now` is the clock."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.time) -> None:
        self._objects, self._now = objects, now
        self._ring: Ring | None = None
        self._read = 0.0

    async def make(self, base: str, file_id: str, filename: str, seconds: int) -> str:
        """A link for `seconds` (at most 7 days) below `base`, the plugin's own address, as a token.

        Raises: PlatformError `link.no-keys`; StorageDown."""
        ring = await self._keys()
        if ring is None:
            raise PlatformError(
                "link.no-keys", "There are no keys for links yet.", "Deploy, or start the server again."
            )
        until = int(self._now()) + min(seconds, MAX_SECONDS)
        return f"{ring.current}.{file_id}.{until}.{_mac(ring.keys[ring.current], base, file_id, until, filename)}"

    async def open(self, base: str, name: Name, token: str, filename: str) -> str:
        """The key of the file that a link at `base`, the address of plugin `name`, leads to.

        Raises: PlatformError `link.invalid` (HTTP 403), `link.expired` (410); StorageDown."""
        found = TOKEN.fullmatch(token)
        if not found:
            raise _invalid()
        kid, file_id, until, mac = found[1], found[2], int(found[3]), found[4]
        ring = await self._keys()
        if (ring is None or kid not in ring.keys) and self._now() - self._read > EAGER_SECONDS:
            ring = await self._keys(fresh=True)
        key = ring.keys.get(kid) if ring else None
        if key is None or not hmac.compare_digest(_mac(key, base, file_id, until, filename), mac):
            raise _invalid()
        if self._now() >= until:
            raise PlatformError("link.expired", "This link has expired.", "Ask the tool for a new one.")
        return file_key(name, file_id, filename)

    async def _keys(self, *, fresh: bool = False) -> Ring | None:
        if fresh or self._ring is None or self._now() - self._read > FRESH_SECONDS:
            stored = await self._objects.get(KEY)
            self._read = self._now()
            self._ring = Ring.from_json(stored.data) if stored else None
        return self._ring


def _mac(key: bytes, base: str, file_id: str, until: int, filename: str) -> str:
    text = "\n".join([base, file_id, str(until), filename.encode("utf-8", "replace").hex()])
    return base64.urlsafe_b64encode(hmac.new(key, text.encode(), "sha256").digest()).rstrip(b"=").decode()


def _invalid() -> PlatformError:
    return PlatformError("link.invalid", "This link is not one of ours.", "Ask the tool for a new one.")
