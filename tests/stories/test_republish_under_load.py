"""An author saves again and again while people use the plugin: nobody loses a request."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
from stories.served import Served, request, versioned

EDITS = 6
CALLERS = 4
ENOUGH = 40  # answers of each version before the next edit


def test_saving_under_load_loses_no_request_and_ends_with_the_newest_release(
    start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    versioned(folder, 0)
    served = start("dev", "hello")
    answers: Counter[int] = Counter()

    async def story() -> None:
        news, done = asyncio.Condition(), asyncio.Event()

        async def ask(http: httpx.AsyncClient) -> None:
            while not done.is_set():
                response = await http.post(served.url("hello"), **request("hello", {"name": "Ada"}))
                assert response.status_code == 200, response.text
                result = response.json()["result"]
                assert not result.get("isError"), result
                async with news:
                    answers[int(result["content"][0]["text"].split()[0])] += 1
                    news.notify_all()

        async def edit() -> None:
            for version in range(1, EDITS + 1):
                versioned(folder, version)
                async with news, asyncio.timeout(20):
                    await news.wait_for(partial(reached, version))
            done.set()

        def reached(version: int) -> bool:
            return answers[version] >= ENOUGH

        async with httpx.AsyncClient(timeout=30) as http, asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(ask(http))
            group.create_task(edit())

    asyncio.run(story())
    assert set(answers) >= set(range(1, EDITS + 1))


def test_a_save_that_does_not_publish_keeps_the_old_release_and_says_why(
    start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    versioned(folder, 1)
    served = start("dev", "hello")
    server = folder / "server.py"
    good = server.read_text()
    server.write_text(good + "\nimport a_module_that_nobody_has\n")

    log = served.wait_for("ModuleNotFoundError: No module named 'a_module_that_nobody_has'")
    assert "not published" in log
    assert served.release("hello")[:12] in log
    assert served.call("hello", "hello", {"name": "Ada"})["content"][0]["text"] == "1 Ada"
