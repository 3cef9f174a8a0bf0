"""Calls admitted and counted: one suite for files and for DynamoDB, then what only one of them has."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from registry.tables import Clock, Rival
from tenantry_registry.dynamodb import Missed, Table
from tenantry_registry.errors import StorageDown
from tenantry_registry.limits import Rate, Refused
from tenantry_registry.limits_dynamodb import DynamoLimiter
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.names import Name
from tenantry_registry.turnstile import FLIGHT, TENANT, Entry, Pass, Turnstile, Work
from tenantry_registry.turnstile_dynamodb import SWEEP, TOOLS, DynamoTurnstile
from tenantry_registry.turnstile_sqlite import SqliteTurnstile
from tenantry_registry.usage import KEEP_DAYS, Usage, Used
from tenantry_registry.usage_dynamodb import DynamoUsage
from tenantry_registry.usage_sqlite import SqliteUsage

DAY = date(2027, 1, 15)  # Clock's
WIDE = Rate(per_minute=6_000)


class Counting(Table):
    """A table that keeps what it was asked."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.name)
        self._table = table
        self.asked: list[dict[str, Any]] = []

    async def call(self, verb: str, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return await self._table.call(verb, **arguments)


class Day:
    """A tenant's day at one turnstile."""

    def __init__(self, turnstile: Turnstile, usage: Usage) -> None:
        self.turnstile, self.usage = turnstile, usage
        self.name = Name(uuid4().hex[:12], "zoo")

    async def enter(self, *, most: int = 50, seconds: float = 30, **rates: Rate) -> Pass | Refused:
        """Keyword `subject_ada` is the bucket of the user ada."""
        named = {key.replace("subject_", "subject#zoo#").replace("plugin", "plugin#zoo"): r for key, r in rates.items()}
        return await self.turnstile.enter(Entry(self.name, {TENANT: WIDE, "plugin#zoo": WIDE, **named}, most, seconds))

    async def passed(self, **how: Any) -> Pass:
        answer = await self.enter(**how)
        assert isinstance(answer, Pass)
        return answer

    async def refused(self, **how: Any) -> Refused:
        answer = await self.enter(**how)
        assert isinstance(answer, Refused)
        return answer

    async def leave(self, passed: Pass | None, work: Work | None = None) -> None:
        await self.turnstile.leave(self.name, passed, work)

    async def used(self) -> list[Used]:
        return list(await self.usage.read(self.name.tenant, date(2027, 1, 1), date(2027, 2, 1)))


@pytest.fixture
def table(tables: Any) -> Counting:
    return Counting(tables("usage"))


@pytest.fixture
def there(tables: Any, table: Counting, clock: Clock) -> Day:
    """A day counted in DynamoDB."""
    return Day(DynamoTurnstile(table, DynamoLimiter(tables("limits"), now=clock), now=clock), DynamoUsage(table))


@pytest.fixture(params=["sqlite", "dynamodb"])
def day(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Day]:
    if request.param == "dynamodb":
        yield request.getfixturevalue("there")
        return
    limiter, usage = SqliteLimiter(tmp_path / "limits.db", now=clock), SqliteUsage(tmp_path / "usage.db", now=clock)
    yield Day(SqliteTurnstile(limiter, usage), usage)
    limiter.close()
    usage.close()


async def test_a_burst_is_admitted_and_then_the_rate(day: Day, clock: Clock) -> None:
    rate = Rate(per_minute=60, burst=5)
    for _ in range(5):
        await day.passed(tenant=rate)
    assert await day.refused(tenant=rate) == Refused(TENANT, pytest.approx(1.0))
    clock.now += 0.5
    assert await day.refused(tenant=rate) == Refused(TENANT, pytest.approx(0.5))
    clock.now += 0.5
    await day.passed(tenant=rate)
    assert await day.refused(tenant=rate) == Refused(TENANT, pytest.approx(1.0))
    clock.now += 10_000
    for _ in range(5):
        await day.passed(tenant=rate)
    await day.refused(tenant=rate)


async def test_a_call_takes_from_all_its_buckets_or_from_none(day: Day) -> None:
    narrow, wide = Rate(per_minute=60, burst=1), Rate(per_minute=600, burst=1)
    await day.passed(tenant=wide, subject_ada=narrow)
    for _ in range(20):  # refused again and again: the wide one loses nothing by it
        refused = await day.refused(tenant=wide, subject_ada=narrow)
        assert refused == Refused("subject#zoo#ada", pytest.approx(1.0))
    for number in range(9):
        await day.passed(tenant=wide, **{f"subject_{number}": narrow})
    assert (await day.refused(tenant=wide, subject_ben=narrow)).key == TENANT


async def test_the_longest_wait_is_the_one_that_is_told(day: Day) -> None:
    await day.passed(tenant=Rate(60, 1), plugin=Rate(6, 1))
    assert await day.refused(tenant=Rate(60, 1), plugin=Rate(6, 1)) == Refused("plugin#zoo", pytest.approx(10.0))


async def test_so_many_fly_at_once_and_no_more(day: Day) -> None:
    passes = [await day.passed(most=3) for _ in range(3)]
    assert await day.refused(most=3) == Refused(FLIGHT, 0.0)
    await day.leave(passes[1])
    await day.leave(passes[1])
    await day.passed(most=3)
    assert (await day.refused(most=3)).key == FLIGHT
    other = Day(day.turnstile, day.usage)
    await other.passed(most=3)


async def test_whoever_may_not_fly_loses_nothing_of_its_rate(day: Day) -> None:
    rate = Rate(per_minute=60, burst=2)
    first = await day.passed(most=1, tenant=rate)
    for _ in range(5):
        assert (await day.refused(most=1, tenant=rate)).key == FLIGHT
    await day.leave(first)
    await day.passed(most=1, tenant=rate)


async def test_a_slot_that_was_never_left_is_free_when_its_lease_is_over(day: Day, clock: Clock) -> None:
    await day.passed(most=2)
    clock.now += 10
    await day.passed(most=2)
    await day.refused(most=2)
    clock.now += 20
    late = await day.passed(most=2)
    await day.refused(most=2)
    clock.now += 10
    await day.leave(late)
    await day.passed(most=2)
    await day.passed(most=2)
    await day.refused(most=2)


async def test_what_calls_used_adds_up_whether_they_were_admitted_or_not(day: Day) -> None:
    for _ in range(3):
        await day.leave(await day.passed(), Work("look", ms=10, bytes=100))
    await day.leave(await day.passed(), Work("look", errors=1, ms=5))
    await day.leave(None, Work("look", ms=1))
    await day.leave(None, Work("a#b"))
    await day.leave(await day.passed(), Work("a#b"))
    await day.leave(await day.passed(), Work(""))
    await day.leave(await day.passed())
    await day.leave(None, None)
    assert await day.used() == [
        Used(DAY, "zoo", "", 1, 0, 0, 0),
        Used(DAY, "zoo", "a#b", 2, 0, 0, 0),
        Used(DAY, "zoo", "look", 5, 1, 36, 300),
    ]
    await day.usage.forget(day.name.tenant)
    assert await day.used() == []


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_limits_hold_within_five_percent_under_sixteen_processes(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = str(tmp_path) if kind == "sqlite" else request.getfixturevalue("dynamo")
    crowd = Path(__file__).with_name("counting_crowd.py")
    command = [sys.executable, crowd, kind, where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        try:
            told, _ = child.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # its children hold the pipe open
            raise
    result = json.loads(told)
    for number, pause in enumerate(result["pauses"]):
        allowed = 10 * pause if number else 60
        assert abs(result["granted"][number] - allowed) <= max(1, 0.05 * allowed), result
    assert abs(sum(result["granted"]) - 114) <= 0.05 * 114
    assert result["flights"] == 16 * 2
    assert 1 <= result["most"] <= 5, result


# -- the price in DynamoDB ------------------------------------------------------------------------------------


async def test_a_call_costs_one_write_going_in_and_one_going_out(there: Day, table: Counting, clock: Clock) -> None:
    rates = {"tenant": Rate(6_000), "plugin": Rate(3_000), "subject_ada": Rate(120)}
    for number in range(20):  # at once, soon after, long after; several tools
        passed = await there.passed(**rates)
        await there.leave(passed, Work(f"tool{number % TOOLS}", ms=5, bytes=900))
        assert len(table.asked) == 2 * (number + 1)
        clock.now += (0.001, 0.3, 40)[number % 3]
    assert sum(used.calls for used in await there.used()) == 20


async def test_many_tools_of_a_day_have_items_of_their_own(there: Day, table: Counting) -> None:
    for number in range(TOOLS + 3):
        await there.leave(await there.passed(), Work(f"tool{number}", ms=5))
    assert len(table.asked) == 2 * TOOLS + 3 * 3
    assert [used.calls for used in await there.used()] == [1] * (TOOLS + 3)
    del table.asked[:]
    await there.leave(await there.passed(), Work("tool0"))
    assert len(table.asked) == 2


async def test_users_that_are_gone_leave_nothing_in_the_item(there: Day, table: Counting, clock: Clock) -> None:
    for number in range(10 * SWEEP[0]):
        await there.leave(await there.passed(**{f"subject_{number}": Rate(60)}), Work("look"))
        clock.now += 2
    assert len(table.asked) == 20 * SWEEP[0]
    assert len(await users(there, table)) <= SWEEP[0]


async def test_a_user_who_comes_back_meanwhile_is_not_swept_away(there: Day, table: Counting, clock: Clock) -> None:
    for number in range(SWEEP[0]):
        await there.passed(**{f"subject_{number}": Rate(60, 1)})
    clock.now += 5
    last = await there.passed()
    await there.passed(subject_0=Rate(60, 1))
    await there.leave(last, Work("look", ms=3))
    assert (await there.refused(subject_0=Rate(60, 1))).key == "subject#zoo#0"
    assert [(used.calls, used.ms) for used in await there.used()] == [(1, 3)]


async def users(there: Day, table: Counting) -> list[str]:
    item = await table.call("get_item", Key={"pk": {"S": there.name.tenant}, "sk": {"S": DAY.isoformat()}})
    return [attribute for attribute in item["Item"] if attribute.startswith("subject#")]


async def test_users_of_whom_many_would_crowd_the_item_have_items_of_their_own(
    there: Day, table: Counting, clock: Clock
) -> None:
    slow = Rate(per_minute=1, burst=2)
    await there.passed(subject_ada=slow)
    assert await there.refused(subject_ada=slow) == Refused("subject#zoo#ada", pytest.approx(60.0))
    clock.now += 60
    first = await there.passed(subject_ada=slow, most=2)
    await there.refused(subject_ada=slow, most=2)  # and gives back what it had taken: a slot, and of the tenant's rate
    second = await there.passed(subject_ben=slow, most=2)
    assert (await there.refused(subject_cy=slow, most=2)).key == FLIGHT
    await there.leave(first)
    await there.leave(second)
    await there.passed(subject_cy=slow, most=2)  # nothing was taken from cy
    both = await there.refused(subject_cy=slow, tenant=Rate(6_000, 0.001))
    assert both == Refused("subject#zoo#cy", pytest.approx(60.0))
    assert await users(there, table) == []


async def test_a_guess_that_others_made_wrong_is_made_again(
    there: Day, tables: Any, table: Counting, clock: Clock
) -> None:
    elsewhere = Day(DynamoTurnstile(tables("usage"), DynamoLimiter(tables("limits")), now=clock), there.usage)
    elsewhere.name = there.name
    rate = Rate(60, 3)
    await there.passed(tenant=rate)
    await elsewhere.passed(tenant=rate)  # knows nothing and thinks that the bucket is full
    await there.passed(tenant=rate)
    assert (await elsewhere.refused(tenant=rate)).key == TENANT
    await there.usage.forget(there.name.tenant)  # or DynamoDB forgot it
    await there.passed(tenant=rate)


async def test_whoever_loses_every_race_says_so(tables: Any, clock: Clock) -> None:
    async def always_missed(verb: str, arguments: dict[str, Any]) -> None:
        raise Missed(None)

    limiter = DynamoLimiter(tables("limits"), now=clock)
    turnstile = DynamoTurnstile(Rival(tables("usage"), always_missed), limiter, now=clock)
    with pytest.raises(StorageDown, match="too busy"):
        await Day(turnstile, DynamoUsage(tables("usage"))).enter()


async def test_a_day_begins_anew_and_what_runs_is_counted_by_the_day_it_began(there: Day, clock: Clock) -> None:
    clock.now = 1_800_057_599.0  # a second before midnight
    late = await there.passed(most=1)
    await there.refused(most=1)
    clock.now += 2
    await there.passed(most=1)
    await there.leave(late, Work("look"))
    assert [used.day for used in await there.used()] == [DAY]


async def test_an_item_says_when_it_may_be_forgotten(there: Day, table: Counting, clock: Clock) -> None:
    await there.leave(await there.passed(), Work("look"))
    item = await table.call("get_item", Key={"pk": {"S": there.name.tenant}, "sk": {"S": DAY.isoformat()}})
    assert int(item["Item"]["expires"]["N"]) == clock.now + KEEP_DAYS * 86_400
    assert "slots" not in item["Item"]


async def test_what_is_remembered_of_tenants_is_bounded(
    there: Day, monkeypatch: pytest.MonkeyPatch, table: Counting
) -> None:
    monkeypatch.setattr("tenantry_registry.turnstile_dynamodb.SEEN", 1)
    days = [Day(there.turnstile, there.usage) for _ in range(3)]
    await asyncio.gather(*(day.passed() for day in days))
    assert len(there.turnstile._seen) == 1  # type: ignore[attr-defined]
