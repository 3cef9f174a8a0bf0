"""Servers of the second SDK, each twice: the object, which is asked directly, and its app, which is asked over HTTP."""

import asyncio
import datetime
import decimal
import json
import logging
import sys
import threading

import anyio.from_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel
from starlette.middleware import Middleware
from starlette.routing import Mount, Route

logging.disable(logging.INFO)  # the SDK's own lines about sessions, which one way has and the other has not
mcp = MCPServer("twice")


class Name(BaseModel):
    name: str


class Odd(BaseModel):
    nothing: str | None = None
    day: datetime.date = datetime.date(2026, 7, 28)
    more: dict[str, int | None] = {"none": None}


@mcp.tool()
def odd() -> Odd:
    """Has an empty field, and one that is no JSON."""
    return Odd()


@mcp.tool()
async def tells(ctx: Context) -> str:
    """Tells how far it is, in every way."""
    await ctx.report_progress(1)
    await ctx.report_progress(2, 3)
    await ctx.report_progress(3, 3, "done")
    await ctx.session.send_log_message("info", "with the call", related_request_id=ctx.request_id)
    await ctx.session.send_log_message("info", "beside it")
    return "told"


@mcp.tool()
async def reads(ctx: Context) -> str:
    """Reads its own request."""
    request = ctx.request_context.request
    body = json.loads(await request.body())
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return json.dumps([request.method, request.url.path, headers, body["method"], body["params"]["name"]])


@mcp.tool()
async def knows(ctx: Context) -> str:
    """Knows its client."""
    session = ctx.session
    who = session.client_params
    can = session.check_client_capability(types.ClientCapabilities(elicitation=types.ElicitationCapability()))
    return json.dumps([session.protocol_version, who.client_info.name if who else "", can, session.can_send_request])


@mcp.tool()
async def asks(ctx: Context) -> str:
    """Asks two things at once, then a third, and tells a failure."""
    try:
        first, second = await asyncio.gather(ctx.elicit("first?", Name), ctx.elicit("second?", Name))
        roots = await ctx.session.list_roots()
    except MCPError as error:
        return json.dumps([error.code, error.message, error.data])
    return json.dumps([first.data.name, second.data.name, len(roots.roots)])


@mcp.tool()
async def pings(ctx: Context) -> str:
    """Asks what any client answers."""
    await ctx.session.send_ping()
    return "pong"


@mcp.tool()
async def late() -> str:
    """Takes too long."""
    await asyncio.sleep(60)
    return "late"


@mcp.tool()
async def cleans(ctx: Context) -> str:
    """Tells whether it could clean up the last time, when it was stopped at its question."""
    said, cleaned[:] = list(cleaned), []
    if said:
        return json.dumps(said)
    try:
        await ctx.elicit("name?", Name)
    finally:
        await asyncio.sleep(0.01)
        cleaned.append("cleaned")
    return "asked"


@mcp.tool()
async def deaf(ctx: Context) -> str:
    """Does not listen when it is stopped."""
    try:
        await ctx.elicit("name?", Name)
    except asyncio.CancelledError:
        raise OSError("no") from None
    return "asked"


@mcp.tool()
async def measures(ctx: Context) -> str:
    """Tells how far it is in what is no number of JSON."""
    for progress in (decimal.Decimal("0.5"), float("nan"), datetime.date(2026, 7, 28)):
        await ctx.report_progress(progress)
    return "measured"


@mcp.tool()
async def finds(ctx: Context) -> str:
    """Finds its app by the request."""
    request = ctx.request_context.request
    request.app.state.found = True
    return json.dumps([str(request.url_for("StreamableHTTPASGIApp")), request.path_params, request.app.state.found])


@mcp.tool()
def borrows(ctx: Context) -> str:
    """Asks from the thread that it runs in, and tells how that ended."""
    try:
        return anyio.from_thread.run(ctx.elicit, "name?", Name).data.name
    except BaseException as error:
        cleaned.append(type(error).__name__)
        raise


@mcp.tool()
def borrowed() -> str:
    """Tells how questions from threads ended, and how many threads there are."""
    said, cleaned[:] = list(cleaned), []
    return json.dumps([said, sum("AnyIO" in thread.name for thread in threading.enumerate())])


@mcp.tool()
async def again(ctx: Context) -> str:
    """Asks again after it was stopped at its first question."""
    for question in ("first?", "second?"):
        try:
            await ctx.elicit(question, Name)
        except asyncio.CancelledError:
            continue
    return "asked"


@mcp.tool()
async def leaves(ctx: Context) -> str:
    """Leaves a task behind, which asks when nobody listens any more."""

    async def asks() -> None:
        await asyncio.sleep(0.01)
        try:
            await ctx.elicit("name?", Name)
        except MCPError:
            cleaned.append("refused")

    left.append(asyncio.create_task(asks()))
    return "left"


@mcp.tool()
async def waits() -> str:
    """Tells how the task that was left behind ended."""
    await left.pop()
    said, cleaned[:] = list(cleaned), []
    return json.dumps(said)


@mcp.tool()
async def ends() -> str:
    """Ends the process, as a script does."""
    sys.exit("no such file")


cleaned: list[str] = []
left: list[asyncio.Task] = []
mcp_app = mcp.streamable_http_app()


async def list_tools(ctx, params) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="any", input_schema={"type": "object"})])


async def call_tool(ctx, params):
    arguments = params.arguments or {}
    if params.name == "raises":
        raise ValueError("broken")
    if params.name == "refuses":
        raise MCPError(code=-32099, message="No.", data={"why": None})
    if params.name == "model":
        types.Tool.model_validate({})
    if params.name == "wrong":
        return {"content": "nothing that a result may be"}
    meta = {"a": None, "b": [1]}
    return types.CallToolResult(content=[], structured_content=arguments, _meta=meta)


low = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
low_app = low.streamable_http_app()


class Around:
    """An author's own middleware: every request must pass it."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], (b"x-around", b"passed")]
        await self.app(scope, receive, send)


class Guarded(MCPServer):
    """Puts something around what it serves, the one way."""

    def streamable_http_app(self, **settings):
        app = super().streamable_http_app(**settings)
        app.add_middleware(Around)
        return app


class Routed(MCPServer):
    """The other way, and a route that is none."""

    def streamable_http_app(self, **settings):
        app = super().streamable_http_app(**settings)
        [route] = app.router.routes
        app.router.routes[:] = [
            Mount("/static", routes=[]),
            Route(route.path, endpoint=route.endpoint, middleware=[Middleware(Around)]),
        ]
        return app


class Stateless(MCPServer):
    """Is served without sessions by its author's wish: nobody can be asked."""

    def streamable_http_app(self, **settings):
        return super().streamable_http_app(**{**settings, "stateless_http": True})


class Whole(MCPServer):
    """Answers in one piece by its author's wish: nothing is said before the answer."""

    def streamable_http_app(self, **settings):
        return super().streamable_http_app(**{**settings, "json_response": True})


class Elsewhere(MCPServer):
    """Has another beside it, at a path of its own."""

    def streamable_http_app(self, **settings):
        app = super().streamable_http_app(**settings)
        other = MCPServer("other")
        app.router.routes.insert(0, Route("/other", endpoint=other.streamable_http_app().routes[0].endpoint))
        return app


def telling(kind: type[MCPServer]) -> MCPServer:
    server = kind("telling")
    server.add_tool(tells)
    server.add_tool(asks)
    return server


stateless, whole, elsewhere = telling(Stateless), telling(Whole), telling(Elsewhere)
stateless_app, whole_app, elsewhere_app = (
    telling(kind).streamable_http_app() for kind in (Stateless, Whole, Elsewhere)
)
guarded, routed = Guarded("guarded"), Routed("routed")


@guarded.tool()
@routed.tool()
def around(ctx: Context) -> str:
    """Tells what the middleware said of its request."""
    return ctx.request_context.request.headers.get("x-around", "passed by")
