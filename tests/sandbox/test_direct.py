"""Servers of the second SDK are asked without HTTP, and answer what they answer over HTTP."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from tenantry_registry import bundle
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.runners import Call, Release
from tenantry_sandbox.direct import Direct

HOSTED = Path(__file__).parent / "hosted"
NEW, OLD, OLDEST = "2026-07-28", "2025-11-25", "2025-03-26"
BOTH = (NEW, OLD, OLDEST)
ALL = {"elicitation": {}, "sampling": {}, "roots": {}}
ADA, EVE = ({"result": {"action": "accept", "content": {"name": name}}} for name in ("Ada", "Eve"))
NO = {"error": {"code": -1, "message": "Not now.", "data": [1]}}
ROOTS = {"result": {"roots": [{"uri": "file:///a"}]}}


class Twice:
    """Calls a tool of a server object, and of its app."""

    def __init__(self, runner: ProcessRunner, release: Release) -> None:
        self._runner = runner
        self._release = release

    async def call(
        self,
        entrypoint: str,
        tool: str,
        revision: str = NEW,
        *,
        method: str = "tools/call",
        may: Any = ALL,
        answers: Any = None,
        seconds: float = 25.0,
        **params: Any,
    ) -> dict[str, Any]:
        release = Release(self._release.name, self._release.digest, entrypoint, self._release.bundle, timeout=seconds)
        client = {"capabilities": may, "info": {"name": "test", "version": "1"}}
        asked = {"name": tool, "arguments": {}, "_meta": {"progressToken": "p"}, **params}
        made = Call(method, asked, revision=revision, client=client, answers=answers or {})
        reply = await self._runner.call(release, made)
        error = reply.get("error", {})
        return {key: value for key, value in reply.items() if key in ("result", "input_required", "notifications")} | (
            {"error": reply.get("protocol_error") or error.get("code")} if "result" not in reply else {}
        )

    async def same(self, server: str, tool: str, revision: str, **more: Any) -> dict[str, Any]:
        """The answer, which is the same both ways."""
        direct, http = [await self.call(f"twice:{way}", tool, revision, **more) for way in (server, f"{server}_app")]
        assert direct == http, (tool, revision)
        return direct


@pytest.fixture
async def twice(objects: Any, make_runner: Callable[..., ProcessRunner]) -> Twice:
    packed = bundle.pack(HOSTED)
    await objects.put_once("bundles/twice.zip", packed, ZIP)
    return Twice(
        make_runner(python=sys.executable),
        Release(Name("acme", "twice"), bundle.digest(packed), "", "bundles/twice.zip"),
    )


async def test_tools_answer_directly_what_they_answer_over_http(twice: Twice) -> None:
    for revision in BOTH:
        for tool in ("odd", "tells", "nothing", *(("knows",) if revision != NEW else ())):
            assert "result" in await twice.same("mcp", tool, revision) or tool == "nothing"
        for tool in ("any", "raises", "refuses", "model", "wrong"):
            reply = await twice.same("low", tool, revision, arguments={"none": None, "deep": [{"b": None}]})
            assert ("result" in reply) == (tool == "any"), reply
        await twice.same("low", "", revision, method="resources/read", uri="a://b")
        await twice.same("mcp", "any", revision, arguments=[1])
        await twice.same("mcp", "tells", revision, _meta={})
        await twice.same("mcp", "tells", revision, may={})
        await twice.same("mcp", "tells", revision, _meta={"progressToken": True})
        assert len((await twice.same("mcp", "measures", revision))["notifications"]) == 3
        assert "result" in await twice.same("mcp", "finds", revision)
    assert len((await twice.call("twice:mcp", "tells"))["notifications"]) == 3
    assert len((await twice.call("twice:mcp", "tells", OLD))["notifications"]) == 5


async def test_a_tool_finds_the_request_that_http_would_have_brought(twice: Twice) -> None:
    for revision in BOTH:
        for way in ("mcp", "mcp_app"):
            reply = await twice.call(f"twice:{way}", "reads", revision)
            method, path, headers, asked, tool = json.loads(reply["result"]["content"][0]["text"])
            assert (method, path, asked, tool) == ("POST", "/mcp", "tools/call", "reads")
            headers.pop("mcp-session-id", None)
            named = {"mcp-method": "tools/call", "mcp-name": "reads"} if revision == NEW else {}
            assert headers == {
                "host": "127.0.0.1:8000",
                "accept": "application/json, text/event-stream",
                "content-type": "application/json",
                "mcp-protocol-version": revision,
                **named,
            }


async def test_a_tool_asks_directly_what_it_asks_over_http(twice: Twice) -> None:
    first = await twice.same("mcp", "asks", OLD)
    asked = first["input_required"]["inputRequests"]
    assert [question["params"]["message"] for question in asked.values()] == ["first?", "second?"]
    both = dict(zip(asked, (ADA, EVE), strict=True))
    second = await twice.same("mcp", "asks", OLD, answers=both)
    [(roots, question)] = second["input_required"]["inputRequests"].items()
    assert question == {"method": "roots/list", "params": {}}
    done = await twice.same("mcp", "asks", OLD, answers={**both, roots: ROOTS})
    assert done["result"]["content"][0]["text"] == '["Ada", "Eve", 1]'
    refused = await twice.same("mcp", "asks", OLD, answers=dict.fromkeys(asked, NO))
    assert refused["result"]["content"][0]["text"] == '[-1, "Not now.", [1]]'
    assert "input_required" not in await twice.same("mcp", "asks", OLD, may={"roots": {}})
    assert (await twice.same("mcp", "pings", OLD))["result"]["content"][0]["text"] == "pong"


async def test_a_tool_asks_at_the_newest_revision_too_where_http_refuses(twice: Twice) -> None:
    """The SDK's transport has no way back to the client then; here a question is the call's result."""
    assert "back-channel" in str(await twice.call("twice:mcp_app", "asks"))
    answers: dict[str, Any] = {}
    for more in ((ADA, EVE), (ROOTS,)):
        new, old = [await twice.call("twice:mcp", "asks", revision, answers=answers) for revision in (NEW, OLD)]
        assert new == old
        answers |= dict(zip(new["input_required"]["inputRequests"], more, strict=True))
    done = await twice.call("twice:mcp", "asks", answers=answers)
    assert done["result"]["content"][0]["text"] == '["Ada", "Eve", 1]'
    knows = json.loads((await twice.call("twice:mcp", "knows"))["result"]["content"][0]["text"])
    assert knows == [NEW, "test", True, True]
    assert len((await twice.call("twice:mcp", "tells"))["notifications"]) == 3  # and none that belong to no request


async def test_a_client_that_can_not_be_asked_says_so(twice: Twice) -> None:
    for revision in (NEW, OLD):
        reply = await twice.call("twice:mcp", "asks", revision, may={})
        assert json.loads(reply["result"]["content"][0]["text"]) == [
            -32601,
            "The client does not support elicitation/create.",
            None,
        ]


async def test_a_call_that_is_stopped_at_its_question_cleans_up(twice: Twice) -> None:
    assert "input_required" in await twice.call("twice:mcp", "cleans", OLD)
    assert (await twice.call("twice:mcp", "cleans", OLD))["result"]["content"][0]["text"] == '["cleaned"]'
    assert "input_required" in await twice.call("twice:mcp", "deaf", OLD)
    assert "result" in await twice.call("twice:mcp", "odd", OLD)


async def test_a_thread_that_asks_ends_with_its_question(twice: Twice) -> None:
    for _ in range(3):
        first = await twice.call("twice:mcp", "borrows", OLD)
        assert "input_required" in first
    ended, threads = json.loads((await twice.call("twice:mcp", "borrowed", OLD))["result"]["content"][0]["text"])
    assert ended == ["CancelledError"] * 3
    assert threads <= 2  # one may still be on its way back
    [key] = first["input_required"]["inputRequests"]
    answered = await twice.call("twice:mcp", "borrows", OLD, answers={key: ADA})
    assert answered["result"]["content"][0]["text"] == "Ada"


async def test_a_call_that_goes_on_after_its_question_asks_nothing_more(twice: Twice) -> None:
    first = await twice.call("twice:mcp", "again", OLD)
    [question] = first["input_required"]["inputRequests"].values()
    assert question["params"]["message"] == "first?"


async def test_what_a_call_leaves_behind_can_not_ask(twice: Twice) -> None:
    assert "result" in await twice.same("mcp", "leaves", OLD)
    assert (await twice.same("mcp", "waits", OLD))["result"]["content"][0]["text"] == '["refused"]'


async def test_a_tool_that_ends_the_process_ends_its_call_alone(twice: Twice) -> None:
    for revision in (NEW, OLD):
        assert (await twice.call("twice:mcp", "ends", revision))["error"] == "tool.failed"
        assert "result" in await twice.call("twice:mcp", "odd", revision)


async def test_a_server_behind_http_that_ends_the_process_gets_a_new_one(twice: Twice) -> None:
    """Alone, its process would end: what its lifespan holds is broken, and every later call would fail."""
    for _ in range(2):
        assert (await twice.call("twice:mcp_app", "ends", OLD))["error"] == "tool.failed"
        for revision in (OLD, NEW):
            assert "result" in await twice.call("twice:mcp_app", "odd", revision)


async def test_what_an_author_set_for_all_requests_holds(twice: Twice) -> None:
    for server in ("stateless", "whole", "elsewhere"):
        for revision in BOTH:
            told = await twice.same(server, "tells", revision)
            assert told["result"]["content"][0]["text"] == "told"
    for server in ("stateless", "whole"):
        assert "back-channel" in str(await twice.same(server, "asks", OLD))


async def test_a_call_that_takes_too_long_is_stopped_alone(twice: Twice) -> None:
    assert "result" in await twice.call("twice:mcp", "odd")  # a cold start takes longer than that
    for revision in (NEW, OLD):
        assert (await twice.call("twice:mcp", "late", revision, seconds=2.0))["error"] == "sandbox.timeout"
        assert "result" in await twice.call("twice:mcp", "odd", revision)


async def test_what_an_author_put_around_a_server_is_not_passed_by(twice: Twice) -> None:
    for server in ("guarded", "routed"):
        for revision in BOTH:
            reply = await twice.call(f"twice:{server}", "around", revision)
            assert reply["result"]["content"][0]["text"] == "passed", (server, revision)


def test_a_worker_of_other_plugins_imports_nothing_for_this(tmp_path: Path) -> None:
    code = "import sys, tenantry_sandbox.worker; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert not {"importlib.metadata", "email", "zipfile", "mcp"} & {*run.stdout.split()}


def test_a_class_of_somebody_elses_is_asked_over_http() -> None:
    class Own(StreamableHTTPSessionManager):
        """Does more than the SDK's."""

    made = MCPServer("any").streamable_http_app()
    endpoint = made.routes[0].endpoint
    endpoint.session_manager.asgi_app = endpoint.session_manager.handle_request
    assert Direct.find(None, made, "/mcp") is None
    endpoint.session_manager = Own(endpoint.session_manager.app)
    assert Direct.find(None, made, "/mcp") is None
    assert Direct.find(None, made, "/other") is None
    assert Direct.find(None, type("Own", (type(made),), {})(), "/mcp") is None


def test_a_version_of_the_sdk_that_nobody_looked_at_is_asked_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MCPServer("any").streamable_http_app()
    for version in ("2.4.0", "2.30.1", None):

        def found(name: str, version: str | None = version) -> str:
            if version is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return version

        monkeypatch.setattr(importlib.metadata, "version", found)
        assert Direct.find(None, made, "/mcp") is None
