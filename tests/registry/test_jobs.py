"""Publishes under way: one worker each, whatever is repeated, and nobody's after their worker died."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.jobs import ALIVE, STEPS, Jobs
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects

ZOO = Name("acme", "zoo")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def objects(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path)


@pytest.fixture
def jobs(objects: FileObjects, clock: Clock) -> Jobs:
    return Jobs(objects, now=clock)


async def waiting(jobs: Jobs) -> str:
    job = await jobs.start(ZOO, "d" * 64, 10, who="token:1")
    await jobs.finish_upload(ZOO, job.id)
    return job.id


async def test_a_job_is_worked_on_by_one(jobs: Jobs) -> None:
    started = await jobs.start(ZOO, "d" * 64, 10, who="token:1")
    assert await jobs.take(ZOO, started.id) is None  # its upload is not there yet
    await jobs.finish_upload(ZOO, started.id)
    assert (await jobs.finish_upload(ZOO, started.id)).state == "waiting"
    taken = await jobs.take(ZOO, started.id)
    assert taken is not None
    assert await jobs.take(ZOO, started.id) is None
    noted = await jobs.note(taken, {"code": "read", "text": "1 KB", "seconds": 0.0})
    done = await jobs.done(noted, {"changed": True})
    assert (done.state, len(done.steps), done.result) == ("done", 1, {"changed": True})
    assert (await jobs.finish_upload(ZOO, started.id)).state == "done"


async def test_of_two_that_take_it_at_once_one_gets_it(jobs: Jobs, objects: FileObjects, clock: Clock) -> None:
    job_id = await waiting(jobs)

    class Late:
        """Another worker takes the job between this one's look and its hold."""

        def __getattr__(self, verb: str) -> Any:
            return getattr(objects, verb)

        async def swap(self, *args: Any, **more: Any) -> str:
            await jobs.take(ZOO, job_id)
            return await objects.swap(*args, **more)

    assert await Jobs(Late(), now=clock).take(ZOO, job_id) is None  # type: ignore[arg-type]
    assert (await jobs.show(ZOO, job_id)).attempt == 1


async def test_a_job_whose_worker_died_is_taken_again_and_the_old_worker_writes_no_more(
    jobs: Jobs, clock: Clock
) -> None:
    job_id = await waiting(jobs)
    first = await jobs.take(ZOO, job_id)
    assert first is not None
    clock.now += ALIVE + 1
    second = await jobs.take(ZOO, job_id)
    assert second is not None
    assert second.attempt == 2
    with pytest.raises(Conflict):
        await jobs.failed(first, {"code": "internal"})
    assert (await jobs.failed(second, {"code": "internal"})).error == {"code": "internal"}


async def test_the_last_steps_are_kept(jobs: Jobs) -> None:
    taken = await jobs.take(ZOO, await waiting(jobs))
    assert taken is not None
    for number in range(STEPS + 2):
        taken = await jobs.note(taken, {"code": str(number)})
    assert [step["code"] for step in taken.steps] == [str(n) for n in range(2, STEPS + 2)]


async def test_a_change_that_loses_every_race_says_so(jobs: Jobs, objects: FileObjects, clock: Clock) -> None:
    class Contested:
        def __getattr__(self, verb: str) -> Any:
            return getattr(objects, verb)

        async def swap(self, *args: Any, **more: Any) -> str:
            raise Conflict("Somebody was faster.")

    job = await jobs.start(ZOO, "d" * 64, 10, who="token:1")
    with pytest.raises(Conflict, match="too many others"):
        await Jobs(Contested(), now=clock).finish_upload(ZOO, job.id)  # type: ignore[arg-type]


async def test_an_unknown_job_is_said_so(jobs: Jobs) -> None:
    with pytest.raises(PlatformError) as refused:
        await jobs.show(ZOO, "01J")
    assert refused.value.code == "publish.unknown"


def test_a_manifest_of_another_format_is_refused() -> None:
    with pytest.raises(PlatformError) as refused:
        Manifest.from_json(b'{"format": 99}')
    assert refused.value.code == "manifest.format"
