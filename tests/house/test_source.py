"""The house style, as far as a machine can see it."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import tenantry
from house.source import ROOMS, ROOT, modules, parsed, tracked

LINES = 400  # of a module; what is longer is two nouns
ROOT_FOLDERS = {"runtime", "infra", "tenants", "cli", "tests", "docs"}
GUARDED = re.compile(r"platform|macOS|hasattr|sys\.|os\.name|ImportError|O_")  # what another system has not
VAGUE = re.compile(r"(manager|helper|util|utils|helpers|misc|common)$", re.IGNORECASE)
# Where this checkout and its owner's files are, and where packages were fetched from: true on one machine only.
PLACES = (f"{ROOT}/", f"{Path.home()}/.", "py" + "pi.org/simple", "python" + "hosted.org", "registry.npm" + "js.org")
ELSEWHERE = re.compile("|".join(map(re.escape, PLACES)))
TEXT = {".py", ".md", ".toml", ".txt", ".in", ".json", ".js", ".ts", ".tsx", ".css", ".html", ".yml", ".yaml", ""}


def test_no_module_is_longer_than_one_noun_needs() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}" for path, _ in modules() if (count := path.read_text().count("\n")) > LINES
    ]
    assert not long


def test_every_module_says_what_it_is() -> None:
    silent = [str(path.relative_to(ROOT)) for path, tree in modules() if not ast.get_docstring(tree)]
    assert not silent


def test_everything_an_author_imports_is_explained() -> None:
    bare = [name for name in tenantry.__all__ if name[0].isupper() and not inspect.getdoc(getattr(tenantry, name))]
    assert not bare


def test_nothing_has_a_vague_name() -> None:
    vague = [str(path.relative_to(ROOT)) for path, _ in modules() if VAGUE.search(path.stem)]
    vague += [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ]
    assert not vague


def test_nothing_is_patched_in_tests() -> None:
    patched = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.module == "unittest.mock"
    ]
    assert not patched


def test_nothing_is_left_out_of_the_coverage() -> None:
    excused = [
        f"{path.relative_to(ROOT)}:{number}"
        for path, _ in modules()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "pragma: no cover" in line and not GUARDED.search(line)
    ]
    assert not excused


def test_no_file_names_this_machine_or_a_registry() -> None:
    told = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in tracked()
        if path.suffix in TEXT and path.name != "test_source.py"
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if ELSEWHERE.search(line)
    ]
    assert not told


def test_the_floor_plan_is_the_one_that_was_agreed() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in tracked() if len(path.relative_to(ROOT).parts) > 1}
    assert {name for name in folders if not name.startswith(".")} == ROOT_FOLDERS


@pytest.mark.parametrize(("room", "package"), [(r, p) for r, packages in ROOMS.items() for p in packages])
def test_a_package_is_typed_and_shipped(room: str, package: str) -> None:
    assert (ROOT / room / package / "py.typed").exists()
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert f"{room}/{package}" in built["packages"]


def test_the_changelog_begins_with_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    heads = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert heads[0].startswith(f"## {version}")
