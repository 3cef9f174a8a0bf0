"""Bundles unpacked on this machine, each once, in a folder named by its digest."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Container
from pathlib import Path
from typing import Final

from tenantry_registry import bundle
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Objects
from tenantry_registry.runners import Release

KEPT: Final = 32  # folders; under `platform dev` every saved change makes one


class Unpacked:
    """The folder `folder`/{digest} for each release that was asked for."""

    def __init__(self, objects: Objects, folder: Path, *, kept: int = KEPT) -> None:
        self._objects = objects
        self._kept = kept
        self._folder = folder
        self._locks: dict[str, asyncio.Lock] = {}

    def place(self, release: Release) -> Path:
        """Where the release's files are, once they were asked for."""
        return self._folder / release.digest

    async def get(self, release: Release) -> Path:
        """The release's files. Raises: PlatformError `sandbox.refused`, `bundle.*`; StorageDown."""
        place = self.place(release)
        async with self._locks.setdefault(release.digest, asyncio.Lock()):
            if not place.exists():
                stored = await self._objects.get(release.bundle)
                if stored is None or bundle.digest(stored.data) != release.digest:
                    raise PlatformError(
                        "sandbox.refused", f"The bundle of {release.name} is not in the store.", "Publish it again."
                    )
                await asyncio.to_thread(bundle.unpack, stored.data, place)
        return place

    def sweep(self, used: Container[str]) -> None:
        """Remove the oldest folders beyond those that are kept, but none whose digest is `used`."""
        idle = [place for place in self._folder.iterdir() if place.name not in used and not place.name.startswith(".")]
        for place in sorted(idle, key=lambda place: place.stat().st_mtime)[: max(0, len(idle) - self._kept)]:
            self._locks.pop(place.name, None)
            shutil.rmtree(place, ignore_errors=True)
