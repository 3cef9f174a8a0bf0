"""Which worker serves which call: a bounded number of them, each bound to one release.

A call takes an idle worker of its release, or a place to start one (the worker that has been idle longest makes room),
or waits. First come, first served; but a worker that comes free serves its own release first, because starting another
costs a hundred calls, unless somebody else has waited too long for that.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from tenantry_registry.errors import PlatformError
from tenantry_registry.process_worker import Worker

PATIENCE_SECONDS: Final = 0.25  # of the first in the queue, before a busy release's worker is ended for it


@dataclass(eq=False)
class Waiting:
    """A call in the queue. `turn` becomes a worker, or None when a place is kept for it to start one."""

    key: str
    since: float
    turn: asyncio.Future[Worker | None]


class Pool:
    """At most `workers`, and of one release at most `per_release`, so that one busy plugin leaves room for others."""

    def __init__(self, *, workers: int, per_release: int) -> None:
        self._workers = workers
        self._per_release = min(per_release, workers)
        self._idle: deque[Worker] = deque()  # the one that was used longest ago first
        self._places: Counter[str] = Counter()  # taken by each release's workers, those that are starting included
        self._queue: deque[Waiting] = deque()
        self._busy: set[Worker] = set()
        self._ends: set[asyncio.Task[None]] = set()

    @property
    def digests(self) -> set[str]:
        """The releases that have a worker."""
        return {worker.digest for worker in (*self._idle, *self._busy)}

    async def take(self, key: str, start: Callable[[], Awaitable[Worker]], seconds: float | None) -> Worker:
        """A worker for the release `key`, made by `start` where there is none; give it back.

        Raises: PlatformError `sandbox.busy` after `seconds` in the queue, and what `start` raises.
        """
        worker = self._idle_worker(key)
        if worker is None and not self._keep_place(key):
            worker = await self._wait(key, seconds)
        if worker is None:
            try:
                worker = await start()
            except BaseException:
                self._places[key] -= 1
                self._admit()
                raise
        self._busy.add(worker)
        return worker

    def give_back(self, worker: Worker, *, usable: bool) -> None:
        """The call is over. A worker that is not `usable` is killed."""
        self._busy.discard(worker)
        if not usable:
            self._places[worker.key] -= 1
            self._end(worker.kill())
        elif not self._hand_over(worker):
            self._idle.append(worker)
        self._admit()

    async def aclose(self) -> None:
        """End all workers: the idle ones by themselves, the busy ones at once."""
        for worker in self._idle:
            self._end(worker.leave())
        for worker in self._busy:
            self._end(worker.kill())
        self._idle.clear()
        await asyncio.gather(*self._ends)

    def _idle_worker(self, key: str) -> Worker | None:
        for worker in [*reversed(self._idle)]:
            if worker.key == key:
                self._idle.remove(worker)
                if worker.alive:
                    return worker
                self._places[key] -= 1
                self._end(worker.kill())  # somebody else has, already
        return None

    def _keep_place(self, key: str) -> bool:
        if self._places[key] >= self._per_release:
            return False
        if self._places.total() >= self._workers:
            if not self._idle:
                return False
            oldest = self._idle.popleft()
            self._places[oldest.key] -= 1
            self._end(oldest.leave())
        self._places[key] += 1
        return True

    async def _wait(self, key: str, seconds: float | None) -> Worker | None:
        waiting = Waiting(key, time.monotonic(), asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        try:
            await asyncio.wait({waiting.turn}, timeout=seconds)
        except asyncio.CancelledError:
            if not waiting.turn.done():
                self._queue.remove(waiting)
            elif (handed := waiting.turn.result()) is not None:
                self.give_back(handed, usable=True)
            else:
                self._places[key] -= 1
                self._admit()
            raise
        if waiting.turn.done():
            return waiting.turn.result()
        self._queue.remove(waiting)
        raise PlatformError("sandbox.busy", "Everything that could run this is busy.", "Try again in a few seconds.")

    def _hand_over(self, worker: Worker) -> bool:
        for waiting in self._queue:
            if waiting.key == worker.key:
                self._queue.remove(waiting)
                waiting.turn.set_result(worker)
                return True
            if time.monotonic() - waiting.since > PATIENCE_SECONDS and self._places[waiting.key] < self._per_release:
                return False
        return False

    def _admit(self) -> None:
        """Keep a place for everyone in the queue who can have one."""
        for waiting in [*self._queue]:
            if self._keep_place(waiting.key):
                self._queue.remove(waiting)
                waiting.turn.set_result(None)

    def _end(self, ending: Awaitable[None]) -> None:
        task = asyncio.ensure_future(ending)
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)
