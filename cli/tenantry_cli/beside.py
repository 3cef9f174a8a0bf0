"""The modules that stand beside a server and that it imports, as far as its source tells: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

GENERATED = {"__pycache__", "node_modules"}


def imported(server: Path) -> list[Path]:
    """The files beside `server` that it needs: the modules that it imports, whole packages with the data in them, and
    what those import in turn. Sorted; without `server` itself."""
    found: set[Path] = set()
    waiting = [server]
    while waiting:
        source = waiting.pop()
        for name in absolute(source, beside=source.parent == server.parent):
            new = set(files_of(server.parent, name)) - found - {server}
            found |= new
            waiting += [file for file in new if file.suffix == ".py"]
    return sorted(found)


def files_of(folder: Path, name: str) -> Iterator[Path]:
    """The files of the module or package `name` in `folder`; none where it is neither."""
    package = folder / name
    if any(package.glob("*.py")):
        for file in package.rglob("*"):
            inside = file.relative_to(folder).parts
            if file.is_file() and not any(part in GENERATED or part.startswith(".") for part in inside):
                yield file
    elif (folder / f"{name}.py").is_file():
        yield folder / f"{name}.py"


def absolute(source: Path, *, beside: bool) -> set[str]:
    """The top names that a file imports, its relative imports too where it stands `beside` the server."""
    try:
        tree = ast.parse(source.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return set()
    inner = [node for node in ast.walk(tree) if beside or not getattr(node, "level", 0)]
    return {name.partition(".")[0] for node in inner for name in imports(node)}


def imports(node: ast.AST) -> list[str]:
    """The modules that a statement imports; `from . import x` is the module x beside it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module else [alias.name for alias in node.names]
    return []
