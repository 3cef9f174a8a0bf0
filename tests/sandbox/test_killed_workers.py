"""Workers that somebody else kills while nobody uses them: no call is lost to that, and none runs twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.process_tree import Tree, children
from tenantry_registry.runners import Call, SandboxError

# Says which process it ran in, and notes every run in a file; "end" ends the process after that.
NOTED = """
import os, signal
def note(call, session):
    with open(call["params"]["file"], "a") as file:
        file.write("ran\\n")
    if call["params"]["end"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"result": {"pid": os.getpid()}}
plugin = Plugin(note=note)
"""
SOON = 0.05  # seconds; long enough for a call to be written to its worker


class Notes:
    """Calls the tool and reads what it noted."""

    def __init__(self, runner: ProcessRunner, release: Any, file: Path) -> None:
        self._runner, self._release, self._file = runner, release, file

    async def call(self, end: bool = False) -> dict[str, Any]:
        params = {"name": "note", "file": str(self._file), "end": end}
        return await self._runner.call(self._release, Call("tools/call", params))

    @property
    def runs(self) -> int:
        return self._file.read_text().count("ran")


@pytest.fixture
async def notes(make_runner: Callable[..., ProcessRunner], publish, tmp_path: Path) -> Notes:
    return Notes(make_runner(), await publish(NOTED), tmp_path / "notes")


async def ended(pid: int) -> None:
    """Until the process is gone and the loop has heard of it."""
    while pid in children(os.getpid()):  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.002)
    await asyncio.sleep(SOON)


async def test_a_call_does_not_go_to_a_worker_that_was_killed_while_it_was_idle(notes: Notes) -> None:
    pid = (await notes.call())["result"]["pid"]
    os.kill(pid, signal.SIGKILL)
    await ended(pid)
    again = await notes.call()
    assert again["result"]["pid"] != pid
    assert again["cold"] is True
    assert notes.runs == 2


async def test_a_call_that_a_killed_worker_had_not_read_goes_to_another(notes: Notes) -> None:
    pid = (await notes.call())["result"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.ensure_future(notes.call())
    await asyncio.sleep(SOON)
    os.kill(pid, signal.SIGKILL)
    assert (await call)["result"]["pid"] != pid
    assert notes.runs == 2


async def test_a_call_that_its_worker_had_begun_is_never_run_again(notes: Notes) -> None:
    await notes.call()
    with pytest.raises(SandboxError) as crashed:
        await notes.call(end=True)
    assert crashed.value.code == "sandbox.crashed"
    assert notes.runs == 2


async def spare_of(make_runner: Callable[..., ProcessRunner], publish: Any) -> tuple[ProcessRunner, int]:
    """A runner that keeps a spare worker, and that worker's process."""
    runner = make_runner(spare=True)
    first = await publish("def none(call, session):\n    return {}\nplugin = Plugin(none=none)")
    await runner.describe(first)
    assert runner._spare is not None
    return runner, (await asyncio.shield(runner._spare)).process.pid


async def test_a_spare_worker_that_was_killed_is_done_without(make_runner, publish, tmp_path: Path) -> None:
    runner, pid = await spare_of(make_runner, publish)
    os.kill(pid, signal.SIGKILL)
    await ended(pid)
    assert (await Notes(runner, await publish(NOTED), tmp_path / "notes").call())["cold"] is True


async def test_a_worker_that_is_killed_before_its_first_call_is_a_crash(make_runner, publish, tmp_path: Path) -> None:
    runner, pid = await spare_of(make_runner, publish)
    release = await publish(NOTED)
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.ensure_future(Notes(runner, release, tmp_path / "notes").call())
    while release.digest not in runner._pool.digests:  # noqa: ASYNC110 - the bundle is unpacked in a thread
        await asyncio.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxError) as crashed:
        await call
    assert crashed.value.code == "sandbox.crashed"


async def test_a_worker_whose_caller_leaves_while_it_starts_is_ended(notes: Notes) -> None:
    before = {*children(os.getpid())}
    call = asyncio.ensure_future(notes.call())
    while not (started := {*children(os.getpid())} - before):  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.002)
    await asyncio.sleep(SOON)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await ended(*started)


def test_a_process_that_has_ended_has_nothing_running() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert not Tree(process.pid, namespaced=False).running()
