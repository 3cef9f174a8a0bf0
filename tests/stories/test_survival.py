"""What is killed loses nothing that was acknowledged: releases, pointers, shared documents."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from stories.served import Served, request, versioned

PUBLISHER = """
import asyncio, sys
from pathlib import Path
from stories.served import versioned
from tenantry_cli.address import Address
from tenantry_cli.author import AuthorsRunner
from tenantry_cli.folder import PluginFolder
from tenantry_cli.machine import Machine
from tenantry_cli import store as stores
from tenantry_registry.names import Name
from tenantry_registry.process_runner import ProcessRunner

async def main(version):
    folder, name = Path("hello"), Name("dev", "hello")
    with stores.opened(".tenantry") as objects:
        runner = AuthorsRunner(
            lambda python, environ: ProcessRunner(
                objects, folder=stores.cache_of(".tenantry"), isolate="none", spare=True
            )
        )
        machine = Machine(objects, runner, Address(1), stores.cache_of(".tenantry"))
        while True:
            version += 1
            versioned(folder, version)
            print("try", version, flush=True)
            published = await machine.publish(PluginFolder.open(folder), name, lambda step: None)
            print("done", version, published.digest, flush=True)

asyncio.run(main(int(sys.argv[1])))
"""


def children(pid: int) -> Iterator[int]:
    """Every process below `pid`."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == pid:
                yield int(entry.name)
                yield from children(int(entry.name))


def test_shared_documents_survive_a_killed_worker_and_a_restart(
    platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    example("groceries")
    platform("publish", "groceries")
    served = start("serve")

    def names() -> list[str]:
        result = served.call("groceries", "show_list")
        return [item["name"] for item in result["structuredContent"]["items"]]

    served.call("groceries", "add_item", {"name": "Bread"})
    workers = list(children(served.process.pid))
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    served.call("groceries", "show_list")  # may be the call that finds the worker dead
    assert names() == ["Bread"]
    served.call("groceries", "add_item", {"name": "Milk"})
    served.stop()
    served = start("serve")
    assert names() == ["Bread", "Milk"]
    served.call("groceries", "remove_item", {"id": "1"})
    assert names() == ["Milk"]


def kill_and_restart(
    times: int, start: Callable[..., Served], folder: Path, tmp_path: Path, chance: random.Random
) -> None:
    """Kill the server and a publisher in the middle of publishing, start again, and look that all is whole."""
    version, acknowledged = 1, 1
    served = start("serve")
    for _ in range(times):
        out = tmp_path / "publisher"
        with out.open("w") as stdout, (tmp_path / "publisher.log").open("w") as stderr:
            publisher = subprocess.Popen(
                [sys.executable, "-c", PUBLISHER, str(version)],
                cwd=tmp_path,
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            )
        try:
            wanted = chance.randrange(1, 6)  # publishes seen through before the kill
            while out.read_text().count("done") < wanted:
                assert publisher.poll() is None, (tmp_path / "publisher.log").read_text()
                response = httpx.post(served.url("hello"), **request("hello", {"name": "Ada"}), timeout=30)
                assert response.status_code == 200
                assert not response.json()["result"].get("isError"), response.text
            with pytest.raises(subprocess.TimeoutExpired):
                publisher.wait(chance.random() / 20)  # somewhere inside the next one
        finally:
            publisher.kill()
            publisher.wait()
            served.kill()
        said = [line.split() for line in out.read_text().splitlines()]
        acknowledged = max([acknowledged, *(int(words[1]) for words in said if words[0] == "done")])
        version = max([version, *(int(words[1]) for words in said)])
        served = start("serve")
        answered = int(served.call("hello", "hello", {"name": "Ada"})["content"][0]["text"].split()[0])
        assert acknowledged <= answered <= version, "a release was lost"


def test_nothing_is_lost_or_half_there_after_kill_9_amid_publishes(
    platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = example("hello")
    versioned(folder, 1)
    platform("publish", "hello")
    kill_and_restart(10, start, folder, tmp_path, random.Random(2026))


@pytest.mark.soak
def test_nothing_is_lost_or_half_there_after_a_thousand_kills(
    platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = example("hello")
    versioned(folder, 1)
    platform("publish", "hello")
    kill_and_restart(1000, start, folder, tmp_path, random.Random())
