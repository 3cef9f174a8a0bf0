"""One publish from the control plane's list, carried out: the upload becomes a release, or the job says why not.

The publisher reads uploads and bundles and writes what a release is made of. It has no right on tokens, tenants or
secrets: code is described with placeholders.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from tenantry_registry import bundle as bundles
from tenantry_registry.errors import PlatformError
from tenantry_registry.jobs import Job, Jobs
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.registry import bundle_key
from tenantry_registry.runners import Runner

from tenantry_publisher.publish import Published, RulesBroken, Step, publish

log = logging.getLogger("tenantry.publisher")


async def work(
    *,
    objects: Objects,
    runner: Runner,
    name: Name,
    job_id: str,
    base: str = "",
    target: str = "",
    now: Callable[[], float] = time.time,
) -> Job | None:
    """Carry out the publish `job_id` of `name`. Returns it as it ended, or None when another publisher has it.

    Whatever goes wrong is written into the job; nothing but the loss of storage itself is raised (StorageDown).
    """
    jobs = Jobs(objects, now=now)
    job = await jobs.take(name, job_id)
    if job is None:
        return None
    scribe = Scribe(jobs, job)
    try:
        published = await _publish(objects, runner, job, scribe, base=base, target=target)
    except PlatformError as error:
        return await jobs.failed(await scribe.close(), _problem(error))
    except Exception as error:
        error_id = secrets.token_hex(8)
        log.error("publish failed", extra={"error_id": error_id, "job": job_id}, exc_info=error)
        fault = PlatformError("internal", f"Something went wrong here (error {error_id}).", "Retry; then report it.")
        return await jobs.failed(await scribe.close(), _problem(fault))
    ended = await jobs.done(await scribe.close(), _result(published))
    await objects.delete(job.upload)
    return ended


async def _publish(objects: Objects, runner: Runner, job: Job, scribe: Scribe, *, base: str, target: str) -> Published:
    stored = await objects.get(job.upload) or await objects.get(bundle_key(job.name, job.digest))
    if stored is None:
        raise PlatformError("upload.missing", "The bundle was not uploaded.", "Upload it, then finish again.")
    if bundles.digest(stored.data) != job.digest:
        raise PlatformError("upload.digest", "The upload is not the bundle that was announced.", "Upload it again.")
    return await publish(
        objects=objects,
        runner=runner,
        name=job.name,
        bundle=stored.data,
        progress=scribe.note,
        force=job.force,
        set_current=job.current,
        preview_until=job.preview_until,
        base=base,
        target=target,
    )


class Scribe:
    """Writes a job's steps while it is worked on, in order, without making the work wait."""

    def __init__(self, jobs: Jobs, job: Job) -> None:
        self._jobs, self._job = jobs, job
        self._queue: asyncio.Queue[Step | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._write())

    def note(self, step: Step) -> None:
        self._queue.put_nowait(step)

    async def close(self) -> Job:
        """Write what is left; returns the job with all its steps. Raises: Conflict, StorageDown."""
        self._queue.put_nowait(None)
        await self._task
        return self._job

    async def _write(self) -> None:
        while (step := await self._queue.get()) is not None:
            self._job = await self._jobs.note(self._job, asdict(step))


def _problem(error: PlatformError) -> dict[str, Any]:
    findings: list[Mapping[str, Any]] = []
    if isinstance(error, RulesBroken):
        findings = [finding.to_dict() for finding in error.report.findings]
    return {"code": error.code, "message": error.message, "hint": error.hint, "findings": findings}


def _result(published: Published) -> dict[str, Any]:
    return {
        "digest": published.digest,
        "previous": published.previous,
        "changed": published.changed,
        "findings": [finding.to_dict() for finding in published.report.findings],
        "contract": published.comparison.to_dict() if published.comparison else None,
    }
