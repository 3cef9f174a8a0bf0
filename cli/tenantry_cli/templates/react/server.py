"""my-plugin: packs for a trip, and shows the list in React."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field
from tenantry import Plugin, Result, Widget

plugin = Plugin()

packing = Widget(
    "widgets/app/index.html",  # built from ui/ by: npm run build
    description="The packing list, to tick off. Do not repeat the items in text.",
    border=True,
    display_modes=["inline", "fullscreen"],
)

Weather = Literal["sun", "rain", "snow"]

ALWAYS = {"clothes": ["underwear", "socks", "T-shirt"], "bathroom": ["toothbrush", "toothpaste"]}
BY_WEATHER: dict[Weather, dict[str, list[str]]] = {
    "sun": {"clothes": ["shorts", "hat"], "bathroom": ["sunscreen"]},
    "rain": {"clothes": ["rain jacket", "boots"], "extras": ["umbrella"]},
    "snow": {"clothes": ["warm coat", "gloves", "boots"], "bathroom": ["lip balm"]},
}
EACH_DAY = {"underwear", "socks", "T-shirt"}


class Item(BaseModel):
    name: str
    count: int


class Group(BaseModel):
    name: str
    items: list[Item]


class PackingList(BaseModel):
    place: str
    days: int
    groups: list[Group]


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Pack for a trip",
    widget=packing,
    invoking="Opening the wardrobe…",
    invoked="Packed",
)
def pack_for(
    place: Annotated[str, Field(min_length=1, max_length=60)],
    days: Annotated[int, Field(ge=1, le=60)],
    weather: Weather = "sun",
) -> Result[PackingList]:
    """Use this when the user wants to know what to pack for a trip."""
    names = {**{group: list(items) for group, items in ALWAYS.items()}}
    for group, items in BY_WEATHER[weather].items():
        names.setdefault(group, []).extend(items)
    groups = [
        Group(name=group, items=[Item(name=item, count=days if item in EACH_DAY else 1) for item in items])
        for group, items in names.items()
    ]
    count = sum(len(group.items) for group in groups)
    return Result(
        PackingList(place=place, days=days, groups=groups),
        content=f"{count} things to pack for {days} days in {place}.",
    )
