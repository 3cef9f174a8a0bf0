"""A folder as a bundle: what its author wrote, and the dependencies that it names, resolved by uv.

Under development the bundle is what the author wrote alone: their own environment has the dependencies, or where they
have none a kept folder does, so that a save packs, hashes and unpacks nothing but the author's files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tenantry_registry import bundle
from tenantry_registry.vendor import HOST, Target, Vendored, kept_at, requirements, vendor

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


async def installed(
    folder: PluginFolder, *, cache: Path, installing: Callable[[str], None] = lambda file: None
) -> Vendored | None:
    """The dependencies of a folder whose author has no environment for them, installed for this machine once for the
    same words; None where nothing is to be installed. `installing` is told the file that names them when uv is asked.

    Raises: PlatformError `vendor.*`.
    """
    wanted = requirements(folder.path, str(folder.config.get("entrypoint", "")))
    if wanted is None or folder.own_interpreter():
        return None
    place = cache.absolute() / "vendor"
    if not kept_at(folder.path, wanted, HOST, place).exists():
        installing(wanted.file)
    return await asyncio.to_thread(vendor, folder.path, wanted, HOST, place)
