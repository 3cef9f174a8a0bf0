"""A plugin that uses every row of the reference."""

from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import CSP, AuthRequired, Context, File, NoAuth, OAuth2, Plugin, Profile, Result, Widget

plugin = Plugin()
cards = Widget(
    "widgets/cards/index.html",
    title="Cards",
    description="Cards of the rows. Do not repeat them.",
    csp=CSP(
        connect=["https://api.rows.example", "wss://live.rows.example"],
        resource=["https://cdn.rows.example"],
        frame={"https://map.rows.example": "The map of rows."},
        redirect=["https://rows.example"],
    ),
    border=True,
    display_modes=["inline", "fullscreen", "pip"],
    permissions=["clipboardWrite"],
)
bare = Widget(html="<!doctype html><title>bare</title><p>bare", name="bare")


class Row(BaseModel):
    id: str
    title: str | None = None


class Rows(BaseModel):
    rows: list[Row]


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    idempotent=True,
    title="All rows",
    widget=cards,
    invoking="Counting rows…",
    invoked="Counted",
    auth=[NoAuth(), OAuth2("rows.read")],
)
def all_rows(count: Annotated[int, Field(ge=1, le=20)] = 2) -> Result[Rows]:
    """Use this to see the rows."""
    rows = [Row(id=f"R{number:02}") for number in range(count)]
    return Result(Rows(rows=rows), content=f"{count} rows.", meta={"secret": "for the widget alone"})


@plugin.tool(read_only=False, destructive=True, open_world=True, visibility=["app"], auth=[OAuth2("rows.write")])
def delete_row(row_id: str) -> str:
    """Deletes a row for good."""
    raise AuthRequired(["rows.write"], description="Sign in to delete rows.")


@plugin.tool(read_only=True, destructive=False, open_world=True, visibility=["model"], widget=bare, auth=[NoAuth()])
def look_at(file: File, more: list[File] | None = None) -> Row:
    """Use this with a file."""
    return Row(id=file.file_id, title=f"{file.file_name} {file.mime_type}")


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[NoAuth()])
def who_asks(ctx: Context) -> str:
    """Use this to hear what the host said."""
    return f"{ctx.locale} {ctx.subject}"


@plugin.profile(scopes=["rows.read"])
def whoami(ctx: Context) -> Profile:
    """Says who is signed in."""
    return Profile(id=ctx.user.sub)
