"""An `MCPServer` whose tools ask their client in the middle of a call."""

import os

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

HINTS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

mcp = MCPServer("hotel", instructions="Books rooms.")


class Guest(BaseModel):
    name: str = Field(description="Who comes")
    nights: int = 1


class Sure(BaseModel):
    sure: bool


@mcp.tool(annotations=HINTS)
async def book(room: str, ctx: Context) -> str:
    """Use this to book a room; it asks who comes and whether that is right."""
    await ctx.report_progress(1, 3, "asking")
    guest = await ctx.elicit(f"Who takes room {room}?", Guest)
    if guest.action != "accept":
        return f"Not booked: {guest.action}."
    await ctx.report_progress(2, 3, "asking again")
    sure = await ctx.elicit(f"{guest.data.nights} nights for {guest.data.name}?", Sure)
    await ctx.report_progress(3, 3, "done")
    return f"{room} for {guest.data.name}, {guest.data.nights} nights: {sure.action}"


@mcp.tool(annotations=HINTS)
async def greet(ctx: Context) -> str:
    """Use this to greet with the model's words, in the folder that is open."""
    roots = await ctx.session.list_roots()
    text = TextContent(type="text", text=f"Greet {roots.roots[0].name}.")
    made = await ctx.session.create_message([SamplingMessage(role="user", content=text)], max_tokens=20)
    return f"{made.model}: {made.content.text}"


@mcp.tool(annotations=HINTS)
async def decide(ctx: Context) -> str:
    """Use this to be asked, or not where that can't be."""
    try:
        sure = await ctx.elicit("Sure?", Sure)
    except MCPError:
        return "decided alone"
    return f"decided by {sure.action}"


if __name__ == "__main__":
    mcp.run("streamable-http", port=int(os.environ["PORT"]))
