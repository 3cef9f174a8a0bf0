"""The line on which a key of a TOML file stands, for messages. tomllib validates; this only counts lines.

Works on text that tomllib has accepted: tables, arrays of tables, dotted and quoted keys, multi-line strings and
arrays. Keys of an inline table are found on the line of the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)")
_PART = re.compile(_NAME)
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)

Path = tuple[str | int, ...]


def lines(text: str) -> dict[Path, int]:
    """Each key path (names and, for arrays of tables, indexes) and its line, counted from 1."""
    found: dict[Path, int] = {(): 1}
    table: Path = ()
    counts: dict[Path, int] = {}
    depth = 0
    for number, line in enumerate(_blanked(text).split("\n"), 1):
        if depth == 0 and line.lstrip().startswith("["):
            array = line.lstrip().startswith("[[")
            table = tuple(_names(line.lstrip().lstrip("[")))
            table = _indexed(table, counts, grow=array)
            found.setdefault(table, number)
            continue
        if depth == 0 and (match := _KEY.match(line)) and line[match.end() :].lstrip().startswith("="):
            names = _names(match.group(1))
            for length in range(1, len(names) + 1):
                found.setdefault((*table, *names[:length]), number)
        depth += line.count("[") + line.count("{") - line.count("]") - line.count("}")
    return found


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of `path`, or of the nearest key around it that has one."""
    found = lines(text)
    for length in range(len(path), 0, -1):
        if (line := found.get(tuple(path[:length]))) is not None:
            return line
    return 1


def _blanked(text: str) -> str:
    """`text` with what stands inside value strings and comments blanked, line breaks kept; keys are kept."""

    def blank(match: re.Match[str]) -> str:
        whole = match.group()
        if whole[0] != "#" and re.match(r"\s*[=.\]]", text[match.end() : match.end() + 80]):
            return whole
        return re.sub(r"[^\n]", " ", whole)

    return _STRING.sub(blank, text)


def _names(text: str) -> list[str]:
    key = _KEY.match(text)
    return [part.strip("\"'") for part in _PART.findall(key.group(1))] if key else []


def _indexed(table: Path, counts: dict[Path, int], *, grow: bool) -> Path:
    """A header's path with the index of the current entry after every array of tables in it."""
    path: Path = ()
    for position, name in enumerate(table):
        path = (*path, name)
        if grow and position == len(table) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
