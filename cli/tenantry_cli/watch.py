"""Says which plugins' folders were changed, soon after a file is saved."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from tenantry_registry.bundle import IGNORED, is_test
from watchfiles import Change, DefaultFilter, awatch

SETTLE_MS = 20  # of quiet after a change: an editor writes, renames and touches in one go
# What editors write beside a file while they save it: sed -i, vim (4913, .x.swp, x~), emacs (#x#, .#x), others (x.tmp)
DRAFT = re.compile(r"sed\w{6}|4913|.*~|#.*#|\.#.*|\..*\.sw[a-z]|.*\.(?:tmp|new|bak|part)(?:\.\d+)*|\.goutputstream-.*")
LONGEST_MS = 200  # a folder that is never quiet is published after so long


class Watched(DefaultFilter):
    """What can change a release: not what a bundle leaves out, but for .env, which the author's tools read."""

    def __init__(self) -> None:
        super().__init__(ignore_dirs=[*DefaultFilter.ignore_dirs, *(IGNORED - {".env"})])

    def __call__(self, change: Change, path: str) -> bool:
        return not DRAFT.fullmatch(Path(path).name) and super().__call__(change, path)


async def changes(folders: Sequence[Path], stop: asyncio.Event) -> AsyncIterator[dict[Path, list[str]]]:
    """The changed folders, each with what changed below it, until `stop` is set."""
    seen = {path for folder in folders for path in present(folder)}
    async for batch in awatch(
        *folders, watch_filter=Watched(), debounce=LONGEST_MS, step=SETTLE_MS, stop_event=stop, recursive=True
    ):
        changed: dict[Path, list[str]] = {}
        for path in sorted({Path(text) for _, text in batch}):
            if path.exists():
                seen.add(path)
            elif path in seen:
                seen.discard(path)
            else:
                continue  # a draft that was renamed to what it was a draft of
            folder = next((parent for parent in path.parents if parent in folders), None)
            if folder is None:
                continue
            within = path.relative_to(folder)
            if not any(is_test(part) for part in within.parts):
                changed.setdefault(folder, []).append(str(within))
        if changed:
            yield changed


def present(folder: Path) -> Iterator[Path]:
    """The files below `folder` that are watched."""
    watched = Watched()
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if watched(Change.added, f"{at}/{name}")]
        yield from (Path(at, name) for name in names)
