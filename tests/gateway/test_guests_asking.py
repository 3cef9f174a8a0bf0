"""A server that was not written with the kit asks its client back: the same pending call, read in its own way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from gateway.house import House, ask, replying, say
from gateway.test_asking import ALL, CAPABILITIES, YES, Polling, asking, greet, heard, record
from gateway.test_guests import NEW, OLD, guest
from tenantry_registry.objects import ANY
from tenantry_registry.runners import Call, Release

NEW_CALL = {"name": "old", "arguments": {"x": 1}}


@pytest.fixture
async def hosted(house: House) -> House:
    """Speaks the handshake era only, as most servers do."""
    await house.publish(guest(answers={"2025": OLD}))
    return house


@pytest.fixture
async def http(hosted: House) -> AsyncIterator[httpx.AsyncClient]:
    async with hosted.http() as http:
        yield http


@pytest.fixture
async def client(http: httpx.AsyncClient) -> Polling:
    return Polling(http, await greet(http))


async def test_a_guest_gets_the_clients_whole_response(hosted: House, client: Polling) -> None:
    hosted.runner.answer = asking("a", "b")
    (question,) = await client.call()
    await client.answer(question["id"], result=YES)
    (question,) = await client.poll()
    await client.answer(question["id"], error={"code": -1, "message": "Not now.", "data": [1]})
    (done,) = await client.poll()
    no = {"error": {"code": -1, "message": "Not now.", "data": [1]}}
    assert heard(done["result"])["answers"] == {"a": {"result": YES}, "b": no}
    assert hosted.runner.calls[-1].client["capabilities"] == {"elicitation": {"form": {}}, "sampling": {}}


@pytest.mark.parametrize("error", [{}, {"code": "x"}, {"code": True, "message": None}])
async def test_a_guest_gets_an_error_that_it_can_read(hosted: House, client: Polling, error: Any) -> None:
    hosted.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], error=error)
    (done,) = await client.poll()
    told = heard(done["result"])["answers"]["a"]["error"]
    assert (told["code"], type(told["message"])) == (-32603, str)


async def test_an_answer_that_is_none_ends_the_call(hosted: House, client: Polling) -> None:
    hosted.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], result=7)
    (done,) = await client.poll()
    assert done["result"]["isError"] is True


async def test_what_was_told_before_the_question_is_told_once(hosted: House, client: Polling) -> None:
    def note(text: str) -> dict[str, Any]:
        return {"method": "notifications/message", "params": {"level": "info", "data": text}}

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        told = {"notifications": [note("begun"), note("begun")]}
        for key in ("a", "b"):
            if key not in call.answers:
                return {"input_required": {"inputRequests": {key: {"method": "elicitation/create"}}}, **told}
            told["notifications"] += [note(f"heard {key}"), note("begun")]
        return {"result": {"content": []}, **told}

    def texts(messages: list[dict[str, Any]]) -> list[str]:
        return [each["params"]["data"] for each in messages if each.get("method") == "notifications/message"]

    hosted.runner.answer = answer
    first = await client.call()
    await client.answer(first[-1]["id"], result=YES)
    second = await client.poll()
    await client.answer(second[-1]["id"], result=YES)
    third = await client.poll()
    assert [texts(each) for each in (first, second, third)] == [
        ["begun", "begun"],
        ["heard a", "begun"],
        ["heard b", "begun"],
    ]


@pytest.mark.parametrize("change", [{"created": 5.0}, {"user": "somebody"}])
async def test_a_guests_pending_call_ends_and_is_its_users_alone(
    hosted: House, client: Polling, change: dict[str, Any]
) -> None:
    hosted.runner.answer = asking("a")
    (question,) = await client.call()
    key, pending = await record(hosted)
    await hosted.objects.swap(key, json.dumps({**pending, **change}).encode(), expected=ANY)
    await client.answer(question["id"], result=YES)
    assert (await client.http.get("/mcp", headers={"last-event-id": client.event})).status_code == 405
    assert len(hosted.runner.calls) == 1


async def test_answers_have_room_for_so_much(hosted: House, client: Polling) -> None:
    hosted.runner.answer = asking("a", "b")
    for key in ("a", "b"):
        (question,) = await client.call() if key == "a" else await client.poll()
        await client.answer(question["id"], result={"content": key * 3_000_000})
    (done,) = await client.poll()
    assert "larger than 4,194,304 bytes" in done["result"]["content"][0]["text"]


async def test_questions_have_room_for_so_much(hosted: House, client: Polling) -> None:
    large = {"a": {"method": "sampling/createMessage", "params": {"text": "x" * 1_100_000}}}
    hosted.runner.answer = replying(input_required={"inputRequests": large})
    response = await say(client.http, "tools/call", NEW_CALL, mcp_session_id=client.session)
    assert "larger than 1,048,576 bytes" in response.json()["result"]["content"][0]["text"]


# -- clients of the other era -----------------------------------------------------------------------------------------


async def call(http: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await ask(http, "tools/call", {**NEW_CALL, **more}, **{CAPABILITIES: ALL})


async def test_a_newer_client_is_asked_by_the_result(hosted: House, http: httpx.AsyncClient) -> None:
    hosted.runner.answer = asking("a", "b")
    first = (await call(http)).json()["result"]
    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["a"])
    second = (await call(http, inputResponses={"a": YES}, requestState=first["requestState"])).json()["result"]
    third = (await call(http, inputResponses={"b": YES}, requestState=second["requestState"])).json()["result"]
    assert heard(third)["answers"] == {"a": {"result": YES}, "b": {"result": YES}}
    assert hosted.runner.calls[-1].revision == "2025-11-25"
    assert hosted.runner.calls[-1].params.keys().isdisjoint({"requestState", "inputResponses"})


async def test_a_guest_of_both_eras_is_answered_by_the_result_and_reads_its_own_state_itself(house: House) -> None:
    await house.publish(guest(answers={"2025": OLD, "2026": NEW}))
    house.runner.answer = asking("a", "b")
    async with house.http() as http:
        first = (await call(http)).json()["result"]
        assert (first["resultType"], [*first["inputRequests"]]) == ("input_required", ["a"])
        second = (await call(http, inputResponses={"a": YES}, requestState=first["requestState"])).json()["result"]
        third = (await call(http, inputResponses={"b": YES}, requestState=second["requestState"])).json()["result"]
        assert heard(third)["answers"] == {"a": {"result": YES}, "b": {"result": YES}}
        assert house.runner.calls[-1].params.keys().isdisjoint({"requestState", "inputResponses"})
        changed = await call(http, requestState=first["requestState"], inputResponses={"a": YES}, arguments={"x": 2})
        assert changed.json()["error"]["code"] == -32602
        own = {"requestState": "the guest's own", "inputResponses": {"c": {"roots": []}}}
        await call(http, **own)
        passed = house.runner.calls[-1]
        assert ({key: passed.params[key] for key in own}, passed.answers) == (own, {})


async def test_a_newer_clients_state_is_not_to_be_touched(hosted: House, http: httpx.AsyncClient) -> None:
    hosted.runner.answer = asking("a")
    state = (await call(http)).json()["result"]["requestState"]
    for change in ({"requestState": state[:-3] + "AAA"}, {"requestState": state, "arguments": {"x": 2}}):
        refused = await call(http, inputResponses={"a": YES}, **change)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32602)
