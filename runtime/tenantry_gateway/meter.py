"""What a tenant may use and what it used: rates and calls in flight by its plan, usage by tool and day.

Only what runs tenant code is counted: lists and reads cost next to nothing. It costs one write before the call, made
while what the call needs is read (work.py), and one when its answer is ready. Who may not go on is told when to try
again. Where the counters themselves do not answer, calls go on uncounted: a limit protects the service, and must not
be what takes it down.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.limits import Limiter, Rate
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.plans import Plan
from tenantry_registry.tenants import Tenants
from tenantry_registry.turnstile import FLIGHT, TENANT, Entry, Pass, Turnstile, Work

PLAN_SECONDS: Final = 60.0  # a changed plan holds after so long
PLANS_KEPT: Final = 1_024  # tenants whose plan is remembered
SLOT_SECONDS: Final = 30.0  # of a call in flight: a tool's 25 and what is around it; a dead function's slot is freed
PATIENCE: Final = 3.0  # seconds that a call waits for its counting; a table answers in milliseconds
SUBJECT_BYTES: Final = 12  # of the hash by which a user is counted: among a plugin's millions no two share one

T = TypeVar("T")


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

    def __init__(
        self,
        plans: Plans,
        limiter: Limiter,
        turnstile: Turnstile,
        *,
        log: Callable[..., None],
        patience: float = PATIENCE,
    ) -> None:
        self.plans, self._limiter, self.turnstile, self._log = plans, limiter, turnstile, log
        self._patience = patience

    def seat(self, name: Name) -> Seat:
        """A way through for one message to plugin `name`."""
        return Seat(self, name)

    async def within(self, counted: Awaitable[T]) -> T:
        """What counting comes to, if it comes in time. Raises: StorageDown."""
        try:
            async with asyncio.timeout(self._patience):
                return await counted
        except TimeoutError:
            raise StorageDown("The counters do not answer in time.") from None

    def fault(self, name: Name, error: StorageDown) -> None:
        self._log("fault", tenant=name.tenant, plugin=name.plugin, code=error.code)

    async def room(self, name: Name, size: int) -> None:
        """Room for a file of `size` bytes, which lives for its plan's days. Raises: PlatformError `file.quota`.

        The bucket holds the plan's bytes and refills in the time that files live: at no moment is more than that kept.
        """
        plan = await self.plans.of(name.tenant)
        if plan is None:
            return
        life = plan.file_days * 86_400
        rate = Rate(plan.file_bytes * 60 / life, burst=life)
        try:
            wait = await self.within(self._limiter.take(f"files/{name}", rate, amount=size))
        except StorageDown as error:
            self.fault(name, error)
            return
        if wait:
            raise PlatformError(
                "file.quota",
                f"This plugin keeps as many bytes of files as its plan allows ({plan.file_bytes:,}).",
                f"They go by themselves after {plan.file_days} days.",
            )


class Seat:
    """One message's way through the turnstile: asked to be admitted when it runs tenant code, told how long that ran
    each time, left in any case."""

    def __init__(self, meter: Meter, name: Name) -> None:
        self._meter, self._name = meter, name
        self._passed: Pass | None = None
        self._work: Work | None = None
        self._ms: float | None = None  # nothing ran yet

    async def admit(self, who: str, own: Mapping[str, Any]) -> None:
        """`who` is a user or an openai/subject (""), `own` the author's limits.

        Raises: PlatformError `limit.rate`, `tenant.busy`.
        """
        plan = await self._meter.plans.of(self._name.tenant)
        if plan is None:
            return
        entry = Entry(self._name, _rates(plan, self._name, who, own), plan.in_flight, SLOT_SECONDS)
        try:
            answer = await self._meter.within(self._meter.turnstile.enter(entry))
        except StorageDown as error:
            self._meter.fault(self._name, error)
            return
        if isinstance(answer, Pass):
            self._passed = answer
            return
        if answer.key == FLIGHT:
            raise PlatformError(
                "tenant.busy",
                f"{plan.in_flight} calls of this tenant are running already.",
                "Try again in a few seconds.",
            )
        raise PlatformError("limit.rate", "Too many calls.", f"Try again in {max(1, math.ceil(answer.wait))} s.")

    def ran(self, ms: float) -> None:
        """Tenant code was run, so long by the runner's clock: a tool may say what it likes of its time."""
        self._ms = (self._ms or 0.0) + ms

    def used(self, tool: str, *, failed: bool, size: int) -> None:
        """What it used, for the day's usage, where it ran tenant code at all."""
        if self._ms is not None:
            self._work = Work(tool, int(failed), round(self._ms), size)

    async def leave(self) -> None:
        """Give the slot back and count. Never raises: a call that was made is answered."""
        if self._passed is None and self._work is None:
            return
        try:
            await self._meter.within(self._meter.turnstile.leave(self._name, self._passed, self._work))
        except StorageDown as error:  # the slot's lease ends by itself
            self._meter.fault(self._name, error)


def _rates(plan: Plan, name: Name, who: str, own: Mapping[str, Any]) -> dict[str, Rate]:
    """The buckets that a call takes from. The author's own limits count where they are stricter than the plan's."""

    def rate(of_plan: int, of_author: object) -> Rate:
        stricter = min(of_plan, of_author) if isinstance(of_author, int) and of_author > 0 else of_plan
        return Rate(stricter, plan.burst)

    rates = {
        TENANT: Rate(plan.tenant_rate, plan.burst),
        f"plugin#{name.plugin}": rate(plan.plugin_rate, own.get("calls_per_minute")),
    }
    if who:
        digest = hashlib.sha256(who.encode("utf-8", "replace")).digest()[:SUBJECT_BYTES]
        key = base64.urlsafe_b64encode(digest).decode()
        rates[f"subject#{name.plugin}#{key}"] = rate(plan.subject_rate, own.get("calls_per_minute_per_user"))
    return rates
