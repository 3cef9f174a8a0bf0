"""Limits counted in a DynamoDB table, whose conditional writes are one after the other for each item.

A bucket is `{pk: key, sk: "bucket", full}`. Those of a tenant's calls are in turnstile_dynamodb.py's items.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tenantry_registry.dynamodb import Missed, Table
from tenantry_registry.errors import StorageDown
from tenantry_registry.limits import MICRO, Rate

KEEP_SECONDS = 3600  # an item is forgotten so long after it last said anything
ROUNDS = 8  # of looking and writing, when others are faster


class DynamoLimiter:
    """Counts in `table`. `now` is the clock; functions' clocks differ by milliseconds. Raises: StorageDown."""

    def __init__(self, table: Table, *, now: Callable[[], float] = time.time) -> None:
        self._table, self._now = table, now

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        cost = rate.cost(amount)
        for _ in range(ROUNDS):
            now = round(self._now() * MICRO)
            room, expires = rate.room(now, amount), self._expires(rate.burst + 60 / rate.per_minute)
            try:  # a bucket in use
                await self._table.update(
                    key,
                    "bucket",
                    "SET #full = #full + :cost, #expires = :expires",
                    {"cost": cost, "expires": expires, "now": now, "room": room},
                    ConditionExpression="#full >= :now AND #full <= :room",
                    ExpressionAttributeNames={"#full": "full", "#expires": "expires"},
                )
                return 0.0
            except Missed as missed:
                full = int(missed.item["full"]["N"]) if missed.item else 0
            if max(full, now) > room:
                return (max(full, now) - room) / MICRO
            try:  # one that is full, or new
                await self._table.update(
                    key,
                    "bucket",
                    "SET #full = :full, #expires = :expires",
                    {"full": now + cost, "expires": expires, "now": now},
                    ConditionExpression="attribute_not_exists(#full) OR #full < :now",
                    ExpressionAttributeNames={"#full": "full", "#expires": "expires"},
                )
                return 0.0
            except Missed:
                continue  # somebody took from it just now: it is in use
        raise StorageDown("The table of limits is too busy.")

    async def give_back(self, key: str, rate: Rate) -> None:
        try:
            await self._table.update(
                key,
                "bucket",
                "SET #full = #full - :cost",
                {"cost": rate.cost(1)},
                ConditionExpression="attribute_exists(#full)",
                ExpressionAttributeNames={"#full": "full"},
            )
        except Missed:
            return  # forgotten, and so full

    def _expires(self, seconds: float) -> int:
        return round(self._now() + seconds) + KEEP_SECONDS
