"""Usage added up in a DynamoDB table: `{pk: tenant, sk: "2026-11-30#plugin#tool", calls, errors, ms, bytes}`.

Neither a plugin's nor a tool's name can hold a `#`. ADD is atomic, so no two functions lose each other's counts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date
from typing import Any

from tenantry_registry.dynamodb import Table
from tenantry_registry.names import Name
from tenantry_registry.usage import KEEP_DAYS, Used, day_of

NAMES = {"#calls": "calls", "#errors": "errors", "#ms": "ms", "#bytes": "bytes", "#expires": "expires"}


class DynamoUsage:
    """Adds up in `table`. `now` is the clock. Raises: StorageDown."""

    def __init__(self, table: Table, *, now: Callable[[], float] = time.time) -> None:
        self._table, self._now = table, now

    async def add(self, name: Name, tool: str, *, calls: int = 1, errors: int = 0, ms: int = 0, bytes: int = 0) -> None:
        now = self._now()
        await self._table.update(
            name.tenant,
            f"{day_of(now).isoformat()}#{name.plugin}#{tool}",
            "SET #expires = :expires ADD #calls :calls, #errors :errors, #ms :ms, #bytes :bytes",
            {"expires": round(now) + KEEP_DAYS * 86400, "calls": calls, "errors": errors, "ms": ms, "bytes": bytes},
            ExpressionAttributeNames=NAMES,
        )

    async def read(self, tenant: str, first: date, last: date) -> Sequence[Used]:
        found = []
        async for item in self._items(tenant, f"{first.isoformat()}#", f"{last.isoformat()}$"):  # `$` comes after `#`
            day, plugin, tool = item["sk"]["S"].split("#", 2)
            counts = (int(item[part]["N"]) for part in ("calls", "errors", "ms", "bytes"))
            found.append(Used(date.fromisoformat(day), plugin, tool, *counts))
        return sorted(found, key=lambda used: (used.day, used.plugin, used.tool))

    async def forget(self, tenant: str) -> None:
        async for item in self._items(tenant, "0", "9999-99"):
            await self._table.call("delete_item", Key={"pk": item["pk"], "sk": item["sk"]})

    async def _items(self, tenant: str, first: str, last: str) -> AsyncIterator[dict[str, Any]]:
        more: dict[str, Any] = {}
        while True:
            page = await self._table.call(
                "query",
                KeyConditionExpression="pk = :tenant AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues={":tenant": {"S": tenant}, ":first": {"S": first}, ":last": {"S": last}},
                **more,
            )
            for item in page["Items"]:
                yield item
            if "LastEvaluatedKey" not in page:
                return
            more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
