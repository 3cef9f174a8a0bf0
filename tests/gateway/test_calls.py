"""Running tenant code: what is checked before, what a reply may be, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from gateway.house import NAME, WIDGET_URI, House, ask, events, manifest, modern, modern_headers, replying, say, tool
from tenantry_gateway import edition
from tenantry_gateway.distrust import held
from tenantry_gateway.validate import Checker
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.runners import Call, Release, SandboxError

COUNT = {"name": "count", "arguments": {"count": 3}}
TEXT = [{"type": "text", "text": "hi"}]


async def count(http: httpx.AsyncClient) -> dict[str, Any]:
    response = await ask(http, "tools/call", COUNT)
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


async def test_a_call_carries_what_the_sandbox_needs(house: House, http: httpx.AsyncClient) -> None:
    await ask(http, "tools/call", COUNT, **{"openai/locale": "de-AT"})
    release, call = house.runner.releases[0], house.runner.calls[0]
    assert (release.name, release.entrypoint) == (NAME, "server:plugin")
    assert release.bundle == f"bundles/acme/zoo/{release.digest}.zip"
    assert call.params["arguments"] == {"count": 3}
    assert call.params["_meta"]["openai/locale"] == "de-AT"
    assert call.client["locale"] == "de-AT"
    assert (call.revision, call.user, call.state, call.shared) == ("2026-07-28", None, None, {})
    assert call.widgets == {"animals": WIDGET_URI}
    assert [sorted(slot) for slot in call.uploads] == [["id", "key", "max_bytes"]]


@pytest.mark.parametrize(
    ("arguments", "named"), [({"count": 99}, "count"), ({"count": "x"}, "count"), ({}, "count"), (None, "count")]
)
async def test_bad_arguments_cost_no_invocation_and_name_the_field(
    house: House, http: httpx.AsyncClient, arguments: Any, named: str
) -> None:
    params = {"name": "count"} | ({"arguments": arguments} if arguments is not None else {})
    for answer in (await ask(http, "tools/call", params), await say(http, "tools/call", params)):
        result = answer.json()["result"]
        assert result["isError"] is True
        assert named in text_of(result)
    assert house.runner.calls == []


async def test_schemas_are_compiled_once_a_release(
    house: House, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Counted(Checker):
        def __init__(self, schema: Mapping[str, Any]) -> None:
            made.append(schema)
            super().__init__(schema)

    monkeypatch.setattr(edition, "Checker", Counted)
    house.runner.answer = replying(result={"content": TEXT, "structuredContent": {"n": 3}})
    for _ in range(3):
        assert not (await count(http)).get("isError")
    assert len(made) == 2  # what goes in, what comes out
    await house.publish(manifest(uses_files=True))
    await count(http)
    assert len(made) == 4


@pytest.mark.row("S01", "T01")
@pytest.mark.parametrize("reply", [{"content": TEXT}, {"content": TEXT, "structuredContent": {"n": "three"}}])
async def test_a_result_that_breaks_its_schema_is_a_clear_error(
    house: House, http: httpx.AsyncClient, reply: dict[str, Any]
) -> None:
    house.runner.answer = replying(result=reply)
    result = await count(http)
    assert result["isError"] is True
    assert "schema" in text_of(result)


async def test_an_error_result_needs_no_structured_data(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(result={"content": TEXT, "isError": True})
    assert text_of(await count(http)) == "hi"


async def test_a_schema_that_no_validator_takes_is_told(house: House) -> None:
    bad = {"type": "object", "properties": {"x": {"$ref": "https://example.com/x.json"}}}
    await house.publish(manifest(tools=(tool("in", inputSchema=bad), tool("out", outputSchema=bad))))
    async with house.http() as http:
        for name in ("in", "out"):
            result = (await ask(http, "tools/call", {"name": name, "arguments": {}})).json()["result"]
            assert "can't be used" in text_of(result)


async def test_structured_data_that_are_no_object_are_for_2026_only(house: House) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    await house.publish(manifest(tools=(tool("list", outputSchema=schema),)))
    house.runner.answer = replying(result={"content": TEXT, "structuredContent": [1, 2]})
    async with house.http() as http:
        new = (await ask(http, "tools/call", {"name": "list", "arguments": {}})).json()["result"]
        old = (await say(http, "tools/call", {"name": "list", "arguments": {}})).json()["result"]
        assert (new["structuredContent"], "structuredContent" in old) == ([1, 2], False)
        assert "outputSchema" in (await ask(http, "tools/list")).json()["result"]["tools"][0]
        assert "outputSchema" not in (await say(http, "tools/list")).json()["result"]["tools"][0]


@pytest.mark.row("O13", "S03")
async def test_a_widget_tool_tells_where_its_sisters_are(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(result={"structuredContent": {"n": 1}, "_meta": {"mine": 1}})
    assert (await count(http))["_meta"]["tenantry/widgets"] == {"animals": WIDGET_URI}
    assert (await count(http))["_meta"]["mine"] == 1
    plain = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    assert "tenantry/widgets" not in plain["_meta"]


# -- how a run may fail ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        PlatformError("sandbox.timeout", "The tool took longer than 25 s.", "Do less."),
        SandboxError("sandbox.crashed", "The worker died.", stdout="last words", stderr="oops"),
        StorageDown("Storage does not answer."),
    ],
)
async def test_no_reply_is_an_error_the_model_can_read(
    house: House, http: httpx.AsyncClient, error: PlatformError
) -> None:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        raise error

    house.runner.answer = answer
    result = await count(http)
    assert result["isError"] is True
    assert error.message in text_of(result)
    line = house.log[-1]
    assert line["code"] == error.code
    assert line.get("stdout") == getattr(error, "stdout", None)


async def test_a_failure_is_masked_for_the_model_and_whole_in_the_log(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(
        error={"code": "tool.failed", "message": "The tool failed.", "error_id": "ab12", "traceback": "Boom /secret"}
    )
    result = await count(http)
    assert text_of(result) == "The tool failed. (error ab12)"
    assert "secret" not in json.dumps(result)
    line = house.log[-1]
    assert (line["code"], line["error_id"], line["traceback"]) == ("tool.failed", "ab12", "Boom /secret")


async def test_an_id_that_is_in_the_text_is_not_said_twice(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(
        error={"message": "Failed: ab12.", "error_id": "ab12", "_meta": {"mcp/www_authenticate": "Basic"}}
    )
    result = await count(http)
    assert text_of(result) == "Failed: ab12."
    assert result["_meta"]["mcp/www_authenticate"] == "Basic"


async def test_what_is_no_tool_fails_as_a_protocol_error(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(error={"code": "tool.failed", "message": "It failed.", "error_id": "1"})
    response = await ask(http, "prompts/get", {"name": "greet", "arguments": {"who": "Ada"}})
    assert response.status_code == 200
    assert response.json()["error"] == {
        "code": -32603,
        "message": "It failed. (error 1)",
        "data": {"code": "tool.failed", "error_id": "1"},
    }


async def test_a_protocol_error_of_the_plugin_keeps_its_code(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(protocol_error={"code": -32021, "message": "No.", "data": {"x": 1}})
    response = await ask(http, "tools/call", COUNT)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32021)
    house.runner.answer = replying(protocol_error={"code": "x"})
    assert (await ask(http, "tools/call", COUNT)).json()["error"]["code"] == -32602


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"result": 7},
        {"result": {"content": "text", "_meta": 5, "isError": "yes", "structuredContent": {"n": 1}}},
        {"result": {"content": [1, {"type": 2}], "structuredContent": {"n": 1}}},
        {"error": {}},
        {"input_required": {}},
        {"input_required": {"inputRequests": {"a": 1, "b": {"method": "tools/call"}}}},
        {"shared": {"set": 3, "delete": 5, "read": 7}, "result": {"structuredContent": {"n": 1}}},
        {"files": [1], "notifications": [1, {"method": 3}, {"method": "x", "params": 3}], "result": {}},
        {"overflow": {"id": "nothing"}},
        {"ms": "x", "cold": 3, "stdout": 5, "result": {"structuredContent": {"n": 1}}},
        {"ms": 3.5, "cold": True, "stdout": "out", "result": {"structuredContent": {"n": 1}}},
    ],
)
async def test_a_forged_reply_breaks_nothing(house: House, http: httpx.AsyncClient, reply: dict[str, Any]) -> None:
    house.runner.answer = replying(**reply)
    assert isinstance(await count(http), dict)


async def test_a_reply_that_is_no_object_or_bottomless_is_bad(house: House, http: httpx.AsyncClient) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]

    house.runner.answer = replying(result={"content": deep})
    assert "could not be read" in text_of(await count(http))
    with pytest.raises(PlatformError, match="could not be read"):  # a whole one that came through an upload
        held([])


async def test_one_tenant_may_not_take_all_the_room(house: House) -> None:
    house.settings = house.settings.model_copy(update={"in_flight": 2})
    await house.publish()
    started, gate = asyncio.Semaphore(0), asyncio.Event()

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        started.release()
        await gate.wait()
        return {"result": {"content": TEXT, "structuredContent": {"n": 1}}}

    house.runner.answer = answer
    async with house.http() as http:
        running = [asyncio.create_task(count(http)) for _ in range(2)]
        for _ in range(2):
            await started.acquire()
        refused = await count(http)
        gate.set()
        assert "running already" in text_of(refused)
        assert [("isError" in result) for result in await asyncio.gather(*running)] == [False, False]
        assert "isError" not in await count(http)


# -- notifications --------------------------------------------------------------------------------------------------

NOTES = [
    {"method": "notifications/message", "params": {"level": "debug", "data": "d"}},
    {"method": "notifications/message", "params": {"level": "info", "data": "i"}},
    {"method": "notifications/message", "params": {"level": "strange", "data": "s"}},
    {"method": "notifications/progress", "params": {"progress": 1}},
    {"method": "notifications/other", "params": {}},
]


def done(**more: Any) -> dict[str, Any]:
    return {"result": {"content": TEXT, "structuredContent": {"n": 1}}, "notifications": NOTES, **more}


async def test_notifications_go_first_in_one_body(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(**done())
    found = events(
        await ask(http, "tools/call", COUNT, progressToken=7, **{"io.modelcontextprotocol/logLevel": "info"})
    )
    assert [message.get("method") for message in found] == [
        "notifications/message",
        "notifications/message",
        "notifications/progress",
        None,
    ]
    assert found[2]["params"] == {"progress": 1, "progressToken": 7}
    assert found[3]["result"]["structuredContent"] == {"n": 1}


async def test_nobody_hears_what_they_did_not_ask_for(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(**done())
    assert (await ask(http, "tools/call", COUNT)).headers["content-type"] == "application/json"
    found = events(await say(http, "tools/call", COUNT))
    assert [message.get("method") for message in found] == ["notifications/message", "notifications/message", None]


async def test_a_level_that_is_none_is_refused(http: httpx.AsyncClient) -> None:
    for method, params in (("tools/call", COUNT), ("prompts/get", {"name": "greet", "arguments": {"who": "x"}})):
        response = await ask(http, method, params, **{"io.modelcontextprotocol/logLevel": "loud"})
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("application/json;q=0.5, text/event-stream", "text/event-stream"),
        ("*/*", "text/event-stream"),
        ("text/html", "application/json"),
    ],
)
async def test_the_client_says_which_body_it_takes(
    house: House, http: httpx.AsyncClient, accept: str, kind: str
) -> None:
    house.runner.answer = replying(**done())
    body = modern("tools/call", COUNT, progressToken="t")
    response = await http.post("/mcp", json=body, headers=modern_headers(body, accept=accept))
    assert response.headers["content-type"] == kind


async def test_an_array_carries_notifications_too(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(**done())
    body = [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": COUNT}]
    found = events(await http.post("/mcp", json=body))
    assert found[-1][0]["result"]["structuredContent"] == {"n": 1}


# -- other methods --------------------------------------------------------------------------------------------------


async def test_prompts_and_completions_run_tenant_code(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = replying(result={"messages": []})
    got = await ask(http, "prompts/get", {"name": "greet", "arguments": {"who": "Ada"}})
    assert got.json()["result"]["messages"] == []
    house.runner.answer = replying(result={"completion": {"values": [str(n) for n in range(150)], "total": 150}})
    reference = {"type": "ref/prompt", "name": "greet"}
    for ref in (reference, {"type": "ref/resource", "uri": "zoo://animal/{id}"}):
        params = {"ref": ref, "argument": {"name": "who", "value": "A"}}
        completion = (await ask(http, "completion/complete", params)).json()["result"]["completion"]
        assert (len(completion["values"]), completion["hasMore"]) == (100, True)
    house.runner.answer = replying(result={})
    params = {"ref": reference, "argument": {"name": "who", "value": "A"}}
    assert (await say(http, "completion/complete", params)).json()["result"] == {"completion": {"values": []}}


async def test_a_plugin_without_completions_has_no_such_method(house: House) -> None:
    await house.publish(manifest(capabilities={}))
    async with house.http() as http:
        assert (await ask(http, "completion/complete", {})).json()["error"]["code"] == -32601


@pytest.mark.parametrize("uri", ["zoo://now", "zoo://animal/7"])
async def test_dynamic_resources_run_tenant_code(house: House, http: httpx.AsyncClient, uri: str) -> None:
    house.runner.answer = replying(result={"contents": [{"uri": uri, "text": "now"}]})
    result = (await ask(http, "resources/read", {"uri": uri})).json()["result"]
    assert (result["contents"][0]["text"], result["ttlMs"], result["cacheScope"]) == ("now", 0, "private")
    assert (await say(http, "resources/read", {"uri": uri})).json()["result"]["contents"][0]["text"] == "now"


async def test_secrets_are_asked_for_by_name(house: House) -> None:
    wanted: list[Any] = []

    async def secrets(name: Any, names: Any, *, preview: bool = False) -> dict[str, str]:
        wanted.append((name, tuple(names), preview))
        return {"KEY": "v"}

    house.extra["secrets"] = secrets
    await house.publish(manifest(secrets=("KEY",)))
    async with house.http() as http:
        await count(http)
    assert wanted == [(NAME, ("KEY",), False)]
    assert house.runner.releases[0].secrets == {"KEY": "v"}
