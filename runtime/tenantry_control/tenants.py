"""/v1/tenants: customers, their plan, their state, and whose CI identities act for them."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from tenantry_registry import tenants as domain
from tenantry_registry.audit import Audit
from tenantry_registry.names import TENANT
from tenantry_registry.plans import DEFAULT, PLANS
from tenantry_registry.tenants import Tenant, Tenants, Trust
from tenantry_registry.tokens import trusting
from tenantry_registry.usage import Usage

from tenantry_control.access import Access, Caller, TenantSlug
from tenantry_control.problems import RESPONSES


class Body(BaseModel):
    """A request's body: what it does not know, it refuses."""

    model_config = ConfigDict(extra="forbid", str_max_length=2_000)


class NewTenant(Body):
    slug: str = Field(pattern=f"^{TENANT.pattern}$", examples=["acme"])
    title: str = Field(default="", max_length=200)
    plan: str = Field(default=DEFAULT, max_length=40, description=f"one of {', '.join(PLANS)}")


class ChangedTenant(Body):
    title: str | None = Field(default=None, max_length=200)
    plan: str | None = Field(default=None, max_length=40)
    limits: dict[str, int] | None = Field(default=None, description="single limits that replace the plan's")


class Deletion(Body):
    grace_days: float = Field(default=domain.GRACE_DAYS, ge=0, le=365)


class TrustedIdentity(Body):
    """Tokens by `issuer` whose claims equal `claims` (a value that ends in `*` matches what begins so)."""

    issuer: str = Field(examples=["https://token.actions.githubusercontent.com"], max_length=500)
    claims: dict[str, str] = Field(examples=[{"repository": "acme/zoo"}])
    scopes: list[Literal["read", "publish", "admin"]] = ["publish"]


class TrustList(Body):
    identities: list[TrustedIdentity] = Field(max_length=20)


class TenantView(BaseModel):
    """A tenant as stored; times are seconds since the epoch. `allows` is what its plan and limits come to."""

    slug: str
    created: float
    title: str
    plan: str
    limits: Mapping[str, int]
    state: Literal["active", "suspended", "deleted"]
    delete_at: float | None
    trust: list[TrustedIdentity]
    allows: Mapping[str, int]

    @classmethod
    def of(cls, tenant: Tenant) -> Self:
        allows = {name: getattr(tenant.allows(), name) for name in type(tenant.allows()).__slots__}
        return cls.model_validate({**tenant.public(), "allows": allows})


class Erased(BaseModel):
    objects: int = Field(description="how many objects were removed")


def router(access: Access, tenants: Tenants, audit: Audit, usage: Usage) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(tags=["tenants"], responses=RESPONSES)

    async def record(caller: Caller, action: str, before: Tenant | None, after: Tenant | None, slug: str) -> None:
        await audit.record(
            caller.actor,
            action,
            tenant=slug,
            target=slug,
            before=before.public() if before else None,
            after=after.public() if after else None,
        )

    @routes.post("/tenants", status_code=201, summary="Create a tenant")
    async def create(body: NewTenant, caller: Annotated[Caller, access.needs("admin")]) -> TenantView:
        made = await tenants.create(body.slug, title=body.title, plan=body.plan)
        await record(caller, "tenant.create", None, made, made.slug)
        return TenantView.of(made)

    @routes.get("/tenants", summary="List tenants, by name")
    async def every(
        caller: Annotated[Caller, access.needs("read")],
        after: Annotated[str, Query(max_length=20, description="begin behind this name")] = "",
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> list[TenantView]:
        found: list[TenantView] = []
        async for tenant in tenants.all(after=after):
            found.append(TenantView.of(tenant))
            if len(found) == limit:
                break
        return found

    @routes.get("/tenants/{tenant}", summary="Show a tenant")
    async def show(tenant: TenantSlug, caller: Annotated[Caller, access.needs("read")]) -> TenantView:
        return TenantView.of(await tenants.show(tenant))

    @routes.patch("/tenants/{tenant}", summary="Change a tenant's title, plan or limits (operators)")
    async def change(
        tenant: TenantSlug, body: ChangedTenant, caller: Annotated[Caller, access.needs_operator()]
    ) -> TenantView:
        before = await tenants.show(tenant)
        after = await tenants.change(tenant, **body.model_dump(exclude_none=True))
        await record(caller, "tenant.change", before, after, tenant)
        return TenantView.of(after)

    @routes.post("/tenants/{tenant}/suspend", summary="Serve none of its plugins (operators)")
    async def suspend(tenant: TenantSlug, caller: Annotated[Caller, access.needs_operator()]) -> TenantView:
        before = await tenants.show(tenant)
        after = await tenants.suspend(tenant)
        await record(caller, "tenant.suspend", before, after, tenant)
        return TenantView.of(after)

    @routes.post("/tenants/{tenant}/resume", summary="Serve it again, and take a deletion back (operators)")
    async def resume(tenant: TenantSlug, caller: Annotated[Caller, access.needs_operator()]) -> TenantView:
        before = await tenants.show(tenant)
        after = await tenants.resume(tenant)
        await record(caller, "tenant.resume", before, after, tenant)
        return TenantView.of(after)

    @routes.delete("/tenants/{tenant}", status_code=202, summary="Delete it, after a grace period (operators)")
    async def delete(
        tenant: TenantSlug, caller: Annotated[Caller, access.needs_operator()], body: Deletion | None = None
    ) -> TenantView:
        before = await tenants.show(tenant)
        after = await tenants.delete(tenant, grace_days=(body or Deletion()).grace_days)
        await record(caller, "tenant.delete", before, after, tenant)
        return TenantView.of(after)

    @routes.post("/tenants/{tenant}/erase", summary="Erase a deleted tenant whose grace period is over (operators)")
    async def erase(tenant: TenantSlug, caller: Annotated[Caller, access.needs_operator()]) -> Erased:
        return Erased(objects=await tenants.erase(tenant, also=usage.forget))

    @routes.put("/tenants/{tenant}/trust", summary="Set whose CI identities act for it without a token")
    async def trust(
        tenant: TenantSlug, body: TrustList, caller: Annotated[Caller, access.needs("admin")]
    ) -> TenantView:
        before = await tenants.show(tenant)
        identities = [Trust(one.issuer, one.claims, tuple(one.scopes)) for one in body.identities]
        after = await trusting(tenants, tenant, identities)
        await record(caller, "tenant.trust", before, after, tenant)
        return TenantView.of(after)

    return routes
