"""Servers of the SDK's first generation: FastMCP with its request handlers replaced, as a server and as an app."""

import json

from mcp import McpError, types
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.lowlevel import Server
from pydantic import BaseModel

mcp = FastMCP("first", json_response=True)
META = {"openai/outputTemplate": "ui://widget/board.html"}


@mcp.tool()
def replaced() -> str:
    return "never listed"


async def list_tools(request: types.ListToolsRequest) -> types.ServerResult:
    tool = types.Tool(name="board", inputSchema={"type": "object"}, _meta=META)
    return types.ServerResult(types.ListToolsResult(tools=[tool]))


async def list_resources(request: types.ListResourcesRequest) -> types.ServerResult:
    resource = types.Resource(uri="ui://widget/board.html", name="board", mimeType="text/html+skybridge")
    return types.ServerResult(types.ListResourcesResult(resources=[resource]))


async def read_resource(request: types.ReadResourceRequest) -> types.ServerResult:
    content = types.TextResourceContents(uri=request.params.uri, mimeType="text/html+skybridge", text="<b>Board</b>")
    return types.ServerResult(types.ReadResourceResult(contents=[content]))


async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
    text = types.TextContent(type="text", text=f"moved {request.params.arguments}")
    return types.ServerResult(types.CallToolResult(content=[text], structuredContent={"moved": True}))


mcp._mcp_server.request_handlers[types.ListToolsRequest] = list_tools
mcp._mcp_server.request_handlers[types.ListResourcesRequest] = list_resources
mcp._mcp_server.request_handlers[types.ReadResourceRequest] = read_resource
mcp._mcp_server.request_handlers[types.CallToolRequest] = call_tool

own_host = FastMCP("own host", host="plugins.example", stateless_http=True)
own_host.settings.transport_security = type(mcp.settings.transport_security)(
    enable_dns_rebinding_protection=True, allowed_hosts=["plugins.example:*"]
)

stateless = FastMCP("app", stateless_http=True)


@stateless.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


app = stateless.streamable_http_app()

low = Server("low")


@low.list_tools()
async def tools() -> list[types.Tool]:
    return [types.Tool(name="low", inputSchema={"type": "object"})]


@low.call_tool()
async def call(name: str, arguments: dict) -> list[types.TextContent]:
    return [types.TextContent(type="text", text=name)]


class Name(BaseModel):
    name: str


asking = FastMCP("asking")


@asking.tool()
async def name(ctx: Context) -> str:
    """Asks for a name, where it can."""
    try:
        answer = await ctx.elicit("Your name?", Name)
    except McpError:
        return json.dumps("alone")
    return json.dumps(answer.data.name if answer.action == "accept" else answer.action)


@asking.tool()
async def folders(ctx: Context) -> str:
    """Asks without saying for which call it does."""
    try:
        roots = await ctx.session.list_roots()
    except McpError as error:
        return json.dumps(f"nowhere: {error}")
    return json.dumps([str(root.uri) for root in roots.roots])
