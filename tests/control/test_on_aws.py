"""What stands behind the control plane on AWS: the publisher's function, the log group, the composed handler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from tenantry_control.logs import CloudWatchLogs
from tenantry_control.on_lambda import compose
from tenantry_control.publishing import LambdaPublisher
from tenantry_control.settings import ControlSettings
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.names import Name

ZOO = Name("acme", "zoo")
NOW = 1_800_000_000.0


class Lambda:
    """As much of boto3's Lambda client as is used."""

    def __init__(self, answer: int | Exception) -> None:
        self.answer, self.asked = answer, [{}]

    def invoke(self, **asked: Any) -> dict[str, int]:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"StatusCode": self.answer}


async def test_the_publisher_is_invoked_without_waiting() -> None:
    client = Lambda(202)
    made = []
    publisher = LambdaPublisher("arn:publisher", client=lambda: made.append(1) or client)
    await publisher.start(ZOO, "01J")
    await publisher.start(ZOO, "01K")
    assert client.asked[1]["InvocationType"] == "Event"
    assert json.loads(client.asked[1]["Payload"]) == {"tenant": "acme", "plugin": "zoo", "id": "01J"}
    assert made == [1]
    await publisher.aclose()


@pytest.mark.parametrize("answer", [500, EndpointConnectionError(endpoint_url="https://lambda")])
async def test_a_publisher_that_does_not_start_is_said_so(answer: int | Exception) -> None:
    with pytest.raises(PlatformError) as refused:
        await LambdaPublisher("arn:publisher", client=lambda: Lambda(answer)).start(ZOO, "01J")
    assert refused.value.code == "publish.not-started"


class LogGroup:
    """As much of boto3's CloudWatch Logs client as is used; its pattern lets everything of its time through."""

    def __init__(self, *messages: str, fault: Exception | None = None, endless: bool = False) -> None:
        self.messages, self.fault, self.endless = messages, fault, endless
        self.asked: list[dict[str, Any]] = []

    def get_paginator(self, name: str) -> LogGroup:
        assert name == "filter_log_events"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        self.asked.append(asked)
        if self.fault:
            raise self.fault
        while self.endless:
            yield {"events": []}
        for message in self.messages:
            at = float(json.loads(message[message.index("{") :])["time"]) * 1000 if '"time"' in message else 0
            if not at or asked["startTime"] <= at < asked["endTime"]:
                yield {"events": [{"message": message}]}


def line(plugin: str, at: float, **more: Any) -> str:
    return json.dumps({"event": "call", "time": at, "tenant": "acme", "plugin": plugin, **more})


async def test_the_log_group_is_asked_for_one_plugin_and_what_it_says_is_checked_again() -> None:
    group = LogGroup(
        "[INFO]\t2027-01-15T08:00:00Z\tid\t" + line("zoo", NOW + 2, error_id="e1"),
        line("zoo", NOW + 1, error_id="e1"),
        line("farm", NOW + 3, error_id="e1"),
        line("zoo", NOW + 4),
        "START RequestId: 1",
        "{broken",
    )
    logs = CloudWatchLogs("/aws/lambda/gateway", client=lambda: group, now=lambda: NOW)
    found = await logs.read(ZOO, error_id="e1")
    assert [one["time"] - NOW for one in found] == [1, 2]
    assert group.asked[0]["filterPattern"] == '{ $.tenant = "acme" && $.plugin = "zoo" && $.error_id = "e1" }'
    assert group.asked[-1]["startTime"] == int((NOW - 86_400) * 1000)
    spans = [(asked["startTime"], asked["endTime"]) for asked in group.asked]
    assert [first for first, _ in spans[:-1]] == [last for _, last in spans[1:]]  # backwards, without a gap


async def test_the_log_group_is_asked_no_further_back_than_is_needed() -> None:
    group = LogGroup(*(line("zoo", NOW - 600 * number) for number in reversed(range(200))))
    logs = CloudWatchLogs("/aws/lambda/gateway", client=lambda: group, now=lambda: NOW)
    found = await logs.read(ZOO, after=1.0, limit=5)
    assert [one["time"] - NOW for one in found] == [-2400, -1800, -1200, -600, 0]
    assert len(group.asked) == 2
    assert len(await logs.read(ZOO, after=NOW - 50 * 600, limit=1_000)) == 50


async def test_a_log_that_can_not_be_searched_in_time_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenantry_control.logs.SEARCH_SECONDS", 0.01)
    group = LogGroup(endless=True)
    with pytest.raises(StorageDown, match="too long to be searched"):
        await CloudWatchLogs("/aws/lambda/gateway", client=lambda: group, now=lambda: NOW).read(ZOO)


async def test_a_log_group_that_does_not_answer_is_said_so() -> None:
    group = LogGroup(fault=ClientError({"Error": {"Code": "Throttling"}}, "FilterLogEvents"))
    with pytest.raises(StorageDown):
        await CloudWatchLogs("/aws/lambda/gateway", client=lambda: group).read(ZOO)


def test_the_function_answers_below_the_prefix_that_its_front_door_has(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    handler = compose(ControlSettings(store=str(tmp_path), root_path="/api", usage_table="usage"))
    event = {
        "version": "2.0",
        "routeKey": "ANY /api/{proxy+}",
        "rawPath": "/api/v1/health",
        "rawQueryString": "",
        "headers": {"host": "plugins.example.com"},
        "requestContext": {
            "http": {"method": "GET", "path": "/api/v1/health", "sourceIp": "192.0.2.1", "protocol": "HTTP/1.1"},
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }
    answer = handler(event, None)  # type: ignore[arg-type]
    loop.close()
    asyncio.set_event_loop(None)
    assert (answer["statusCode"], json.loads(answer["body"])) == (200, {"ok": True})
