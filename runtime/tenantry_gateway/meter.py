"""What a tenant may use and what it used: rates and calls in flight by its plan, usage by tool and day.

Only what runs tenant code is counted: lists and reads cost next to nothing. Who may not go on is told when to try
again. Where the counters themselves do not answer, calls go on uncounted: a limit protects the service, and must not
be what takes it down.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.limits import Limiter, Rate, admit
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.plans import Plan
from tenantry_registry.tenants import Tenants
from tenantry_registry.usage import Usage

PLAN_SECONDS: Final = 60.0  # a changed plan holds after so long
PLANS_KEPT: Final = 1_024  # tenants whose plan is remembered
SLOT_SECONDS: Final = (
    30.0  # of a call in flight: a tool's 25 and what is around it; a function that died frees its slot
)


class Plans:
    """The plans of tenants, remembered for a minute. A tenant that nobody created (one machine, no control plane) has
    none."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.monotonic) -> None:
        self._tenants, self._now = Tenants(objects), now
        self._kept: OrderedDict[str, tuple[float, Plan | None]] = OrderedDict()

    async def of(self, slug: str) -> Plan | None:
        """The tenant's plan; the last one known while storage does not answer."""
        read, plan = self._kept.get(slug, (-math.inf, None))
        if self._now() - read < PLAN_SECONDS:
            return plan
        try:
            tenant = await self._tenants.find(slug)
        except StorageDown:
            return plan
        plan = tenant.allows() if tenant is not None else None
        self._kept[slug] = (self._now(), plan)
        self._kept.move_to_end(slug)
        if len(self._kept) > PLANS_KEPT:
            self._kept.popitem(last=False)
        return plan


class Meter:
    """Admits calls and adds up what they used. `log` is told when counting failed."""

    def __init__(self, plans: Plans, limiter: Limiter, usage: Usage, *, log: Callable[..., None]) -> None:
        self._plans, self._limiter, self._usage, self._log = plans, limiter, usage, log

    @asynccontextmanager
    async def admitted(self, name: Name, who: str, own: Mapping[str, Any]) -> AsyncIterator[None]:
        """One call while the block runs. `who` is a user or an openai/subject (""), `own` the author's limits.

        Raises: PlatformError `limit.rate`, `tenant.busy`.
        """
        plan = await self._plans.of(name.tenant)
        if plan is None:
            yield
            return
        slot: str | None = ""
        try:
            refused = await admit(self._limiter, _rates(plan, name, who, own))
            if refused is None:
                slot = await self._limiter.enter(f"tenant/{name.tenant}", plan.in_flight, SLOT_SECONDS)
        except StorageDown as error:
            self._log("fault", tenant=name.tenant, plugin=name.plugin, code=error.code)
            refused = None
        if refused is not None:
            seconds = max(1, math.ceil(refused.wait))
            raise PlatformError("limit.rate", "Too many calls.", f"Try again in {seconds} s.")
        if slot is None:
            raise PlatformError(
                "tenant.busy",
                f"{plan.in_flight} calls of this tenant are running already.",
                "Try again in a few seconds.",
            )
        try:
            yield
        finally:
            if slot:
                try:
                    await self._limiter.leave(f"tenant/{name.tenant}", slot)
                except StorageDown as error:  # the slot's lease ends by itself
                    self._log("fault", tenant=name.tenant, plugin=name.plugin, code=error.code)

    async def room(self, name: Name, size: int) -> None:
        """Room for a file of `size` bytes, which lives for its plan's days. Raises: PlatformError `file.quota`.

        The bucket holds the plan's bytes and refills in the time that files live: at no moment is more than that kept.
        """
        plan = await self._plans.of(name.tenant)
        if plan is None:
            return
        life = plan.file_days * 86_400
        rate = Rate(plan.file_bytes * 60 / life, burst=life)
        try:
            wait = await self._limiter.take(f"files/{name}", rate, amount=size)
        except StorageDown as error:
            self._log("fault", tenant=name.tenant, plugin=name.plugin, code=error.code)
            return
        if wait:
            raise PlatformError(
                "file.quota",
                f"This plugin keeps as many bytes of files as its plan allows ({plan.file_bytes:,}).",
                f"They go by themselves after {plan.file_days} days.",
            )

    async def used(self, name: Name, tool: str, *, failed: bool, ms: float, size: int) -> None:
        """Add a call to the day's usage. Never raises: a call that was made is answered."""
        try:
            await self._usage.add(name, tool, errors=int(failed), ms=round(ms), bytes=size)
        except StorageDown as error:
            self._log("fault", tenant=name.tenant, plugin=name.plugin, code=error.code)


def _rates(plan: Plan, name: Name, who: str, own: Mapping[str, Any]) -> dict[str, Rate]:
    """The buckets that a call takes from. The author's own limits count where they are stricter than the plan's."""

    def rate(of_plan: int, of_author: object) -> Rate:
        stricter = min(of_plan, of_author) if isinstance(of_author, int) and of_author > 0 else of_plan
        return Rate(stricter, plan.burst)

    rates = {
        f"tenant/{name.tenant}": Rate(plan.tenant_rate, plan.burst),
        f"plugin/{name}": rate(plan.plugin_rate, own.get("calls_per_minute")),
    }
    if who:
        key = hashlib.sha256(who.encode("utf-8", "replace")).hexdigest()[:32]
        rates[f"subject/{name}/{key}"] = rate(plan.subject_rate, own.get("calls_per_minute_per_user"))
    return rates
