"""Describes a CSV file: what each column holds, where it has gaps, how its values spread."""

from __future__ import annotations

from typing import Annotated, Any, Literal

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


def described(name: str, text: str) -> tuple[Result[Description], list[dict[str, Any]]]:
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
    result = Result(
        Description(name=name, rows=len(rows), columns=[Column(**c) for c in columns]),
        content=words,
        meta={"bars": [table.bars(column) for column in cells]},
    )
    return result, columns


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
    result, columns = described(file.file_name or "The file", text)
    saved = ctx.files.save("columns.csv", table.report(columns), "text/csv")
    result.meta["report"] = saved.model_dump(mode="json", exclude_none=True)
    return result


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Describe pasted CSV", widget=view)
def describe_text(text: Annotated[str, Field(min_length=3, max_length=200_000)]) -> Result[Description]:
    """Use this when the user pastes a table as text and wants to know what is in it."""
    return described("The table", text)[0]
