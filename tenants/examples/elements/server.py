"""Chemical elements: a periodic table to look through, and the mass of any formula. Only reads."""

from __future__ import annotations

from typing import Annotated, Literal

from formula import NotAFormula, count
from periodic import BY_SYMBOL, ELEMENTS, Element
from pydantic import BaseModel, Field
from tenantry import Plugin, Result, ToolError, Widget

plugin = Plugin()

Family = Literal[
    "noble gas",
    "halogen",
    "alkali metal",
    "alkaline earth metal",
    "lanthanide",
    "actinide",
    "metalloid",
    "reactive nonmetal",
    "post-transition metal",
    "transition metal",
]

table = Widget(
    "widgets/table/index.html",
    description="The periodic table with the elements in question lit up. Do not list them all again in text.",
    border=True,
    display_modes=["inline", "fullscreen"],
)


class Found(BaseModel):
    number: int
    symbol: str
    name: str
    mass: float = Field(description="Standard atomic weight.")
    family: str


class Elements(BaseModel):
    elements: list[Found]


class Part(BaseModel):
    symbol: str
    atoms: int
    percent: float = Field(description="Of the mass.")


class Mass(BaseModel):
    formula: str
    grams_per_mole: float
    parts: list[Part]


CHART = [[e.number, e.symbol, e.name, e.mass, e.family, e.column, e.row] for e in ELEMENTS]


def wanted(element: Element, name: str, family: str | None, low: int, high: int) -> bool:
    named = name.lower() in (element.symbol.lower(), element.name.lower()) if name else True
    return named and family in (None, element.family) and low <= element.number <= high


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Find elements",
    widget=table,
    invoking="Reading the table…",
    invoked="Found",
)
def find_elements(
    name: Annotated[str, Field(max_length=20, description="A name or symbol; empty for all.")] = "",
    family: Family | None = None,
    lightest: Annotated[int, Field(ge=1, le=118, description="Smallest atomic number.")] = 1,
    heaviest: Annotated[int, Field(ge=1, le=118, description="Largest atomic number.")] = 118,
) -> Result[Elements]:
    """Use this when the user asks about an element, a family of elements, or a range of the periodic table."""
    found = [
        Found(number=e.number, symbol=e.symbol, name=e.name, mass=e.mass, family=e.family)
        for e in ELEMENTS
        if wanted(e, name, family, lightest, heaviest)
    ]
    if not found:
        raise ToolError("No element is like that.")
    words = ", ".join(f"{e.name} ({e.symbol}, {e.number})" for e in found[:12])
    return Result(
        Elements(elements=found),
        content=words if len(found) <= 12 else f"{words} and {len(found) - 12} more",
        meta={"chart": CHART},
    )


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Molar mass", widget=table)
def molar_mass(
    formula: Annotated[str, Field(max_length=120, examples=["C6H12O6", "Ca(OH)2", "CuSO4.5H2O"])],
) -> Result[Mass]:
    """Use this when the user wants the molar mass or the composition by mass of a chemical formula."""
    try:
        atoms = count(formula)
    except NotAFormula as error:
        raise ToolError(str(error)) from error
    grams = {symbol: BY_SYMBOL[symbol].mass * number for symbol, number in atoms.items()}
    total = sum(grams.values())
    parts = [
        Part(symbol=symbol, atoms=atoms[symbol], percent=round(100 * grams[symbol] / total, 2))
        for symbol in sorted(grams, key=lambda s: -grams[s])
    ]
    return Result(
        Mass(formula=formula, grams_per_mole=round(total, 3), parts=parts),
        content=f"One mole of {formula} weighs {total:.3f} g.",
        meta={"chart": CHART},
    )
