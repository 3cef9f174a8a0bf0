"""Secrets of plugins: written by their owners, read by nobody but the plugin's own sandbox.

`secrets/{tenant}/{plugin}/{NAME}`, one object each. On AWS they are encrypted by S3 under a KMS key of their own
(S3Objects with `kms_key`), and control's role may encrypt with it but not decrypt: what was set can't be read back. On
one machine a key file takes its place: AES-256-GCM, bound to the object's key, so that one secret can't be put in
another's place. `Drawer` writes, `Reader` reads; no room holds both. A secret goes to previews only where its owner
said so: a preview may be anybody's draft.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.names import Name
from tenantry_registry.objects import ANY, Kind, Objects
from tenantry_registry.objects_grant import key_file

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
RESERVED = re.compile(  # names by which an environment is run; a secret must not change how the code is started
    r"(AWS|LAMBDA|PYTHON|LD|DYLD|TENANTRY)_.*|PYTHON[A-Z]*|PATH|HOME|TMPDIR|TZ|LANG|LC_.*|(HTTPS?|ALL|NO)_PROXY"
)
VALUE_BYTES = 32_768  # of one value: all of a plugin's travel with every call
SECONDS = 60.0  # that a value is kept in memory on AWS: reading costs a KMS request each
PLUGINS = 200  # whose secrets are kept in memory
SEALED = Kind("application/octet-stream")


class Cipher(Protocol):
    """Keeps bytes from who can read the store. `place` is bound to them: sealed there, opened there only."""

    def seal(self, data: bytes, place: str) -> bytes: ...

    def open(self, sealed: bytes, place: str) -> bytes: ...


class KeyFileCipher:
    """AES-256-GCM under the key in the file at `path`, which is made, private to its owner, when there is none.

    Raises: StorageDown when the file can't be used; PlatformError `secret.sealed` for what another key sealed.
    """

    MARK = b"TNS1"
    NONCE_BYTES = 12  # NIST SP 800-38D, section 8.2.2: random nonces for far fewer than 2**32 secrets

    def __init__(self, path: Path) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._aead = AESGCM(key_file(path))
        except (OSError, ValueError) as error:
            raise StorageDown(f"The key file of secrets can't be used ({type(error).__name__}).") from error

    def seal(self, data: bytes, place: str) -> bytes:
        nonce = os.urandom(self.NONCE_BYTES)
        return self.MARK + nonce + self._aead.encrypt(nonce, data, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        mark, nonce, body = sealed[:4], sealed[4 : 4 + self.NONCE_BYTES], sealed[4 + self.NONCE_BYTES :]
        try:
            if mark != self.MARK:
                raise InvalidTag
            return self._aead.decrypt(nonce, body, place.encode())
        except (InvalidTag, ValueError):
            raise PlatformError(
                "secret.sealed", "A secret was sealed with another key file.", "Restore the key file, or set it again."
            ) from None


class Drawer:
    """Where secrets are put: set, named, removed; never read. `cipher` is None where storage itself encrypts."""

    def __init__(self, objects: Objects, cipher: Cipher | None) -> None:
        self._objects, self._cipher = objects, cipher

    async def put(
        self, name: Name, secret: str, value: str, *, previews: bool = False, most: int | None = None
    ) -> None:
        """Set a secret. `previews`: previews get it, too. `most`: how many the plugin may have.

        Raises: PlatformError `secret.name`, `secret.value`, `secret.too-many`; StorageDown.
        """
        key = secret_key(name, secret)
        if "\0" in value or not 0 < len(value.encode("utf-8", "surrogatepass")) <= VALUE_BYTES or not _is_utf8(value):
            raise PlatformError(
                "secret.value", f"The value of {secret} can not be used.", f"Use 1 to {VALUE_BYTES} bytes of text."
            )
        if most is not None:
            others = [other for other in await self.names(name) if other != secret]
            if len(others) >= most:
                raise PlatformError("secret.too-many", f"{name} may have {most} secrets.", "Remove one first.")
        data = json.dumps({"value": value, "previews": previews}).encode()
        sealed = self._cipher.seal(data, key) if self._cipher else data
        await self._objects.swap(key, sealed, expected=ANY, kind=SEALED)

    async def names(self, name: Name) -> list[str]:
        """The names of a plugin's secrets, in order. Raises: StorageDown."""
        return [listed.key.rpartition("/")[2] async for listed in self._objects.list(_folder(name))]

    async def remove(self, name: Name, secret: str) -> None:
        """Remove a secret, older values too; nothing happens where there is none.

        Raises: PlatformError `secret.name`; StorageDown."""
        await self._objects.delete(secret_key(name, secret), all_versions=True)


class Reader:
    """Reads secrets for a plugin's sandbox. `seconds` says how long values are kept in memory."""

    def __init__(
        self,
        objects: Objects,
        cipher: Cipher | None,
        *,
        seconds: float = SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects, self._cipher, self._seconds, self._now = objects, cipher, seconds, now
        self._kept: OrderedDict[tuple[Name, str], tuple[float, Mapping[str, object] | None]] = OrderedDict()

    async def read(self, name: Name, wanted: Iterable[str], *, preview: bool = False) -> dict[str, str]:
        """The values of those `wanted` that are set; for a `preview`, of those its owner lets previews have.

        Raises: PlatformError `secret.name`, `secret.sealed`; StorageDown.
        """
        secrets = list(dict.fromkeys(wanted))
        found = await asyncio.gather(*(self._one(name, secret) for secret in secrets))
        return {
            secret: str(raw["value"])
            for secret, raw in zip(secrets, found, strict=True)
            if raw is not None and (raw["previews"] or not preview)
        }

    async def _one(self, name: Name, secret: str) -> Mapping[str, object] | None:
        place, key = (name, secret), secret_key(name, secret)
        read, raw = self._kept.get(place, (float("-inf"), None))
        if self._now() - read < self._seconds:
            self._kept.move_to_end(place)
            return raw
        stored = await self._objects.get(key)
        raw = None
        if stored is not None:
            raw = json.loads(self._cipher.open(stored.data, key) if self._cipher else stored.data)
        self._kept[place] = (self._now(), raw)
        self._kept.move_to_end(place)
        if len(self._kept) > PLUGINS * 10:
            self._kept.popitem(last=False)
        return raw


def secret_key(name: Name, secret: str) -> str:
    """Where a secret is kept. Raises: PlatformError `secret.name`."""
    if not NAME.fullmatch(secret) or RESERVED.fullmatch(secret):
        raise PlatformError(
            "secret.name",
            f"{secret[:80]!r} can not be a secret's name.",
            "Use A-Z, 0-9 and underscores, and none that the system uses itself.",
        )
    return _folder(name) + secret


def _folder(name: Name) -> str:
    return f"secrets/{name.tenant}/{name.plugin}/"


def _is_utf8(value: str) -> bool:
    return not any(0xD800 <= ord(c) < 0xE000 for c in value)
