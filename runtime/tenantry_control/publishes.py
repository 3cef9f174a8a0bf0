"""/v1/plugins/{tenant}/{plugin}/publishes: start, upload straight to storage, finish, follow.

The bundle never passes through this process: `start` answers a signed upload for one key, one size range and one
type, `finish` hands the publish to the publisher and answers 202. Each step may be repeated.
"""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from tenantry_registry.audit import Audit
from tenantry_registry.errors import PlatformError
from tenantry_registry.jobs import Job, Jobs
from tenantry_registry.names import Name, check_length
from tenantry_registry.objects import ZIP, Objects, Upload
from tenantry_registry.registry import Registry, bundle_key
from tenantry_registry.tenants import Tenants

from tenantry_control.access import Access, Caller, Plugin
from tenantry_control.problems import RESPONSES
from tenantry_control.publishing import Publisher
from tenantry_control.tenants import Body

UPLOAD_SECONDS = 900  # to upload 100 MB over a slow line; a lost upload is started again
BUNDLE_BYTES = 100 * 1024 * 1024  # reference P07: an archive is at most 100 MB
PREVIEW_DAYS = 30.0

JobId = Annotated[str, Path(pattern="^[0-9A-HJKMNP-TV-Z]{26}$", description="A publish, as `start` named it")]


class NewPublish(Body):
    """What is about to be uploaded."""

    digest: str = Field(pattern="^[0-9a-f]{64}$", description="sha256 of the bundle")
    size: int = Field(ge=1, le=BUNDLE_BYTES, description="bytes of the bundle")
    force: bool = Field(default=False, description="publish although it breaks the submitted contract")
    preview_days: float | None = Field(
        default=None, gt=0, le=PREVIEW_DAYS, description="serve it at a preview address for so long, not as current"
    )


class SignedUpload(BaseModel):
    """POST `fields` and then the file, as multipart/form-data, to `url`."""

    url: str
    fields: dict[str, str]


class PublishView(BaseModel):
    """A publish. Times are seconds since the epoch; `steps` have a code, a text and the seconds they took."""

    id: str
    tenant: str
    plugin: str
    digest: str
    state: Literal["uploading", "waiting", "running", "done", "failed"]
    created: float
    updated: float
    attempt: int
    preview_until: float | None
    steps: list[dict[str, Any]]
    result: dict[str, Any] | None
    error: dict[str, Any] | None

    @classmethod
    def of(cls, job: Job) -> Self:
        return cls.model_validate(job.public())


class StartedPublish(PublishView):
    upload: SignedUpload | None = Field(description="null when this bundle is stored already: finish at once")


def router(
    access: Access,
    objects: Objects,
    tenants: Tenants,
    publisher: Publisher,
    audit: Audit,
    *,
    base: str,
    now: Callable[[], float] = time.time,
) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(prefix="/plugins/{tenant}/{plugin}/publishes", tags=["publishes"], responses=RESPONSES)
    jobs, registry = Jobs(objects, now=now), Registry(objects, now=now, base=base)

    async def allowed(name: Name) -> None:
        tenant = await tenants.show(name.tenant)
        if tenant.state != "active":
            raise PlatformError("tenant.suspended", f"{name.tenant} is {tenant.state}.", "Ask the operator.")
        if await registry.current(name) is not None:
            return
        if base:
            check_length(name, base)
        count = sum(pointer.own != "deleted" for _, pointer in await registry.every(name.tenant))
        if count >= tenant.allows().plugins:
            raise PlatformError(
                "plan.plugins",
                f"{name.tenant}'s plan allows {tenant.allows().plugins} plugins.",
                "Delete one that is not needed, or ask the operator for a larger plan.",
            )

    async def started(job: Job) -> StartedPublish:
        key, upload = bundle_key(job.name, job.digest), None
        # Listed, not read: it may have a hundred megabytes, and reading bundles is not this room's right.
        if all([listed.key != key async for listed in objects.list(key.rpartition("/")[0] + "/")]):
            signed = await objects.sign(
                job.upload,
                Upload(UPLOAD_SECONDS, max_bytes=job.size, min_bytes=job.size, content_type=ZIP.content_type),
            )
            upload = SignedUpload(url=signed.url, fields=dict(signed.fields))
        return StartedPublish(**PublishView.of(job).model_dump(), upload=upload)

    @routes.post("", status_code=201, summary="Start a publish")
    async def start(
        plugin: Plugin, body: NewPublish, caller: Annotated[Caller, access.needs("publish")]
    ) -> StartedPublish:
        await allowed(plugin)
        until = None if body.preview_days is None else now() + body.preview_days * 86_400
        job = await jobs.start(
            plugin, body.digest, body.size, who=caller.actor.who, force=body.force, preview_until=until
        )
        return await started(job)

    @routes.post("/{job_id}/upload", summary="Get another signed upload for a publish that was not finished")
    async def again(
        plugin: Plugin, job_id: JobId, caller: Annotated[Caller, access.needs("publish")]
    ) -> StartedPublish:
        return await started(await jobs.show(plugin, job_id))

    @routes.post("/{job_id}/finish", status_code=202, summary="The upload is done: publish it")
    async def finish(plugin: Plugin, job_id: JobId, caller: Annotated[Caller, access.needs("publish")]) -> PublishView:
        before = await jobs.show(plugin, job_id)
        await allowed(plugin)
        await registry.reserve(plugin)
        await allowed(plugin)  # again, since a suspension that came between did not see a plugin to suspend
        job = await jobs.finish_upload(plugin, job_id)
        if job.state == "waiting":
            await publisher.start(plugin, job_id)
        if before.state == "uploading":
            await audit.record(
                caller.actor,
                "release.preview" if job.preview_until else "release.publish",
                tenant=plugin.tenant,
                target=str(plugin),
                after={"digest": job.digest, "force": job.force, "preview_until": job.preview_until, "id": job.id},
            )
        return PublishView.of(job)

    @routes.get("/{job_id}", summary="Follow a publish")
    async def show(plugin: Plugin, job_id: JobId, caller: Annotated[Caller, access.needs("read")]) -> PublishView:
        return PublishView.of(await jobs.show(plugin, job_id))

    return routes
