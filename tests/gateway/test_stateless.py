"""The stateless era: 2026-07-28, row by row of its error table."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from gateway.house import META, WIDGET_URI, House, ask, manifest, modern, modern_headers, tool

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


async def post(http: httpx.AsyncClient, body: Any, **headers: str) -> httpx.Response:
    given = modern_headers(body, **headers)
    return await http.post("/mcp", json=body, headers={k: v for k, v in given.items() if v != "-"})


def refused(response: httpx.Response) -> tuple[int, int]:
    return response.status_code, response.json()["error"]["code"]


async def test_discover_says_everything(http: httpx.AsyncClient) -> None:
    result = (await ask(http, "server/discover")).json()["result"]
    assert result == (await ask(http, "server/discover")).json()["result"]
    assert result["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert (result["resultType"], result["cacheScope"], result["ttlMs"]) == ("complete", "public", 60_000)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "zoo"


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/templates/list"])
async def test_static_lists_are_for_everybody(http: httpx.AsyncClient, method: str) -> None:
    result = (await ask(http, method)).json()["result"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "public")


async def test_what_the_client_decides_is_for_that_client(house: House, http: httpx.AsyncClient) -> None:
    assert (await ask(http, "resources/list")).json()["result"]["cacheScope"] == "private"
    assert (await ask(http, "resources/read", {"uri": WIDGET_URI})).json()["result"]["cacheScope"] == "private"
    assert (await ask(http, "resources/read", {"uri": "zoo://rules"})).json()["result"]["cacheScope"] == "public"
    house.extra["authenticate"] = _somebody
    await house.publish(manifest(auth={"issuer": "https://auth.example.com"}))
    async with house.http() as fresh:
        assert (await ask(fresh, "tools/list")).json()["result"]["cacheScope"] == "private"
        assert (await ask(fresh, "resources/read", {"uri": "zoo://rules"})).json()["result"]["cacheScope"] == "private"


async def _somebody(request: Any, site: Any, edition: Any) -> dict[str, Any]:
    return {"sub": "u1", "iss": "https://auth.example.com"}


@pytest.mark.parametrize("key", [VERSION, CAPABILITIES])
async def test_both_keys_of_meta_are_required(http: httpx.AsyncClient, key: str) -> None:
    body = modern("tools/list")
    del body["params"]["_meta"][key]
    assert refused(await post(http, body)) == (400, -32602)
    assert refused(await post(http, modern("tools/list", **{key: 7}))) == (400, -32602)


async def test_meta_itself_is_required(http: httpx.AsyncClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert refused(await post(http, body)) == (400, -32602)
    assert refused(await post(http, {**body, "method": "server/discover"})) == (400, -32602)


async def test_a_body_of_2026_without_its_header_is_told_so(http: httpx.AsyncClient) -> None:
    assert refused(await post(http, modern("tools/list"), mcp_protocol_version="-")) == (400, -32020)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": "-"},
        {"mcp_method": "tools/call"},
        {"mcp_method": "TOOLS/LIST"},
        {"mcp_protocol_version": "2025-11-25"},
    ],
)
async def test_headers_must_repeat_the_body(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert refused(await post(http, modern("tools/list"), **headers)) == (400, -32020)


@pytest.mark.parametrize("name", ["-", "other", "=?base64?***?=", "=?base64?ZWNobx==?=", "=?base64?/w==?="])
async def test_the_name_header_must_repeat_the_name(http: httpx.AsyncClient, name: str) -> None:
    assert refused(await post(http, modern("tools/call", {"name": "echo"}), mcp_name=name)) == (400, -32020)


@pytest.mark.parametrize("name", ["echo", "  echo\t", "=?base64?ZWNobw==?="])
async def test_the_name_header_may_be_padded_or_in_base64(http: httpx.AsyncClient, name: str) -> None:
    response = await post(http, modern("tools/call", {"name": "echo"}), mcp_name=name)
    assert response.status_code == 200, response.text


async def test_a_routing_header_may_come_once(http: httpx.AsyncClient) -> None:
    body = modern("tools/list")
    headers = [*modern_headers(body).items(), ("mcp-method", "tools/list")]
    assert refused(await http.post("/mcp", json=body, headers=headers)) == (400, -32020)


async def test_an_unknown_version_lists_what_is_supported(http: httpx.AsyncClient) -> None:
    response = await post(http, modern("tools/list", **{VERSION: "2099-01-01"}), mcp_protocol_version="2099-01-01")
    assert refused(response) == (400, -32022)
    assert response.json()["error"]["data"]["requested"] == "2099-01-01"


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "nope"]
)
async def test_unknown_methods_are_404_with_the_id(http: httpx.AsyncClient, method: str) -> None:
    response = await post(http, modern(method, id="id-7"))
    assert refused(response) == (404, -32601)
    assert response.json()["id"] == "id-7"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "nothing"}),
        ("tools/call", {"name": 7}),
        ("tools/call", {}),
        ("tools/call", {"name": "echo", "arguments": []}),
        ("prompts/get", {"name": "nothing"}),
        ("prompts/get", {"name": "greet"}),
        ("prompts/get", {"name": "greet", "arguments": {"who": 7}}),
        ("prompts/get", {"name": "greet", "arguments": [1]}),
        ("resources/read", {"uri": "zoo://nothing"}),
        ("resources/read", {"uri": 5}),
        ("tools/list", {"cursor": "nope"}),
        ("tools/list", {"cursor": ""}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who"}}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "who", "value": ""}},
        ),
    ],
)
async def test_bad_parameters_are_400(http: httpx.AsyncClient, method: str, params: dict[str, Any]) -> None:
    assert refused(await ask(http, method, params)) == (400, -32602)


async def test_a_missing_resource_names_its_uri(http: httpx.AsyncClient) -> None:
    response = await ask(http, "resources/read", {"uri": "zoo://nothing"})
    assert response.json()["error"]["data"] == {"uri": "zoo://nothing"}


async def test_notifications_are_202_and_responses_are_refused(http: httpx.AsyncClient) -> None:
    headers = {"mcp-protocol-version": "2026-07-28"}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}
    assert (await http.post("/mcp", json=note, headers=headers)).status_code == 202
    told = await http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "result": {}}, headers=headers)
    assert refused(told) == (400, -32600)
    strange = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": META}}
    told = await http.post("/mcp", json=strange, headers={"mcp-protocol-version": "2099-01-01"})
    assert refused(told) == (400, -32022)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"null", b"17", b'"x"', b"[]", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b"\xff", b'{"a":NaN}'),
        *(b'{"a":1e999}', b"[" * 100_000, b'{"a":' * 300 + b"1" + b"}" * 300, b"1" * 5000),
    ],
)
async def test_what_is_no_request_is_400(http: httpx.AsyncClient, body: bytes) -> None:
    response = await http.post("/mcp", content=body, headers={"mcp-protocol-version": "2026-07-28"})
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32700, -32600)


@pytest.mark.parametrize("id", [None, True, 1.5, {}, [], "x" * 2000, 2**70])
async def test_an_id_is_text_or_a_whole_number(http: httpx.AsyncClient, id: Any) -> None:
    body = {**modern("tools/list"), "id": id}
    response = await post(http, body)
    assert refused(response) == (400, -32600)
    assert response.json()["id"] is None


async def test_parameters_are_an_object(http: httpx.AsyncClient) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}
    assert refused(await post(http, body)) == (400, -32602)


async def test_sessions_are_ignored(http: httpx.AsyncClient) -> None:
    response = await post(http, modern("tools/list"), mcp_session_id="anything", last_event_id="7")
    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers


async def test_pages_have_stable_cursors(house: House) -> None:
    await house.publish(manifest(tools=tuple(tool(f"t{n:03}") for n in range(250))))
    async with house.http() as http, house.http() as other:
        names, cursor = [], None
        while True:
            params = {"cursor": cursor} if cursor else {}
            first = (await ask(http, "tools/list", params)).content
            assert first == (await ask(other, "tools/list", params)).content
            result = (await ask(http, "tools/list", params)).json()["result"]
            names += [entry["name"] for entry in result["tools"]]
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        assert names == [f"t{n:03}" for n in range(250)]
        assert refused(await ask(http, "prompts/list", {"cursor": (await _cursor(http))})) == (400, -32602)


async def _cursor(http: httpx.AsyncClient) -> str:
    return str((await ask(http, "tools/list")).json()["result"]["nextCursor"])
