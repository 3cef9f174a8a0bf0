"""A folder as a bundle: what its author wrote, and the dependencies that it names, resolved by uv.

Under development the author's own environment has the dependencies, so nothing is resolved, unless they have none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tenantry_registry import bundle
from tenantry_registry.vendor import Target, requirements, vendor

from tenantry_cli.folder import PluginFolder


@dataclass(frozen=True, slots=True)
class Packed:
    """`data` is the zip; `packages` what was vendored ("name==version"); `notices` are for the author."""

    data: bytes
    packages: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


async def pack(
    folder: PluginFolder, *, target: Target | None, cache: Path, resolving: Callable[[], None] = lambda: None
) -> Packed:
    """Pack a folder, with its dependencies for `target` (None: without). `resolving` is told before uv is asked.

    Raises: PlatformError `bundle.*`, `vendor.*`.
    """
    wanted = requirements(folder.path, str(folder.config.get("entrypoint", ""))) if target else None
    if target is None or wanted is None:
        return Packed(await asyncio.to_thread(bundle.pack, folder.path))
    resolving()
    vendored = await asyncio.to_thread(vendor, folder.path, wanted, target, cache / "vendor")
    files = await asyncio.to_thread(vendored.files)
    return Packed(await asyncio.to_thread(bundle.pack, folder.path, files), vendored.packages, vendored.notices)
