"""Usage added up in a DynamoDB table: `{pk: tenant, sk: "2026-11-30#plugin#tool", calls, errors, ms, bytes}`.

The first tools of a day are in the item that the tenant's calls go through, `{pk: tenant, sk: "2026-11-30"}`, as
`calls#plugin#tool` and so on (turnstile_dynamodb.py). No plugin's name can hold a `#`. ADD is atomic, so no two
functions lose each other's counts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import date
from typing import Any

from tenantry_registry.dynamodb import Table
from tenantry_registry.names import Name
from tenantry_registry.usage import KEEP_DAYS, Used, day_of

PARTS = ("calls", "errors", "ms", "bytes")
NAMES = {f"#{part}": part for part in (*PARTS, "expires")}


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
        found: Counter[tuple[str, str, str, str]] = Counter()
        async for item in self._items(tenant, first.isoformat(), f"{last.isoformat()}$"):  # `$` comes after `#`
            day, _, rest = item["sk"]["S"].partition("#")
            for attribute, value in item.items():
                part, _, tool = attribute.partition("#")
                if part in PARTS:
                    found[(day, *_two(tool or rest), part)] += int(value["N"])
        rows = sorted({key[:3] for key in found})
        return [
            Used(date.fromisoformat(day), plugin, tool, *(found[day, plugin, tool, part] for part in PARTS))
            for day, plugin, tool in rows
        ]

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


def _two(plugin_and_tool: str) -> tuple[str, str]:
    plugin, _, tool = plugin_and_tool.partition("#")
    return plugin, tool
