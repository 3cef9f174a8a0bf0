"""Says which plugins' folders were changed, soon after a file is saved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tenantry_registry.bundle import IGNORED
from watchfiles import Change, DefaultFilter, awatch

SETTLE_MS = 20  # of quiet after a change: an editor writes, renames and touches in one go
LONGEST_MS = 200  # a folder that is never quiet is published after so long


class Watched(DefaultFilter):
    """What can change a release: not what a bundle leaves out, but for .env, which the author's tools read."""

    def __init__(self) -> None:
        super().__init__(ignore_dirs=[*DefaultFilter.ignore_dirs, *(IGNORED - {".env"})])

    def __call__(self, change: Change, path: str) -> bool:
        return not path.endswith("~") and super().__call__(change, path)


async def changes(folders: Sequence[Path], stop: asyncio.Event) -> AsyncIterator[dict[Path, list[str]]]:
    """The changed folders, each with what changed below it, until `stop` is set."""
    async for batch in awatch(
        *folders, watch_filter=Watched(), debounce=LONGEST_MS, step=SETTLE_MS, stop_event=stop, recursive=True
    ):
        changed: dict[Path, list[str]] = {}
        for _, text in batch:
            folder = next((parent for parent in Path(text).parents if parent in folders), None)
            if folder is not None:
                changed.setdefault(folder, []).append(str(Path(text).relative_to(folder)))
        yield changed
