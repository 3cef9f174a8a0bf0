"""Rates, calls in flight and usage: who is admitted, who is told to wait, and what is added up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import boto3
import pytest
from gateway.house import House, ask, manifest, replying, say, tool
from gateway.test_asking import YES, Polling, greet
from moto import mock_aws
from tenantry_gateway.meter import Meter, Plans
from tenantry_registry.dynamodb import Table
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.limits import Rate, Refused
from tenantry_registry.limits_dynamodb import DynamoLimiter
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.names import Name
from tenantry_registry.runners import Call, Release, SandboxError
from tenantry_registry.tenants import Tenants
from tenantry_registry.turnstile import Entry, Pass, Work
from tenantry_registry.turnstile_dynamodb import DynamoTurnstile
from tenantry_registry.turnstile_sqlite import SqliteTurnstile
from tenantry_registry.usage import Used
from tenantry_registry.usage_dynamodb import DynamoUsage
from tenantry_registry.usage_sqlite import SqliteUsage

NAME = Name("acme", "zoo")
NOW = 1_800_000_000.0


class Down:
    """A limiter and a turnstile that do not answer."""

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        raise StorageDown("The table does not answer.")

    async def give_back(self, key: str, rate: Rate, amount: float = 1.0) -> None:
        raise StorageDown("The table does not answer.")

    async def enter(self, entry: Entry) -> Pass | Refused:
        raise StorageDown("The table does not answer.")

    async def leave(self, name: Name, passed: Pass | None, work: Work | None) -> None:
        raise StorageDown("The table does not answer.")


class Counting:
    """A platform that counts: acme's plan is what a test says."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house, self.now = house, NOW
        self.limiter = SqliteLimiter(folder / "limits.db", now=lambda: self.now)
        self.usage = SqliteUsage(folder / "usage.db", now=lambda: self.now)
        self.turnstile = SqliteTurnstile(self.limiter, self.usage)
        house.extra |= {"limiter": self.limiter, "turnstile": self.turnstile}

    async def plan(self, **limits: int) -> None:
        tenants = Tenants(self.house.objects)
        await tenants.create("acme")
        await tenants.change("acme", limits=limits)

    async def used(self) -> list[Used]:
        return list(await self.usage.read("acme", date(2027, 1, 1), date(2027, 2, 1)))


@pytest.fixture
def counting(house: House, tmp_path: Path) -> Any:
    made = Counting(house, tmp_path)
    yield made
    made.limiter.close()
    made.usage.close()


async def test_a_tool_over_its_rate_says_when_to_try_again(counting: Counting) -> None:
    await counting.plan(plugin_rate=60, burst=1)
    await counting.house.publish()
    async with counting.house.http() as http:
        first = await ask(http, "tools/call", {"name": "echo"})
        second = await ask(http, "tools/call", {"name": "echo"})
        assert first.json()["result"].get("isError") is not True
        assert second.status_code == 200
        assert second.json()["result"]["isError"] is True
        assert "Try again in 1 s" in second.json()["result"]["content"][0]["text"]
        counting.now += 1
        third = await ask(http, "tools/call", {"name": "echo"})
        assert third.json()["result"].get("isError") is not True
        for _ in range(5):
            assert (await ask(http, "tools/list")).status_code == 200
    assert len(counting.house.runner.calls) == 2


async def test_everything_but_a_tool_is_told_by_429(counting: Counting) -> None:
    await counting.plan(plugin_rate=60, burst=1)
    await counting.house.publish()
    counting.house.runner.answer = replying(result={"messages": []})
    async with counting.house.http() as http:
        answers = [await ask(http, "prompts/get", {"name": "greet", "arguments": {"who": "x"}}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json()["error"]["data"]["code"] == "limit.rate"


@pytest.mark.parametrize("ms", [0, -1e15, float("nan"), float("inf"), 1e300, 10**400, True, "9", None])
async def test_usage_has_the_runners_time_whatever_a_tool_says_of_its_own(counting: Counting, ms: Any) -> None:
    await counting.plan()
    await counting.house.publish()
    counting.house.runner.answer = replying(result={"content": []}, ms=ms, ran_ms=12.4)
    async with counting.house.http() as http:
        answer = await ask(http, "tools/call", {"name": "echo"})
    assert answer.json()["result"].get("isError") is not True
    (used,) = await counting.used()
    assert (used.calls, used.errors, used.ms) == (1, 0, 12)


async def test_what_ran_and_came_to_nothing_is_counted_too(counting: Counting) -> None:
    await counting.plan()
    await counting.house.publish()

    async def late(release: Release, call: Call) -> dict[str, Any]:
        error = SandboxError("sandbox.timeout", "Too late.")
        error.ran_ms = 25_000.0
        raise error

    async with counting.house.http() as http:
        counting.house.runner.answer = late
        await ask(http, "tools/call", {"name": "echo"})
        counting.house.runner.answer = replying(protocol_error={"code": -32602, "message": "No."}, ran_ms=40.0)
        await ask(http, "tools/call", {"name": "echo"})
        await ask(http, "tools/call", {"name": "nobody"})
    (used,) = await counting.used()
    assert (used.calls, used.errors, used.ms) == (2, 2, 25_040)


async def test_a_call_that_waited_for_its_client_is_counted_and_logged_when_it_goes_on(counting: Counting) -> None:
    await counting.plan()
    await counting.house.publish()

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        if not call.answers:
            return {"input_required": {"inputRequests": {"a": {"method": "elicitation/create"}}}, "ran_ms": 1}
        error = {"code": "tool.failed", "message": "It failed.", "error_id": "e1", "traceback": "by line 7"}
        return {"error": error, "ran_ms": 500, "stdout": "printed"}

    counting.house.runner.answer = answer
    async with counting.house.http() as http:
        client = Polling(http, await greet(http))
        (question,) = await client.call()
        assert await client.poll() == []
        await client.answer(question["id"], result=YES)
        (done,) = await client.poll()
        assert await client.poll() == [done], "kept; nothing runs for that"
    lines = [line for line in counting.house.log if line["event"] == "call" and line["method"] == "tools/call"]
    assert [(line["tool"], line.get("traceback"), line.get("stdout")) for line in lines] == [
        ("echo", None, None),
        ("echo", "by line 7", "printed"),
    ]
    (used,) = await counting.used()
    assert (used.calls, used.errors, used.ms, used.bytes > 50) == (2, 1, 501, True)


async def test_each_subject_has_a_bucket_of_its_own(counting: Counting) -> None:
    await counting.plan(subject_rate=60, burst=1)
    await counting.house.publish()
    async with counting.house.http() as http:
        said = [
            (await ask(http, "tools/call", {"name": "echo"}, **{"openai/subject": who})).json()["result"]
            for who in ("ada", "ada", "ben")
        ]
    assert [result.get("isError", False) for result in said] == [False, True, False]


async def test_a_signed_in_user_is_counted_by_who_they_are(counting: Counting) -> None:
    async def somebody(*_: Any) -> dict[str, Any]:
        return {"sub": "u1"}

    await counting.plan(subject_rate=60, burst=1)
    await counting.house.publish()
    counting.house.extra["authenticate"] = somebody
    async with counting.house.http() as http:
        said = [
            (await ask(http, "tools/call", {"name": "echo"}, **{"openai/subject": who})).json()["result"]
            for who in ("ada", "ben")
        ]
    assert [result.get("isError", False) for result in said] == [False, True]


async def test_the_authors_own_limit_counts_where_it_is_stricter(counting: Counting) -> None:
    await counting.plan(burst=1)
    await counting.house.publish(manifest(tools=(tool("echo"),), limits={"calls_per_minute": 60}))
    async with counting.house.http() as http:
        await ask(http, "tools/call", {"name": "echo"})
        refused = await ask(http, "tools/call", {"name": "echo"})
    assert refused.json()["result"]["isError"] is True


async def test_calls_in_flight_are_bounded_and_slots_come_back(counting: Counting) -> None:
    await counting.plan(in_flight=1)
    await counting.house.publish()
    began, go_on = asyncio.Event(), asyncio.Event()

    async def slow(release: Release, call: Call) -> dict[str, Any]:
        began.set()
        await go_on.wait()
        return {"protocol": 1, "result": {"content": []}}

    counting.house.runner.answer = slow
    async with counting.house.http() as http:
        first = asyncio.create_task(ask(http, "tools/call", {"name": "echo"}))
        await began.wait()
        second = await ask(http, "tools/call", {"name": "echo"})
        assert "running already" in second.json()["result"]["content"][0]["text"]
        go_on.set()
        assert (await first).json()["result"].get("isError") is not True
        third = await ask(http, "tools/call", {"name": "echo"})
    assert third.json()["result"].get("isError") is not True


async def test_usage_is_added_up_by_tool(counting: Counting) -> None:
    await counting.plan()
    await counting.house.publish()
    async with counting.house.http() as http:
        await ask(http, "tools/call", {"name": "echo"})
        await say(http, "tools/call", {"name": "echo"})
        counting.house.runner.answer = replying(error={"code": "tool.failed", "message": "It broke."}, ran_ms=12.4)
        await ask(http, "tools/call", {"name": "echo"})
        await ask(http, "tools/list")
    (row,) = await counting.used()
    assert (row.tool, row.calls, row.errors, row.ms) == ("echo", 3, 1, 26)
    assert row.bytes > 100


async def test_a_tenant_that_nobody_created_has_no_limits(counting: Counting) -> None:
    await counting.house.publish()
    async with counting.house.http() as http:
        for _ in range(30):
            answer = await ask(http, "tools/call", {"name": "echo"})
            assert answer.json()["result"].get("isError") is not True


async def test_calls_go_on_uncounted_while_the_counters_are_down(counting: Counting) -> None:
    await counting.plan()
    await counting.house.publish()
    counting.house.extra |= {"limiter": Down(), "turnstile": Down()}
    async with counting.house.http() as http:
        answer = await ask(http, "tools/call", {"name": "echo"})
    assert answer.json()["result"].get("isError") is not True
    assert {line["code"] for line in counting.house.log if line["event"] == "fault"} == {"objects.unavailable"}


async def test_files_are_bounded_by_the_plans_bytes_and_days(counting: Counting) -> None:
    await counting.plan(file_bytes=10_000, file_days=1)
    meter = Meter(Plans(counting.house.objects), counting.limiter, counting.turnstile, log=lambda event, **_: None)
    await meter.room(NAME, 6_000)
    with pytest.raises(PlatformError) as refused:
        await meter.room(NAME, 6_000)
    assert refused.value.code == "file.quota"
    counting.now += 86_400 * 0.7  # as much has gone by itself
    await meter.room(NAME, 6_000)
    await meter.room(Name("nobody", "zoo"), 10**9)
    down = Meter(Plans(counting.house.objects), Down(), counting.turnstile, log=lambda event, **_: None)
    await down.room(NAME, 10**9)


async def test_what_a_result_leaves_behind_counts_as_a_file(counting: Counting) -> None:
    await counting.plan(file_bytes=1_000_000, file_days=1)
    await counting.house.publish(manifest(tools=(tool("big"),)))
    counting.house.runner.answer = replying(result={"content": [{"type": "text", "text": "x" * 8_000_000}]})
    async with counting.house.http() as http:
        answer = await ask(http, "tools/call", {"name": "big"})
    assert answer.status_code == 200
    assert "as many bytes of files as its plan allows" in answer.text


async def test_a_slot_that_can_not_be_left_is_said_in_the_log(counting: Counting) -> None:
    class HalfDown(SqliteTurnstile):
        async def leave(self, name: Name, passed: Pass | None, work: Work | None) -> None:
            raise StorageDown("The table does not answer.")

    await counting.plan()
    await counting.house.publish()
    counting.house.extra["turnstile"] = HalfDown(counting.limiter, counting.usage)
    async with counting.house.http() as http:
        answer = await ask(http, "tools/call", {"name": "echo"})
    assert answer.json()["result"].get("isError") is not True
    assert [line["code"] for line in counting.house.log if line["event"] == "fault"] == ["objects.unavailable"]


async def test_counters_that_never_answer_hold_nobody_up(counting: Counting) -> None:
    class Silent(SqliteTurnstile):
        async def enter(self, entry: Entry) -> Pass | Refused:
            await asyncio.Event().wait()
            raise AssertionError

    lines: list[dict[str, Any]] = []
    await counting.plan()
    meter = Meter(
        Plans(counting.house.objects),
        counting.limiter,
        Silent(counting.limiter, counting.usage),
        log=lambda event, **facts: lines.append(facts),
        patience=0.01,
    )
    seat = meter.seat(NAME)
    await seat.admit("", {})
    await seat.leave()
    assert [line["code"] for line in lines] == ["objects.unavailable"]


@pytest.mark.parametrize("slow", ["state/", "nothing/"])
async def test_limits_are_asked_while_the_call_reads_what_it_needs(counting: Counting, slow: str) -> None:
    """Whichever is slower, the other has begun; and who is refused is not told of faults of the reading."""
    order: list[str] = []
    objects = counting.house.objects

    class Watched:
        def __getattr__(self, verb: str) -> Any:
            return getattr(objects, verb)

        async def get(self, key: str) -> Any:
            if key.startswith("state/"):
                order.append("read")
                if slow == "state/":
                    await asyncio.wait_for(asked.wait(), 5)
                raise StorageDown("Storage does not answer.")
            return await objects.get(key)

    class Asked(SqliteTurnstile):
        async def enter(self, entry: Entry) -> Pass | Refused:
            order.append("asked")
            asked.set()
            return await super().enter(entry)

    asked = asyncio.Event()
    await counting.plan(plugin_rate=60, burst=1)
    await counting.house.publish()
    counting.house.objects = Watched()  # type: ignore[assignment]
    counting.house.extra["turnstile"] = Asked(counting.limiter, counting.usage)
    async with counting.house.http() as http:
        first = (await ask(http, "tools/call", {"name": "echo"})).text
        second = (await ask(http, "tools/call", {"name": "echo"})).text
    assert "Storage does not answer" in first
    assert "Try again in 1 s" in second
    assert sorted(order[:2]) == ["asked", "read"]
    assert not counting.house.runner.calls


async def test_a_call_costs_at_most_two_writes_of_a_table(counting: Counting) -> None:
    """Through the whole gateway, counted in DynamoDB: one going in, one going out; what is no call costs none."""
    asked: list[str] = []

    class Counted(Table):
        async def call(self, verb: str, **arguments: Any) -> Any:
            asked.append(verb)
            return await super().call(verb, **arguments)

    await counting.plan()
    await counting.house.publish()
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1")
        for name in ("limits", "usage"):
            client.create_table(
                TableName=name,
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
                AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in ("pk", "sk")],
                BillingMode="PAY_PER_REQUEST",
            )
        usage, limits = (Counted(name, region="eu-central-1") for name in ("usage", "limits"))
        limiter = DynamoLimiter(limits, now=lambda: counting.now)
        turnstile = DynamoTurnstile(usage, limiter, now=lambda: counting.now)
        counting.house.extra |= {"limiter": limiter, "turnstile": turnstile}
        await DynamoUsage(usage).read("acme", date(2027, 1, 1), date(2027, 2, 1))  # boto3 is imported
        asked.clear()
        async with counting.house.http() as http:
            for number in range(6):
                who = {"openai/subject": ("ada", "ben")[number % 2]}
                answer = await ask(http, "tools/call", {"name": "echo"}, **who)
                assert answer.json()["result"].get("isError") is not True
                assert len(asked) == 2 * (number + 1)
                counting.now += 0.01
            await ask(http, "tools/list")
            await ask(http, "tools/call", {"name": "nobody"})
        assert asked == ["update_item"] * 12
        (row,) = await DynamoUsage(usage).read("acme", date(2027, 1, 1), date(2027, 2, 1))
        usage.close()
        limits.close()
    assert (row.tool, row.calls, row.errors) == ("echo", 6, 0)
    assert row.bytes > 600


async def test_names_that_a_hosted_server_never_listed_make_no_rows(counting: Counting) -> None:
    await counting.plan()
    await counting.house.publish(manifest(tools=(tool("echo"),), kind="asgi"))
    async with counting.house.http() as http:
        for name in ("echo", "made-up-1", "made-up-2"):
            await ask(http, "tools/call", {"name": name})
    assert [(row.tool, row.calls) for row in await counting.used()] == [("", 2), ("echo", 1)]


class TestPlans:
    async def test_a_plan_is_remembered_for_a_minute_and_the_last_one_serves_when_storage_is_down(
        self, house: House
    ) -> None:
        now = [0.0]
        plans = Plans(house.objects, now=lambda: now[0])
        await Tenants(house.objects).create("acme", plan="free")
        first = await plans.of("acme")
        await Tenants(house.objects).change("acme", plan="large")
        assert await plans.of("acme") == first
        now[0] = 61.0
        second = await plans.of("acme")
        assert second is not None
        assert second != first

        class Broken:
            async def get(self, key: str) -> None:
                raise StorageDown("S3 does not answer.")

        now[0] = 200.0
        plans._tenants = Tenants(Broken())  # type: ignore[arg-type]
        assert await plans.of("acme") == second

    async def test_memory_is_bounded(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tenantry_gateway.meter.PLANS_KEPT", 1)
        plans = Plans(house.objects)
        for slug in ("acme", "beta"):
            assert await plans.of(slug) is None


async def test_a_previews_secrets_are_asked_for_as_such(house: House) -> None:
    asked: list[tuple[Any, bool]] = []

    async def secrets(name: Name, wanted: Sequence[str], /, *, preview: bool = False) -> dict[str, str]:
        asked.append((tuple(wanted), preview))
        return {"KEY": "hush"}

    house.extra["secrets"] = secrets
    digest = await house.publish(manifest(tools=(tool("echo"),), secrets=("KEY",)), current=False, preview_until=9e9)
    async with house.http() as http:
        http.base_url = http.base_url.join(f"/v/{digest[:12]}/")
        assert (await ask(http, "tools/call", {"name": "echo"})).status_code == 200
    assert asked == [(("KEY",), True)]
    assert house.runner.releases[0].secrets == {"KEY": "hush"}
