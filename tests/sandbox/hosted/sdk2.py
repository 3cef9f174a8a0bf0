"""Servers of the second SDK: MCPServer with the Apps extension, low-level, mounted in Starlette, and none."""

import json
import threading
from contextlib import asynccontextmanager

import mcp_types as types
from mcp.server.apps import Apps
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

apps = Apps()
apps.add_html_resource("ui://zoo/animals.html", "<!doctype html><title>Animals</title>")


@apps.tool(resource_uri="ui://zoo/animals.html")
def animals(count: int) -> dict[str, int]:
    """Counts the animals."""
    print("counted")
    return {"count": count}


mcp = MCPServer("zoo", extensions=[apps])


@mcp.tool()
async def slow(ctx: Context) -> str:
    """Tells how far it is."""
    await ctx.report_progress(1, 2, "half")
    return "done"


class Name(BaseModel):
    name: str


@mcp.tool()
async def name(ctx: Context) -> str:
    """Asks for a name."""
    answer = await ctx.elicit("Your name?", Name)
    return json.dumps(answer.data.name)


@mcp.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Hello {name}"


@mcp.resource("zoo://about")
def about() -> str:
    """About the zoo."""
    return "A zoo."


async def list_tools(ctx, params) -> types.ListToolsResult:
    cursor = int((params.cursor if params else None) or 0)
    page = [types.Tool(name=f"tool{cursor + i}", input_schema={"type": "object"}) for i in range(2)]
    return types.ListToolsResult(tools=page, next_cursor=str(cursor + 2) if cursor < 2 else None)


async def call_tool(ctx, params) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"called {params.name}")])


low = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)

threaded = MCPServer("threaded")
of_thread = threading.local()


@threaded.tool()
def thread() -> int:
    """Tells how many calls its thread has run."""
    of_thread.calls = getattr(of_thread, "calls", 0) + 1
    return of_thread.calls


stateful = MCPServer("stateful")


@stateful.tool()
def remember(ctx: Context) -> str:
    """Has a session."""
    return "remembered"


stateful_app = stateful.streamable_http_app()
inner = mcp.streamable_http_app(streamable_http_path="/", stateless_http=True)


@asynccontextmanager
async def lifespan(app):
    app.state.entered = getattr(app.state, "entered", 0) + 1
    async with inner.router.lifespan_context(inner):
        yield {"entered": app.state.entered}


async def entered(request):
    response = PlainTextResponse(str(request.state.entered))
    response.set_cookie("a", "b")
    return response


mounted = Starlette(routes=[Route("/entered", entered), Mount("/mcp", app=inner)], lifespan=lifespan)
nothing = Starlette(routes=[Route("/entered", entered)])
