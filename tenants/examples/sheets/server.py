"""Describes a CSV file: what each column holds, where it has gaps, how its values spread."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

import table
from pydantic import BaseModel, Field
from tenantry import Context, File, Plugin, Result, ToolError, Widget

plugin = Plugin()

LARGEST = 5_000_000  # bytes of a file
WIDEST = 60  # columns that a model can still talk about

view = Widget(
    "widgets/report/index.html",
    description="A card for each column with its spread drawn. Do not repeat the figures in text; say what stands out.",
    border=True,
    display_modes=["inline", "fullscreen"],
)


class Column(BaseModel):
    name: str
    kind: Literal["number", "text", "empty"]
    filled: int
    empty: int
    different: int | None = None
    least: float | None = None
    most: float | None = None
    mean: float | None = None
    median: float | None = None


class Description(BaseModel):
    name: str
    rows: int
    columns: list[Column]


class Described(NamedTuple):
    """A table described for the model, in words, as bars for the widget, and as a report to save."""

    description: Description
    words: str
    bars: list[list[dict[str, Any]]]
    report: bytes


def described(name: str, text: str) -> Described:
    try:
        head, rows = table.read(text)
    except ValueError as error:
        raise ToolError(str(error)) from error
    if len(head) > WIDEST:
        raise ToolError(f"The table has {len(head)} columns; {WIDEST} are the most I can describe.")
    cells = [[row[i] for row in rows] for i in range(len(head))]
    columns = [table.describe(title, column) for title, column in zip(head, cells, strict=True)]
    gaps = [c["name"] for c in columns if c["empty"]]
    words = f"{name}: {len(rows)} rows, {len(columns)} columns."
    words += f" Gaps in {', '.join(gaps)}." if gaps else " No gaps."
    description = Description(name=name, rows=len(rows), columns=[Column(**c) for c in columns])
    return Described(description, words, [table.bars(column) for column in cells], table.report(columns))


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Describe a CSV file",
    widget=view,
    invoking="Reading the table…",
    invoked="Read",
)
def describe_file(file: File, ctx: Context) -> Result[Description]:
    """Use this when the user gives a CSV file and wants to know what is in it."""
    text = file.read(max_bytes=LARGEST).decode("utf-8-sig", errors="replace")
    found = described(file.file_name or "The file", text)
    saved = ctx.files.save("columns.csv", found.report, "text/csv")
    report = {"download_url": saved.download_url, "file_id": saved.file_id}
    return Result(found.description, content=found.words, meta={"bars": found.bars, "report": report})


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Describe pasted CSV", widget=view)
def describe_text(text: Annotated[str, Field(min_length=3, max_length=200_000)]) -> Result[Description]:
    """Use this when the user pastes a table as text and wants to know what is in it."""
    found = described("The table", text)
    return Result(found.description, content=found.words, meta={"bars": found.bars})
