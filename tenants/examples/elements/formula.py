"""Reads a chemical formula: symbols, counts, and brackets that may nest. Ca(OH)2, K4[Fe(CN)6], CuSO4.5H2O"""

from __future__ import annotations

import re
from collections import Counter

from periodic import BY_SYMBOL

TOKEN = re.compile(r"([A-Z][a-z]?)|([(\[])|([)\]])|(\d+)|([.·])|(.)")
LONGEST = 120  # characters; longer is not a formula but a mistake


class NotAFormula(ValueError):
    """Says what can't be read, in words for the user."""


def count(formula: str) -> Counter[str]:
    """How many atoms of each element. Raises: NotAFormula."""
    text = formula.replace(" ", "")
    if not text or len(text) > LONGEST:
        raise NotAFormula("Give one formula, such as C6H12O6.")
    total: Counter[str] = Counter()
    for part in re.split(r"[.·]", text):
        times = re.match(r"\d*", part)
        ahead = times.group() if times else ""
        add(total, atoms(part[len(ahead) :]), int(ahead or 1))
    if not total.total():
        raise NotAFormula("There is no atom in it.")
    return +total


def atoms(text: str) -> Counter[str]:
    open_groups: list[Counter[str]] = [Counter()]
    latest: Counter[str] = Counter()
    for match in TOKEN.finditer(text):
        symbol, opening, closing, number, _, other = match.groups()
        if other:
            raise NotAFormula(f"{other!r} has no place in a formula.")
        if number:
            if not latest:
                raise NotAFormula(f"The number {number} follows nothing.")
            add(open_groups[-1], latest, int(number) - 1)
            latest = Counter()
        elif symbol:
            latest = Counter({symbol: 1})
            if symbol not in BY_SYMBOL:
                raise NotAFormula(f"There is no element {symbol}.")
            add(open_groups[-1], latest, 1)
        elif opening:
            open_groups.append(Counter())
            latest = Counter()
        elif closing:
            if len(open_groups) == 1:
                raise NotAFormula("A bracket closes that was never opened.")
            latest = open_groups.pop()
            add(open_groups[-1], latest, 1)
    if len(open_groups) > 1:
        raise NotAFormula("A bracket is never closed.")
    return open_groups[0]


def add(total: Counter[str], some: Counter[str], times: int) -> None:
    for symbol, number in some.items():
        total[symbol] += number * times
