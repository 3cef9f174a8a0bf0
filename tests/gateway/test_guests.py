"""Servers that were not written with the kit: their own answers, asked at publish, and everything else passed on."""

from __future__ import annotations

from typing import Any

import pytest
from gateway.house import WIDGET_HTML, WIDGET_META, House, ask, manifest, replying, say

OLD = {
    "initialize": {
        "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "completions": {}, "resources": {}},
            "serverInfo": {"name": "guest", "version": "9"},
            "instructions": "Old.",
        }
    },
    "tools/list": {"result": {"tools": [{"name": "old", "inputSchema": {"type": "object"}}]}},
    "prompts/list": {"error": {"code": -32601, "message": "no"}},
    "resources/read": {
        "x://fixed": {"result": {"contents": [{"uri": "x://fixed", "text": "old"}]}},
        "x://broken": {"error": {"code": -1, "message": "no"}},
        "ui://own.html": {
            "result": {
                "contents": [
                    {
                        "uri": "ui://own.html",
                        "mimeType": "text/html;profile=mcp-app",
                        "text": WIDGET_HTML.decode(),
                        "_meta": WIDGET_META,
                    }
                ]
            }
        },
    },
}
NEW = {
    "server/discover": {
        "result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": True}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "guest"}},
            "ttlMs": 5,
            "cacheScope": "private",
        }
    },
    "tools/list": {"result": {"tools": [{"name": "new", "inputSchema": {"type": "object"}}], "ttlMs": 7, "extra": 1}},
    "resources/read": {},
}


def guest(**changes: Any) -> Any:
    values: dict[str, Any] = {
        "kind": "asgi",
        "tools": (),
        "resources": (),
        "templates": (),
        "prompts": (),
        "contents": {},
        "widgets": (),
        "answers": {"2025": OLD, "2026": NEW},
        "dynamic": ("tools/call",),
    }
    return manifest(**{**values, **changes})


@pytest.fixture
async def hosted(house: House) -> House:
    await house.publish(guest())
    return house


async def test_a_guest_speaks_for_itself_in_each_era(hosted: House) -> None:
    async with hosted.http() as http:
        old = (await say(http, "initialize", {"protocolVersion": "2025-06-18"})).json()["result"]
        assert (old["serverInfo"]["name"], old["instructions"]) == ("guest", "Old.")
        assert old["protocolVersion"] == "2025-06-18"
        new = (await ask(http, "server/discover")).json()["result"]
        assert new["_meta"]["io.modelcontextprotocol/serverInfo"] == {"name": "guest"}
        assert (new["ttlMs"], new["cacheScope"]) == (5, "private")
        assert "2025-11-25" in new["supportedVersions"]
        assert (await say(http, "tools/list")).json()["result"]["tools"][0]["name"] == "old"
        listed = (await ask(http, "tools/list")).json()["result"]
        assert (listed["tools"][0]["name"], listed["ttlMs"], listed["extra"]) == ("new", 7, 1)
        assert (await say(http, "prompts/list")).json()["result"] == {"prompts": []}
    assert hosted.runner.calls == []


async def test_a_guest_of_one_era_serves_both(house: House) -> None:
    await house.publish(guest(answers={"2025": OLD}))
    async with house.http() as http:
        listed = (await ask(http, "tools/list")).json()["result"]
        assert (listed["tools"][0]["name"], listed["resultType"]) == ("old", "complete")
        house.runner.answer = replying(result={"content": []})
        await ask(http, "tools/call", {"name": "old", "arguments": {}})
        assert house.runner.calls[0].revision == "2025-11-25"


async def test_sign_in_of_plugin_toml_is_listed(house: House) -> None:
    async def somebody(request: Any, site: Any, edition: Any) -> dict[str, Any]:
        return {"sub": "u"}

    house.extra["authenticate"] = somebody
    tools = ({"name": "new", "inputSchema": {"type": "object"}, "securitySchemes": [{"type": "oauth2"}]},)
    await house.publish(guest(auth={"issuer": "https://auth.example.com"}, tools=tools))
    async with house.http() as http:
        listed = (await ask(http, "tools/list")).json()["result"]
        assert listed["tools"][0]["securitySchemes"] == [{"type": "oauth2"}]
        await ask(http, "tools/call", {"name": "new", "arguments": {}})
        assert house.runner.calls[0].method == "tools/call"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "new", "arguments": {"any": 1}}),
        ("tools/call", {"name": "unlisted", "arguments": [1]}),
        ("prompts/get", {"name": "unlisted"}),
        ("completion/complete", {"ref": 7}),
        ("resources/read", {"uri": "x://anything"}),
        ("acme/own", {"x": 1}),
    ],
)
async def test_a_guest_judges_its_own_calls(house: House, method: str, params: dict[str, Any]) -> None:
    new = {**NEW, "server/discover": {"result": {"capabilities": {"completions": {}}}}}
    await house.publish(guest(answers={"2025": OLD, "2026": new}))
    house.runner.answer = replying(result={"content": [{"type": "text", "text": "mine"}], "resultType": "x"})
    async with house.http() as http:
        result = (await ask(http, method, params)).json()["result"]
    assert (result["content"][0]["text"], result["resultType"]) == ("mine", "x")
    assert (house.runner.calls[0].method, house.runner.calls[0].revision) == (method, "2026-07-28")
    assert {key: house.runner.calls[0].params[key] for key in params} == params


async def test_a_guest_can_check_the_headers_that_repeat_arguments(hosted: House) -> None:
    hosted.runner.answer = replying(result={"content": []})
    async with hosted.http() as http:
        http.headers.update({"Mcp-Param-Region": "eu", "X-Other": "no"})
        await ask(http, "acme/own", {"x": 1})
    assert hosted.runner.calls[0].headers == {"mcp-param-region": "eu"}


async def test_nobody_listens_to_a_guest_and_it_promises_no_news(hosted: House) -> None:
    async with hosted.http() as http:
        refused = (await ask(http, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})).json()
        assert refused["error"]["code"] == -32601
        discovered = (await ask(http, "server/discover")).json()["result"]
        assert discovered["capabilities"] == {"tools": {"listChanged": False}}
    assert hosted.runner.calls == []


async def test_its_questions_and_states_are_its_own(hosted: House) -> None:
    asked = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": "mine"}
    hosted.runner.answer = replying(result=asked)
    async with hosted.http() as http:
        params = {"name": "new", "arguments": {}, "requestState": "theirs", "inputResponses": {}}
        result = (await ask(http, "tools/call", params)).json()["result"]
    assert result["requestState"] == "mine"
    assert hosted.runner.calls[0].params["requestState"] == "theirs"


async def test_what_it_said_once_is_read_from_the_release(hosted: House) -> None:
    async with hosted.http() as http:
        fixed = (await say(http, "resources/read", {"uri": "x://fixed"})).json()["result"]
        assert fixed["contents"][0]["text"] == "old"
        own = (await say(http, "resources/read", {"uri": "ui://own.html"}, user_agent="openai-mcp")).json()["result"]
        assert own["contents"][0]["_meta"]["ui"]["domain"].startswith("https://zoo-acme")
        assert "origin.tenantry.invalid" not in own["contents"][0]["text"]
    assert hosted.runner.calls == []
