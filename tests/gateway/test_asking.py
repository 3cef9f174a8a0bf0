"""Asking the client back: input_required in the stateless era, SSE polling in the handshake era."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from gateway.house import NAME, House, ask, events, manifest, say
from tenantry_gateway.seal import Seal
from tenantry_registry.objects import ANY
from tenantry_registry.runners import Call, Release

CALL = {"name": "echo", "arguments": {"x": 1}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ALL = {"elicitation": {}, "sampling": {}, "roots": {}}
YES = {"action": "accept", "content": {"ok": True}}


def asking(*keys: str, method: str = "elicitation/create") -> Any:
    """A tool that asks its questions one after the other, and then says what it heard."""

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        for key in keys:
            if key not in call.answers:
                params = {"message": key, "requestedSchema": {"type": "object", "properties": {}}}
                return {"input_required": {"inputRequests": {key: {"method": method, "params": params}}}}
        text = json.dumps({"release": release.digest, "answers": call.answers}, sort_keys=True)
        return {"result": {"content": [{"type": "text", "text": text}]}}

    return answer


async def call(http: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await ask(http, "tools/call", {**CALL, **more}, **{CAPABILITIES: ALL})


def heard(result: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(result["content"][0]["text"])
    return told


# -- stateless --------------------------------------------------------------------------------------------------------


async def test_a_question_ends_the_request_and_a_retry_goes_on(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a", "b")
    first = (await call(http)).json()["result"]
    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["a"])
    second = (await call(http, inputResponses={"a": YES}, requestState=first["requestState"])).json()["result"]
    assert list(second["inputRequests"]) == ["b"]
    assert second["requestState"] != first["requestState"]
    third = (await call(http, inputResponses={"b": YES}, requestState=second["requestState"])).json()["result"]
    assert (third["resultType"], heard(third)["answers"]) == ("complete", {"a": YES, "b": YES})
    assert "requestState" not in house.runner.calls[-1].params


async def test_answers_without_a_state_are_answers(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    assert heard((await call(http, inputResponses={"a": YES})).json()["result"])["answers"] == {"a": YES}


async def test_a_missing_answer_is_asked_for_again(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    state = (await call(http)).json()["result"]["requestState"]
    again = (await call(http, inputResponses={"other": YES}, requestState=state)).json()["result"]
    assert list(again["inputRequests"]) == ["a"]


async def test_prompts_and_resources_may_ask_too(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    for method, params in (
        ("prompts/get", {"name": "greet", "arguments": {"who": "x"}}),
        ("resources/read", {"uri": "zoo://now"}),
    ):
        result = (await ask(http, method, params, **{CAPABILITIES: ALL})).json()["result"]
        assert result["resultType"] == "input_required"
        assert "ttlMs" not in result


@pytest.mark.parametrize(
    "change",
    [
        lambda state, params: {"requestState": state[:-3] + "AAA"},
        lambda state, params: {"requestState": "nonsense"},
        lambda state, params: {"requestState": 7},
        lambda state, params: {"requestState": state, "arguments": {"x": 2}},
        lambda state, params: {"inputResponses": [], "requestState": state},
        lambda state, params: {"inputResponses": {"a": 1}, "requestState": state},
    ],
)
async def test_a_state_that_is_not_of_this_request_is_refused(
    house: House, http: httpx.AsyncClient, change: Any
) -> None:
    house.runner.answer = asking("a")
    state = (await call(http)).json()["result"]["requestState"]
    response = await call(http, **change(state, CALL))
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32602)


async def test_a_state_is_of_one_plugin_and_one_user(house: House) -> None:
    house.runner.answer = asking("a")
    await house.publish()
    async with house.http() as http:
        state = (await call(http)).json()["result"]["requestState"]

    async def somebody(request: Any, site: Any, edition: Any) -> dict[str, Any]:
        return {"sub": "u1"}

    house.extra["authenticate"] = somebody
    async with house.http() as http:
        assert (await call(http, requestState=state, inputResponses={"a": YES})).status_code == 400


async def test_a_state_expires(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    state = (await call(http)).json()["result"]["requestState"]
    seal = Seal(house.settings.keys(local=False), now=lambda: 4e9)
    assert seal.open("requestState", f"{NAME} ", state) is None


async def test_a_half_done_call_stays_on_its_release(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    state = (await call(http)).json()["result"]["requestState"]
    before = house.runner.releases[0].digest
    await house.publish(manifest(instructions="Newer."))
    done = (await call(http, requestState=state, inputResponses={"a": YES})).json()["result"]
    assert heard(done)["release"] == before
    await house.registry.yank(NAME, before)
    gone = (await call(http, requestState=state, inputResponses={"a": YES})).json()
    assert gone["error"]["data"]["code"] == "plugin.yanked"


@pytest.mark.parametrize(
    ("method", "needed"),
    [("elicitation/create", "elicitation"), ("sampling/createMessage", "sampling"), ("roots/list", "roots")],
)
async def test_nobody_is_asked_what_they_did_not_offer(
    house: House, http: httpx.AsyncClient, method: str, needed: str
) -> None:
    house.runner.answer = asking("a", method=method)
    response = await ask(http, "tools/call", CALL)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32021
    assert response.json()["error"]["data"] == {"requiredCapabilities": {needed: {}}}
    old = (await say(http, "tools/call", CALL)).json()["result"]
    assert old["isError"] is True
    assert needed in old["content"][0]["text"]


async def test_within_an_array_nobody_is_asked(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = asking("a")
    session = await greet(http)
    body = [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}]
    headers = {"mcp-session-id": session, "mcp-protocol-version": "2025-03-26"}
    response = await http.post("/mcp", json=body, headers=headers)
    assert response.json()[0]["result"]["isError"] is True


# -- handshake --------------------------------------------------------------------------------------------------------


async def greet(http: httpx.AsyncClient) -> str:
    params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}, "sampling": {}}}
    return str((await say(http, "initialize", params)).headers["mcp-session-id"])


class Polling:
    """A client of the handshake era in the middle of a call."""

    def __init__(self, http: httpx.AsyncClient, session: str) -> None:
        self.http, self.session, self.event, self.retry = http, session, "", 0

    def read(self, response: httpx.Response) -> list[dict[str, Any]]:
        for line in response.text.splitlines():
            if line.startswith("id: "):
                self.event = line[4:]
            if line.startswith("retry: "):
                self.retry = int(line[7:])
        return events(response)

    async def call(self) -> list[dict[str, Any]]:
        return self.read(await say(self.http, "tools/call", CALL, id="c1", mcp_session_id=self.session))

    async def answer(self, id: Any, **body: Any) -> None:
        told = await self.http.post("/mcp", json={"jsonrpc": "2.0", "id": id, **body})
        assert told.status_code == 202

    async def poll(self) -> list[dict[str, Any]]:
        headers = {"last-event-id": self.event, "accept": "text/event-stream"}
        return self.read(await self.http.get("/mcp", headers=headers))


@pytest.fixture
async def client(http: httpx.AsyncClient) -> Polling:
    return Polling(http, await greet(http))


async def test_a_question_travels_in_a_closed_stream_and_the_result_is_fetched(house: House, client: Polling) -> None:
    house.runner.answer = asking("a", "b")
    (question,) = await client.call()
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "a")
    assert client.retry == 250
    assert await client.poll() == []
    await client.answer(question["id"], result=YES)
    (question,) = await client.poll()
    assert question["params"]["message"] == "b"
    await client.answer(question["id"], result=YES)
    (done,) = await client.poll()
    assert (done["id"], heard(done["result"])["answers"]) == ("c1", {"a": YES, "b": YES})
    assert await client.poll() == [done]


async def test_a_client_that_says_no_ends_the_call(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], error={"code": -1, "message": "Not now."})
    (done,) = await client.poll()
    assert done["result"]["isError"] is True
    assert "Not now." in done["result"]["content"][0]["text"]


async def test_an_error_without_words_is_still_a_no(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], error={"code": -1})
    (done,) = await client.poll()
    assert "refused" in done["result"]["content"][0]["text"]


async def test_answers_to_nothing_are_dropped(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    pid = question["id"].partition(".")[0]
    for id in ("x", f"{pid}.9.9", "0" * 32 + ".1.0", 5):
        await client.answer(id, result=YES)
    assert await client.poll() == []


@pytest.mark.parametrize("event", ["", "x", "0" * 32, "0" * 32 + ".1", "../../etc"])
async def test_every_other_get_is_405_at_once(http: httpx.AsyncClient, event: str) -> None:
    response = await http.get("/mcp", headers={"last-event-id": event})
    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")


async def test_the_call_goes_on_where_it_began_and_not_on_a_withdrawn_release(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    before = house.runner.releases[0].digest
    await house.publish(manifest(instructions="Newer."))
    await client.answer(question["id"], result=YES)
    (done,) = await client.poll()
    assert heard(done["result"])["release"] == before


async def test_a_failure_on_the_way_back_is_the_calls_answer(house: House, client: Polling) -> None:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        if call.answers:
            return {"protocol_error": {"code": -32602, "message": "No such thing."}}
        return {"input_required": {"inputRequests": {"a": {"method": "elicitation/create", "params": {}}}}}

    house.runner.answer = answer
    (question,) = await client.call()
    await client.answer(question["id"], result=YES)
    (done,) = await client.poll()
    assert done["error"]["message"] == "No such thing."


async def test_a_second_question_needs_its_capability(house: House, client: Polling) -> None:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        method = "roots/list" if call.answers else "elicitation/create"
        key = "b" if call.answers else "a"
        return {"input_required": {"inputRequests": {key: {"method": method}}}}

    house.runner.answer = answer
    (question,) = await client.call()
    await client.answer(question["id"], result=YES)
    (done,) = await client.poll()
    assert "roots" in done["result"]["content"][0]["text"]


async def record(house: House) -> tuple[str, dict[str, Any]]:
    keys = [listed.key async for listed in house.objects.list("pending/acme/zoo/")]
    stored = await house.objects.get(keys[0])
    assert stored is not None
    return keys[0], json.loads(stored.data)


async def test_a_run_that_somebody_claimed_is_not_started_twice(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], result=YES)
    key, pending = await record(house)
    await house.objects.swap(key, json.dumps({**pending, "claimed": 4e9}).encode(), expected=ANY)
    assert await client.poll() == []
    assert len(house.runner.calls) == 1


async def test_a_pending_call_ends_after_a_while_and_is_its_users_alone(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    key, pending = await record(house)
    for change in ({"created": 5.0}, {"user": "somebody"}):
        await house.objects.swap(key, json.dumps({**pending, **change}).encode(), expected=ANY)
        await client.answer(question["id"], result=YES)
        response = await client.http.get("/mcp", headers={"last-event-id": client.event})
        assert response.status_code == 405


async def test_a_patient_client_is_asked_to_wait_longer(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    await client.call()
    key, pending = await record(house)
    await house.objects.swap(key, json.dumps({**pending, "created": pending["created"] - 600}).encode(), expected=ANY)
    assert await client.poll() == []
    assert client.retry == 3_000


class Racing:
    """Objects where somebody else writes before the first swaps of a key's prefix."""

    def __init__(self, objects: Any, times: int) -> None:
        self._objects, self.times = objects, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def swap(self, key: str, data: bytes, *, expected: Any, **more: Any) -> str:
        if self.times > 0 and expected is not None and expected is not ANY:
            self.times -= 1
            stored = await self._objects.get(key)
            touched = json.dumps({**json.loads(stored.data), "touched": self.times}).encode()
            await self._objects.swap(key, touched, expected=stored.version)
        return str(await self._objects.swap(key, data, expected=expected, **more))


@pytest.mark.parametrize("times", [2, 9])
async def test_two_answers_at_once_are_both_kept(house: House, client: Polling, times: int) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    house.objects = Racing(house.objects, times)  # type: ignore[assignment]
    async with house.http() as http:
        racing = Polling(http, client.session)
        racing.event = client.event
        await racing.answer(question["id"], result=YES)
        house.objects.times = 0  # type: ignore[attr-defined]
        assert await racing.poll()


async def test_an_answer_that_loses_every_race_is_not_said_to_be_kept(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    house.objects = Racing(house.objects, 100)  # type: ignore[assignment]
    async with house.http() as http:
        body = {"jsonrpc": "2.0", "id": question["id"], "result": YES}
        response = await http.post("/mcp", json=body)
    assert response.status_code == 503
    assert "being changed by too many others" in response.text


async def test_the_loser_of_a_race_for_the_run_asks_again(house: House, client: Polling) -> None:
    house.runner.answer = asking("a")
    (question,) = await client.call()
    await client.answer(question["id"], result=YES)
    house.objects = Racing(house.objects, 1)  # type: ignore[assignment]
    async with house.http() as http:
        racing = replace_http(client, http)
        assert await racing.poll() == []
        assert racing.retry == 250
        assert len(await racing.poll()) == 1


def replace_http(client: Polling, http: httpx.AsyncClient) -> Polling:
    racing = Polling(http, client.session)
    racing.event = client.event
    return racing
