"""An `MCPServer` with the Apps extension, as its author runs it: stateful, from `__main__`."""

import os

from mcp.server.apps import Apps
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)
PAGE = "<!doctype html><html><head><title>Animals</title></head><body><ul id=list></ul></body></html>"


class Herd(BaseModel):
    kind: str
    count: int


apps = Apps()
apps.add_html_resource("ui://zoo/animals.html", PAGE, name="animals", title="Animals", description="The animals.")


@apps.tool(resource_uri="ui://zoo/animals.html", title="Animals", annotations=READS)
def animals(kind: str, count: int = 2) -> Herd:
    """Use this to see the animals of a kind."""
    return Herd(kind=kind, count=count)


mcp = MCPServer("zoo", title="The zoo", version="3.1", instructions="Ask about animals.", extensions=[apps])


@mcp.tool(annotations=READS)
async def feed(ctx: Context) -> str:
    """Use this to feed the animals; it tells how far it is."""
    await ctx.report_progress(1, 2, "half")
    return "fed"


@mcp.tool(annotations=WRITES)
def release(kind: str) -> str:
    """Use this to set animals free; it always fails."""
    raise ValueError(f"the {kind} stay")


@mcp.prompt(title="Greeting")
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name} in the voice of a parrot."


@mcp.resource("zoo://hours", title="Opening hours", mime_type="text/plain")
def hours() -> str:
    """When the zoo is open."""
    return "9 to 5"


@mcp.resource("zoo://animal/{kind}", mime_type="application/json")
def animal(kind: str) -> dict[str, str]:
    """One kind of animal."""
    return {"kind": kind}


if __name__ == "__main__":
    mcp.run("streamable-http", port=int(os.environ["PORT"]))
