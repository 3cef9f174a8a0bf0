"""ctx.state and ctx.shared: two JSON documents that are carried with a call and written back by compare-and-set.

A reply says what it set, deleted and read. When somebody else wrote meanwhile, the patch goes onto the fresh document
if none of the keys it touched changed; otherwise the call runs again on the fresh document (`Stale`).

A preview has documents of its own, which nobody reads when it is over and the next prune removes: it may be anybody's
draft, and what a draft writes is not for the users of the plugin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.objects import Objects, Stored, move
from tenantry_registry.registry import previews_folder, state_folder

from tenantry_gateway.route import Site
from tenantry_gateway.turn import User
from tenantry_gateway.wire import dump

DOCUMENT_BYTES: Final = 262_144  # of one document; it travels with every call (design section 3)
ATTEMPTS: Final = 5  # of writing one patch, and of running one call


class Stale(Exception):
    """What the call read has changed since: run it again."""


class Document(NamedTuple):
    """A document as read: `version` is None where nothing stands yet."""

    key: str
    version: str | None
    values: dict[str, Any]


async def load(objects: Objects, key: str) -> Document:
    """Read it; an empty one where nothing stands. Raises: StorageDown."""
    stored = await objects.get(key)
    return Document(key, stored.version if stored is not None else None, _values(stored))


async def save(objects: Objects, document: Document, patch: Mapping[str, Any]) -> None:
    """Write `patch` ({"set", "delete", "read"}) onto `document`, or onto what stands there now if that is sound.

    Raises: Stale; PlatformError `state.too-large`, `state.contended`; StorageDown.
    """
    changes, gone = patch.get("set") or {}, patch.get("delete") or ()
    if not document.key or (not changes and not gone):  # no key: of a call that was given no document
        return

    def decide(values: dict[str, Any]) -> dict[str, Any]:
        if values is not document.values and touched(document.values, values, patch):
            raise Stale
        return {key: value for key, value in values.items() if key not in gone} | changes

    try:
        await move(
            objects,
            document.key,
            read=_values,
            decide=decide,
            write=_data,
            what="The document",
            known=(document.values, document.version),
            prove=True,
            rounds=ATTEMPTS,
        )
    except Conflict:
        raise contended() from None


def _values(stored: Stored | None) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(stored.data) if stored is not None else {}
    return values


def _data(values: Mapping[str, Any]) -> bytes:
    data = dump(values)
    if len(data) > DOCUMENT_BYTES:
        raise PlatformError(
            "state.too-large",
            f"The document would have {len(data)} bytes; it may have {DOCUMENT_BYTES}.",
            "Keep less in ctx.state and ctx.shared; put large data into files or a database of your own.",
        )
    return data


def touched(before: Mapping[str, Any], now: Mapping[str, Any], patch: Mapping[str, Any]) -> bool:
    """Whether anything that the call read or wrote changed between the two."""
    read = patch.get("read") or ()
    keys = {*before, *now} if read is True else {*read, *(patch.get("set") or ()), *(patch.get("delete") or ())}
    missing = object()
    return any(before.get(key, missing) != now.get(key, missing) for key in keys)


def contended() -> PlatformError:
    return PlatformError("state.contended", "Too many calls change the same data at once.", "Try again in a moment.")


def shared_key(folder: str) -> str:
    return f"{folder}_shared.json"


def state_key(folder: str, user: User) -> str:
    """The key of a signed-in user's document: issuer and subject, hashed, because both may be any text."""
    who = hashlib.sha256(f"{user.get('iss', '')}\n{user['sub']}".encode()).hexdigest()
    return f"{folder}{who}.json"


def folder_of(site: Site, digest: str) -> str:
    """The folder of the documents of what is served at `site`, which is the release `digest`."""
    return f"{previews_folder(site.name)}{digest}/" if site.preview else state_folder(site.name)
