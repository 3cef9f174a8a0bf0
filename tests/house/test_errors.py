"""docs/errors.md and the code hold each other: every code that is raised stands there, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from house.source import ROOT, modules

CODE = re.compile(r"[a-z]+(?:-[a-z]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*")
ROW = re.compile(r"\| (?P<code>\S+) \| (?P<means>.+) \| (?P<do>.+) \|")
ERRORS = {"PlatformError", "SandboxError", "LoadError", "super"}


def documented() -> list[re.Match[str]]:
    table = (ROOT / "docs" / "errors.md").read_text().partition("|---|---|---|\n")[2]
    rows = [ROW.fullmatch(line) for line in table.splitlines() if line.startswith("|")]
    assert all(rows), "a row of docs/errors.md is not | code | what it means | what to do |"
    return [row for row in rows if row]


def raised(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Codes that are the first argument of an error's constructor, or of any call that is raised."""
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
            function = function.value.func  # super().__init__(...)
        name = function.id if isinstance(function, ast.Name) else ""
        first = call.args[0]
        code = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        if (name in ERRORS or isinstance(node, ast.Raise)) and CODE.fullmatch(code):
            yield code, node.lineno


def test_every_code_that_is_raised_is_documented() -> None:
    known = {row["code"] for row in documented()}
    missing = {
        f"{code} ({path.relative_to(ROOT)}:{line})"
        for path, tree in modules()
        for code, line in raised(tree)
        if code not in known
    }
    assert not missing, f"add to docs/errors.md: {', '.join(sorted(missing))}"


def test_every_documented_code_stands_in_the_code() -> None:
    source = "\n".join(path.read_text() for path, _ in modules())
    gone = [row["code"] for row in documented() if f'"{row["code"]}"' not in source]
    assert not gone, f"nothing says {gone} any more"


def test_the_table_is_sorted_and_each_code_stands_once() -> None:
    codes = [row["code"] for row in documented()]
    assert codes == sorted(set(codes))


def test_the_pattern_of_a_code_fits_its_examples() -> None:
    tree = ast.parse(Path(ROOT / "tenants/tenantry_registry/names.py").read_text())
    assert "name.plugin" in {code for code, _ in raised(tree)}
