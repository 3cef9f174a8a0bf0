"""From a bundle to a server: what goes wrong is told to whoever publishes, and to nobody else."""

from __future__ import annotations

import pytest
from tenantry_registry.runners import Call

CALL = Call("tools/call", {"name": "x"})


@pytest.mark.parametrize(
    ("files", "entrypoint", "code", "told", "hint"),
    [
        (
            {"other.py": "", "app/x.py": "", "_x.py": ""},
            "server:plugin",
            "plugin.entrypoint",
            "no module server",
            ": app, other.",
        ),
        ({"server.py": ""}, "server:plugin", "plugin.entrypoint", "server has no plugin", "server:plugin"),
        (
            {
                "server.py": "from __future__ import annotations\nimport os\n"
                "from types import SimpleNamespace\nzoo = SimpleNamespace()\ndef f(): ..."
            },
            "server:plugin",
            "plugin.entrypoint",
            "server has no plugin",
            "server has: zoo.",  # neither what it imports nor its annotations
        ),
        (
            {"server.py": "plugin = 3"},
            "server:plugin",
            "plugin.entrypoint",
            "is a int, which is no server",
            "MCPServer",
        ),
        ({"server.py": "import numby"}, "server:plugin", "plugin.dependency", "no module numby", "requirements.txt"),
        (
            {"server.py": "import num_by.old", "requirements.txt": "# numbers\nother\nNum-By<2\n"},
            "server:plugin",
            "plugin.dependency",
            "no module num_by",
            "requirements.txt names num_by, but what is installed has no num_by: name a version that has it",
        ),
        (
            {"server.py": "import numby", "requirements.txt": "numbyte\n"},
            "server:plugin",
            "plugin.dependency",
            "no module numby",
            "Add the package that brings numby to requirements.txt, or, if numby is your own, put it into the plugin's",
        ),
        ({"server.py": "1 / 0"}, "server:plugin", "plugin.import", "ZeroDivisionError: division by zero", ""),
        ({"server.py": "def"}, "server:plugin", "plugin.import", "SyntaxError: invalid syntax", ""),
        ({"server.py": "exit(4)"}, "server:plugin", "plugin.import", "SystemExit: 4", ""),
        (
            {"server.py": "import os\nos.environ['KEY_THAT_IS_NOT_SET']"},
            "server:plugin",
            "plugin.import",
            "KeyError",
            "",
        ),
        ({"src/app.py": "class a:\n  b = 3"}, "src.app:a.b", "plugin.entrypoint", "src.app:a.b is a int", ""),
        (
            {
                "server.py": "import lib.fast",
                "_vendor/lib/__init__.py": "",
                "_vendor/lib/fast.cpython-399-arm.so": "",
            },
            "server:plugin",
            "plugin.wrong-platform",
            "lib was built for another platform: fast.cpython-399-arm.so",
            "Publish again",
        ),
        (
            {
                "server.py": """
                    class Refused(Exception):
                        code, hint = "plugin.definition", "Say open_world."
                    raise Refused("open_world is not set")
                """
            },
            "server:plugin",
            "plugin.definition",
            "open_world is not set",
            "Say open_world.",
        ),
    ],
)
async def test_whoever_publishes_reads_what_is_wrong(runner, publish, files, entrypoint, code, told, hint) -> None:
    release = await publish(files, entrypoint=entrypoint)
    error = (await runner.describe(release))["error"]
    assert error["code"] == code
    assert told in error["message"]
    assert hint in error["hint"]
    called = (await runner.call(release, CALL))["error"]
    assert (called["code"], called["message"], called["hint"]) == (code, "The plugin could not be loaded.", "")
    assert called["error_id"] not in ("", error["error_id"])


async def test_a_secret_in_the_text_of_an_import_error_is_blanked(runner, publish) -> None:
    release = await publish(
        {"server.py": "import os\nraise RuntimeError('no access with ' + os.environ['KEY'])"},
        secrets={"KEY": "sk-123456"},
    )
    error = (await runner.describe(release))["error"]
    assert error["message"] == "Loading server:plugin failed: RuntimeError: no access with [secret KEY]"
    assert "sk-123456" not in str(error)


async def test_a_description_that_fails_is_told_to_whoever_publishes(runner, publish, fake_kit) -> None:
    source = """
    from fake import Plugin
    class Broken(Plugin):
        def __tenantry_describe__(self):
            raise TypeError("two tools are called add")
    plugin = Broken()
    """
    error = (await runner.describe(await publish({"server.py": source, "fake.py": fake_kit})))["error"]
    assert error["code"] == "tool.failed"
    assert "TypeError: two tools are called add" in error["message"]


ASGI = """
import json, asyncio
async def app(scope, receive, send):
    {lifespan}
    message = await receive()
    body = json.loads(message["body"])
    {before}
    result = {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "raw"}}}}
    answer = {{"jsonrpc": "2.0", "id": body.get("id"), "result": {result}}}
    if body["method"] == "server/discover":
        answer = {{"jsonrpc": "2.0", "id": 1, "error": {{"code": -32601, "message": "unknown"}}}}
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", b"application/json")]}})
    await send({{"type": "http.response.body", "body": json.dumps(answer).encode()[:9], "more_body": True}})
    await send({{"type": "http.response.body", "body": json.dumps(answer).encode()[9:]}})
    {after}
"""
WITH_LIFESPAN = """if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return await send({"type": "lifespan.shutdown.complete"})"""


def asgi(
    lifespan: str = 'assert scope["type"] == "http"', before: str = "", after: str = "", result: str = "result"
) -> str:
    return ASGI.format(lifespan=lifespan, before=before, after=after, result=result)


@pytest.mark.parametrize(
    "lifespan", ['assert scope["type"] == "http"', 'if scope["type"] != "http": return', WITH_LIFESPAN]
)
async def test_an_app_with_or_without_a_lifespan_is_hosted(runner, publish, lifespan: str) -> None:
    release = await publish({"server.py": asgi(lifespan)}, entrypoint="server:app")
    described = (await runner.describe(release))["description"]
    assert list(described["answers"]) == ["2025"]
    assert described["answers"]["2025"]["initialize"]["result"]["serverInfo"] == {"name": "raw"}


async def test_an_app_that_says_it_cannot_start_is_refused_with_its_reason(runner, publish) -> None:
    failing = """if scope["type"] == "lifespan":
        await receive()
        return await send({"type": "lifespan.startup.failed", "message": "no database"})"""
    error = (await runner.describe(await publish({"server.py": asgi(failing)}, entrypoint="server:app")))["error"]
    assert (error["code"], error["message"]) == ("plugin.startup", "The server did not start: no database")


@pytest.mark.parametrize(("status", "hint"), [(421, "127.0.0.1:*"), (401, "[auth]")])
async def test_an_app_that_refuses_the_platform_is_told_how_to_accept_it(runner, publish, status, hint) -> None:
    refusing = f"""await send({{"type": "http.response.start", "status": {status}}})
    return await send({{"type": "http.response.body"}})"""
    release = await publish({"server.py": asgi(before=refusing)}, entrypoint="server:app")
    error = (await runner.describe(release))["error"]
    assert (error["code"], str(status) in error["message"], hint in error["hint"]) == ("plugin.no-mcp", True, True)


async def test_an_app_that_waits_for_the_client_to_go_is_told_so(runner, publish) -> None:
    waits = """assert (await receive())["type"] == "http.disconnect"
    await send({"type": "http.response.debug", "info": {}})"""
    release = await publish({"server.py": asgi(after=waits)}, entrypoint="server:app")
    assert "description" in await runner.describe(release)


async def test_an_app_that_never_answers_ends_with_its_time_and_keeps_its_worker(runner, publish) -> None:
    stuck = """if body["method"] == "tools/call": await asyncio.sleep(60)"""
    release = await publish({"server.py": asgi(before=stuck)}, entrypoint="server:app", timeout=1.2)
    await runner.describe(release)
    reply = await runner.call(release, CALL)
    assert (reply["error"]["code"], reply["cold"]) == ("sandbox.timeout", False)


@pytest.mark.parametrize("raises", ["raise RuntimeError('odd')", "raise asyncio.CancelledError"])
async def test_an_app_that_fails_is_masked_like_any_tool(runner, publish, raises: str) -> None:
    failing = f"""if body["method"] == "tools/call": {raises}"""
    release = await publish({"server.py": asgi(before=failing)}, entrypoint="server:app")
    await runner.describe(release)
    assert (await runner.call(release, CALL))["error"]["message"] == "The tool failed."


async def test_an_app_whose_lifespan_ends_badly_is_still_left_in_peace(runner, publish) -> None:
    ends = WITH_LIFESPAN.replace('return await send({"type": "lifespan.shutdown.complete"})', "raise RuntimeError")
    release = await publish({"server.py": asgi(ends)}, entrypoint="server:app")
    assert "description" in await runner.describe(release)


async def test_an_app_that_stops_its_loop_is_waited_for_all_the_same(runner, publish) -> None:
    stops = """asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)"""
    release = await publish({"server.py": asgi(before=stops)}, entrypoint="server:app")
    assert "description" in await runner.describe(release)


async def test_a_list_whose_next_page_fails_is_told_as_the_failure(runner, publish) -> None:
    pages = """if body["method"] == "tools/list":
        page = {"result": {"tools": [], "nextCursor": "x"}}
        error = {"error": {"code": -32602, "message": "bad cursor"}}
        answer = {"jsonrpc": "2.0", "id": 1, **(error if body["params"].get("cursor") else page)}
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        text = ": hello\\n\\nevent: message\\ndata: nonsense\\n\\ndata: []\\n\\ndata: " + json.dumps(answer) + "\\n\\n"
        return await send({"type": "http.response.body", "body": text.encode()})"""
    release = await publish({"server.py": asgi(before=pages)}, entrypoint="server:app")
    said = (await runner.describe(release))["description"]["answers"]["2025"]
    assert said["tools/list"] == {"error": {"code": -32602, "message": "bad cursor"}}


async def test_a_list_that_never_ends_is_cut(runner, publish) -> None:
    endless = """if body["method"] == "tools/list": result = {"tools": [{"name": "x"}], "nextCursor": "on"}; pass
    else:
        result = None
    pages = result"""
    source = asgi(before=endless, result='pages or {"capabilities": {"tools": {}}}')
    described = (await runner.describe(await publish({"server.py": source}, entrypoint="server:app")))["description"]
    assert len(described["answers"]["2025"]["tools/list"]["result"]["tools"]) == 101


FAKE_FASTMCP = """
class Transports:
    async def run_async(self):
        raise AssertionError("nothing is served from here")
class FastMCP(Transports):
    def run(self):
        raise AssertionError("nothing is served from here")
    def http_app(self, path):
        from app import app
        return app
"""


@pytest.mark.parametrize("start", ["mcp.run()", "asyncio.run(mcp.run_async())"])
async def test_a_script_is_hosted_whichever_way_it_starts_its_server(runner, publish, start: str) -> None:
    files = {
        "run.py": f"""
            import asyncio
            try:
                import uvicorn.main
            except ImportError:
                pass
            from fastmcp.server.server import FastMCP
            mcp = FastMCP()
            try:
                {start}
            except Exception:
                raise SystemExit("a handler of the script has stopped it") from None
        """,
        "app.py": asgi(),
        "fastmcp/__init__.py": "",
        "fastmcp/server/__init__.py": "",
        "fastmcp/server/server.py": FAKE_FASTMCP,
        "uvicorn/__init__.py": "",
    }
    described = await runner.describe(await publish(files, entrypoint="run.py"))
    assert described["description"]["answers"]["2025"]["initialize"]["result"]["serverInfo"] == {"name": "raw"}


async def test_a_script_that_failed_may_succeed_the_next_time(runner, publish, tmp_path) -> None:
    files = {
        "run.py": f"""
            import os
            from fastmcp.server.server import FastMCP
            assert os.path.exists({str(tmp_path / "ready")!r})
            FastMCP().run()
        """,
        "app.py": asgi(),
        "fastmcp/__init__.py": "",
        "fastmcp/server/__init__.py": "",
        "fastmcp/server/server.py": FAKE_FASTMCP,
    }
    release = await publish(files, entrypoint="run.py")
    assert (await runner.describe(release))["error"]["code"] == "plugin.import"
    (tmp_path / "ready").touch()
    assert "description" in await runner.describe(release)


FAKE_SDK_1 = {
    "mcp/__init__.py": "",
    "mcp/server/__init__.py": "",
    "mcp/server/fastmcp/__init__.py": "",
    "mcp/server/fastmcp/server.py": """
        from types import SimpleNamespace
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        class FastMCP:
            settings = SimpleNamespace(streamable_http_path="/own/mcp", transport_security=None)
            def streamable_http_app(self):
                return App()
        class App:
            session = StreamableHTTPSessionManager(None)
            routes = [object(), SimpleNamespace(endpoint=SimpleNamespace(session_manager=session))]
            async def __call__(self, scope, receive, send):
                self.session.running = True
                await self.session.handle_request(scope, receive, send)
    """,
    "mcp/server/lowlevel/__init__.py": "",
    "mcp/server/lowlevel/server.py": "class Server: pass",
    "mcp/server/streamable_http_manager.py": """
        from contextlib import asynccontextmanager
        class StreamableHTTPSessionManager:
            running = stateless = False
            def __init__(self, app):
                pass
            @asynccontextmanager
            async def run(self):
                self.running = True
                yield
            async def handle_request(self, scope, receive, send):
                from app import app
                assert self.running and self.stateless
                await app(scope, receive, send)
    """,
}


@pytest.mark.parametrize("server", ["mcp.server.fastmcp.server:FastMCP", "mcp.server.lowlevel.server:Server"])
async def test_both_servers_of_the_first_sdk_are_served_without_sessions(runner, publish, server: str) -> None:
    module, _, name = server.partition(":")
    files = {**FAKE_SDK_1, "app.py": asgi(), "server.py": f"from {module} import {name}\nmcp = {name}()"}
    described = await runner.describe(await publish(files, entrypoint="server:mcp"))
    assert list(described["description"]["answers"]) == ["2025"]


BOTH_ERAS = """if body["method"] == "server/discover":
        result = {"capabilities": {"tools": {}}, "supportedVersions": ["2026-07-28"]}
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result})
        await send({"type": "http.response.start", "status": 200})
        return await send({"type": "http.response.body", "body": text.encode()})
    if body["method"] == "tools/call":
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "working"}}
        error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such tool"}}
        text = "".join(f"data: {json.dumps(part)}\\r\\n\\r\\n" for part in (note, error))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        return await send({"type": "http.response.body", "body": text.encode()})"""


async def test_an_app_of_both_eras_is_asked_in_both_and_its_errors_are_protocol_errors(runner, publish) -> None:
    release = await publish({"server.py": asgi(before=BOTH_ERAS)}, entrypoint="server:app")
    described = (await runner.describe(release))["description"]
    assert described["answers"]["2026"]["server/discover"]["result"]["supportedVersions"] == ["2026-07-28"]
    called = await runner.call(release, CALL)
    assert called["protocol_error"] == {"code": -32602, "message": "no such tool"}
    assert called["notifications"] == [{"method": "notifications/message", "params": {"data": "working"}}]
