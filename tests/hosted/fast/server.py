"""A fastmcp 4 server as an app below a path of its own."""

import os

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError

HINTS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
HTML = "<!doctype html><html><head><title>Words</title></head><body><p id=words></p></body></html>"

mcp = FastMCP("words", version="2.0", instructions="Counts words.")


@mcp.tool(annotations=HINTS, tags={"words"}, meta={"ui": {"resourceUri": "ui://words/view.html"}})
async def count(words: list[str], ctx: Context) -> dict[str, int]:
    """Use this to count words."""
    await ctx.report_progress(1, 2)
    return {"count": len(words)}


@mcp.tool(annotations=HINTS)
def refuse(why: str) -> str:
    """Use this to be refused."""
    raise ToolError(f"No: {why}")


@mcp.resource("ui://words/view.html", mime_type="text/html;profile=mcp-app", description="The words.")
def view() -> str:
    return HTML


@mcp.resource("words://{letter}")
def letter(letter: str) -> str:
    """The words of a letter."""
    return f"{letter}pple"


@mcp.prompt
def rhyme(word: str) -> str:
    """Finds a rhyme."""
    return f"What rhymes with {word}?"


app = mcp.http_app(path="/api/mcp", stateless_http=True)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=int(os.environ["PORT"]))
