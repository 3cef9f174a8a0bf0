"""A shopping list that a household shares.

It lives in `ctx.shared`, the plugin's one document: what a worker holds in memory ends with the worker, what stands
in the document is there after a crash, a restart and a new release. Two people who add at once both get their item:
the platform runs the later call again on the newer document.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import Context, Plugin, Result, ToolError, Widget

plugin = Plugin()

MOST = 200  # items; a longer list is not a shopping list

view = Widget(
    "widgets/list/index.html",
    description="The shopping list, to tick off and edit. Do not list the items again in text.",
    border=True,
)


class Item(BaseModel):
    id: str
    name: str
    amount: str = ""
    ticked: bool = False


class ShoppingList(BaseModel):
    items: list[Item]


Name = Annotated[str, Field(min_length=1, max_length=60)]
Id = Annotated[str, Field(max_length=20, description="The item's id, from show_list.")]


def read(ctx: Context) -> list[Item]:
    return [Item.model_validate(item) for item in ctx.shared.get("items", [])]


def write(ctx: Context, items: list[Item]) -> Result[ShoppingList]:
    ctx.shared["items"] = [item.model_dump() for item in items]
    return listed(items)


def listed(items: list[Item]) -> Result[ShoppingList]:
    open_items = [f"{item.amount} {item.name}".strip() for item in items if not item.ticked]
    words = f"To buy: {', '.join(open_items)}." if open_items else "Nothing left to buy."
    return Result(ShoppingList(items=items), content=words)


def find(items: list[Item], id: str) -> Item:
    for item in items:
        if item.id == id:
            return item
    raise ToolError("There is no such item on the list.")


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Show the list", widget=view)
def show_list(ctx: Context) -> Result[ShoppingList]:
    """Use this when the user wants to see the shopping list."""
    return listed(read(ctx))


@plugin.tool(
    read_only=False,
    destructive=False,
    open_world=False,
    title="Add an item",
    widget=view,
    invoking="Writing it down…",
    invoked="Added",
)
def add_item(
    name: Name,
    ctx: Context,
    amount: Annotated[str, Field(max_length=30, examples=["2 litres", "6"])] = "",
) -> Result[ShoppingList]:
    """Use this when the user wants something on the shopping list."""
    items = read(ctx)
    if len(items) >= MOST:
        raise ToolError(f"The list holds {MOST} items at most; remove some first.")
    for item in items:
        if item.name.casefold() == name.strip().casefold() and not item.ticked:
            item.amount = amount or item.amount
            return write(ctx, items)
    number = int(ctx.shared.get("last", 0)) + 1
    ctx.shared["last"] = number
    return write(ctx, [*items, Item(id=str(number), name=name.strip(), amount=amount)])


@plugin.tool(
    read_only=False, destructive=False, open_world=False, idempotent=True, title="Tick an item off", widget=view
)
def tick_item(id: Id, ctx: Context, ticked: bool = True) -> Result[ShoppingList]:
    """Use this when the user has bought something on the list, or has not after all."""
    items = read(ctx)
    find(items, id).ticked = ticked
    return write(ctx, items)


@plugin.tool(read_only=False, destructive=True, open_world=False, title="Remove an item", widget=view)
def remove_item(id: Id, ctx: Context) -> Result[ShoppingList]:
    """Use this when the user wants something off the list for good."""
    items = read(ctx)
    gone = find(items, id)
    return write(ctx, [item for item in items if item is not gone])
