"""The port that counts: how often something may happen, and how much of it at once.

Rates are token buckets, kept as one number a key: the moment at which the bucket would be full again (GCRA). Taking is
one conditional write, so a limit holds exactly, however many processes take from it. Calls in flight are slots with a
lease: one that is not given back (its function died) is free again when the lease is over.

Adapters: `limits_dynamodb.DynamoLimiter` and `limits_sqlite.SqliteLimiter`; one suite of tests runs against both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

MICRO = 1_000_000  # times are kept as whole microseconds: adding them up loses nothing


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_minute` in the long run, and after a pause as many at once as `burst` seconds would have allowed."""

    per_minute: float
    burst: float = 10.0

    def cost(self, amount: float) -> int:
        """Microseconds by which `amount` moves the moment."""
        return max(1, round(60 * MICRO * amount / self.per_minute))

    def room(self, now: int, amount: float) -> int:
        """The latest moment that `amount` may still be taken at; one is always allowed, and nothing larger than what
        the burst holds ever is."""
        return now + max(round(self.burst * MICRO), self.cost(1)) - self.cost(amount)


@dataclass(frozen=True, slots=True)
class Refused:
    """Which limit was met, and in how many seconds it will allow it again."""

    key: str
    wait: float


class Limiter(Protocol):
    """Counts under keys such as `tenant/acme`. A verb that can't raises StorageDown; its caller decides what then."""

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        """Take from the bucket. 0.0 when that was allowed, else the seconds after which it would be; nothing is taken
        then."""
        ...

    async def give_back(self, key: str, rate: Rate, amount: float = 1.0) -> None:
        """Undo a `take`."""
        ...

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        """Begin something of which `most` may run at once, for at most `seconds`. A slot to `leave`, or None."""
        ...

    async def leave(self, key: str, slot: str) -> None:
        """End it; a slot that is over already may be left, too."""
        ...


async def admit(limiter: Limiter, limits: Mapping[str, Rate]) -> Refused | None:
    """Take one from each of `limits`, all or none. What was refused (the longest wait), or None.

    Raises: StorageDown.
    """
    waits = await asyncio.gather(*(limiter.take(key, rate) for key, rate in limits.items()))
    wait, key = max(zip(waits, limits, strict=True), default=(0.0, ""))
    if not wait:
        return None
    taken = [key for key, waited in zip(limits, waits, strict=True) if not waited]
    await asyncio.gather(*(limiter.give_back(other, limits[other]) for other in taken))
    return Refused(key, wait)
