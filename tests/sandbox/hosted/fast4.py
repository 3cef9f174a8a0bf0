"""A fastmcp 4 server, as a server and as an app of its own."""

import json

from fastmcp import Context, FastMCP

mcp = FastMCP("fast", instructions="Counts.")


@mcp.tool
async def count(words: list[str], ctx: Context) -> dict[str, int]:
    """Counts words."""
    await ctx.report_progress(1, 2)
    return {"count": len(words)}


@mcp.tool
async def name(ctx: Context) -> str:
    """Asks for a name."""
    answer = await ctx.elicit("Your name?", str)
    return json.dumps(answer.data)


@mcp.resource("ui://fast/view.html", mime_type="text/html;profile=mcp-app")
def view() -> str:
    return "<p>view</p>"


app = mcp.http_app(path="/api/mcp", stateless_http=True)
