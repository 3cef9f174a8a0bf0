"""Workers that somebody else kills while nobody uses them: no call is lost to that, and none runs twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.process_tree import Tree, children
from tenantry_registry.runners import Call, SandboxError

# Says which process it ran in, and notes every run in a file; "end" ends the process after that.
NOTED = """
import os, signal, time
def note(call, session):
    with open(call["params"]["file"], "a") as file:
        file.write("ran\\n")
    time.sleep(call["params"]["seconds"])
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

    async def call(self, end: bool = False, seconds: float = 0.0) -> dict[str, Any]:
        params = {"name": "note", "file": str(self._file), "end": end, "seconds": seconds}
        return await self._runner.call(self._release, Call("tools/call", params))

    @property
    def runs(self) -> int:
        return self._file.read_text().count("ran")


@pytest.fixture
async def notes(make_runner: Callable[..., ProcessRunner], publish, tmp_path: Path) -> Notes:
    return Notes(make_runner(), await publish(NOTED), tmp_path / "notes")


AUDITED: list[tuple[str, Any]] = []
LISTENING: list[bool] = []  # an audit hook stays for good; this one is quiet but in the tests that listen


def hook(event: str, arguments: Any) -> None:
    if LISTENING and event in ("open", "os.kill", "os.killpg"):
        AUDITED.append((event, arguments))


@pytest.fixture(scope="module")
def hooked() -> None:
    sys.addaudithook(hook)


@pytest.fixture
def heard(hooked: None) -> Iterator[list[tuple[str, Any]]]:
    """What this process opens and whom it signals."""
    AUDITED.clear()
    LISTENING.append(True)
    yield AUDITED
    LISTENING.clear()


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


async def test_a_worker_whose_caller_leaves_at_once_leaves_no_file_open(notes: Notes) -> None:
    await notes.call()  # so that all that goes before has been done
    busy = asyncio.ensure_future(notes.call(seconds=0.3))
    await asyncio.sleep(SOON)
    before, files = {*children(os.getpid())}, {*os.listdir("/proc/self/fd")}
    call = asyncio.ensure_future(notes.call())
    while not (started := {*children(os.getpid())} - before):  # noqa: ASYNC110 - a look after every step of the loop
        await asyncio.sleep(0)  # no longer than it takes to fork: it is not known yet that this worked
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await ended(*started)
    assert {*os.listdir("/proc/self/fd")} <= files
    await busy


def test_a_process_that_has_ended_has_nothing_running() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert not Tree(process.pid, namespaced=False).running()


def test_of_a_crowd_of_threads_no_more_is_read_than_it_takes_to_know(heard: list[tuple[str, Any]]) -> None:
    """Each takes a read of the platform's one loop, ten times a second."""
    many = "import threading, time\nthreading.stack_size(65536)\nfor _ in range(1100):\n    "
    many += "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint(1, flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", many], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        tree = Tree(process.pid, namespaced=False)
        heard.clear()
        assert tree.crowded(64)
        assert tree.running(), "whether it left anything running can't be told either"
        tree.close()
        assert len([event for event, _ in heard if event == "open"]) < 10
        process.communicate(b"\n")


async def test_a_worker_that_has_ended_gets_no_signal_that_would_reach_whoever_has_its_number_now(
    notes: Notes, heard: list[tuple[str, Any]]
) -> None:
    pid = (await notes.call())["result"]["pid"]
    os.kill(pid, signal.SIGKILL)
    await ended(pid)
    heard.clear()
    await notes.call()  # finds it dead, and clears up after it
    await asyncio.sleep(SOON)
    assert [event for event in heard if event[0] in ("os.kill", "os.killpg") and event[1][0] == pid] == []


async def test_a_call_that_is_given_to_another_worker_has_no_more_time_for_that(
    make_runner: Callable[..., ProcessRunner], publish, tmp_path: Path
) -> None:
    notes = Notes(make_runner(), await publish(NOTED, timeout=1.5), tmp_path / "notes")
    pid = (await notes.call())["result"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    call = asyncio.ensure_future(notes.call(seconds=1.4))
    await asyncio.sleep(1.0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxError) as late:
        await call
    assert late.value.code == "sandbox.timeout"
