"""Rates and usage: one suite for a file and for DynamoDB. The turnstile's is test_turnstile.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry.tables import Clock, Rival
from tenantry_registry.dynamodb import Missed, Table
from tenantry_registry.errors import StorageDown
from tenantry_registry.limits import Limiter, Rate
from tenantry_registry.limits_dynamodb import KEEP_SECONDS, DynamoLimiter
from tenantry_registry.limits_sqlite import FORGET, SqliteLimiter
from tenantry_registry.names import Name
from tenantry_registry.sqlite_file import SqliteFile
from tenantry_registry.usage import KEEP_DAYS, Usage, Used
from tenantry_registry.usage_dynamodb import DynamoUsage
from tenantry_registry.usage_sqlite import SqliteUsage

ZOO = Name("acme", "zoo")


@pytest.fixture(params=["sqlite", "dynamodb"])
def limiter(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Limiter]:
    if request.param == "dynamodb":
        yield DynamoLimiter(request.getfixturevalue("tables")("limits"), now=clock)
        return
    made = SqliteLimiter(tmp_path / "limits.db", now=clock)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "dynamodb"])
def usage(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Usage]:
    if request.param == "dynamodb":
        yield DynamoUsage(request.getfixturevalue("tables")("usage"), now=clock)
        return
    made = SqliteUsage(tmp_path / "usage.db", now=clock)
    yield made
    made.close()


@pytest.fixture
def key() -> str:
    """One that no other test uses."""
    return f"tenant/{uuid4().hex}"


# -- rates ----------------------------------------------------------------------------------------------------


async def test_a_burst_is_allowed_and_then_the_rate(limiter: Limiter, clock: Clock, key: str) -> None:
    rate = Rate(per_minute=60, burst=5)
    assert [await limiter.take(key, rate) for _ in range(5)] == [0.0] * 5
    assert await limiter.take(key, rate) == pytest.approx(1.0)
    clock.now += 0.5
    assert await limiter.take(key, rate) == pytest.approx(0.5)
    clock.now += 0.5
    assert await limiter.take(key, rate) == 0.0
    assert await limiter.take(key, rate) == pytest.approx(1.0)


async def test_after_a_pause_there_is_one_burst_and_no_more(limiter: Limiter, clock: Clock, key: str) -> None:
    rate = Rate(per_minute=60, burst=3)
    await limiter.take(key, rate)
    clock.now += 10_000
    assert [await limiter.take(key, rate) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(1.0)]


async def test_a_rate_slower_than_its_burst_still_allows_one(limiter: Limiter, clock: Clock, key: str) -> None:
    rate = Rate(per_minute=1, burst=10)
    assert await limiter.take(key, rate) == 0.0
    assert await limiter.take(key, rate) == pytest.approx(60.0)
    clock.now += 60
    assert await limiter.take(key, rate) == 0.0


async def test_keys_do_not_share_a_bucket(limiter: Limiter, key: str) -> None:
    rate = Rate(per_minute=1, burst=1)
    assert await limiter.take(key, rate) == 0.0
    assert await limiter.take(key + "/other", rate) == 0.0


async def test_a_larger_amount_takes_more_and_too_large_a_one_is_never_allowed(
    limiter: Limiter, clock: Clock, key: str
) -> None:
    bytes_a_day = Rate(per_minute=60_000, burst=100)  # 100,000 at once
    assert await limiter.take(key, bytes_a_day, 60_000) == 0.0
    assert await limiter.take(key, bytes_a_day, 60_000) == pytest.approx(20.0)
    clock.now += 1000
    assert await limiter.take(key, bytes_a_day, 100_001) > 0.0


async def test_what_is_given_back_can_be_taken_again(limiter: Limiter, key: str) -> None:
    rate = Rate(per_minute=60, burst=2)
    await limiter.give_back(key, rate)  # of a bucket nobody knows
    await limiter.take(key, rate)
    await limiter.take(key, rate)
    await limiter.give_back(key, rate)
    assert await limiter.take(key, rate) == 0.0
    assert await limiter.take(key, rate) > 0.0


@given(
    st.floats(1, 100_000),
    st.floats(0.1, 100),
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 20)), min_size=1, max_size=40),
)
def test_no_pattern_of_calls_gets_more_than_burst_and_rate(
    per_minute: float, burst: float, calls: list[tuple[float, int]]
) -> None:
    rate, now, full, granted = Rate(per_minute, burst), 10**15, 0, 0
    begun = now
    for pause, number in calls:
        now += round(pause * 1e6)
        for _ in range(number):
            if max(full, now) <= rate.room(now, 1):
                full = max(full, now) + rate.cost(1)
                granted += 1
    allowed = max(burst * 1e6, rate.cost(1)) / rate.cost(1) + (now - begun) / rate.cost(1)
    assert granted <= allowed + 1e-6 * allowed + 1


# -- faults and forgetting ------------------------------------------------------------------------------------


async def test_buckets_long_full_are_forgotten(tmp_path: Path, clock: Clock) -> None:
    limiter = SqliteLimiter(tmp_path / "limits.db", now=clock)
    rate = Rate(60, 1)
    await limiter.take("old", rate)
    clock.now += FORGET / 1e6 + 10
    await limiter.take("new", rate)
    keys = await limiter.file.run(lambda database: database.execute("SELECT key FROM bucket").fetchall())
    assert keys == [("new",)]
    limiter.close()


async def test_items_say_when_they_may_be_forgotten(tables: Any, clock: Clock, key: str) -> None:
    table = tables("limits")
    limiter = DynamoLimiter(table, now=clock)
    await limiter.take(key, Rate(60, 10))
    item = await table.call("get_item", Key={"pk": {"S": key}, "sk": {"S": "bucket"}})
    assert int(item["Item"]["expires"]["N"]) == round(clock.now) + 11 + KEEP_SECONDS


async def test_a_clock_that_is_set_back_or_a_burst_that_becomes_shorter_locks_nobody_out(
    tmp_path: Path, clock: Clock
) -> None:
    limiter = SqliteLimiter(tmp_path / "limits.db", now=clock)
    rate, shorter = Rate(per_minute=60, burst=10), Rate(per_minute=60, burst=2)
    clock.now += 10 * 365 * 86_400  # a machine that was started with a wrong date
    while not await limiter.take("x", rate):
        pass
    clock.now -= 10 * 365 * 86_400
    assert 0 < await limiter.take("x", rate) <= 1
    clock.now += 1
    assert await limiter.take("x", rate) == 0
    assert 0 < await limiter.take("x", shorter) <= 1
    limiter.close()


async def test_a_database_that_is_none_is_said(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "junk.db").write_bytes(b"this is no database" * 100)
    for path in (tmp_path / "junk.db", tmp_path / "junk.db" / "below"):
        with pytest.raises(StorageDown, match="database can't be used"):
            SqliteLimiter(path)
    file = SqliteFile(tmp_path / "new.db", "CREATE TABLE t (x);", durable=True)
    with pytest.raises(StorageDown, match="OperationalError"):
        await file.run(lambda database: database.execute("SELECT nothing FROM nowhere"))
    file.close()


async def test_a_transaction_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "new.db", "CREATE TABLE t (x);", durable=False)

    def fail(database: Any) -> None:
        database.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await file.run(fail)
    assert await file.run(lambda database: database.execute("SELECT * FROM t").fetchall()) == []
    file.close()


@pytest.mark.usefixtures("dynamo")
async def test_a_table_that_does_not_answer_or_does_not_exist_is_said(tables: Any, clock: Clock) -> None:
    with pytest.raises(StorageDown, match="refused update_item: ResourceNotFoundException"):
        await DynamoLimiter(tables("nowhere"), now=clock).take("x", Rate(60))
    dead = Table("limits", endpoint="http://127.0.0.1:9")
    with pytest.raises(StorageDown, match="does not answer: EndpointConnectionError"):
        await DynamoUsage(dead, now=clock).add(ZOO, "tool")
    dead.close()


async def test_whoever_loses_every_race_for_a_bucket_says_so(tables: Any, clock: Clock, key: str) -> None:
    async def always_missed(verb: str, arguments: dict[str, Any]) -> None:
        raise Missed(None)

    limiter = DynamoLimiter(Rival(tables("limits"), always_missed), now=clock)
    with pytest.raises(StorageDown, match="too busy"):
        await limiter.take(key, Rate(60, 10))


async def test_a_bucket_that_somebody_fills_in_between_is_taken_from_as_it_is(
    tables: Any, clock: Clock, key: str
) -> None:
    table = tables("limits")
    other = DynamoLimiter(table, now=clock)
    rate, acted = Rate(60, 3), []

    async def once(verb: str, arguments: dict[str, Any]) -> None:
        if arguments["UpdateExpression"].startswith("SET #full = :full") and not acted:
            acted.append(verb)
            await other.take(key, rate)

    limiter = DynamoLimiter(Rival(table, once), now=clock)
    assert await limiter.take(key, rate) == 0.0
    assert acted
    assert await other.take(key, rate) == 0.0
    assert await other.take(key, rate) > 0.0


# -- usage ----------------------------------------------------------------------------------------------------


async def test_usage_adds_up_by_day_plugin_and_tool(usage: Usage, clock: Clock) -> None:
    tenant = Name(uuid4().hex[:12], "zoo")
    day = date(2027, 1, 15)
    await asyncio.gather(*(usage.add(tenant, "look", ms=10, bytes=100) for _ in range(5)))
    await usage.add(tenant, "look", errors=1, ms=5)
    await usage.add(tenant, "a#b", calls=2)
    await usage.add(Name(tenant.tenant, "other"), "look")
    await usage.add(Name(tenant.tenant + "2", "zoo"), "look")
    clock.now += 86400
    await usage.add(tenant, "look")
    found = await usage.read(tenant.tenant, day, date(2027, 1, 16))
    assert found == [
        Used(day, "other", "look", 1, 0, 0, 0),
        Used(day, "zoo", "a#b", 2, 0, 0, 0),
        Used(day, "zoo", "look", 6, 1, 55, 500),
        Used(date(2027, 1, 16), "zoo", "look", 1, 0, 0, 0),
    ]
    assert [used.day for used in await usage.read(tenant.tenant, date(2027, 1, 16), date(2027, 2, 1))] == [
        date(2027, 1, 16)
    ]
    assert await usage.read(tenant.tenant, date(2026, 1, 1), date(2027, 1, 14)) == []


async def test_a_forgotten_tenant_used_nothing_and_its_neighbour_did(usage: Usage) -> None:
    one, two = Name(uuid4().hex[:12], "zoo"), Name(uuid4().hex[:12], "zoo")
    for name in (one, two):
        await usage.add(name, "look")
        await usage.add(name, "see")
    await usage.forget(one.tenant)
    always = (date(2000, 1, 1), date(2100, 1, 1))
    assert await usage.read(one.tenant, *always) == []
    assert len(await usage.read(two.tenant, *always)) == 2


async def test_usage_is_kept_for_a_year_and_forgotten_then(tmp_path: Path, clock: Clock) -> None:
    usage = SqliteUsage(tmp_path / "usage.db", now=clock)
    await usage.add(ZOO, "look")
    clock.now += KEEP_DAYS * 86400
    await usage.add(ZOO, "look")
    assert len(await usage.read("acme", date(2000, 1, 1), date(2100, 1, 1))) == 2
    clock.now += 86400
    await usage.add(ZOO, "look")
    assert len(await usage.read("acme", date(2000, 1, 1), date(2100, 1, 1))) == 2
    usage.close()


async def test_usage_of_many_pages_is_read_whole(tables: Any, clock: Clock) -> None:
    table = tables("usage")

    async def two_a_page(verb: str, arguments: dict[str, Any]) -> None:
        if verb == "query":
            arguments["Limit"] = 2

    class Paged(Table):
        async def call(self, verb: str, **arguments: Any) -> Any:
            await two_a_page(verb, arguments)
            return await table.call(verb, **arguments)

    tenant = Name(uuid4().hex[:12], "zoo")
    usage = DynamoUsage(Paged("usage"), now=clock)
    for number in range(5):
        await usage.add(tenant, f"tool{number}")
    assert len(await usage.read(tenant.tenant, date(2027, 1, 1), date(2027, 12, 31))) == 5
