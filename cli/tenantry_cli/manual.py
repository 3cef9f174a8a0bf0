"""Writes a plugin.toml from the annotated example: the manual, the schema and what `init` writes are one text.

What a plugin needs is filled in; everything else stays as a comment, with its explanation, ready to be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tenantry_registry import config

KEY = re.compile(r"(?P<key>\w+) = (?P<value>.*?)(?P<why>\s*#.*)?$")
EXPLAINED = re.compile(r"(?P<told>.*?)\s+(?P<why>#.*)$")
SECTION = re.compile(r"\[+(?P<name>\w+)\]+")
COLUMN = 39  # where the example's explanations begin

Values = Mapping[str, Any]


def write(values: Values) -> str:
    """plugin.toml with these values: strings, numbers, booleans and lists at the top; tables for [sections]; a list
    of tables for [[examples]]."""
    blocks = config.example().split("\n\n")
    written = [block(text, values) for text in blocks]
    return "\n\n".join(written).rstrip() + "\n"


def block(text: str, values: Values) -> str:
    """One paragraph of the example: the head, a section, or the top-level keys."""
    lines = text.splitlines()
    section = SECTION.match(lines[0])
    if not section:
        return "\n".join(line(each, values) for each in lines)
    given = values.get(section["name"])
    if given is None:
        return "\n".join(map(left_out, lines))
    if isinstance(given, Sequence):
        head, example = lines[0], lines[1:]
        plain = [re.sub(r"\s*#.*$", "", head), *(re.sub(r"\s*#.*$", "", each) for each in example)]
        first = "\n".join([head, *named(example, given[0])])
        return "\n\n".join([first, *("\n".join([plain[0], *named(plain[1:], each)]) for each in given[1:])])
    return "\n".join([lines[0], *named(lines[1:], given)])


def named(lines: Sequence[str], values: Values) -> list[str]:
    """The lines of a section: known keys with their explanation, others after them."""
    known = {match["key"] for each in lines if (match := KEY.match(each))}
    told = [line(each, values) for each in lines if (match := KEY.match(each)) is None or match["key"] in values]
    return told + [f"{key} = {toml(value)}" for key, value in values.items() if key not in known]


def line(text: str, values: Values) -> str:
    """One line: filled in, or left as a comment."""
    match = KEY.match(text)
    if match is None:
        return text
    if match["key"] not in values:
        return left_out(text)
    return aligned(f"{match['key']} = {toml(values[match['key']])}", (match["why"] or "").strip())


def left_out(text: str) -> str:
    """A line as a comment; its explanation stays in its column."""
    match = EXPLAINED.match(text)
    return aligned(f"# {match['told']}", match["why"]) if match else f"# {text}"


def aligned(told: str, why: str) -> str:
    return f"{told:<{COLUMN}}{why}" if why and len(told) < COLUMN - 1 else f"{told}  {why}".rstrip()


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {toml(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
