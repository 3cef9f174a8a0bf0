"""docs/coverage.md: each row of the reference and the tests that prove it, gathered from the row markers.

    python tests/house/coverage.py        writes the page anew

A test proves a letter of a row by the room it stands in: the kit's tests prove A, the registry's and the publisher's C
and W, the gateway's and the stories' W, the host's H (in a browser).
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "coverage.md"
ROOMS = {
    "kit": "A",
    "cli": "AC",
    "registry": "CW",
    "publisher": "CW",
    "gateway": "W",
    "conformance": "W",
    "control": "W",
    "stories": "ACW",
    "host": "H",
}
LETTERS = "ACWH"


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its id, what it asks in our words, and the letters it owes."""

    id: str
    what: str
    owes: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that names a row."""

    row: str
    room: str
    test: str


def rows() -> list[Row]:
    raw = tomllib.loads((TESTS / "house" / "rows.toml").read_text("utf-8"))
    return [Row(id_, row["what"], row["owes"]) for id_, row in raw.items()]


def proofs() -> list[Proof]:
    """Every (row, test) in order of rooms and files. Markers are read from the source: nothing is run."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        room = path.relative_to(TESTS).parts[0]
        if room == "house" or "node_modules" in path.parts:
            continue
        tree = ast.parse(path.read_text("utf-8"), str(path))
        whole = {row for node in tree.body if isinstance(node, ast.Assign) for row in _marked([node.value])}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for row in sorted({*_marked(node.decorator_list), *whole}):
                    found.append(Proof(row, room, node.name))
    return found


def _marked(nodes: list[ast.expr]) -> Iterator[str]:
    """The row ids in `pytest.mark.row(...)` among decorators, also inside lists of marks."""
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "row":
                for argument in call.args:
                    if isinstance(argument, ast.Constant):
                        yield str(argument.value)


def unproven(letters: str = LETTERS) -> list[str]:
    """Rows that owe one of `letters` and have no test in a room that could prove it."""
    by_row: dict[str, str] = {}
    for proof in proofs():
        by_row[proof.row] = by_row.get(proof.row, "") + ROOMS.get(proof.room, "")
    return [
        f"{row.id} {letter}"
        for row in rows()
        for letter in letters
        if letter in row.owes and letter not in by_row.get(row.id, "")
    ]


def markdown() -> str:
    """The page."""
    gathered = proofs()
    lines = [
        "# What proves each row",
        "",
        "Made from the row markers of the tests; `python tests/house/coverage.py` writes it, and a test keeps it so.",
        "A: the kit takes it typed. C: check and publish validate it. W: it is on the wire. H: the local host does it.",
        "",
        "| row | what | owes | tests |",
        "|---|---|---|---|",
    ]
    for row in rows():
        tests = dict.fromkeys(
            f"{p.room}: {p.test.removeprefix('test_').replace('_', ' ')}" for p in gathered if p.row == row.id
        )
        lines.append(f"| {row.id} | {row.what} | {' '.join(row.owes)} | {'<br>'.join(tests) or '-'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(markdown(), "utf-8")
