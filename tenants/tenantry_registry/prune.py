"""Removes what can't be gone back to, and never what a published URI needs.

A release stays while the pointer names it (history, previews, the submitted one). A widget's files stay for ever once a
widget's record or a kept manifest names them: hosts keep URIs, and old conversations ask for them (field reports R27,
R28). Everything younger than a day stays too, since it may belong to a publish under way. The ctx.state and ctx.shared
of a preview go once it is over.

What goes is first marked in the pointer, by compare-and-set. A publish that needs a marked part is refused for the ten
minutes that a prune may take, and one that began earlier notices at its own swap. So of the two that race one loses,
and nothing is served that misses a part.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tenantry_registry.names import Name
from tenantry_registry.objects import read_all
from tenantry_registry.pointer import Pointer
from tenantry_registry.registry import PRUNE_SECONDS, Registry, part_of, previews_folder, release_key

LEFTOVER_SECONDS = 24 * 3600.0  # older than any publish that is still under way
MARK_SECONDS = 3600.0  # how long a mark is kept: no publish takes so long


async def prune(registry: Registry, name: Name, *, now: Callable[[], float] = time.time) -> list[str]:
    """Prune one plugin. Returns the keys that were removed; what was not done in time is left to the next prune.

    Raises: PlatformError `registry.unknown`; Conflict; StorageDown.
    """
    began, found = now(), await _old(registry, name, now)
    taken: set[str] = set()

    def mark(pointer: Pointer) -> Pointer:
        taken.clear()
        taken.update({part_of(key) for key in found} - _kept(pointer))
        recent = {part: when for part, when in pointer.pruned.items() if began - when < MARK_SECONDS}
        return replace(pointer, pruned={**recent, **dict.fromkeys(taken, began)})

    if found:
        await registry.move(name, mark)
        needed = await _needed(registry, name)  # read after the mark: later ones will have seen it
        found = [key for key in found if part_of(key) in taken and part_of(key) not in needed]
    found += await _over(registry, name, began)
    removed = []
    for key in found:
        if now() - began > PRUNE_SECONDS:
            break
        await registry.objects.delete(key)
        removed.append(key)
    return removed


async def _old(registry: Registry, name: Name, now: Callable[[], float]) -> list[str]:
    """The keys of parts that nothing names and that are old enough."""
    pointer = await registry.known(name)
    keep = _kept(pointer)
    found = []
    for kind in ("releases", "bundles", "site"):
        async for listed in registry.objects.list(f"{kind}/{name.tenant}/{name.plugin}/"):
            if part_of(listed.key) not in keep and now() - listed.modified > LEFTOVER_SECONDS:
                found.append(listed.key)
    needed = await _needed(registry, name) if found else frozenset()
    return [key for key in found if part_of(key) not in needed]


async def _over(registry: Registry, name: Name, now: float) -> list[str]:
    """The documents of previews that are over, once nobody has written to them for a day."""
    previews = (await registry.known(name)).previews
    folder = previews_folder(name)
    return [
        listed.key
        async for listed in registry.objects.list(folder)
        if previews.get(listed.key.removeprefix(folder).partition("/")[0], 0) <= now
        and now - listed.modified > LEFTOVER_SECONDS
    ]


async def _needed(registry: Registry, name: Name) -> frozenset[str]:
    """The parts that a widget's record or a kept manifest names."""
    texts = []
    async for listed in registry.objects.list(f"widgets/{name.tenant}/{name.plugin}/"):
        texts.append(listed.key)
    texts += [release_key(name, digest) for digest in _kept(await registry.known(name))]
    stored = await read_all(registry.objects, texts)
    named = b"\n".join(found.data for found in stored if found).decode()
    parts = {part_of(listed.key) async for listed in registry.objects.list(f"site/{name.tenant}/{name.plugin}/")}
    return frozenset(part for part in parts if part in named)


def _kept(pointer: Pointer) -> set[str]:
    kept = {past.digest for past in pointer.history} | set(pointer.previews)
    return kept | {pointer.current or "", pointer.submitted}
