"""Constellations: a star chart to look into, and which of them stand in your sky.

The model gets a few words about each star. The places to draw them at are for the widget alone: they travel in the
result's hidden meta.
"""

from __future__ import annotations

from typing import Annotated, Literal

from catalogue import BY_NAME, CONSTELLATIONS, Constellation, flat, place
from pydantic import BaseModel, Field
from tenantry import Plugin, Result, Widget

plugin = Plugin()

Name = Literal["Orion", "Ursa Major", "Cassiopeia", "Cygnus", "Lyra", "Leo", "Scorpius", "Crux"]
WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CLEAR_OF_ROOFS = 15  # degrees above the horizon from which a constellation is worth going out for

sky = Widget(
    "widgets/sky/index.html",
    description="An interactive star chart. The user sees the stars and their names: do not list them again.",
    border=True,
    display_modes=["inline", "fullscreen"],
)


class StarSeen(BaseModel):
    name: str
    magnitude: float = Field(description="Apparent magnitude: smaller is brighter.")


class Chart(BaseModel):
    name: str
    meaning: str
    story: str
    stars: list[StarSeen]


class Standing(BaseModel):
    name: str
    meaning: str
    altitude: int = Field(description="Degrees above the horizon.")
    direction: str


class Sky(BaseModel):
    latitude: float
    month: int
    hour: float
    constellations: list[Standing]


def drawing(constellation: Constellation) -> dict[str, object]:
    """What the widget draws."""
    places = flat(constellation)
    return {
        "name": constellation.name,
        "stars": [
            {"name": star.name, "x": x, "y": y, "magnitude": star.magnitude}
            for star, (x, y) in zip(constellation.stars, places, strict=True)
        ],
        "lines": constellation.lines,
    }


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Show a constellation",
    widget=sky,
    invoking="Pointing the telescope…",
    invoked="Stars found",
)
def show_constellation(name: Name) -> Result[Chart]:
    """Use this when the user wants to see or learn about one constellation."""
    found = BY_NAME[name]
    stars = [StarSeen(name=s.name, magnitude=s.magnitude) for s in sorted(found.stars, key=lambda s: s.magnitude)]
    return Result(
        Chart(name=found.name, meaning=found.meaning, story=found.story, stars=stars),
        content=f"{found.name}, {found.meaning}. {found.story} Its brightest star is {found.brightest.name}.",
        meta={"charts": [drawing(found)]},
    )


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="What is up tonight",
    widget=sky,
    invoking="Looking up…",
    invoked="This is your sky",
)
def whats_up(
    latitude: Annotated[float, Field(ge=-90, le=90, description="Degrees; south is negative.")],
    month: Annotated[int, Field(ge=1, le=12)],
    hour: Annotated[float, Field(ge=0, lt=24, description="Local solar time.")] = 21,
) -> Result[Sky]:
    """Use this when the user asks which constellations can be seen from a place at a time of the year."""
    standing = []
    for constellation in CONSTELLATIONS:
        altitude, azimuth = place(constellation, latitude, month, hour)
        if altitude >= CLEAR_OF_ROOFS:
            wind = WINDS[round(azimuth / 45) % 8]
            standing.append(
                Standing(
                    name=constellation.name, meaning=constellation.meaning, altitude=round(altitude), direction=wind
                )
            )
    standing.sort(key=lambda s: -s.altitude)
    words = ", ".join(f"{s.name} ({s.altitude}° {s.direction})" for s in standing) or "none of the eight I know"
    return Result(
        Sky(latitude=latitude, month=month, hour=hour, constellations=standing),
        content=f"Well placed: {words}.",
        meta={"charts": [drawing(BY_NAME[s.name]) for s in standing]},
    )
