"""Rows and tests hold each other: every row of attacks.toml has a test, and every test names a row."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ENOUGH = 60  # rows: what the issue of this suite asks for


def rows() -> dict[str, dict[str, str]]:
    return {row["id"]: row for row in tomllib.loads((HERE / "attacks.toml").read_text("utf-8"))["attack"]}


def named() -> Iterator[tuple[str, list[str]]]:
    """Every test of this folder with the rows in its marks; read from the source, nothing is run."""
    for path in sorted(HERE.glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name.startswith("test_"):
                marks = [
                    str(argument.value)
                    for mark in node.decorator_list
                    if isinstance(mark, ast.Call)
                    and isinstance(mark.func, ast.Attribute)
                    and mark.func.attr == "attack"
                    for argument in mark.args
                    if isinstance(argument, ast.Constant)
                ]
                yield f"{path.name}: {node.name}", marks


def test_every_test_names_a_row_that_exists() -> None:
    known = rows()
    assert [test for test, marks in named() if not marks] == []
    assert [(test, mark) for test, marks in named() for mark in marks if mark not in known] == []


def test_every_row_has_a_test() -> None:
    tried = {mark for _, marks in named() for mark in marks}
    assert sorted(rows().keys() - tried) == []


def test_rows_say_what_is_tried_and_what_must_hold() -> None:
    listed = tomllib.loads((HERE / "attacks.toml").read_text("utf-8"))["attack"]
    assert len(listed) == len(rows()) >= ENOUGH, "each id stands once"
    assert [row["id"] for row in listed if set(row) != {"id", "title", "holds"} or not all(row.values())] == []
