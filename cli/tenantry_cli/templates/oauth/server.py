"""my-plugin: notes that belong to the user who signed in at your authorization server ([auth] in plugin.toml).

The platform verifies the token before a tool runs: `ctx.user` holds its claims, `ctx.state` is this user's document.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import Context, NoAuth, OAuth2, Plugin, Profile, ToolError

plugin = Plugin()

READ, WRITE = OAuth2("notes.read"), OAuth2("notes.write")


class Notes(BaseModel):
    notes: dict[str, str]


@plugin.tool(read_only=True, destructive=False, open_world=False, title="About", auth=[NoAuth()])
def about() -> str:
    """Use this when the user asks what this plugin does."""
    return "I keep your notes. Sign in, and I show, add and delete them."


@plugin.profile
def whoami(ctx: Context) -> Profile:
    """Use this to see which account is signed in."""
    return Profile(id=ctx.user.sub, name=ctx.user.name)


@plugin.tool(read_only=True, destructive=False, open_world=False, title="My notes", auth=[READ])
def list_notes(ctx: Context) -> Notes:
    """Use this when the user wants to see their notes."""
    return Notes(notes=dict(ctx.state.get("notes", {})))


@plugin.tool(read_only=False, destructive=False, open_world=False, title="Write a note", auth=[WRITE])
def write_note(
    title: Annotated[str, Field(min_length=1, max_length=60)],
    text: Annotated[str, Field(max_length=2000)],
    ctx: Context,
) -> Notes:
    """Use this when the user wants to keep a note."""
    notes = {**ctx.state.get("notes", {}), title: text}
    ctx.state["notes"] = notes
    return Notes(notes=notes)


@plugin.tool(read_only=False, destructive=True, open_world=False, title="Delete a note", auth=[WRITE])
def delete_note(title: str, ctx: Context) -> Notes:
    """Use this when the user wants a note gone for good."""
    notes = dict(ctx.state.get("notes", {}))
    if title not in notes:
        raise ToolError("There is no such note.")
    del notes[title]
    ctx.state["notes"] = notes
    return Notes(notes=notes)
