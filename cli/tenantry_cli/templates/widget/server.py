"""my-plugin: rolls dice, and shows them."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import Plugin, Result, Widget

plugin = Plugin()

dice_view = Widget(
    "widgets/dice/index.html",
    description="The dice as they fell, with a button to roll again. Do not repeat the numbers in text.",
    border=True,
)


class Roll(BaseModel):
    dice: list[int]
    sides: int
    total: int


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Roll dice",
    widget=dice_view,
    invoking="Rolling…",
    invoked="Rolled",
)
def roll_dice(
    count: Annotated[int, Field(ge=1, le=12, description="How many dice.")] = 2,
    sides: Annotated[int, Field(ge=2, le=100)] = 6,
) -> Result[Roll]:
    """Use this when the user wants dice rolled or a random number."""
    dice = [secrets.randbelow(sides) + 1 for _ in range(count)]
    return Result(
        Roll(dice=dice, sides=sides, total=sum(dice)),  # for the model and the widget
        content=f"Rolled {dice}, {sum(dice)} in all.",  # for the model
        meta={"best": count * sides},  # for the widget alone
    )
