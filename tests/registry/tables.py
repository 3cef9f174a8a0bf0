"""What the tests of counters share: time that stands still, and a table in front of which something happens."""

from __future__ import annotations

from typing import Any

from tenantry_registry.dynamodb import Table


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Rival(Table):
    """Lets `act` happen before each update, as often as it likes to."""

    def __init__(self, table: Table, act: Any) -> None:
        super().__init__(table.name)
        self._table, self._act = table, act

    async def call(self, verb: str, **arguments: Any) -> Any:
        await self._act(verb, arguments)
        return await self._table.call(verb, **arguments)
