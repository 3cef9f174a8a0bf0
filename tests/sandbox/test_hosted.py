"""Servers that were not written with the kit, hosted unchanged, in worker processes."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tenantry_registry import bundle, vendor
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner
from tenantry_registry.process_worker import LEAVE_SECONDS
from tenantry_registry.runners import Call, Release

HOSTED = Path(__file__).parent / "hosted"
CACHE = Path(__file__).parents[2] / ".build" / "vendored"  # kept from one run to the next


class Hosting:
    """Runs entrypoints of the folder `hosted`, in one worker each."""

    def __init__(self, runner: ProcessRunner, release: Release) -> None:
        self._runner = runner
        self._release = release

    def _of(self, entrypoint: str) -> Release:
        release = self._release
        return Release(release.name, release.digest, entrypoint, release.bundle)

    async def describe(self, entrypoint: str) -> dict[str, Any]:
        reply = await self._runner.describe(self._of(entrypoint))
        assert "description" in reply, reply
        return reply["description"]

    async def refused(self, entrypoint: str) -> dict[str, Any]:
        return (await self._runner.describe(self._of(entrypoint)))["error"]

    async def close(self) -> None:
        await self._runner.aclose()

    async def call(
        self, entrypoint: str, method: str, revision: str = "2026-07-28", /, **params: Any
    ) -> dict[str, Any]:
        return await self._runner.call(self._of(entrypoint), Call(method, params, revision=revision))


@pytest.fixture
async def hosting(objects, make_runner: Callable[..., ProcessRunner], request: pytest.FixtureRequest) -> Hosting:
    """With the packages of this environment, or of the requirements that the test names."""
    wanted = getattr(request, "param", None)
    extra: dict[str, bytes] = {}
    settings: dict[str, Any] = {"python": sys.executable}
    if wanted:
        asked = vendor.Requirements("asked", wanted)
        extra, settings = vendor.vendor(HOSTED, asked, vendor.HOST, CACHE).files(), {"environ": PLAIN_ENVIRON}
    packed = bundle.pack(HOSTED, extra)
    digest = bundle.digest(packed)
    await objects.put_once("bundles/hosted.zip", packed, ZIP)
    return Hosting(make_runner(**settings), Release(Name("acme", "hosted"), digest, "", "bundles/hosted.zip"))


def names(answer: dict[str, Any], key: str) -> list[str]:
    return [entry["name"] for entry in answer["result"][key]]


async def test_an_mcpserver_is_asked_in_both_eras_and_called_in_either(hosting: Hosting) -> None:
    described = await hosting.describe("sdk2:mcp")
    assert described["kind"] == "asgi"
    assert described["dynamic"] == ["prompts/get", "resources/read", "tools/call"]
    for era in ("2025", "2026"):
        said = described["answers"][era]
        assert names(said["tools/list"], "tools") == ["animals", "slow", "name"]
        assert names(said["prompts/list"], "prompts") == ["greet"]
        read = said["resources/read"]["ui://zoo/animals.html"]["result"]["contents"][0]
        assert read["text"] == "<!doctype html><title>Animals</title>"
        assert list(said["resources/read"]) == ["ui://zoo/animals.html"]
    assert described["answers"]["2025"]["initialize"]["result"]["protocolVersion"] == "2025-11-25"
    assert described["answers"]["2026"]["server/discover"]["result"]["supportedVersions"] == ["2026-07-28"]
    new = await hosting.call("sdk2:mcp", "tools/call", name="animals", arguments={"count": 2})
    old = await hosting.call("sdk2:mcp", "tools/call", "2025-06-18", name="animals", arguments={"count": 3})
    assert (new["result"]["structuredContent"], new["result"]["resultType"]) == ({"count": 2}, "complete")
    assert (old["result"]["structuredContent"], "resultType" in old["result"]) == ({"count": 3}, False)
    assert new["stdout"] == "counted\n"


async def test_synchronous_tools_keep_their_thread_and_it_ends_with_the_worker(
    hosting: Hosting,
) -> None:
    called = [await hosting.call("sdk2:threaded", "tools/call", name="thread", arguments={}) for _ in range(3)]
    assert [answer["result"]["structuredContent"]["result"] for answer in called] == [1, 2, 3]
    async with asyncio.timeout(LEAVE_SECONDS):  # after which a worker that has not ended would be killed
        await hosting.close()


async def test_notifications_of_a_hosted_call_come_with_its_result(hosting: Hosting) -> None:
    reply = await hosting.call("sdk2:mcp", "tools/call", name="slow", arguments={}, _meta={"progressToken": 7})
    assert [note["params"]["message"] for note in reply["notifications"]] == ["half"]
    assert reply["notifications"][0]["params"]["progressToken"] == 7


async def test_prompts_resources_and_errors_of_a_hosted_server_are_its_own(hosting: Hosting) -> None:
    prompt = await hosting.call("sdk2:mcp", "prompts/get", name="greet", arguments={"name": "Ädä"})
    assert prompt["result"]["messages"][0]["content"]["text"] == "Hello Ädä"
    read = await hosting.call("sdk2:mcp", "resources/read", "2025-11-25", uri="zoo://about")
    assert read["result"]["contents"][0]["text"] == "A zoo."
    unknown = await hosting.call("sdk2:mcp", "tools/call", name="größer", arguments={})
    assert unknown["result"]["isError"] is True
    wrong = await hosting.call("sdk2:mcp", "resources/read", uri="zoo://nowhere")
    assert wrong["protocol_error"]["code"] == -32602


async def test_all_pages_of_a_list_are_joined(hosting: Hosting) -> None:
    described = await hosting.describe("sdk2:low")
    for era in ("2025", "2026"):
        listed = described["answers"][era]["tools/list"]
        assert names(listed, "tools") == ["tool0", "tool1", "tool2", "tool3"]
        assert "nextCursor" not in listed["result"]
    called = await hosting.call("sdk2:low", "tools/call", name="tool3")
    assert called["result"]["content"][0]["text"] == "called tool3"


async def test_a_server_that_insists_on_sessions_gets_one_for_each_call(hosting: Hosting) -> None:
    await hosting.describe("sdk2:stateful_app")
    for _ in range(2):
        called = await hosting.call("sdk2:stateful_app", "tools/call", "2025-06-18", name="remember", arguments={})
        assert called["result"]["content"][0]["text"] == "remembered"
    body = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"remember","arguments":{}}}'
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    passed = await hosting.call("sdk2:stateful_app", "http", headers=headers, body=body)
    assert (passed["result"]["status"], "remembered" in passed["result"]["body"]) == (200, True)


async def test_an_app_that_mounts_its_server_is_found_and_its_lifespan_is_entered_once(hosting: Hosting) -> None:
    described = await hosting.describe("sdk2:mounted")
    assert names(described["answers"]["2026"]["tools/list"], "tools") == ["animals", "slow", "name"]
    request = {"path": "/entered", "headers": [["MCP-Protocol-Version", "2025-11-25"]], "body": "not json"}
    passed = await hosting.call("sdk2:mounted", "http", **request)
    assert passed["result"]["status"] in (400, 406), "only the MCP endpoint is ever reached, whatever path is asked"


async def test_an_http_request_is_passed_on_whole(hosting: Hosting) -> None:
    body = '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"animals","arguments":{"count":1}}}'
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2025-11-25",
        "Host": "evil.example",
        "Origin": "https://chatgpt.com",
        "Connection": "close",
    }
    for entrypoint in ("sdk2:mcp", "sdk2:mounted"):
        reply = (await hosting.call(entrypoint, "http", method="POST", headers=headers, body=body))["result"]
        assert reply["status"] == 200
        assert dict(reply["headers"])["content-type"].startswith("text/event-stream")
        assert '"id":"x"' in reply["body"]
        assert not {"set-cookie", "content-length", "date", "server"} & {name for name, _ in reply["headers"]}


async def test_an_app_without_an_mcp_endpoint_is_refused(hosting: Hosting) -> None:
    error = await hosting.refused("sdk2:nothing")
    assert error["code"] == "plugin.no-mcp"
    assert "/mcp: 404" in error["message"]


@pytest.mark.parametrize(
    ("script", "server"),
    [
        ("main_guard", "script"),
        ("async_low", "low script"),
        ("with_uvicorn", "uvicorn script"),
        ("uvicorn_server", "zoo"),
        ("only_defines", "defined"),
    ],
)
async def test_a_script_that_runs_its_server_is_hosted(hosting: Hosting, script: str, server: str) -> None:
    described = await hosting.describe(f"scripts/{script}.py")
    assert described["answers"]["2025"]["initialize"]["result"]["serverInfo"]["name"] == server


async def test_a_script_keeps_its_own_main_module(hosting: Hosting) -> None:
    called = await hosting.call("scripts/main_guard.py", "tools/call", name="add", arguments={"a": 2, "b": 3})
    assert called["result"]["structuredContent"] == {"total": 5}


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("no_server", "plugin.entrypoint", "started no server"),
        ("exits", "plugin.import", "SystemExit: not like this"),
        ("missing", "plugin.entrypoint", "has no file missing.py"),
    ],
)
async def test_a_script_without_a_server_is_refused(hosting: Hosting, script: str, code: str, told: str) -> None:
    error = await hosting.refused(f"scripts/{script}.py")
    assert error["code"] == code
    assert told in error["message"]


@pytest.mark.parametrize("hosting", ["mcp<2"], indirect=True)
async def test_servers_of_the_first_sdk_are_hosted_as_they_are(hosting: Hosting) -> None:
    described = await hosting.describe("sdk1:mcp")
    assert list(described["answers"]) == ["2025"], "it knows nothing of the other era"
    said = described["answers"]["2025"]
    assert said["tools/list"]["result"]["tools"] == [
        {
            "name": "board",
            "inputSchema": {"type": "object"},
            "_meta": {"openai/outputTemplate": "ui://widget/board.html"},
        }
    ]
    read = said["resources/read"]["ui://widget/board.html"]["result"]["contents"][0]
    assert (read["mimeType"], read["text"]) == ("text/html+skybridge", "<b>Board</b>")
    moved = await hosting.call("sdk1:mcp", "tools/call", "2025-11-25", name="board", arguments={"to": 1})
    assert moved["result"]["structuredContent"] == {"moved": True}
    for entrypoint, tool, arguments in (("sdk1:app", "add", {"a": 1, "b": 2}), ("sdk1:low", "low", {})):
        await hosting.describe(entrypoint)
        called = await hosting.call(entrypoint, "tools/call", "2025-06-18", name=tool, arguments=arguments)
        assert not called["result"].get("isError"), called
    own_host = await hosting.describe("sdk1:own_host")
    assert own_host["answers"]["2025"]["initialize"]["result"]["serverInfo"]["name"] == "own host"


@pytest.mark.parametrize("hosting", ["fastmcp>=4,<5"], indirect=True)
async def test_servers_of_fastmcp_4_are_hosted_as_they_are(hosting: Hosting) -> None:
    described = await hosting.describe("fast4:mcp")
    assert {"2025", "2026"} == {*described["answers"]}
    assert described["answers"]["2025"]["initialize"]["result"]["instructions"] == "Counts."
    read = described["answers"]["2026"]["resources/read"]["ui://fast/view.html"]
    assert read["result"]["contents"][0]["text"] == "<p>view</p>"
    for entrypoint in ("fast4:mcp", "fast4:app"):
        called = await hosting.call(entrypoint, "tools/call", name="count", arguments={"words": ["a", "b"]})
        assert called["result"]["structuredContent"] == {"count": 2}


async def test_a_hosted_server_answers_what_it_answers_on_its_own(hosting: Hosting) -> None:
    own = _module("sdk2").mcp.streamable_http_app(stateless_http=True)
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    named = {"mcp-name": "greet"}
    questions = [
        ("2025-11-25", "tools/call", {"name": "animals", "arguments": {"count": 2}}, {}),
        ("2025-06-18", "tools/call", {"name": "animals", "arguments": {}}, {}),
        ("2025-11-25", "resources/read", {"uri": "zoo://about"}, {}),
        ("2025-11-25", "no/such/method", {}, {}),
        ("2026-07-28", "prompts/get", {"name": "greet", "arguments": {"name": "x"}, "_meta": meta}, named),
        ("2026-07-28", "prompts/get", {"name": "greet", "_meta": meta}, {"mcp-name": "somebody else"}),
    ]
    web = httpx.AsyncClient(transport=httpx.ASGITransport(own), base_url="http://127.0.0.1:8000")
    async with own.router.lifespan_context(own), web:
        for revision, method, params, more in questions:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            sent = {**headers, "mcp-protocol-version": revision, "mcp-method": method, **more}
            alone = await web.post("/mcp", content=body, headers=sent)
            hosted = (await hosting.call("sdk2:mcp", "http", headers=sent, body=body))["result"]
            assert (hosted["status"], hosted["body"]) == (alone.status_code, alone.text)
            kept = {
                name: value for name, value in alone.headers.items() if name not in ("content-length", "connection")
            }
            assert dict(hosted["headers"]) == kept


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"hosted_{name}", HOSTED / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
