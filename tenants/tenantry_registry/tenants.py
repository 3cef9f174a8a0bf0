"""Tenants: customers of the platform, from creation to erasure.

`tenants/{tenant}.json`, changed by compare-and-set. A state is repeated on every plugin's pointer (`hold`), so that a
request learns it from the one object it reads anyway. Deleting is in two steps: the tenant is served no more at once,
and after a grace period `erase` removes every object of it, older versions included, and leaves a tombstone by which
its name is never issued again.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from tenantry_registry import names, plans
from tenantry_registry.audit import Audit
from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.objects import Objects, Stored, move
from tenantry_registry.plans import Plan
from tenantry_registry.registry import Registry

GRACE_DAYS = 30  # to change one's mind after deleting a tenant
# Everything that is kept of a tenant stands below one of these, followed by its name: what `erase` empties.
ROOMS = (
    "bundles", "releases", "site", "widgets", "plugins", "secrets", "state", "pending", "files", "usage", "uploads",
    "publishes", "contracts", "tokens", "audit", "logs",
)  # fmt: skip

State = Literal["active", "suspended", "deleted"]


@dataclass(frozen=True, slots=True)
class Trust:
    """An identity of a CI provider that may act for the tenant: tokens by `issuer` whose claims equal `claims`
    (a value that ends in `*` matches what begins so), with these scopes."""

    issuer: str
    claims: Mapping[str, str]
    scopes: tuple[str, ...] = ("publish",)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A customer. `delete_at` (seconds since the epoch) is when a deleted one may be erased."""

    slug: str
    created: float
    title: str = ""
    plan: str = plans.DEFAULT
    limits: Mapping[str, int] = field(default_factory=dict)
    state: State = "active"
    delete_at: float | None = None
    trust: tuple[Trust, ...] = ()
    version: str = ""

    def allows(self) -> Plan:
        """What it may use."""
        return plans.plan(self.plan, self.limits)

    def public(self) -> dict[str, Any]:
        """What an operator and the tenant itself may see of it: everything that is stored."""
        raw = asdict(self)
        del raw["version"]
        return raw


class Tenants:
    """The tenants in `objects`."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.time) -> None:
        self._objects, self._now = objects, now
        self._registry = Registry(objects, now=now)
        self._audit = Audit(objects, now=now)

    async def create(self, slug: str, *, title: str = "", plan: str = plans.DEFAULT) -> Tenant:
        """Issue a name. Raises: PlatformError `name.tenant`, `plan.unknown`, `tenant.taken`."""
        tenant = Tenant(names.tenant(slug), self._now(), title=title[:200], plan=plan)
        tenant.allows()
        if await self._audit.buried(slug):
            raise _taken(slug)
        try:
            version = await self._objects.swap(key(slug), _json(tenant), expected=None)
        except Conflict:
            raise _taken(slug) from None
        return replace(tenant, version=version)

    async def find(self, slug: str) -> Tenant | None:
        """The tenant, or None where there is none of that name."""
        stored = await self._objects.get(key(names.tenant(slug)))
        return _tenant(stored) if stored else None

    async def show(self, slug: str) -> Tenant:
        """Raises: PlatformError `name.tenant`, `tenant.unknown`."""
        tenant = await self.find(slug)
        if tenant is None:
            raise _unknown(slug)
        return tenant

    async def all(self, *, after: str = "") -> AsyncIterator[Tenant]:
        """Every tenant whose name comes after `after`, by name."""
        async for listed in self._objects.list("tenants/"):
            slug = listed.key.removeprefix("tenants/").removesuffix(".json")
            tenant = await self.find(slug) if slug > after else None
            if tenant is not None:
                yield tenant

    async def change(self, slug: str, **values: Any) -> Tenant:
        """Set title, plan, limits or trust. Raises: as `show`; PlatformError `plan.unknown`, `plan.limit`; Conflict."""

        def decide(tenant: Tenant) -> Tenant:
            changed = replace(tenant, **values)
            changed.allows()
            return changed

        return await self._move(slug, decide)

    async def suspend(self, slug: str) -> Tenant:
        """Serve none of its plugins until `resume`. Raises: as `show`; PlatformError `tenant.deleted`; Conflict."""
        return await self._hold(slug, "suspended")

    async def resume(self, slug: str) -> Tenant:
        """Serve it again; within the grace period this takes a deletion back. Raises: as `show`; Conflict."""
        return await self._hold(slug, "active")

    async def delete(self, slug: str, *, grace_days: float = GRACE_DAYS) -> Tenant:
        """Serve it no more and let it be erased after `grace_days`. Raises: as `show`; Conflict."""
        return await self._hold(slug, "deleted", self._now() + grace_days * 86_400)

    async def _hold(self, slug: str, state: State, delete_at: float | None = None) -> Tenant:
        def decide(tenant: Tenant) -> Tenant:
            if tenant.state == "deleted" and state == "suspended":
                raise PlatformError("tenant.deleted", f"{slug} is being deleted.", "Resume it first.")
            return replace(tenant, state=state, delete_at=delete_at)

        tenant = await self._move(slug, decide)
        # The tenant's own document is first: a crash from here on is mended by repeating the request. Of two that are
        # at it at once, the one that sees the other's document begins again, so that both leave what stands there.
        while True:
            hold: State = "active" if tenant.state == "active" else "suspended"
            async for plugin in self._registry.plugins(slug):
                await self._registry.set_state(plugin, hold, tenant=True)
            now = await self.show(slug)
            if now.state == tenant.state:
                return now
            tenant = now

    async def erase(self, slug: str, *, also: Callable[[str], Awaitable[None]] | None = None) -> int:
        """Remove everything of a deleted tenant whose grace period is over, all versions. Returns how many objects.
        `also` removes what is kept of it elsewhere.

        May be repeated after a crash: the tenant's own document goes last.
        Raises: as `show`; PlatformError `tenant.not-due`.
        """
        tenant = await self.show(slug)
        if tenant.state != "deleted" or tenant.delete_at is None or tenant.delete_at > self._now():
            raise _not_due(tenant)
        await self._audit.bury(slug)
        removed = 0
        for room in ROOMS:
            async for _ in self._objects.list(f"{room}/{slug}/"):
                removed += 1
            # The folder, not its keys: what was deleted earlier is in no list, but its versions are there.
            await self._objects.delete(f"{room}/{slug}/", all_versions=True)
        if also is not None:
            await also(slug)
        await self._objects.delete(key(slug), all_versions=True)
        return removed + 1

    async def _move(self, slug: str, decide: Callable[[Tenant], Tenant]) -> Tenant:
        def read(stored: Stored | None) -> Tenant:
            if stored is None:
                raise _unknown(slug)
            return _tenant(stored)

        moved = await move(
            self._objects, key(names.tenant(slug)), read=read, decide=decide, write=_json, what=f"The tenant {slug}"
        )
        return replace(moved.after, version=moved.version)


def key(slug: str) -> str:
    return f"tenants/{slug}.json"


def _tenant(stored: Stored) -> Tenant:
    raw = json.loads(stored.data)
    raw["trust"] = tuple(Trust(t["issuer"], t["claims"], tuple(t["scopes"])) for t in raw["trust"])
    return Tenant(**raw, version=stored.version)


def _json(tenant: Tenant) -> bytes:
    return json.dumps(tenant.public(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _unknown(slug: str) -> PlatformError:
    hint = f"Make it: platform tenants create {slug}. Those there are: platform tenants list"
    return PlatformError("tenant.unknown", f"There is no tenant {slug}.", hint)


def _taken(slug: str) -> PlatformError:
    return PlatformError("tenant.taken", f"The name {slug} is taken.", "Names are never given twice: choose another.")


def _not_due(tenant: Tenant) -> PlatformError:
    hint = f"Delete it first: platform tenants delete {tenant.slug}"
    if tenant.delete_at is not None:
        due = datetime.fromtimestamp(tenant.delete_at, UTC)
        hint = f"Its grace period ends on {due:%Y-%m-%d at %H:%M} UTC."
    return PlatformError("tenant.not-due", f"{tenant.slug} is not due for erasure.", hint)
