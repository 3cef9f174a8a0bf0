"""The port that counts how often something may happen.

Rates are token buckets, kept as one number a key: the moment at which the bucket would be full again (GCRA). Taking is
one conditional write, so a limit holds exactly, however many processes take from it. What a call takes on its way in,
from several buckets at once, goes through turnstile.py.

Adapters: `limits_dynamodb.DynamoLimiter` and `limits_sqlite.SqliteLimiter`; one suite of tests runs against both.
"""

from __future__ import annotations

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
        return now + self.depth - self.cost(amount)

    @property
    def depth(self) -> int:
        """Microseconds from empty to full. A bucket that seems to need more was filled before a clock was set back, or
        before its rate was changed."""
        return max(round(self.burst * MICRO), self.cost(1))


@dataclass(frozen=True, slots=True)
class Refused:
    """Which limit was met, and in how many seconds it will allow it again."""

    key: str
    wait: float


class Limiter(Protocol):
    """Counts under keys such as `files/acme/zoo`. A verb that can't raises StorageDown; its caller says what then."""

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        """Take from the bucket. 0.0 when that was allowed, else the seconds after which it would be; nothing is taken
        then."""
        ...

    async def give_back(self, key: str, rate: Rate) -> None:
        """Undo a `take` of one."""
        ...
