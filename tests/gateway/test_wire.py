"""Any bytes in: a valid response or a valid error out. Never a 500, never a traceback."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from gateway.house import HOST, META, NAME, NAMED, EchoRunner, House, manifest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_gateway import wire
from tenantry_gateway.request import Request, Response
from tenantry_gateway.wire import Incoming, Message, Refusal
from tenantry_registry.runners import Call, Release

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
METHODS = st.sampled_from(
    [
        *("initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/read", "prompts/get"),
        *("completion/complete", "resources/list", "logging/setLevel", "notifications/initialized", "nope", ""),
    ]
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["count", "echo", "greet", "x"]) | JSON,
        "uri": st.sampled_from(["zoo://rules", "zoo://now", "ui://widget/animals.html", "zoo://animal/1"]) | JSON,
        "arguments": st.fixed_dictionaries({}, optional={"count": st.integers() | JSON, "who": st.text()}) | JSON,
        "cursor": JSON,
        "level": JSON,
        "ref": JSON,
        "argument": JSON,
        "protocolVersion": st.sampled_from(["2025-06-18", "2026-07-28"]) | JSON,
        "capabilities": JSON,
        "clientInfo": JSON,
        "inputResponses": JSON,
        "requestState": JSON,
        "_meta": st.just(META) | st.dictionaries(st.sampled_from(list(META)), JSON) | JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {"method": METHODS},
    optional={"jsonrpc": st.just("2.0") | JSON, "id": st.integers() | st.text() | JSON, "params": PARAMS | JSON},
)
BODIES = st.one_of(MESSAGES, MESSAGES, JSON, st.lists(MESSAGES, max_size=4))
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.sampled_from(["2026-07-28", "2025-11-25", "2025-03-26", "x"]),
        "mcp-method": METHODS,
        "mcp-name": st.sampled_from(["count", "echo", "=?base64?eA==?=", "zoo://rules"]),
        "mcp-session-id": st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126)),
        "accept": st.sampled_from(["application/json", "text/event-stream", "*/*", ""]),
        "last-event-id": st.text(alphabet="0123456789abcdef.", max_size=40),
    },
)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The whole gateway as a function from a request to a response."""
    with asyncio.Runner() as runner:
        house = House(tmp_path_factory.mktemp("wire"))
        runner.run(house.publish(manifest()))
        shell = house.app().routes[-1].app
        yield lambda request: runner.run(shell._answer(request))


def judge(response: Response) -> None:
    """A response is JSON-RPC through and through."""
    assert response.status in (200, 202, 400, 404, 405), response.body
    if response.status == 202:
        assert response.body == b""
        return
    kind = response.header("content-type")
    text = response.body.decode()
    if kind == "text/event-stream":
        bodies = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and line[6:]]
    else:
        assert kind == "application/json"
        bodies = [json.loads(text, parse_constant=_never)]
    for body in bodies:
        for message in body if isinstance(body, list) else [body]:
            assert message["jsonrpc"] == "2.0"
            assert "Traceback" not in json.dumps(message)
            if "method" in message:
                continue
            assert ("result" in message) != ("error" in message)
            assert message["id"] is None or isinstance(message["id"], (str, int))
            if "error" in message:
                assert isinstance(message["error"]["code"], int)
                assert isinstance(message["error"]["message"], str)


def _never(text: str) -> None:
    raise AssertionError(text)


def post(body: bytes, headers: dict[str, str]) -> Request:
    return Request("POST", "/mcp", [("host", HOST), *headers.items()], body)


@given(body=st.binary(), headers=HEADERS)
def test_any_bytes_are_answered(answer: Any, body: bytes, headers: dict[str, str]) -> None:
    judge(answer(post(body, headers)))


@given(body=BODIES, headers=HEADERS)
def test_any_json_is_answered(answer: Any, body: Any, headers: dict[str, str]) -> None:
    judge(answer(post(json.dumps(body).encode(), headers)))


@given(method=METHODS, params=PARAMS, id=st.integers(0, 9) | st.text(max_size=9))
def test_any_well_headed_request_is_answered(answer: Any, method: str, params: dict[str, Any], id: Any) -> None:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    named = params.get(NAMED.get(method, ""))
    if isinstance(named, str):
        headers["mcp-name"] = named
    judge(answer(post(json.dumps(body).encode(), headers)))


@given(body=st.binary() | BODIES.map(lambda value: json.dumps(value).encode()), headers=HEADERS)
def test_the_reader_gives_messages_or_a_refusal(body: bytes, headers: dict[str, str]) -> None:
    try:
        incoming = wire.read(post(body, headers))
    except Refusal as refusal:
        assert refusal.status == 400  # noqa: PT017 - both outcomes are right
        return
    assert isinstance(incoming, Incoming)
    assert all(isinstance(message, (Message, Refusal)) for message in incoming.messages)


@given(
    reply=st.dictionaries(
        st.sampled_from(
            [
                "result",
                "error",
                "input_required",
                "protocol_error",
                "shared",
                "state",
                "files",
                "overflow",
                "notifications",
                "ms",
                "stdout",
            ]
        ),
        JSON,
    )
)
def test_any_reply_of_a_sandbox_is_answered(tmp_path_factory: pytest.TempPathFactory, reply: dict[str, Any]) -> None:
    async def run() -> Response:
        house = House(tmp_path_factory.getbasetemp() / "replies")
        if await house.registry.current(NAME) is None:
            await house.publish(manifest(uses_files=True))

        async def say(release: Release, call: Call) -> dict[str, Any]:
            return json.loads(json.dumps(reply, allow_nan=False)) if _plain(reply) else {}

        house.runner = EchoRunner(say)
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
        return await house.app().routes[-1].app._answer(post(json.dumps(body).encode(), {}))

    judge(asyncio.run(run()))


def _plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def test_lone_surrogates_leave_as_escapes() -> None:
    assert wire.dump({"a": "\ud800"}) == b'{"a":"\\ud800"}'
    assert wire.dump({"a": "é"}) == '{"a":"é"}'.encode()


@pytest.mark.soak
def test_a_million_mutated_bodies_are_answered(answer: Any) -> None:
    chance = random.Random(2026)
    seeds = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": m, "params": {"_meta": META, "name": "echo"}}).encode()
        for m in ("tools/call", "tools/list", "initialize", "server/discover", "resources/read")
    ]
    headers = [{}, {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}]
    for _ in range(1_000_000):
        body = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(body))
            body[place : place + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        judge(answer(post(bytes(body), chance.choice(headers))))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("[" * 201 + "]" * 201, wire.PARSE_ERROR),
        ('{"a":' * 201 + "1" + "}" * 201, wire.PARSE_ERROR),
        ('{"a":' * 150 + "1" + "}" * 150, wire.INVALID_REQUEST),
        ('"' + "[{" * 300 + '"', wire.INVALID_REQUEST),
        (("[" * 201 + "]" * 201).encode("utf-16"), wire.PARSE_ERROR),
    ],
)
def test_a_body_is_refused_for_its_depth_and_not_for_its_brackets(body: str | bytes, code: int) -> None:
    data = body if isinstance(body, bytes) else body.encode()
    with pytest.raises(Refusal) as refused:
        wire.read(Request("POST", "/mcp", [("content-type", "application/json")], data))
    assert refused.value.code == code
