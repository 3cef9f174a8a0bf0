"""The SDK's first generation: a FastMCP with its request handlers replaced, served as `streamable_http_app()`.

The widget has ChatGPT's older keys and type only.
"""

import os

from mcp import types
from mcp.server.fastmcp import FastMCP

TEMPLATE = "ui://widget/pizza-map.html"
OLD = "text/html+skybridge"
META = {
    "openai/outputTemplate": TEMPLATE,
    "openai/toolInvocation/invoking": "Finding pizzas",
    "openai/toolInvocation/invoked": "Found pizzas",
    "openai/widgetAccessible": True,
}
SCHEMA = {
    "type": "object",
    "properties": {"topping": {"type": "string", "description": "What is on it"}},
    "required": ["topping"],
    "additionalProperties": False,
}
HTML = "<!doctype html><html><head><title>Pizzas</title></head><body><div id=map></div></body></html>"

mcp = FastMCP("pizzas", instructions="Finds pizzas.", stateless_http=True)


@mcp.prompt()
def order(topping: str) -> str:
    """Orders one."""
    return f"One pizza with {topping}, please."


@mcp._mcp_server.list_tools()
async def list_tools() -> list[types.Tool]:
    hints = types.ToolAnnotations(readOnlyHint=True, destructiveHint=False, openWorldHint=False)
    told, oven = "Use this to find pizzas by topping.", "Use this to look into the oven."
    return [
        types.Tool(name="map", title="Map", description=told, inputSchema=SCHEMA, annotations=hints, _meta=META),
        types.Tool(name="oven", description=oven, inputSchema={"type": "object"}, annotations=hints),
    ]


@mcp._mcp_server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(name="map", title="Map", uri=TEMPLATE, mimeType=OLD, description="A map.", _meta=META)]


@mcp._mcp_server.list_resource_templates()
async def list_templates() -> list[types.ResourceTemplate]:
    return [types.ResourceTemplate(name="map", uriTemplate=TEMPLATE, mimeType=OLD, _meta=META)]


async def read(request: types.ReadResourceRequest) -> types.ServerResult:
    if str(request.params.uri) != TEMPLATE:
        return types.ServerResult(types.ReadResourceResult(contents=[], _meta={"error": "unknown"}))
    content = types.TextResourceContents(uri=TEMPLATE, mimeType=OLD, text=HTML, _meta=META)
    return types.ServerResult(types.ReadResourceResult(contents=[content]))


async def call(request: types.CallToolRequest) -> types.ServerResult:
    given = request.params.arguments or {}
    if "topping" not in given:
        text = types.TextContent(type="text", text=f"Unknown: {request.params.name} {sorted(given)}")
        return types.ServerResult(types.CallToolResult(content=[text], isError=True))
    text = types.TextContent(type="text", text="Rendered a map!")
    meta = {"openai/toolInvocation/invoked": "Found pizzas"}
    return types.ServerResult(types.CallToolResult(content=[text], structuredContent=given, _meta=meta))


mcp._mcp_server.request_handlers[types.CallToolRequest] = call
mcp._mcp_server.request_handlers[types.ReadResourceRequest] = read

app = mcp.streamable_http_app()

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=int(os.environ["PORT"]))
