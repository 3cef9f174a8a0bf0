"""A hosted server that asks its client in the middle of a call: stopped, asked, and run again with the answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry import bundle, vendor
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner
from tenantry_registry.runners import Call, Release

HOSTED = Path(__file__).parent / "hosted"
CACHE = Path(__file__).parents[2] / ".build" / "vendored"
ALL = {"elicitation": {}, "sampling": {}, "roots": {}}
YES = {"result": {"action": "accept", "content": {"name": "Ada"}}}
NO = {"error": {"code": -1, "message": "Not now."}}


class Asked:
    """Calls tools of one entrypoint, at a 2025 revision."""

    def __init__(self, runner: ProcessRunner, release: Release) -> None:
        self._runner = runner
        self._release = release

    async def call(
        self,
        entrypoint: str,
        tool: str,
        answers: dict[str, Any] | None = None,
        *,
        seconds: float = 25.0,
        may: Any = ALL,
    ) -> dict[str, Any]:
        release = Release(self._release.name, self._release.digest, entrypoint, self._release.bundle, timeout=seconds)
        client = {"capabilities": may}
        params = {"name": tool, "arguments": {}, "_meta": {"progressToken": 1}}
        made = Call("tools/call", params, revision="2025-11-25", client=client, answers=answers or {})
        return await self._runner.call(release, made)


@pytest.fixture
async def asked(objects: Any, make_runner: Callable[..., ProcessRunner], request: pytest.FixtureRequest) -> Asked:
    """With the packages of this environment, or of the requirements that the test names."""
    wanted = getattr(request, "param", None)
    extra: dict[str, bytes] = {}
    settings: dict[str, Any] = {"python": sys.executable}
    if wanted:
        extra = vendor.vendor(HOSTED, vendor.Requirements("asked", wanted), vendor.HOST, CACHE).files()
        settings = {"environ": PLAIN_ENVIRON}
    packed = bundle.pack(HOSTED, extra)
    await objects.put_once("bundles/asks.zip", packed, ZIP)
    return Asked(make_runner(**settings), Release(Name("acme", "asks"), bundle.digest(packed), "", "bundles/asks.zip"))


def questions(reply: dict[str, Any]) -> dict[str, Any]:
    assert "input_required" in reply, reply
    requests: dict[str, Any] = reply["input_required"]["inputRequests"]
    return requests


def said(reply: dict[str, Any]) -> Any:
    assert "result" in reply, reply
    return json.loads(reply["result"]["content"][0]["text"])


def notes(reply: dict[str, Any]) -> list[str]:
    return [note["params"]["data"] for note in reply.get("notifications", [])]


@pytest.mark.parametrize(
    "entrypoint", ["asker:app", "asker:polite", "asker:silent", "asker:late", "asker:broken", "asker:free"]
)
async def test_a_question_ends_the_call_and_its_answer_lets_it_go_on(asked: Asked, entrypoint: str) -> None:
    reply = await asked.call(entrypoint, "one")
    [(key, question)] = questions(reply).items()
    assert question == {"method": "elicitation/create", "params": {"message": "name?"}}
    assert notes(reply) == ["before"]
    for answer in (YES, NO):
        assert said(await asked.call(entrypoint, "one", {key: answer})) == answer


async def test_equal_questions_have_answers_of_their_own(asked: Asked) -> None:
    [first] = questions(await asked.call("asker:app", "same"))
    [second] = questions(await asked.call("asker:app", "same", {first: YES}))
    assert first != second
    assert said(await asked.call("asker:app", "same", {first: YES, second: NO})) == [YES, NO]


async def test_what_is_asked_at_once_is_asked_at_once(asked: Asked) -> None:
    found = questions(await asked.call("asker:app", "together"))
    assert [question["params"]["message"] for question in found.values()] == ["a?", "b?"]
    assert said(await asked.call("asker:app", "together", dict(zip(found, (YES, NO), strict=True)))) == [YES, NO]


async def test_what_belongs_to_no_request_is_heard_too(asked: Asked) -> None:
    reply = await asked.call("asker:app", "beside")
    [key] = questions(reply)
    assert notes(reply) == ["by the way"]
    assert said(await asked.call("asker:app", "beside", {key: YES})) == YES


async def test_a_question_that_changes_is_asked_anew_and_not_for_ever(asked: Asked) -> None:
    answers: dict[str, Any] = {}
    for _ in range(3):
        [key] = questions(await asked.call("asker:polite", "changing", answers))
        assert key not in answers
        answers[key] = YES
    assert (await asked.call("asker:polite", "changing", answers))["error"]["code"] == "asks.changed"


async def test_what_a_run_makes_up_anew_is_no_part_of_its_question(asked: Asked) -> None:
    [(key, question)] = questions(await asked.call("asker:app", "link")).items()
    assert question["params"]["elicitationId"]
    assert said(await asked.call("asker:app", "link", {key: YES})) == YES


async def test_a_call_may_not_ask_without_end(asked: Asked) -> None:
    answers: dict[str, Any] = {}
    reply = await asked.call("asker:app", "many")
    while "input_required" in reply:
        answers |= dict.fromkeys(questions(reply), YES)
        reply = await asked.call("asker:app", "many", answers)
    assert (len(answers), reply["error"]["code"]) == (32, "asks.too-many")


async def test_what_a_client_would_refuse_is_refused_for_it(asked: Asked) -> None:
    pong, *refused = said(await asked.call("asker:app", "odd", may={"elicitation": {}}))
    assert pong == {"result": {}}
    assert [answer["error"]["code"] for answer in refused] == [-32601, -32601]


async def test_a_stopped_call_can_clean_up(asked: Asked) -> None:
    questions(await asked.call("asker:app", "stopped"))
    assert said(await asked.call("asker:app", "ended")) == ["stopped"]


async def test_a_call_that_does_not_listen_is_cut_off(asked: Asked) -> None:
    questions(await asked.call("asker:app", "deaf"))
    assert said(await asked.call("asker:app", "ended")) == ["deaf", "deaf"]


async def test_a_call_that_takes_too_long_ends_with_its_session(asked: Asked) -> None:
    before = (await asked.call("asker:app", "plain"))["result"]["open"]
    assert (await asked.call("asker:app", "slow", seconds=1.5))["error"]["code"] == "sandbox.timeout"
    questions(await asked.call("asker:app", "one"))
    assert (await asked.call("asker:app", "plain"))["result"]["open"] == before


async def test_what_an_app_raises_while_it_is_answered_is_its_failure(asked: Asked) -> None:
    assert (await asked.call("asker:app", "breaks"))["error"]["code"] == "tool.failed"


@pytest.mark.parametrize(
    ("asked", "entrypoint", "content"),
    [
        (None, "sdk2:mcp", {"name": "Ada"}),
        ("mcp<2", "sdk1:asking", {"name": "Ada"}),
        ("fastmcp>=4,<5", "fast4:mcp", {"value": "Ada"}),
    ],
    indirect=["asked"],
)
async def test_servers_of_every_sdk_ask_and_are_answered(asked: Asked, entrypoint: str, content: Any) -> None:
    [key] = questions(await asked.call(entrypoint, "name"))
    assert (
        said(await asked.call(entrypoint, "name", {key: {"result": {"action": "accept", "content": content}}})) == "Ada"
    )


NO_CLIENT = [(None, "asker:made", "either"), ("mcp<2", "sdk1:asking", "name")]


@pytest.mark.parametrize(("asked", "entrypoint", "tool"), NO_CLIENT, indirect=["asked"])
async def test_a_server_finds_out_that_its_client_can_not_be_asked(asked: Asked, entrypoint: str, tool: str) -> None:
    for _ in range(2):
        assert said(await asked.call(entrypoint, tool, may={})) == "alone"
    questions(await asked.call(entrypoint, tool))


BESIDE = [(None, "asker:made", "beside"), ("mcp<2", "sdk1:asking", "folders")]


@pytest.mark.parametrize(("asked", "entrypoint", "tool"), BESIDE, indirect=["asked"])
async def test_a_server_that_waited_in_vain_is_heard_the_next_time(asked: Asked, entrypoint: str, tool: str) -> None:
    await asked.call(entrypoint, tool)
    slow = await asked.call(entrypoint, tool, may={}, seconds=1.5)
    assert slow["error"]["code"] == "sandbox.timeout"
    assert "does not support" in str(said(await asked.call(entrypoint, tool, may={})))
    [key] = questions(await asked.call(entrypoint, tool))
    assert "file:///a" in str(
        said(await asked.call(entrypoint, tool, {key: {"result": {"roots": [{"uri": "file:///a"}]}}}))
    )
