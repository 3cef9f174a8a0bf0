"""The handshake era: 2025-03-26, 2025-06-18 and 2025-11-25."""

from __future__ import annotations

import httpx
import pytest
from gateway.house import HOST, NAME, WIDGET_URI, House, say

CHATGPT = {"name": "openai-mcp", "version": "1.0"}


async def initialize(http: httpx.AsyncClient, version: str = "2025-11-25", **params: object) -> httpx.Response:
    body = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}, **params}
    return await http.post("/mcp", json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": body})


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_served_version_is_echoed(http: httpx.AsyncClient, version: str) -> None:
    assert (await initialize(http, version)).json()["result"]["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2024-11-05", "2026-07-28", "soon"])
async def test_any_other_version_gets_our_latest_of_the_era(http: httpx.AsyncClient, version: str) -> None:
    assert (await initialize(http, version)).json()["result"]["protocolVersion"] == "2025-11-25"


async def test_initialize_says_what_the_plugin_is(http: httpx.AsyncClient) -> None:
    result = (await initialize(http)).json()["result"]
    assert result["serverInfo"] == {"name": "zoo", "title": "Zoo", "version": "1.2.0"}
    assert result["instructions"] == "Ask about animals."
    assert result["capabilities"]["extensions"]["io.modelcontextprotocol/ui"]


async def test_initialize_needs_a_version(http: httpx.AsyncClient) -> None:
    response = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert response.json()["error"]["code"] == -32602


async def test_the_session_id_is_visible_ascii_and_an_aid_only(http: httpx.AsyncClient) -> None:
    session = (await initialize(http)).headers["mcp-session-id"]
    assert all("!" <= c <= "~" for c in session)
    for foreign in (session[:-2] + "AA", "garbage", "k1.x.y", session.replace("k1", "k2")):
        response = await say(http, "tools/list", mcp_session_id=foreign)
        assert response.json()["result"]["tools"]


@pytest.mark.row("R04", "R10", "P09")
async def test_the_note_tells_which_host_reads_a_widget(http: httpx.AsyncClient) -> None:
    session = (await initialize(http, clientInfo=CHATGPT)).headers["mcp-session-id"]
    noted = (await say(http, "resources/read", {"uri": WIDGET_URI}, mcp_session_id=session)).json()
    plain = (await say(http, "resources/read", {"uri": WIDGET_URI})).json()
    assert noted["result"]["contents"][0]["_meta"]["ui"]["domain"] == f"https://{HOST}"
    assert "domain" not in plain["result"]["contents"][0]["_meta"]["ui"]
    for answer in (noted, plain):
        assert answer["result"]["contents"][0]["_meta"]["openai/widgetDomain"] == f"https://{HOST}"


async def test_a_note_of_another_plugin_is_ignored(house: House, http: httpx.AsyncClient) -> None:
    session = (await initialize(http, clientInfo=CHATGPT)).headers["mcp-session-id"]
    from gateway.house import manifest

    await house.publish(manifest(tenant="other"))
    async with house.http("zoo-other.plugins.example.com") as other:
        read = (await say(other, "resources/list", mcp_session_id=session)).json()
    assert "domain" not in read["result"]["resources"][0]["_meta"]["ui"]


async def test_the_noted_version_counts_where_the_header_is_missing(http: httpx.AsyncClient) -> None:
    session = (await initialize(http, "2025-11-25")).headers["mcp-session-id"]
    body = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    assert (await http.post("/mcp", json=body, headers={"mcp-session-id": session})).status_code == 400
    assert (await http.post("/mcp", json=body)).status_code == 200


@pytest.mark.parametrize("version", ["1999-01-01", "latest", ""])
async def test_an_unsupported_version_header_is_400(http: httpx.AsyncClient, version: str) -> None:
    response = await say(http, "ping", mcp_protocol_version=version)
    assert response.status_code == 400
    assert response.json()["error"]["data"]["supported"][0] == "2026-07-28"


async def test_initialize_does_not_care_about_its_version_header(http: httpx.AsyncClient) -> None:
    response = await say(http, "initialize", {"protocolVersion": "2025-06-18"}, mcp_protocol_version="whatever")
    assert response.json()["result"]["protocolVersion"] == "2025-06-18"


async def test_notifications_and_responses_are_202_without_a_body(http: httpx.AsyncClient) -> None:
    for body in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/whatever", "params": {}},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}},
    ):
        response = await http.post("/mcp", json=body)
        assert (response.status_code, response.content) == (202, b"")


@pytest.mark.parametrize("more", [{}, {"result": {}, "error": {}}, {"id": None, "result": {}}])
async def test_what_is_neither_request_nor_response_is_refused(
    http: httpx.AsyncClient, more: dict[str, object]
) -> None:
    response = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **more})
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)


async def test_an_answer_is_made_once(http: httpx.AsyncClient) -> None:
    assert (await initialize(http)).json()["result"] == (await initialize(http)).json()["result"]


async def test_ping_and_levels_answer_empty(http: httpx.AsyncClient) -> None:
    assert (await say(http, "ping")).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (await say(http, "logging/setLevel", {"level": "debug"})).json()["result"] == {}
    assert (await say(http, "logging/setLevel", {"level": "loud"})).json()["error"]["code"] == -32602


async def test_what_is_not_in_the_table_is_method_not_found(http: httpx.AsyncClient) -> None:
    for method in ("server/discover2", "tasks/list", "subscriptions/listen"):
        response = await say(http, method)
        assert (response.status_code, response.json()["error"]["code"]) == (200, -32601)


async def test_protocol_errors_travel_in_a_200(http: httpx.AsyncClient) -> None:
    response = await say(http, "tools/call", {"name": "nothing"})
    assert (response.status_code, response.json()["error"]["code"]) == (200, -32602)
    response = await say(http, "resources/read", {"uri": "zoo://nothing"})
    assert response.json()["error"] == {
        "code": -32002,
        "message": "There is no such resource.",
        "data": {"uri": "zoo://nothing"},
    }


async def test_subscriptions_are_taken_only_where_the_plugin_says_so(house: House, http: httpx.AsyncClient) -> None:
    assert (await say(http, "resources/subscribe", {"uri": "zoo://rules"})).json()["error"]["code"] == -32601
    from gateway.house import manifest

    await house.publish(manifest(capabilities={"resources": {"subscribe": True}}))
    assert (await say(http, "resources/subscribe", {"uri": "zoo://rules"})).json()["result"] == {}
    assert (await say(http, "resources/unsubscribe", {"uri": "zoo://rules"})).json()["result"] == {}
    assert (await say(http, "resources/subscribe", {})).json()["error"]["code"] == -32602


# -- arrays of 2025-03-26 --


async def test_an_array_is_answered_in_one(http: httpx.AsyncClient) -> None:
    body = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "echo"}},
        {"jsonrpc": "2.0", "id": 3, "method": "nope"},
        {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        17,
    ]
    response = await http.post("/mcp", json=body, headers={"mcp-protocol-version": "2025-03-26"})
    answers = response.json()
    assert [answer["id"] for answer in answers] == [1, "b", 3, 4, None]
    assert [answer.get("error", {}).get("code") for answer in answers] == [None, None, -32601, -32600, -32600]


async def test_an_array_of_notifications_is_202(http: httpx.AsyncClient) -> None:
    assert (await http.post("/mcp", json=[{"jsonrpc": "2.0", "method": "notifications/x"}])).status_code == 202


@pytest.mark.parametrize("count", [0, 51])
async def test_an_array_has_1_to_50_messages(http: httpx.AsyncClient, count: int) -> None:
    body = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in range(count)]
    response = await http.post("/mcp", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
async def test_later_revisions_have_no_arrays(http: httpx.AsyncClient, version: str) -> None:
    body = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    response = await http.post("/mcp", json=body, headers={"mcp-protocol-version": version})
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)


def test_the_name_in_these_tests_is_the_host(house: House) -> None:
    assert HOST.startswith(NAME.label)
