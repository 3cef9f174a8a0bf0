"""The same app behind Lambda's events, and a Lambda environment of its own."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from gateway.house import HOST, KEY, SHARED, House
from tenantry_gateway import on_lambda
from tenantry_gateway.on_lambda import bridge, normal
from tenantry_gateway.settings import GatewaySettings
from tenantry_registry.errors import PlatformError
from tenantry_registry.runners import Call

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


def v2(
    path: str = "/mcp", *, stage: str = "$default", host: str = HOST, body: Any = PING, **more: Any
) -> dict[str, Any]:
    """HTTP API, payload 2.0; a function URL's event is the same."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": host, "content-type": "application/json"},
        "requestContext": {"stage": stage, "http": {"method": "POST", "path": path, "sourceIp": "203.0.113.7"}},
        "body": body,
        "isBase64Encoded": False,
        **more,
    }


def v1(path: str = "/mcp", *, stage: str = "prod", host: str = HOST, **more: Any) -> dict[str, Any]:
    """REST API, payload 1.0."""
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": "POST",
        "headers": {"Host": host},
        "multiValueHeaders": {"Host": [host], "X-Forwarded-Port": ["443"]},
        "queryStringParameters": None,
        "requestContext": {"stage": stage, "identity": {"sourceIp": "203.0.113.7"}},
        "body": PING,
        "isBase64Encoded": False,
        **more,
    }


def alb(path: str = "/mcp", *, host: str = HOST, **more: Any) -> dict[str, Any]:
    return {
        "httpMethod": "POST",
        "path": path,
        "headers": {"host": host, "x-forwarded-port": "443", "x-forwarded-for": "203.0.113.7"},
        "queryStringParameters": {},
        "requestContext": {"elb": {"targetGroupArn": "arn"}},
        "body": base64.b64encode(PING.encode()).decode(),
        "isBase64Encoded": True,
        **more,
    }


@pytest.fixture
def handler(house: House) -> Any:
    asyncio.run(house.publish())
    yield bridge(house.app(), "base")
    leave_loop()


def leave_loop() -> None:
    """Close the event loop that `bridge` made for this thread; a Lambda environment keeps its own."""
    asyncio.get_event_loop_policy().get_event_loop().close()
    asyncio.set_event_loop(None)


@pytest.mark.parametrize(
    "event",
    [
        v2(),
        v2("/mcp/"),
        v2("/prod/mcp", stage="prod"),
        v2("/base/mcp"),
        v2("/prod/base/mcp", stage="prod"),
        v2("/t/acme/zoo/mcp", host=SHARED),
        v2("/prod/t/acme/zoo/mcp", stage="prod", host=SHARED),
        v1(),
        v1("/prod/mcp"),
        v1("/base/mcp"),
        v1(multiValueHeaders=None),
        alb(),
        alb(multiValueHeaders={"host": [HOST]}),
    ],
)
def test_every_front_door_reaches_the_plugin(handler: Any, event: dict[str, Any]) -> None:
    answer = handler(event, None)
    assert answer["statusCode"] == 200, answer
    assert json.loads(answer["body"]) == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    "event",
    [
        v2("/prodmcp", stage="prod"),
        v2(host="a:b:c"),
        v2(host="x:port"),
        v2("/prod", stage="prod"),
        v1(""),
        v2(headers={}),
        v2(headers=None),
    ],
)
def test_a_strange_event_is_404_and_no_exception(handler: Any, event: dict[str, Any]) -> None:
    assert handler(event, None)["statusCode"] in (404, 405)


def test_a_body_that_is_no_text_is_refused_as_any_other(handler: Any) -> None:
    assert handler(v2(body="\ud800"), None)["statusCode"] == 400
    assert handler(v2(body=None), None)["statusCode"] == 400


def test_the_event_itself_is_left_alone() -> None:
    event = v2("/prod/mcp", stage="prod")
    before = json.dumps(event)
    assert normal(event)["requestContext"]["http"]["path"] == "/mcp"
    assert json.dumps(event) == before


def test_200_events_leave_nothing_behind(handler: Any) -> None:
    import gc
    import tracemalloc

    for _ in range(50):
        handler(v2(), None)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(200):
        assert handler(v2(body=PING.replace("1,", f"{number},")), None)["statusCode"] == 200
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 200_000


def test_the_handler_is_composed_once_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {
        "STORE": "s3://bucket",
        "ORIGIN": f"https://{SHARED}",
        "SEAL_KEYS": KEY,
        "SANDBOX_PUBLIC": "arn:aws:lambda:us-east-1:123456789012:function:sandbox",
        "BASE_PATH": "base",
    }.items():
        monkeypatch.setenv(f"TENANTRY_{key}", value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    on_lambda.composed.cache_clear()
    try:
        assert on_lambda.handler(v2(host=SHARED), None)["statusCode"] == 404
        assert on_lambda.composed() is on_lambda.composed()
    finally:
        on_lambda.composed.cache_clear()
        leave_loop()


def test_a_function_without_keys_does_not_start() -> None:
    with pytest.raises(PlatformError, match="TENANTRY_SEAL_KEYS"):
        on_lambda.compose(GatewaySettings(store="/tmp/x-tenantry", origin=f"https://{SHARED}"))


def test_counters_are_made_where_the_stage_has_tables_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    tables = GatewaySettings(limits_table="limits", usage_table="usage")
    assert sorted(on_lambda.counters(tables)) == ["limiter", "turnstile"]
    assert on_lambda.counters(GatewaySettings(limits_table="limits")) == {}


async def test_a_runner_wakes_when_it_is_needed_and_once() -> None:
    made: list[Sleeper] = []

    def make() -> Sleeper:
        made.append(Sleeper())
        return made[-1]

    waking = on_lambda.Waking(make)
    await waking.aclose()
    assert made == []
    release: Any = None
    assert await waking.describe(release) == {"description": {}}
    assert await waking.call(release, Call("ping", {})) == {"result": {}}
    await waking.aclose()
    assert [each.closed for each in made] == [True]


class Sleeper:
    """A runner that says little."""

    closed = False

    async def describe(self, release: Any) -> dict[str, Any]:
        return {"description": {}}

    async def call(self, release: Any, call: Call) -> dict[str, Any]:
        return {"result": {}}

    async def aclose(self) -> None:
        self.closed = True
