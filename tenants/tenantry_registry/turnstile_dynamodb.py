"""Calls admitted and counted in a DynamoDB table: one UpdateItem on the way in, one on the way out.

Everything of a tenant's day is one item, `{pk: tenant, sk: "2026-11-30"}`, whose attributes are

    tenant, plugin#zoo, subject#zoo#1a2b   buckets: when each is full again, in microseconds (limits.py)
    slots                                  a set of "{end of the lease, in base 36}.{random}"
    calls#zoo#look, errors#, ms#, bytes#   usage of the first TOOLS tools of the day; others have items of their own

One conditional update takes from all buckets and puts a slot in. A bucket moves in one of two ways, by whether it is
full at the moment, and the condition says which was meant; the guess is what the item held when this process last saw
it, which is right unless others write at the same time, and a wrong one comes back with the item. One update going
out takes the slot away and adds the usage, and with it what nobody needs any more: slots whose lease is over, users'
buckets that are full. No transaction: those cost twice as much, and refuse whoever touches a busy tenant's item at the
same time.

A user's bucket is remembered only for as long as one call empties it for. Where that is long enough for many users'
buckets to stand in the item at once, it is an item of its own, taken from at the same time (a third write).

With the day everything begins anew: at midnight (UTC) a burst can be had a second time, and what runs is counted by
the day on which it began.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from tenantry_registry.dynamodb import Missed, Table
from tenantry_registry.errors import StorageDown
from tenantry_registry.limits import MICRO, Limiter, Rate, Refused
from tenantry_registry.names import Name
from tenantry_registry.turnstile import FLIGHT, TENANT, Entry, Pass, Work
from tenantry_registry.usage import KEEP_DAYS, day_of
from tenantry_registry.usage_dynamodb import DynamoUsage

ROUNDS: Final = 8  # of looking and writing, when others are faster
TOOLS: Final = 8  # whose usage is in the tenant's item: DynamoDB charges a write by the kilobyte of its item
CROWD: Final = 256  # users' buckets that may stand in the item at once, at the tenant's full rate: some 8 kB
SWEEP: Final = (8, 40)  # users' buckets full again: from how many on they are removed, how many at once at most
SEEN: Final = 1_024  # tenants whose buckets are remembered
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"

Item = Mapping[str, Any]


class DynamoTurnstile:
    """Counts in `table`, that of usage; users' buckets that have items of their own in `limiter`'s. `now` is the
    clock; functions' clocks differ by milliseconds. Raises: StorageDown."""

    def __init__(self, table: Table, limiter: Limiter, *, now: Callable[[], float] = time.time) -> None:
        self._table, self._limiter, self._now = table, limiter, now
        self._usage = DynamoUsage(table, now=now)
        self._seen: OrderedDict[tuple[str, date], Item] = OrderedDict()

    async def enter(self, entry: Entry) -> Pass | Refused:
        apart = _apart(entry)
        if not apart:
            return await self._enter(entry, entry.rates)
        ((bucket, rate),) = apart.items()
        key = f"{entry.name.tenant}/{bucket}"
        within = {other: entry.rates[other] for other in entry.rates if other != bucket}
        wait, passed = await asyncio.gather(self._limiter.take(key, rate), self._enter(entry, within))
        if isinstance(passed, Refused):
            if not wait:
                await self._limiter.give_back(key, rate)
            return max(passed, Refused(bucket, wait), key=lambda refused: refused.wait) if wait else passed
        if wait:
            await self._undo(entry.name.tenant, passed, within)
            return Refused(bucket, wait)
        return passed

    async def leave(self, name: Name, passed: Pass | None, work: Work | None) -> None:
        if passed is None:
            if work is not None:
                await self._alone(name, work)
            return
        tools = {attribute.partition("#")[2] for attribute in passed.seen if attribute.startswith("calls#")}
        tool = f"{name.plugin}#{work.tool}" if work is not None else ""
        rides = tool in tools or len(tools) < TOOLS
        going = [self._out(name.tenant, passed, tool, work if rides else None)]
        if work is not None and not rides:
            going.append(self._alone(name, work))
        await asyncio.gather(*going)

    # -- going in -----------------------------------------------------------------------------------------------

    async def _enter(self, entry: Entry, rates: Mapping[str, Rate]) -> Pass | Refused:
        tenant = entry.name.tenant
        for _ in range(ROUNDS):
            moment = self._now()
            now, day = round(moment * MICRO), day_of(moment)
            slot = f"{_base36(math.ceil(moment + entry.seconds))}.{secrets.token_hex(3)}"
            write = _taking(rates, _numbers(self._seen.get((tenant, day), {})), now)
            write["values"] |= {"slot": {slot}, "most": entry.most, "expires": _expires(moment)}
            try:
                item = await self._table.update(
                    tenant,
                    day.isoformat(),
                    f"SET {write['sets']}, #expires = :expires ADD #slots :slot",
                    write["values"],
                    ConditionExpression=f"{write['when']} AND (attribute_not_exists(#slots) OR size(#slots) < :most)",
                    ExpressionAttributeNames={**write["names"], "#slots": "slots", "#expires": "expires"},
                    ReturnValues="ALL_NEW",
                )
            except Missed as missed:
                item = dict(missed.item or {})
                self._remember(tenant, day, item)
                refused = _refused(rates, _numbers(item), now)
                if refused is not None:
                    return refused
                if len(_slots(item)) >= entry.most:
                    over = _over(item, moment)
                    if not over:
                        return Refused(FLIGHT, 0.0)
                    await self._drop(tenant, day, over)
                continue  # the guess was wrong, or somebody was faster
            self._remember(tenant, day, item)
            return Pass(slot, day, item)
        raise StorageDown("The table of usage is too busy.")

    async def _undo(self, tenant: str, passed: Pass, rates: Mapping[str, Rate]) -> None:
        names, sets = {"#slots": "slots"}, []
        values: dict[str, Any] = {"slot": {passed.slot}}
        for number, (bucket, rate) in enumerate(rates.items()):
            names[f"#b{number}"] = bucket
            values[f"c{number}"] = rate.cost(1)
            sets.append(f"#b{number} = #b{number} - :c{number}")
        await self._table.update(
            tenant,
            passed.day.isoformat(),
            f"SET {', '.join(sets)} DELETE #slots :slot",
            values,
            ExpressionAttributeNames=names,
        )

    async def _drop(self, tenant: str, day: date, slots: set[str]) -> None:
        await self._table.update(
            tenant,
            day.isoformat(),
            "DELETE #slots :slots",
            {"slots": slots},
            ExpressionAttributeNames={"#slots": "slots"},
        )

    def _remember(self, tenant: str, day: date, item: Item) -> None:
        self._seen[tenant, day] = item
        self._seen.move_to_end((tenant, day))
        if len(self._seen) > SEEN:
            self._seen.popitem(last=False)

    # -- going out ----------------------------------------------------------------------------------------------

    async def _out(self, tenant: str, passed: Pass, tool: str, work: Work | None) -> None:
        """The update that ends a call, with users' buckets that are full again unless one was taken from since."""
        now = self._now()
        names = {"#slots": "slots", "#expires": "expires"}
        values: dict[str, Any] = {"gone": {passed.slot} | _over(passed.seen, now), "expires": _expires(now)}
        adds = []
        if work is not None:
            amounts = {"calls": 1, "errors": work.errors, "ms": work.ms, "bytes": work.bytes}
            for part, amount in amounts.items():
                if amount:
                    names[f"#{part}"], values[part] = f"{part}#{tool}", amount
                    adds.append(f"#{part} :{part}")
        expression = "SET #expires = :expires DELETE #slots :gone" + (f" ADD {', '.join(adds)}" if adds else "")
        users = {bucket: at for bucket, at in _numbers(passed.seen).items() if bucket.startswith("subject#")}
        full = [(bucket, at) for bucket, at in users.items() if at < now * MICRO]
        if len(full) >= SWEEP[0]:
            swept = {f"#f{number}": bucket for number, (bucket, _) in enumerate(full[: SWEEP[1]])}
            stand = {f"f{number}": at for number, (_, at) in enumerate(full[: SWEEP[1]])}
            try:
                await self._table.update(
                    tenant,
                    passed.day.isoformat(),
                    f"{expression} REMOVE {', '.join(swept)}",
                    {**values, **stand},
                    ConditionExpression=" AND ".join(f"#{name} = :{name}" for name in stand),
                    ExpressionAttributeNames={**names, **swept},
                )
                return
            except Missed:
                pass  # somebody took from one of them: they go another time
        await self._table.update(tenant, passed.day.isoformat(), expression, values, ExpressionAttributeNames=names)

    async def _alone(self, name: Name, work: Work) -> None:
        await self._usage.add(name, work.tool, errors=work.errors, ms=work.ms, bytes=work.bytes)


def _taking(rates: Mapping[str, Rate], guess: Mapping[str, int], now: int) -> dict[str, Any]:
    """The parts of an update that takes one from each bucket, if they stand as `guess` has them."""
    names, values, sets, when = {}, {"now": now}, [], []
    for number, (bucket, rate) in enumerate(rates.items()):
        names[f"#b{number}"] = bucket
        if guess.get(bucket, 0) >= now:  # in use
            values |= {f"c{number}": rate.cost(1), f"r{number}": rate.room(now, 1)}
            sets.append(f"#b{number} = #b{number} + :c{number}")
            when.append(f"#b{number} >= :now AND #b{number} <= :r{number}")
        else:  # full, or new
            values[f"f{number}"] = now + rate.cost(1)
            sets.append(f"#b{number} = :f{number}")
            when.append(f"(attribute_not_exists(#b{number}) OR #b{number} < :now)")
    return {"names": names, "values": values, "sets": ", ".join(sets), "when": " AND ".join(when)}


def _refused(rates: Mapping[str, Rate], full: Mapping[str, int], now: int) -> Refused | None:
    waits = {bucket: max(full.get(bucket, 0), now) - rate.room(now, 1) for bucket, rate in rates.items()}
    bucket = max(waits, key=waits.__getitem__)
    return Refused(bucket, waits[bucket] / MICRO) if waits[bucket] > 0 else None


def _apart(entry: Entry) -> dict[str, Rate]:
    """The user's bucket, when it is to be an item of its own."""
    calls = entry.rates[TENANT].per_minute / 60  # a second
    return {
        bucket: rate
        for bucket, rate in entry.rates.items()
        if bucket.startswith("subject#") and calls * rate.cost(1) / MICRO > CROWD
    }


def _numbers(item: Item) -> dict[str, int]:
    """The buckets of an item as it came from the table."""
    return {
        name: int(value["N"])
        for name, value in item.items()
        if name == TENANT or name.startswith(("plugin#", "subject#"))
    }


def _slots(item: Item) -> set[str]:
    return set(item.get("slots", {}).get("SS", ()))


def _over(item: Item, now: float) -> set[str]:
    """The slots whose lease is over."""
    return {slot for slot in _slots(item) if int(slot.partition(".")[0], 36) <= now}


def _expires(now: float) -> int:
    return round(now) + KEEP_DAYS * 86_400


def _base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = DIGITS[digit] + text
    return text
