"""/v1/plugins/{tenant}/{plugin}/files: what tools made; revoked, every link to it is dead."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from tenantry_registry import files as domain
from tenantry_registry.audit import Audit
from tenantry_registry.objects import Objects

from tenantry_control.access import Access, Caller, Plugin
from tenantry_control.problems import RESPONSES

FileId = Annotated[str, Path(pattern=f"^{domain.FILE_ID.pattern}$", description="A file's id")]


class FileView(BaseModel):
    """`size` in bytes, `made` in seconds since the epoch."""

    file_id: str
    name: str
    size: int
    made: float


def router(access: Access, objects: Objects, audit: Audit) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(prefix="/plugins/{tenant}/{plugin}/files", tags=["files"], responses=RESPONSES)

    @routes.get("", summary="List the files that a plugin's tools made")
    async def every(
        plugin: Plugin,
        caller: Annotated[Caller, access.needs("read")],
        limit: Annotated[int, Query(ge=1, le=1_000)] = 200,
    ) -> list[FileView]:
        found: list[FileView] = []
        async for saved in domain.all_files(objects, plugin):
            found.append(FileView(file_id=saved.file_id, name=saved.name, size=saved.size, made=saved.made))
            if len(found) == limit:
                break
        return found

    @routes.delete("/{file_id}", status_code=204, summary="Revoke a file: every link to it is dead at once")
    async def revoke(plugin: Plugin, file_id: FileId, caller: Annotated[Caller, access.needs("publish")]) -> None:
        await domain.revoke(objects, plugin, file_id)
        before = {"file_id": file_id}
        await audit.record(caller.actor, "file.revoke", tenant=plugin.tenant, target=str(plugin), before=before)

    return routes
