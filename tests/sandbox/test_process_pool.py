"""How calls share workers: in parallel up to a bound, in a queue beyond it, never two releases in one worker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.process_pool import Pool
from tenantry_registry.runners import Call, Release, SandboxError

# A tool that says which process it ran in, once a file exists: the test decides when.
GATED = """
import os, time
def gated(call, session):
    folder = call["params"]["folder"]
    open(os.path.join(folder, str(time.monotonic_ns())), "w").close()
    while call["params"]["wait"] and not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.002)
    return {"result": {"pid": os.getpid()}}
plugin = Plugin(gated=gated)
"""


class Gate:
    """Starts gated calls, knows how many run, and lets them end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def call(self, runner: Any, release: Release, wait: bool = True) -> asyncio.Task[dict[str, Any]]:
        params = {"name": "gated", "folder": str(self.folder), "wait": wait}
        return asyncio.ensure_future(runner.call(release, Call("tools/call", params)))

    async def until(self, running: int) -> None:
        while len([*self.folder.iterdir()]) < running:  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.002)

    def open(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    folder = tmp_path / "gate"
    folder.mkdir()
    return Gate(folder)


async def test_calls_of_one_release_run_side_by_side_up_to_a_bound_and_then_queue(make_runner, publish, gate) -> None:
    runner = make_runner(workers=3, per_release=2)
    release = await publish(GATED)
    calls = [gate.call(runner, release) for _ in range(6)]
    await gate.until(2)
    gate.open()
    pids = {reply["result"]["pid"] for reply in await asyncio.gather(*calls)}
    assert len(pids) == 2


async def test_two_releases_never_share_a_worker_and_the_longest_idle_makes_room(make_runner, publish, gate) -> None:
    runner = make_runner(workers=2)
    gate.open()
    one, two, three = [await publish(GATED + f"# {number}") for number in range(3)]
    first = (await gate.call(runner, one))["result"]["pid"]
    second = (await gate.call(runner, two))["result"]["pid"]
    third = (await gate.call(runner, three))["result"]["pid"]
    assert len({first, second, third}) == 3
    again = await gate.call(runner, two)
    assert (again["result"]["pid"], again["cold"]) == (second, False)
    assert (await gate.call(runner, one))["cold"] is True


async def test_the_same_code_of_two_tenants_runs_in_two_workers(make_runner, publish, gate) -> None:
    runner = make_runner()
    gate.open()
    mine, yours = await publish(GATED), await publish(GATED, Name("other", "zoo"))
    assert mine.digest == yours.digest
    pids = [(await gate.call(runner, release))["result"]["pid"] for release in (mine, yours)]
    assert len({*pids}) == 2


async def test_a_full_house_says_so_after_a_while(make_runner, publish, gate) -> None:
    runner = make_runner(workers=1, patience=0.05)
    release = await publish(GATED)
    busy = gate.call(runner, release)
    await gate.until(1)
    with pytest.raises(PlatformError) as refused:
        await gate.call(runner, release)
    assert refused.value.code == "sandbox.busy"
    gate.open()
    await busy


async def test_a_release_that_waits_is_not_starved_by_a_busy_one(make_runner, publish, gate) -> None:
    runner = make_runner(workers=1)
    hot, cold = await publish(GATED), await publish(GATED + "# cold")
    first = gate.call(runner, hot)
    await gate.until(1)
    other = gate.call(runner, cold)
    more = [gate.call(runner, hot) for _ in range(3)]
    await asyncio.sleep(0.3)
    gate.open()
    assert (await other)["cold"] is True
    await asyncio.gather(first, *more)


async def test_a_client_that_leaves_gives_its_place_to_the_next(make_runner, publish, gate) -> None:
    runner = make_runner(workers=1)
    release = await publish(GATED)
    running = gate.call(runner, release)
    await gate.until(1)
    leaving, staying = gate.call(runner, release), gate.call(runner, release)
    await asyncio.sleep(0)
    leaving.cancel()
    running.cancel()
    gate.open()
    assert (await staying)["cold"] is True
    for task in (leaving, running):
        with pytest.raises(asyncio.CancelledError):
            await task


class Fake:
    """A worker as the pool sees it."""

    def __init__(self, key: str) -> None:
        self.key, self.digest, self.ended = key, key, ""
        self.alive = True

    async def leave(self) -> None:
        self.ended = "left"

    async def kill(self) -> None:
        self.ended = "killed"


async def start_fake(key: str) -> Any:
    return Fake(key)


async def test_a_client_that_leaves_just_as_its_turn_comes_passes_the_worker_on() -> None:
    pool = Pool(workers=1, per_release=1)
    worker: Any = await pool.take("a", lambda: start_fake("a"), None)
    leaving = asyncio.ensure_future(pool.take("a", lambda: start_fake("a"), None))
    staying = asyncio.ensure_future(pool.take("a", lambda: start_fake("a"), None))
    await asyncio.sleep(0)
    pool.give_back(worker, usable=True)
    leaving.cancel()
    assert await staying is worker


async def test_a_client_that_leaves_just_as_a_place_comes_free_passes_the_place_on() -> None:
    pool = Pool(workers=1, per_release=1)
    worker: Any = await pool.take("a", lambda: start_fake("a"), None)
    leaving = asyncio.ensure_future(pool.take("b", lambda: start_fake("b"), None))
    staying = asyncio.ensure_future(pool.take("b", lambda: start_fake("b"), None))
    await asyncio.sleep(0)
    pool.give_back(worker, usable=False)
    leaving.cancel()
    taken: Any = await staying
    assert (taken.key, worker.ended) == ("b", "killed")
    await pool.aclose()
    assert taken.ended == "killed"


async def test_a_worker_that_does_not_start_leaves_no_hole_in_the_pool() -> None:
    pool = Pool(workers=1, per_release=1)

    async def fail() -> Any:
        raise SandboxError("sandbox.refused", "No worker could be started.")

    for _ in range(3):
        with pytest.raises(SandboxError):
            await pool.take("a", fail, None)
    worker: Any = await pool.take("a", lambda: start_fake("a"), None)
    pool.give_back(worker, usable=True)
    assert pool.digests == {"a"}
    await pool.aclose()
    assert worker.ended == "left"


async def test_whoever_waits_for_a_release_at_its_bound_does_not_hold_up_the_others() -> None:
    pool = Pool(workers=2, per_release=1)
    first: Any = await pool.take("a", lambda: start_fake("a"), None)
    second: Any = await pool.take("b", lambda: start_fake("b"), None)
    again = asyncio.ensure_future(pool.take("a", lambda: start_fake("a"), None))
    other = asyncio.ensure_future(pool.take("c", lambda: start_fake("c"), None))
    await asyncio.sleep(0)
    pool.give_back(second, usable=True)
    taken: Any = await other
    assert (taken.key, second.ended, again.done()) == ("c", "left", False)
    pool.give_back(first, usable=True)
    assert await again is first
