"""A plugin for the browser tests: a widget with assets, files that a tool makes, a file that the user gives."""

from __future__ import annotations

import base64
import uuid
from datetime import UTC, datetime

from pydantic import BaseModel
from tenantry import Context, File, Plugin, Result, ToolError, Widget

plugin = Plugin()
gallery = Widget("widgets/gallery/index.html", description="The picture itself.", border=True)
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


class Painted(BaseModel):
    colour: str


class Measured(BaseModel):
    name: str
    size: int


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Paint", widget=gallery)
def paint(ctx: Context, colour: str = "red") -> Result[Painted]:
    """Use this when the user wants a picture."""
    picture = ctx.files.save("picture.png", DOT, "image/png")
    notes = ctx.files.save("notes & more.txt", f"painted {colour}".encode(), "text/plain")
    meta = {"picture": {"download_url": picture.download_url}, "notes": {"download_url": notes.download_url}}
    return Result(Painted(colour=colour), content="Painted.", meta=meta)


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Measure", widget=gallery)
def measure(file: File) -> Result[Measured]:
    """Use this when the user gives a file and wants to know how long it is."""
    return Result(Measured(name=file.file_name or "?", size=len(file.read(max_bytes=1000))), content="Measured.")


class Note(BaseModel):
    name: str
    place: str


class Recalled(BaseModel):
    notes: list[Note]
    by: str
    locale: str
    at: datetime
    number: str


@plugin.tool(read_only=False, destructive=False, open_world=False)
def remember(ctx: Context, name: str, place: str) -> str:
    """Use this when the user wants somebody remembered."""
    ctx.shared[name] = place
    return f"Remembered {name}."


@plugin.tool(read_only=True, destructive=False, open_world=False)
def recall(ctx: Context, kind: str = "all") -> Recalled:
    """Use this when the user asks who is remembered."""
    if kind != "all":
        raise ToolError(f"There is no kind {kind}.")
    notes = [Note(name=name, place=place) for name, place in ctx.shared.items()]
    by, number = ctx.subject or "nobody", str(uuid.uuid4())
    return Recalled(notes=notes, by=by, locale=ctx.locale or "", at=datetime.now(UTC), number=number)


class Naming(BaseModel):
    name: str


@plugin.tool(read_only=True, destructive=False, open_world=False)
def name_it(ctx: Context) -> str:
    """Use this when something needs a name."""
    return f"It is {ctx.elicit('What is it called?', Naming).name}."


@plugin.tool(read_only=True, destructive=False, open_world=False)
def crash() -> str:
    """Use this to see a tool that fails."""
    raise RuntimeError("the roof is leaking")
