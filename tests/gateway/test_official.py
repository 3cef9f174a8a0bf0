"""The official types and the official client are the judges, and raw bytes beside them.

`mcp_types` drops what it does not know without a word (securitySchemes among it), so every answer is also compared
byte for byte with a golden file. After a wanted change: TENANTRY_GOLDENS=write, and read the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.house import WIDGET_URI, House, ask, replying, say
from mcp import Client, types
from mcp_types import methods as official
from simulators.serving import served

GOLDENS = Path(__file__).parent / "goldens"
EXAMPLE = Path(__file__).parents[2] / "tenants" / "examples" / "elements"
FIXTURE = Path(__file__).parents[1] / "conformance" / "plugin"
HANDSHAKE = ["2025-03-26", "2025-06-18", "2025-11-25"]
RESULT = {"content": [{"type": "text", "text": "Three."}], "structuredContent": {"n": 3}, "_meta": {"hidden": 1}}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "count", "arguments": {"count": 3}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": WIDGET_URI}),
    ("resources/read", {"uri": "zoo://rules"}),
    ("prompts/list", {}),
]


def golden(name: str, data: bytes) -> None:
    """Compare with the file of that name."""
    path = GOLDENS / name
    if os.environ.get("TENANTRY_GOLDENS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data + b"\n")
    assert path.read_bytes() == data + b"\n"


def name_of(era: str, method: str, params: dict[str, Any]) -> str:
    what = params.get("uri", "").rpartition("/")[2].partition(".")[0]
    return f"{era}-{method.replace('/', '-')}{'-' + what if what else ''}.json"


@pytest.mark.row(
    "T01", "T02", "T03", "T05", "N01", "N02", "N03", "N05", "R01", "R02", "R03", "R07", "S01", "S02", "S03"
)
@pytest.mark.parametrize(("method", "params"), ASKED)
async def test_answers_of_2026(house: House, http: httpx.AsyncClient, method: str, params: dict[str, Any]) -> None:
    house.runner.answer = replying(result=RESULT)
    response = await ask(http, method, params)
    official.validate_server_result(method, "2026-07-28", response.json()["result"])
    golden(name_of("2026", method, params), response.content)


async def test_discover_of_2026(http: httpx.AsyncClient) -> None:
    response = await ask(http, "server/discover")
    official.validate_server_result("server/discover", "2026-07-28", response.json()["result"])
    golden("2026-server-discover.json", response.content)


@pytest.mark.parametrize("revision", HANDSHAKE)
@pytest.mark.parametrize(("method", "params"), ASKED)
async def test_answers_of_2025(
    house: House, http: httpx.AsyncClient, method: str, params: dict[str, Any], revision: str
) -> None:
    house.runner.answer = replying(result=RESULT)
    response = await say(http, method, params, mcp_protocol_version=revision)
    official.validate_server_result(method, revision, response.json()["result"])
    golden(name_of("2025", method, params), response.content)


@pytest.mark.parametrize("revision", HANDSHAKE)
async def test_initialize_of_2025(http: httpx.AsyncClient, revision: str) -> None:
    response = await say(http, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}})
    official.validate_server_result("initialize", revision, response.json()["result"])
    golden(f"{revision}-initialize.json", response.content)


async def test_what_asks_for_input_is_official_too(house: House, http: httpx.AsyncClient) -> None:
    schema = {"type": "object", "properties": {}}
    question = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}
    house.runner.answer = replying(input_required={"inputRequests": {"a": question}})
    capabilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    response = await ask(http, "tools/call", {"name": "echo", "arguments": {}}, **capabilities)
    official.validate_server_result("tools/call", "2026-07-28", response.json()["result"])


# -- the official client, over a real connection ----------------------------------------------------------------------


@pytest.fixture(scope="module", params=[False, True], ids=["uvicorn", "lambda"])
def elements(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(EXAMPLE, tmp_path_factory.mktemp("elements"), edge=request.param) as url:
        yield url


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(FIXTURE, tmp_path_factory.mktemp("fixture")) as url:
        yield url


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_the_official_client_lists_calls_and_reads(elements: str, mode: Any, revision: str) -> None:
    async with Client(elements, mode=mode) as client:
        assert client.protocol_version == revision
        tools = (await client.list_tools()).tools
        shown = next(tool for tool in tools if tool.name == "find_elements")
        result = await client.call_tool("find_elements", {"family": "noble gas"})
        assert not result.is_error
        assert result.structured_content is not None
        assert "Neon" in json.dumps(result.structured_content)
        uri = (shown.meta or {})["ui"]["resourceUri"]
        page = (await client.read_resource(uri)).contents[0]
        assert isinstance(page, types.TextResourceContents)
        assert "/assets/" in page.text
        assert page.mime_type == "text/html;profile=mcp-app"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_is_asked_back(fixture: str, mode: Any) -> None:
    async def elicited(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada", "color": "blue"})

    async with Client(fixture, mode=mode, elicitation_callback=elicited) as client:
        result = await client.call_tool("test_input_required_result_multi_round", {})
        assert isinstance(result.content[0], types.TextContent)
        assert result.content[0].text == "Ada likes blue."


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_hears_progress_and_the_log(fixture: str, mode: Any) -> None:
    heard: list[float] = []
    logged: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async def log(params: Any) -> None:
        logged.append(params.data)

    async with Client(fixture, mode=mode, logging_callback=log, log_level="info") as client:
        await client.call_tool("test_tool_with_progress", {}, progress_callback=progress)
        await client.call_tool("test_tool_with_logging", {})
    assert heard == [0, 50, 100]
    assert len(logged) == 3
