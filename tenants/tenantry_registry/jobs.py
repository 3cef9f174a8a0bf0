"""Publishes under way: started by the control plane, carried out by the publisher, read by whoever waits.

`publishes/{tenant}/{plugin}/{id}.json`, changed by compare-and-set. Every step may be repeated: an upload may be made
again, a finish that was not heard changes nothing the second time, and a job whose worker died is taken up again.

    uploading --(finish)--> waiting --(the publisher takes it)--> running --> done | failed
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tenantry_registry.audit import ulid
from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects, Stored, move

ALIVE = 900.0  # seconds: a Lambda function is ended after 15 minutes, so a job older than that has no worker
STEPS = 40  # kept of one job; a publish has fewer than ten

State = Literal["uploading", "waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """One publish. Times are seconds since the epoch; `steps` are {"code", "text", "seconds"}; `result` is {"previous",
    "changed", "findings", "contract"}; `error` {"code", "message", "hint", "findings"}."""

    id: str
    tenant: str
    plugin: str
    digest: str
    size: int
    who: str
    created: float
    updated: float
    state: State = "uploading"
    force: bool = False
    current: bool = True
    preview_until: float | None = None
    steps: tuple[Mapping[str, Any], ...] = ()
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    attempt: int = 0
    version: str = ""

    @property
    def name(self) -> Name:
        return Name(self.tenant, self.plugin)

    @property
    def upload(self) -> str:
        """The Objects key that the bundle is uploaded to."""
        return f"uploads/{self.tenant}/{self.plugin}/{self.digest}.zip"

    def public(self) -> dict[str, Any]:
        raw = asdict(self)
        del raw["version"]
        return raw


class Jobs:
    """The publishes in `objects`."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.time) -> None:
        self._objects, self._now = objects, now

    async def start(
        self,
        name: Name,
        digest: str,
        size: int,
        *,
        who: str,
        force: bool = False,
        preview_until: float | None = None,
    ) -> Job:
        """A new publish that waits for its upload. A preview does not become current."""
        now = self._now()
        job = Job(
            ulid(now),
            name.tenant,
            name.plugin,
            digest,
            size,
            who,
            now,
            now,
            force=force,
            current=preview_until is None,
            preview_until=preview_until,
        )
        version = await self._objects.swap(key(name, job.id), _json(job), expected=None)
        return replace(job, version=version)

    async def show(self, name: Name, job_id: str) -> Job:
        """Raises: PlatformError `publish.unknown`."""
        return _job(name, job_id, await self._objects.get(key(name, job_id)))

    async def finish_upload(self, name: Name, job_id: str) -> Job:
        """The upload is there: let a publisher take it. One that waits, runs or is over stays as it is, except that a
        job whose worker died waits again. Raises: as `show`; Conflict."""

        def decide(job: Job) -> Job:
            dead = job.state in ("waiting", "running") and self._now() - job.updated > ALIVE
            return self._touched(job, state="waiting") if job.state == "uploading" or dead else job

        return await self._move(name, job_id, decide)

    async def take(self, name: Name, job_id: str) -> Job | None:
        """Become the one that works on it; None when it is nobody's to take. Raises: as `show`; Conflict."""
        job = await self.show(name, job_id)
        dead = job.state == "running" and self._now() - job.updated > ALIVE
        if job.state != "waiting" and not dead:
            return None
        taken = self._touched(job, state="running", attempt=job.attempt + 1, steps=())
        try:
            version = await self._objects.swap(key(name, job_id), _json(taken), expected=job.version)
        except Conflict:
            return None
        return replace(taken, version=version)

    async def note(self, job: Job, step: Mapping[str, Any]) -> Job:
        """Progress of a job that was taken. Raises: Conflict when another worker has taken it since."""
        return await self._write(self._touched(job, steps=(*job.steps, step)[-STEPS:]), job.version)

    async def done(self, job: Job, result: Mapping[str, Any]) -> Job:
        """Raises: Conflict when another worker has taken it since."""
        return await self._write(self._touched(job, state="done", result=result), job.version)

    async def failed(self, job: Job, error: Mapping[str, Any]) -> Job:
        """Raises: Conflict when another worker has taken it since."""
        return await self._write(self._touched(job, state="failed", error=error), job.version)

    def _touched(self, job: Job, **values: Any) -> Job:
        return replace(job, updated=self._now(), **values)

    async def _write(self, job: Job, expected: str) -> Job:
        return replace(job, version=await self._objects.swap(key(job.name, job.id), _json(job), expected=expected))

    async def _move(self, name: Name, job_id: str, decide: Callable[[Job], Job]) -> Job:
        def read(stored: Stored | None) -> Job:
            return _job(name, job_id, stored)

        moved = await move(
            self._objects, key(name, job_id), read=read, decide=decide, write=_json, what=f"The publish {job_id}"
        )
        return replace(moved.after, version=moved.version)


def key(name: Name, job_id: str) -> str:
    return f"publishes/{name.tenant}/{name.plugin}/{job_id}.json"


def _job(name: Name, job_id: str, stored: Stored | None) -> Job:
    if stored is None:
        raise PlatformError("publish.unknown", f"{name} has no publish {job_id[:40]}.", "Start one.")
    raw = json.loads(stored.data)
    return Job(**{**raw, "steps": tuple(raw["steps"])}, version=stored.version)


def _json(job: Job) -> bytes:
    return json.dumps(job.public(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
