"""The port that remembers what was used: calls, errors, milliseconds and bytes, by tenant, plugin, tool and day (UTC).

Adapters: `usage_dynamodb.DynamoUsage` and `usage_sqlite.SqliteUsage`; one suite of tests runs against both. Nothing
here says who called or what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Protocol

from tenantry_registry.names import Name

KEEP_DAYS = 400  # a year can be compared with the year before


@dataclass(frozen=True, slots=True)
class Used:
    """What one tool of one plugin used on one day. `ms` is how long it ran, by the runner's clock; `bytes` went out."""

    day: date
    plugin: str
    tool: str
    calls: int = 0
    errors: int = 0
    ms: int = 0
    bytes: int = 0


class Usage(Protocol):
    """Adds up. Every verb raises StorageDown when it can't."""

    async def add(self, name: Name, tool: str, *, calls: int = 1, errors: int = 0, ms: int = 0, bytes: int = 0) -> None:
        """Count something that just happened; additions of several processes all count."""
        ...

    async def read(self, tenant: str, first: date, last: date) -> Sequence[Used]:
        """What a tenant used from `first` to `last`, both included; by day, plugin and tool."""
        ...

    async def forget(self, tenant: str) -> None:
        """Remove everything that is kept of a tenant (erasure)."""
        ...


def day_of(now: float) -> date:
    """The day that a moment (seconds since the epoch) is counted under."""
    return datetime.fromtimestamp(now, UTC).date()
