"""What `platform deploy` publishes to see that a deployment works: a call, a widget with an asset, a file, a trace."""

import tempfile
from pathlib import Path

from pydantic import BaseModel
from tenantry import CSP, Context, Plugin, Result, Widget

plugin = Plugin()
card = Widget("widgets/card/index.html", description="A card with a picture.", csp=CSP())
TRACE = Path(tempfile.gettempdir(), "tenantry-probe")  # on Lambda /tmp, which outlives a call
seen: list[str] = []


class Said(BaseModel):
    text: str


class Traces(BaseModel):
    before: list[str]


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Echo", widget=card)
def echo(text: str) -> Result[Said]:
    """Use this to hear a text again."""
    return Result(Said(text=text), content=text)


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Make a file")
def report(text: str, ctx: Context) -> str:
    """Use this to get a text as a file."""
    return ctx.files.save("probe.txt", text.encode(), "text/plain").download_url


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Leave a trace")
def trace(mark: str) -> Traces:
    """Use this to see what earlier calls in the same environment left behind."""
    before = [*seen, *(TRACE.read_text().split() if TRACE.exists() else [])]
    seen.append(mark)
    TRACE.write_text(mark)
    return Traces(before=before)
