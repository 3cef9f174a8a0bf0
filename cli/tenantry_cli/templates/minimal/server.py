"""my-plugin: rolls dice."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import Plugin, Result

plugin = Plugin()


class Roll(BaseModel):
    dice: list[int]
    total: int


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Roll dice")
def roll_dice(
    count: Annotated[int, Field(ge=1, le=12, description="How many dice.")] = 2,
    sides: Annotated[int, Field(ge=2, le=100)] = 6,
) -> Result[Roll]:
    """Use this when the user wants dice rolled or a random number."""
    dice = [secrets.randbelow(sides) + 1 for _ in range(count)]
    return Result(Roll(dice=dice, total=sum(dice)), content=f"Rolled {dice}, {sum(dice)} in all.")
