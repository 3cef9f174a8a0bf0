"""Limits counted in a DynamoDB table, whose conditional writes are one after the other for each item.

A bucket is `{pk: key, sk: "bucket", full}`; the slots of a key are a map in `{pk: key, sk: "slots", slots}`.
"""

from __future__ import annotations

import secrets
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

    async def give_back(self, key: str, rate: Rate, amount: float = 1.0) -> None:
        try:
            await self._table.update(
                key,
                "bucket",
                "SET #full = #full - :cost",
                {"cost": rate.cost(amount)},
                ConditionExpression="attribute_exists(#full)",
                ExpressionAttributeNames={"#full": "full"},
            )
        except Missed:
            return  # forgotten, and so full

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        slot = "s" + secrets.token_hex(8)
        for _ in range(ROUNDS):
            now = round(self._now() * MICRO)
            try:
                await self._table.update(
                    key,
                    "slots",
                    "SET #slots.#slot = :until, #expires = :expires",
                    {"until": now + round(seconds * MICRO), "expires": self._expires(seconds), "most": most},
                    ConditionExpression="attribute_exists(#slots) AND size(#slots) < :most",
                    ExpressionAttributeNames={"#slots": "slots", "#slot": slot, "#expires": "expires"},
                )
                return slot
            except Missed as missed:
                item = missed.item
            if item is None:
                await self._begin(key)
                continue
            over = [name for name, until in item["slots"]["M"].items() if int(until["N"]) <= now]
            if not over:
                return None
            names = {f"#s{number}": name for number, name in enumerate(over)}
            await self._remove(key, names)
        raise StorageDown("The table of limits is too busy.")

    async def leave(self, key: str, slot: str) -> None:
        await self._remove(key, {"#s0": slot})

    async def _begin(self, key: str) -> None:
        """Make the item that slots are put into."""
        item = {"pk": {"S": key}, "sk": {"S": "slots"}, "slots": {"M": {}}, "expires": {"N": str(self._expires(0))}}
        try:
            await self._table.call("put_item", Item=item, ConditionExpression="attribute_not_exists(pk)")
        except Missed:
            return  # another process just did

    async def _remove(self, key: str, names: dict[str, str]) -> None:
        try:
            await self._table.update(
                key,
                "slots",
                "REMOVE " + ", ".join(f"#slots.{name}" for name in names),
                {},
                ConditionExpression="attribute_exists(#slots)",
                ExpressionAttributeNames={"#slots": "slots", **names},
            )
        except Missed:
            return  # forgotten: nothing is in flight any more

    def _expires(self, seconds: float) -> int:
        return round(self._now() + seconds) + KEEP_SECONDS
