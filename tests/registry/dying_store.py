"""A process that dies while it writes; test_objects_file.py starts it.

python dying_store.py steps FOLDER    dies at every step of every verb in turn (in forks), one JSON line each
python dying_store.py forever FOLDER  counts up by swap and put_once, one line for each number that was kept
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO

from tenantry_registry.errors import Conflict
from tenantry_registry.objects import ANY, JSON
from tenantry_registry.objects_file import Disk, FileObjects
from tenantry_registry.objects_grant import Grant

KEY = "deep/folder/object.json"
BIG = b"n" * 100_000


class DyingDisk(Disk):
    """Dies before step `last`, or in the middle of it when that is a write."""

    def __init__(self, last: int) -> None:
        self.left = last

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os._exit(9)

    def create(self, path: Path) -> IO[bytes]:
        self._step()
        return super().create(path)

    def write(self, file: IO[bytes], data: bytes) -> None:
        self.left -= 1
        if self.left < 0:
            file.write(data[: len(data) // 2])
            file.flush()
            os._exit(9)
        super().write(file, data)

    def sync(self, file: IO[bytes]) -> None:
        self._step()
        super().sync(file)

    def make_folder(self, path: Path) -> None:
        self._step()
        super().make_folder(path)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._step()
        super().remove(path)

    def remove_folder(self, path: Path) -> None:
        self._step()
        super().remove_folder(path)

    def sync_folder(self, path: Path) -> None:
        self._step()
        super().sync_folder(path)


async def receive(objects: FileObjects) -> None:
    async def chunks() -> object:
        yield b"n" * 50_000
        yield b"n" * 50_000

    grant = Grant("POST", KEY, 0, "application/json", "", 1, 200_000)
    await objects.receive(grant, chunks())  # type: ignore[arg-type]


VERBS: dict[str, tuple[bool, Callable[[FileObjects], Awaitable[object]]]] = {
    "put_once": (False, lambda objects: objects.put_once(KEY, BIG, JSON)),
    "swap": (True, lambda objects: objects.swap(KEY, BIG, expected=ANY)),
    "receive": (True, receive),
    "delete": (True, lambda objects: objects.delete(KEY)),
}


def steps(folder: Path) -> None:
    for verb, (stands, act) in VERBS.items():
        for last in range(100):
            store = folder / f"{verb}{last}"
            if stands:
                asyncio.run(FileObjects(store).put_once(KEY, b"old", JSON))
            child = os.fork()
            if child == 0:
                asyncio.run(act(FileObjects(store, disk=DyingDisk(last))))  # type: ignore[arg-type]
                os._exit(0)
            died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
            print(json.dumps({"verb": verb, "step": last, "died": died, **asyncio.run(look(store))}))
            if not died:
                break


async def look(store: Path) -> dict[str, object]:
    """What a process finds that comes after, and whether it can go on."""
    objects = FileObjects(store)
    found = await objects.get(KEY)
    listed = [entry.size async for entry in objects.list("deep/")]
    await objects.swap(KEY, b"next", expected=found.version if found else None)
    again = await objects.get(KEY)
    data = None if found is None else ("old" if found.data == b"old" else "new" if found.data == BIG else "TORN")
    return {"found": data, "listed": listed, "next": again is not None and again.data == b"next"}


async def forever(folder: Path) -> None:
    objects = FileObjects(folder)
    while True:
        stored = await objects.get("count")
        number = int(stored.data) + 1 if stored else 1
        await objects.put_once(f"kept/{number}", str(number).encode() * 1000, JSON)
        try:
            await objects.swap("count", str(number).encode(), expected=stored.version if stored else None)
        except Conflict:
            continue
        print(number, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "steps":
        steps(Path(sys.argv[2]))
    else:
        asyncio.run(forever(Path(sys.argv[2])))
