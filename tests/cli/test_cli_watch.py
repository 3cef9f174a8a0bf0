"""What a save is: the files that the author sees, not those that an editor writes on the way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tenantry_cli.watch import Watched, changes
from watchfiles import Change

DRAFTS = (
    "sedAb3xYz",
    "4913",
    "server.py~",
    ".server.py.swp",
    "#server.py#",
    ".#server.py",
    "server.py.tmp.1.2",
    "a.new",
)


@pytest.mark.parametrize("name", DRAFTS)
def test_an_editors_draft_is_no_save(name: str) -> None:
    assert not Watched()(Change.added, f"/zoo/{name}")


@pytest.mark.parametrize("name", ["server.py", ".env", "plugin.toml", "sedan.py", "widgets/a/news.html"])
def test_an_authors_file_is_one(name: str) -> None:
    assert Watched()(Change.modified, f"/zoo/{name}")


async def test_one_save_by_way_of_a_draft_is_one_file(tmp_path: Path) -> None:
    server, stop = tmp_path / "server.py", asyncio.Event()
    server.write_text("1")

    async def save() -> None:
        draft = tmp_path / "draft-of-an-editor"
        while not stop.is_set():  # until the watcher is up and has seen it
            draft.write_text("2")
            draft.rename(server)
            await asyncio.sleep(0.3)

    saving = asyncio.create_task(save())
    async for changed in changes([tmp_path], stop):
        stop.set()
        assert changed == {tmp_path: ["server.py"]}
        break
    await saving


async def test_saving_a_test_is_no_news(tmp_path: Path) -> None:
    stop = asyncio.Event()
    (tmp_path / "tests").mkdir()

    async def save() -> None:
        while not stop.is_set():  # until the watcher is up and has seen it
            for name in ("tests/test_server.py", "tests/data.csv", "test_more.py", "conftest.py"):
                (tmp_path / name).write_text("")
            (tmp_path / "server.py").write_text("")
            await asyncio.sleep(0.3)

    saving = asyncio.create_task(save())
    async for changed in changes([tmp_path], stop):
        stop.set()
        assert changed == {tmp_path: ["server.py"]}
        break
    await saving
