"""What is served right now: which release is current, and the releases that were read.

A pointer is asked for again after `pointer_seconds` (2 on AWS, 0 in development). When storage fails, the last good
one serves for ten minutes more, unless it said that the plugin is suspended. A release never changes under its
digest, so it is read once and kept while there is room.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Protocol, TypeVar

from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.pointer import Pointer

from tenantry_gateway.edition import Edition
from tenantry_gateway.route import Site

POINTERS = 10_000  # kept at most: some megabytes
EDITIONS = 64  # releases kept at most; one is its manifest and prepared answers, some hundred kilobytes
GRACE = 600.0  # seconds that a last good pointer serves while storage fails

T = TypeVar("T")


class Releases(Protocol):
    """What the shelf needs of the registry."""

    async def current(self, name: Name) -> Pointer | None: ...

    async def manifest(self, name: Name, digest: str) -> Manifest: ...


class Shelf:
    """Pointers for a moment, editions while there is room."""

    def __init__(
        self, releases: Releases, *, pointer_seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._releases = releases
        self._seconds = pointer_seconds
        self._now = now
        self._pointers: OrderedDict[Name, tuple[float, Pointer | None]] = OrderedDict()
        self._editions: OrderedDict[tuple[Name, str], Edition] = OrderedDict()
        self._loading: dict[Hashable, asyncio.Future[Any]] = {}

    async def pointer(self, name: Name) -> Pointer:
        """The plugin's pointer. Raises: PlatformError `plugin.unknown`, `plugin.suspended`; StorageDown."""
        read, pointer = self._pointers.get(name, (None, None))
        if read is None or self._now() - read >= self._seconds:
            pointer = await self._once(name, lambda: self._read(name))
        if pointer is None or pointer.state == "deleted":
            raise unknown()
        if pointer.state == "suspended":
            raise PlatformError("plugin.suspended", "This plugin is suspended.", "Its owner knows why.")
        return pointer

    async def edition(self, site: Site) -> Edition:
        """The release that `site` means. Raises: as `pointer`, and PlatformError `preview.unknown`."""
        pointer = await self.pointer(site.name)
        if site.preview:
            digest = pointer.preview(site.preview)
            if digest is None:
                raise PlatformError("preview.unknown", "There is no such preview, or no more.", "Make it again.")
        else:
            if pointer.current is None:
                raise unknown()
            digest = pointer.current
        return await self._edition(site.name, digest)

    async def resumed(self, name: Name, digest: str) -> Edition:
        """The release where a half-done call began, which need not be current any more, but must not be yanked.

        Raises: as `pointer`, and PlatformError `plugin.yanked`."""
        if digest in (await self.pointer(name)).yanked:
            raise PlatformError("plugin.yanked", "The release that this call began on was withdrawn.", "Call again.")
        return await self._edition(name, digest)

    async def _edition(self, name: Name, digest: str) -> Edition:
        key = (name, digest)
        found = self._editions.get(key)
        if found is not None:
            self._editions.move_to_end(key)
            return found
        return await self._once(key, lambda: self._load(name, digest))

    async def _read(self, name: Name) -> Pointer | None:
        before = self._pointers.get(name)
        try:
            pointer = await self._releases.current(name)
        except StorageDown:
            if before is None or before[1] is None or self._now() - before[0] >= self._seconds + GRACE:
                raise
            return before[1]
        self._pointers[name] = (self._now(), pointer)
        self._pointers.move_to_end(name)
        if len(self._pointers) > POINTERS:
            self._pointers.popitem(last=False)
        return pointer

    async def _load(self, name: Name, digest: str) -> Edition:
        edition = Edition(await self._releases.manifest(name, digest))
        self._editions[name, digest] = edition
        if len(self._editions) > EDITIONS:
            self._editions.popitem(last=False)
        return edition

    async def _once(self, key: Hashable, load: Callable[[], Awaitable[T]]) -> T:
        """Everybody who wants the same thing at the same time waits for one reading of it."""
        if key in self._loading:
            return await asyncio.shield(self._loading[key])
        task = asyncio.ensure_future(load())
        self._loading[key] = task
        task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)


def unknown() -> PlatformError:
    return PlatformError("plugin.unknown", "There is no plugin at this address.", "Check the address.")
