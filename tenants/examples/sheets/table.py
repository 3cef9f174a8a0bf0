"""Reads CSV text and describes its columns."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from typing import Any

BARS = 12  # of a column's histogram
COMMONEST = 5  # values of a text column


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """(head, rows), every row as long as the head. Raises: ValueError when there is no table in it."""
    try:
        dialect: Any = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    lines = [line for line in csv.reader(io.StringIO(text.lstrip("\ufeff")), dialect) if any(line)]
    if len(lines) < 2:
        raise ValueError("A table has a line of column names and at least one row.")
    head = [name.strip() or f"column {i}" for i, name in enumerate(lines[0], 1)]
    return head, [(line + [""] * len(head))[: len(head)] for line in lines[1:]]


def number(text: str) -> float | None:
    """1234.5, 1 234,5 and 12 % are numbers; the rest is text."""
    plain = text.replace("\u00a0", "").replace(" ", "").rstrip("%")
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def describe(name: str, cells: list[str]) -> dict[str, Any]:
    """What a column holds: its kind, its gaps, and its range or its commonest values."""
    given = [cell.strip() for cell in cells if cell.strip()]
    numbers = [value for value in map(number, given) if value is not None]
    column: dict[str, Any] = {"name": name, "filled": len(given), "empty": len(cells) - len(given)}
    if given and len(numbers) == len(given):
        column |= {
            "kind": "number",
            "least": min(numbers),
            "most": max(numbers),
            "mean": round(statistics.fmean(numbers), 4),
            "median": statistics.median(numbers),
        }
    else:
        column |= {"kind": "text" if given else "empty", "different": len(set(given))}
    return column


def bars(cells: list[str]) -> list[dict[str, Any]]:
    """What to draw of a column: a histogram of numbers, or its commonest values."""
    given = [cell.strip() for cell in cells if cell.strip()]
    numbers = [value for value in map(number, given) if value is not None]
    if given and len(numbers) == len(given):
        low, high = min(numbers), max(numbers)
        width = (high - low) / BARS or 1
        counts = [0] * BARS
        for value in numbers:
            counts[min(BARS - 1, int((value - low) / width))] += 1
        return [{"label": f"from {low + i * width:g}", "count": count} for i, count in enumerate(counts)]
    commonest = Counter(given).most_common(COMMONEST)
    return [{"label": value[:40], "count": count} for value, count in commonest]


def report(columns: list[dict[str, Any]]) -> bytes:
    """The description as a CSV file."""
    fields = ["name", "kind", "filled", "empty", "different", "least", "most", "mean", "median"]
    out = io.StringIO()
    writer = csv.DictWriter(out, fields)
    writer.writeheader()
    writer.writerows(columns)
    return out.getvalue().encode()
