"""What was done and used: /v1/tenants/{tenant}/usage and /audit, /v1/plugins/{tenant}/{plugin}/logs."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from tenantry_registry.audit import Audit
from tenantry_registry.tenants import Tenants
from tenantry_registry.usage import Usage, day_of

from tenantry_control.access import Access, Caller, Plugin, TenantSlug
from tenantry_control.logs import Logs
from tenantry_control.problems import RESPONSES

DAYS = 31  # of usage without a first day


class UsedView(BaseModel):
    """What one tool of one plugin used on one day (UTC): milliseconds inside tools, bytes that went out."""

    day: date
    plugin: str
    tool: str
    calls: int
    errors: int
    ms: int
    bytes: int


class AuditView(BaseModel):
    """One change. `at` in seconds since the epoch."""

    at: float
    who: str
    source: str
    action: str
    target: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class LogPage(BaseModel):
    """Lines of the log in the order of their time; `next` is the `after` of the following question."""

    lines: list[dict[str, Any]]
    next: float = Field(description="seconds since the epoch")


def router(
    access: Access, tenants: Tenants, usage: Usage, audit: Audit, logs: Logs, *, now: Callable[[], float] = time.time
) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(tags=["records"], responses=RESPONSES)

    @routes.get("/tenants/{tenant}/usage", summary="What a tenant used, by day, plugin and tool")
    async def used(
        tenant: TenantSlug,
        caller: Annotated[Caller, access.needs("read")],
        first: Annotated[date | None, Query(description="31 days ago, without")] = None,
        last: Annotated[date | None, Query(description="today, without")] = None,
    ) -> list[UsedView]:
        await tenants.show(tenant)
        until = last or day_of(now())
        since = first or max(date.min + timedelta(days=DAYS), until) - timedelta(days=DAYS)
        rows = await usage.read(tenant, since, until)
        return [UsedView.model_validate(row, from_attributes=True) for row in rows]

    @routes.get("/tenants/{tenant}/audit", summary="What was changed, by whom, from where")
    async def audited(
        tenant: TenantSlug,
        caller: Annotated[Caller, access.needs("admin")],
        day: Annotated[
            str,
            Query(pattern=r"^(\d{4}(/\d{2}(/\d{2})?)?)?$", description="2026, 2026/11 or 2026/11/30", max_length=10),
        ] = "",
    ) -> list[AuditView]:
        await tenants.show(tenant)
        return [AuditView.model_validate(entry) for entry in await audit.entries(tenant, day=day)]

    @routes.get("/plugins/{tenant}/{plugin}/logs", summary="A plugin's log: one line a call")
    async def logged(
        plugin: Plugin,
        caller: Annotated[Caller, access.needs("read")],
        after: Annotated[float, Query(ge=0, le=1e12, description="seconds since the epoch")] = 0.0,
        error_id: Annotated[str, Query(max_length=64)] = "",
        session: Annotated[str, Query(max_length=256)] = "",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> LogPage:
        lines = await logs.read(plugin, after=after, error_id=error_id, session=session, limit=limit)
        return LogPage(lines=lines, next=max((float(line["time"]) for line in lines), default=after))

    return routes
