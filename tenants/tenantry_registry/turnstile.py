"""The port that a call goes through: admitted by its tenant's limits before it runs, counted when it is over.

Going in takes one from every bucket that the call falls under (its tenant's, its plugin's, its user's) and a slot of
its tenant's calls in flight: all of them or none. Going out gives the slot back and adds to the day's usage. Each is
one write where the counters are remote, since nothing else of a call's bookkeeping is on its way.

A slot has a lease: one that is not given back (its function died) is free again when the lease is over.

Adapters: `turnstile_dynamodb.DynamoTurnstile` and `turnstile_sqlite.SqliteTurnstile`; one suite of tests runs against
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from tenantry_registry.limits import Rate, Refused
from tenantry_registry.names import Name

TENANT = "tenant"  # the bucket of all of a tenant's calls
FLIGHT = "flight"  # what Refused names when as many calls run as may


@dataclass(frozen=True, slots=True)
class Entry:
    """A call that asks to run. `rates` are its buckets by names of which the tenant has each once: TENANT,
    `plugin#zoo`, `subject#zoo#1a2b`. `most` calls of the tenant run at once, each for at most `seconds`."""

    name: Name
    rates: Mapping[str, Rate]
    most: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pass:
    """A call that runs: its slot, and the day (UTC) that it counts for. `seen` is the adapter's own."""

    slot: str
    day: date
    seen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """What a call used, as usage.py adds it up."""

    tool: str
    errors: int = 0
    ms: int = 0
    bytes: int = 0


class Turnstile(Protocol):
    """A verb that can't raises StorageDown; its caller decides what then."""

    async def enter(self, entry: Entry) -> Pass | Refused:
        """Admit a call, or say which limit was met and for how long (0.0 for FLIGHT: nobody knows)."""
        ...

    async def leave(self, name: Name, passed: Pass | None, work: Work | None) -> None:
        """A call of `name` is over. `passed` is None when it was never admitted, `work` when there is none to count.
        A slot that is over already may be left, too."""
        ...
