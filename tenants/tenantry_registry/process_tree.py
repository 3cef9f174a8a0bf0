"""The processes that a worker has started, as /proc tells them (proc(5)); none where there is no /proc.

What a worker says of itself counts for nothing, so this is asked after every call: `running` costs a few reads where
nothing is left, which is nearly always. Each thread costs a read, and whoever asks serves others too: so threads are
counted first (that costs one look for all of a process's), and of a crowd nothing is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

ENOUGH = 64  # bytes: more than the one number that may be there
THREADS = 1_024  # of all processes of a call together: what a Lambda function may have (AWS: Lambda quotas)
LINKS = 2  # of a folder of threads, beside one for each thread
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


class Tree:
    """All below the process `root`. `namespaced`: that is the sandbox's own, its child the init of a namespace and the
    worker the first child of that; init adopts what the worker's children leave behind."""

    def __init__(self, root: int, *, namespaced: bool) -> None:
        self._root = root
        self._namespaced = namespaced
        self._watched: list[Threads] = []

    def worker(self) -> int:
        """The interpreter's own process, or the root while there is none."""
        if not self._namespaced:
            return self._root
        return next(iter(self._inside()), self._root)

    def below(self) -> Iterator[int]:
        """Every process that the worker has started, and theirs. In a namespace, all but its init and the worker."""
        found = [self._root]
        if self._namespaced:
            found = self._inside()
            yield from found[1:]  # adopted by the namespace's init
        for pid in [child for worker in found[:1] for child in children(worker)]:
            yield pid
            yield from descendants(pid)

    def crowded(self, processes: int) -> bool:
        """Whether it has started more than so many processes, or has more than THREADS threads with them."""
        left = [self._root]
        started = 0
        if self._namespaced:
            left = self._inside()
            started = len(left) - 1
        threads = 0
        while left and started <= processes:
            pid = left.pop()
            threads += count(pid)
            if threads > THREADS:
                return True
            below = children(pid)
            started += len(below)
            left += below
        return started > processes

    def running(self) -> bool:
        """Whether anything of it is still running, or it has become too large to tell."""
        if self._childless():
            return False
        return self.crowded(THREADS) or any(state(pid) != "Z" for pid in self.below())

    def close(self) -> None:
        """Let go of /proc."""
        for threads in self._watched:
            threads.close()
        self._watched.clear()

    def _inside(self) -> list[int]:
        """The children of a namespace's init: the worker, then what init has adopted."""
        return [pid for init in children(self._root) for pid in children(init)]

    def _childless(self) -> bool:
        """Whether nobody has a child that is not a part of the sandbox; False where that can't be told."""
        try:
            if not self._watched:
                worker = self.worker()
                self._watched.append(Threads(worker, b""))
                if self._namespaced:
                    self._watched.append(Threads(children(self._root)[0], b"%d " % worker))
            return all(threads.as_expected() for threads in self._watched)
        except (OSError, IndexError):
            self.close()
            return False


class Threads:
    """The threads of a process, and what all of them together should have for children. Raises: OSError, when the
    process or one of its threads has ended."""

    def __init__(self, pid: int, expected: bytes) -> None:
        self._folder = os.open(f"/proc/{pid}/task", FOLDER)
        self._expected = expected
        self._known: list[str] = []

    def as_expected(self) -> bool:
        """Ask again. As many threads as there were, each of them still there, are the same threads."""
        links = os.fstat(self._folder).st_nlink
        if links > LINKS + THREADS:
            return False
        if links != LINKS + len(self._known):
            self._known = os.listdir(self._folder)
        said = b""
        for thread in self._known:
            file = os.open(f"{thread}/children", os.O_RDONLY, dir_fd=self._folder)
            try:
                said += os.read(file, ENOUGH)
            finally:
                os.close(file)
        return said == self._expected

    def close(self) -> None:
        """Let go of /proc."""
        os.close(self._folder)


def descendants(pid: int) -> Iterator[int]:
    """All below a process. Without recursion: a chain of forks may be longer than Python's stack is deep."""
    left = [pid]
    while left:
        for child in children(left.pop()):
            yield child
            left.append(child)


def children(pid: int) -> list[int]:
    """The children of all threads of a process (proc(5), /proc/pid/task/tid/children)."""
    found = b""
    with suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                found += file.read()
    return [*map(int, found.split())]


def count(pid: int) -> int:
    """The threads of a process."""
    with suppress(OSError):
        return os.stat(f"/proc/{pid}/task").st_nlink - LINKS
    return 0  # it has ended


def state(pid: int) -> str:
    """One letter of proc(5); "Z" too for a process that is gone."""
    found = b"Z"
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        found = file.read().rpartition(b") ")[2][:1]
    return found.decode()
