"""The complete wire form of a plugin that uses every row, in both eras, as three kinds of client read it.

`goldens/every_row.json` is the whole of it, byte by byte as JSON. To write it anew after a change that is meant:
delete it and run this file once; the test then fails and says so.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.house import KEY, modern, modern_headers
from tenantry_gateway.app import create_app
from tenantry_gateway.settings import GatewaySettings
from tenantry_publisher.publish import publish
from tenantry_registry.bundle import pack
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.rules_wire import check_answers

HERE = Path(__file__).parent
GOLDEN = HERE / "goldens" / "every_row.json"
HOST = "rows-acme.plugins.example.com"
KINDS = {"chatgpt": "openai-mcp", "claude": "claude-ai", "unknown": "curious"}
CARDS, BARE = "ui://widget/cards.", "ui://widget/bare."


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """The plugin, published by the real pipeline and described and run by a real sandbox."""
    objects = FileObjects(tmp_path / "store", origin="https://shared.example")
    runner = ProcessRunner(objects, folder=tmp_path / "work")
    settings = GatewaySettings(
        origin="https://shared.example", base="plugins.example.com", seal_keys=KEY, storage="https://files.example"
    )
    app = create_app(objects=objects, runner=runner, settings=settings, log=lambda *args, **more: None)
    try:
        published = await publish(
            objects=objects, runner=runner, name=Name("acme", "rows"), bundle=pack(HERE / "trees" / "rows")
        )
        assert [finding.code for finding in published.report.findings] == []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"https://{HOST}") as client:
            yield client
    finally:
        await runner.aclose()


async def newest(rows: httpx.AsyncClient, client: str, method: str, **params: Any) -> Any:
    """One request of 2026-07-28."""
    body = modern(method, params, **{"io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}})
    answer = (await rows.post("/mcp", json=body, headers=modern_headers(body))).json()
    return answer.get("result", answer)


async def older(rows: httpx.AsyncClient, client: str, method: str, **params: Any) -> Any:
    """One request of 2025-11-25, after the handshake that says who the client is."""
    headers = {"accept": "application/json, text/event-stream"}

    def body(name: str, given: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": name, "params": given}

    who = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
    greeted = await rows.post("/mcp", json=body("initialize", who), headers=headers)
    if method == "initialize":
        return greeted.json()["result"]
    headers |= {"mcp-session-id": greeted.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    answer = (await rows.post("/mcp", json=body(method, params), headers=headers)).json()
    return answer.get("result", answer)


async def everything(rows: httpx.AsyncClient, say: Any, client: str, greeting: str) -> dict[str, Any]:
    listed = await say(rows, client, "resources/list")
    uris = [entry["uri"] for entry in listed["resources"]]
    return {
        greeting: await say(rows, client, greeting),
        "tools/list": await say(rows, client, "tools/list"),
        "resources/list": listed,
        "resources/read": {uri: await say(rows, client, "resources/read", uri=uri) for uri in uris},
    }


@pytest.mark.row("T01", "T02", "T03", "T04", "T05", "T06", "T07", "T08", "T09", "T10", "T11", "F01")
@pytest.mark.row(
    "N01", "N02", "N03", "N04", "N05", "R01", "R02", "R03", "R04", "R05", "R06", "R07", "R08", "R09", "R10"
)
@pytest.mark.row("P04", "P06", "P09")
async def test_the_whole_wire_form_is_the_golden_one(rows: httpx.AsyncClient) -> None:
    said = {
        kind: {
            "2026-07-28": await everything(rows, newest, client, "server/discover"),
            "2025-11-25": await everything(rows, older, client, "initialize"),
        }
        for kind, client in KINDS.items()
    }
    if not GOLDEN.exists():
        GOLDEN.write_text(json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        pytest.fail(f"{GOLDEN.name} was written anew: read it, then run again.")
    assert said == json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.row("R03", "R04", "R07", "R08", "R10", "P09")
async def test_lists_and_reads_agree_and_pass_the_rules_of_the_wire(rows: httpx.AsyncClient) -> None:
    for say, greeting in ((newest, "server/discover"), (older, "initialize")):
        for client in KINDS.values():
            form = await everything(rows, say, client, greeting)
            resources = form["resources/list"]["resources"]
            report = check_answers(
                tools=form["tools/list"]["tools"],
                resources=resources,
                reads=form["resources/read"],
                server=form[greeting],
            )
            assert report.findings == ()
            for entry in resources:
                (content,) = form["resources/read"][entry["uri"]]["contents"]
                assert content["_meta"] == entry["_meta"]
                assert ".invalid" not in json.dumps(form)


@pytest.mark.row("R04", "R10", "P09")
@pytest.mark.parametrize(
    ("client", "domain"),
    [("openai-mcp", f"https://{HOST}"), ("claude-ai", ".claudemcpcontent.com"), ("curious", None)],
)
async def test_the_domain_is_what_each_kind_of_host_wants(rows: httpx.AsyncClient, client: str, domain: Any) -> None:
    for say in (newest, older):
        (entry, _) = (await say(rows, client, "resources/list"))["resources"]
        given = entry["_meta"]["ui"].get("domain")
        assert given == domain or (domain and given.endswith(domain))
        assert entry["_meta"]["openai/widgetDomain"] == f"https://{HOST}"


@pytest.mark.row("S01", "S02", "S03")
async def test_a_result_has_structure_for_both_text_as_blocks_and_meta_for_the_widget(rows: httpx.AsyncClient) -> None:
    result = await newest(rows, "openai-mcp", "tools/call", name="all_rows", arguments={"count": 1})
    assert result["structuredContent"] == {"rows": [{"id": "R00", "title": None}]}
    assert result["content"] == [{"type": "text", "text": "1 rows."}]
    assert result["_meta"]["secret"] == "for the widget alone"


@pytest.mark.row("F03")
async def test_a_file_comes_in_snake_case_with_or_without_its_name_and_type(rows: httpx.AsyncClient) -> None:
    bare = {"download_url": "https://files.example/1", "file_id": "file_1"}
    for file, title in (
        (bare, "None None"),
        ({**bare, "file_name": "a.csv", "mime_type": "text/csv"}, "a.csv text/csv"),
    ):
        result = await newest(rows, "openai-mcp", "tools/call", name="look_at", arguments={"file": file})
        assert result.get("structuredContent") == {"id": "file_1", "title": title}, result


@pytest.mark.row("M07", "N05")
async def test_what_the_host_says_of_the_user_opens_no_door(rows: httpx.AsyncClient) -> None:
    hints = {
        "openai/subject": "someone",
        "openai/organization": "org",
        "openai/session": "s",
        "openai/userAgent": "x",
        "openai/locale": "de-DE",
        "openai/userLocation": {"city": "Wien"},
    }
    for name, arguments in (("whoami", {}), ("delete_row", {"row_id": "R00"})):
        for said in ({}, hints):
            body = modern("tools/call", {"name": name, "arguments": arguments}, **said)
            answer = await rows.post("/mcp", json=body, headers=modern_headers(body))
            refused = answer.json().get("result", {})
            assert answer.status_code == 401 or refused.get("isError"), answer.text
            assert "R00" not in answer.text
    body = modern("tools/call", {"name": "who_asks", "arguments": {}}, **hints)
    result = (await rows.post("/mcp", json=body, headers=modern_headers(body))).json()["result"]
    assert result["content"][0]["text"].endswith("someone")
