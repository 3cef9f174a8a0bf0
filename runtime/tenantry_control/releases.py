"""/v1/plugins: a tenant's plugins, their releases, and which of them is served."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field
from tenantry_registry.audit import Audit
from tenantry_registry.domains import Domains
from tenantry_registry.errors import PlatformError
from tenantry_registry.hosts import Place
from tenantry_registry.names import Name
from tenantry_registry.pointer import Pointer
from tenantry_registry.prune import prune as prune_plugin
from tenantry_registry.registry import Registry

from tenantry_control.access import Access, Caller, Digest, Plugin, TenantSlug
from tenantry_control.problems import RESPONSES
from tenantry_control.publishes import PREVIEW_DAYS
from tenantry_control.tenants import Body


class ReleaseEntry(BaseModel):
    """A release that was or is served. `at` is when it last became current (seconds since the epoch); `rolled_back`
    says that it was rolled away from. `version` is told where one plugin is asked for."""

    digest: str
    version: str | None
    at: float | None
    current: bool
    preview_until: float | None
    yanked: bool
    rolled_back: bool


class PluginView(BaseModel):
    """A plugin and its releases, the newest first."""

    tenant: str
    plugin: str
    label: str = Field(description="the DNS label of its own host")
    state: Literal["active", "suspended", "deleted"]
    current: str | None
    created: float
    submitted: str | None = Field(description="the release whose contract the directory has scanned")
    mcp_url: str
    own_host: bool = Field(description="whether that host is this plugin's alone, as submitting needs")
    challenge: bool = Field(description="whether a domain challenge token is set")
    releases: list[ReleaseEntry]

    @classmethod
    def of(cls, name: Name, pointer: Pointer, place: Place, versions: Mapping[str, str]) -> Self:
        past = {entry.digest: entry.at for entry in pointer.history}
        return cls(
            tenant=name.tenant,
            plugin=name.plugin,
            label=name.label,
            state=pointer.state,
            current=pointer.current,
            created=pointer.created,
            submitted=pointer.submitted or None,
            mcp_url=place.mcp_url,
            own_host=place.own_host,
            challenge=bool(pointer.challenge),
            releases=[
                ReleaseEntry(
                    digest=digest,
                    version=versions.get(digest),
                    at=past.get(digest),
                    current=digest == pointer.current,
                    preview_until=pointer.previews.get(digest),
                    yanked=digest in pointer.yanked,
                    rolled_back=digest in pointer.left,
                )
                for digest in pointer.known
            ],
        )


class ManifestView(BaseModel):
    """A release as it was compiled: what the wire's lists are made from. Values of secrets are not in it."""

    manifest: dict[str, Any]


class PreviewTime(Body):
    days: float = Field(default=7.0, gt=0, le=PREVIEW_DAYS)


class ChallengeToken(Body):
    token: str = Field(max_length=512, description="what the host's /.well-known/openai-apps-challenge answers")


class Pruned(BaseModel):
    objects: int


def router(
    access: Access, registry: Registry, audit: Audit, domains: Domains, *, now: Callable[[], float] = time.time
) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(prefix="/plugins", tags=["releases"], responses=RESPONSES)

    async def pointer(name: Name) -> Pointer:
        found = await registry.current(name)
        if found is None:
            raise PlatformError("registry.unknown", f"There is no plugin {name}.", "Publish it first.")
        return found

    async def known(name: Name, digits: str) -> str:
        """The one release of `name` whose digest begins with `digits`."""
        found = await pointer(name)
        hits = [digest for digest in found.known if digest.startswith(digits)]
        if len(hits) != 1:
            raise PlatformError("registry.no-release", f"{name} has no release {digits[:12]}.", "See its releases.")
        return hits[0]

    async def viewed(name: Name) -> PluginView:
        found = await pointer(name)
        return PluginView.of(name, found, domains.place(name), await registry.versions(name, found.known))

    async def record(caller: Caller, action: str, name: Name, before: Pointer | None, **after: Any) -> PluginView:
        await audit.record(
            caller.actor,
            action,
            tenant=name.tenant,
            target=str(name),
            before={"current": before.current, "state": before.own} if before else None,
            after=after,
        )
        return await viewed(name)

    @routes.get("/{tenant}", summary="List a tenant's plugins")
    async def plugins(tenant: TenantSlug, caller: Annotated[Caller, access.needs("read")]) -> list[PluginView]:
        found = await registry.every(tenant)
        return [PluginView.of(name, pointer, domains.place(name), {}) for name, pointer in found]

    @routes.get("/{tenant}/{plugin}", summary="Show a plugin and its releases")
    async def show(plugin: Plugin, caller: Annotated[Caller, access.needs("read")]) -> PluginView:
        return await viewed(plugin)

    @routes.delete("/{tenant}/{plugin}", summary="Delete a plugin: it is served no more, its name is never given again")
    async def delete(plugin: Plugin, caller: Annotated[Caller, access.needs("admin")]) -> PluginView:
        before = await pointer(plugin)
        await registry.set_state(plugin, "deleted")
        return await record(caller, "plugin.delete", plugin, before, state="deleted")

    @routes.get("/{tenant}/{plugin}/releases/{digest}", summary="Show a release")
    async def release(plugin: Plugin, digest: Digest, caller: Annotated[Caller, access.needs("read")]) -> ManifestView:
        import json

        manifest = await registry.manifest(plugin, await known(plugin, digest))
        return ManifestView(manifest=json.loads(manifest.to_json()))

    @routes.post("/{tenant}/{plugin}/releases/{digest}/promote", summary="Make a release current")
    async def promote(plugin: Plugin, digest: Digest, caller: Annotated[Caller, access.needs("publish")]) -> PluginView:
        before, found = await pointer(plugin), await known(plugin, digest)
        await registry.point(plugin, found)
        return await record(caller, "release.promote", plugin, before, current=found)

    @routes.post(
        "/{tenant}/{plugin}/rollback", summary="Make the release that was served before the current one current again"
    )
    async def rollback(plugin: Plugin, caller: Annotated[Caller, access.needs("publish")]) -> PluginView:
        before = await pointer(plugin)
        if before.before is None:
            raise PlatformError("registry.no-release", f"{plugin} has no earlier release.", "Name one.")
        await registry.point(plugin, before.before)
        return await record(caller, "release.rollback", plugin, before, current=before.before)

    @routes.post("/{tenant}/{plugin}/releases/{digest}/preview", summary="Serve a release at its preview address")
    async def preview(
        plugin: Plugin, digest: Digest, body: PreviewTime, caller: Annotated[Caller, access.needs("publish")]
    ) -> PluginView:
        before, found = await pointer(plugin), await known(plugin, digest)
        until = now() + body.days * 86_400
        await registry.preview(plugin, found, until)
        return await record(caller, "release.preview", plugin, before, preview=found, until=until)

    @routes.post("/{tenant}/{plugin}/releases/{digest}/yank", summary="Serve a release nowhere, for good")
    async def yank(plugin: Plugin, digest: Digest, caller: Annotated[Caller, access.needs("publish")]) -> PluginView:
        before, found = await pointer(plugin), await known(plugin, digest)
        await registry.yank(plugin, found)
        return await record(caller, "release.yank", plugin, before, yanked=found)

    @routes.post("/{tenant}/{plugin}/releases/{digest}/submit", summary="Mark the release that was submitted")
    async def submit(plugin: Plugin, digest: Digest, caller: Annotated[Caller, access.needs("publish")]) -> PluginView:
        before, found = await pointer(plugin), await known(plugin, digest)
        await registry.submit(plugin, found)
        return await record(caller, "release.submit", plugin, before, submitted=found)

    @routes.post("/{tenant}/{plugin}/prune", summary="Remove what can't be gone back to and no published URI needs")
    async def prune(plugin: Plugin, caller: Annotated[Caller, access.needs("admin")]) -> Pruned:
        before = await pointer(plugin)
        removed = await prune_plugin(registry, plugin, now=now)
        await record(caller, "plugin.prune", plugin, before, objects=len(removed))
        return Pruned(objects=len(removed))

    @routes.put("/{tenant}/{plugin}/challenge", summary="Set the domain challenge token, or (empty) remove it")
    async def challenge(
        plugin: Plugin, body: ChallengeToken, caller: Annotated[Caller, access.needs("publish")]
    ) -> PluginView:
        before = await pointer(plugin)
        if body.token and not domains.place(plugin).own_host:
            raise PlatformError(
                "challenge.shared-host",
                f"{plugin} shares its host with other plugins, and a host proves one plugin only (P01).",
                "Deploy with a domain: each plugin gets a host of its own then.",
            )
        await registry.challenge(plugin, body.token)
        return await record(caller, "plugin.challenge", plugin, before, challenge=bool(body.token))

    return routes
