"""URI templates (RFC 6570): `{name}` is one path segment, `{+path}` may hold slashes, `{?a,b}` is a query, at the end.

Matching is strict about what a value may smuggle in: percent-decoded or not, a segment holds no slash, backslash or
NUL and no part of a path is "..".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

EXPRESSION = re.compile(r"\{([^{}]*)\}")
INSIDE = re.compile(r"(?P<operator>[+?]?)(?P<names>[A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)")
_VALUE = {"": "([^/?#]+)", "+": "([^?#]+)"}


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """`names` in order of appearance; those in `query` may be absent. Raises: ValueError for other expressions."""

    text: str
    names: tuple[str, ...]
    query: tuple[str, ...]
    _path: re.Pattern[str]
    _single: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> UriTemplate:
        names: list[str] = []
        single: set[str] = set()
        query: tuple[str, ...] = ()
        pattern = ""
        end = 0
        for found in EXPRESSION.finditer(text):
            pattern += re.escape(text[end : found.start()])
            end = found.end()
            inside = INSIDE.fullmatch(found[1])
            if inside is None or (inside["operator"] != "?" and "," in inside["names"]) or query:
                raise ValueError(f"{found[0]} in {text!r} is not {{name}}, {{+path}} or, at the end, {{?a,b}}.")
            if inside["operator"] == "?":
                query = tuple(inside["names"].split(","))
                continue
            names.append(inside["names"])
            if not inside["operator"]:
                single.add(inside["names"])
            pattern += _VALUE[inside["operator"]]
        rest = text[end:]
        if "{" in rest or "}" in rest or (query and rest) or len({*names, *query}) != len(names) + len(query):
            raise ValueError(f"{text!r} is not a URI template.")
        path = re.compile(pattern + re.escape(rest))
        return cls(text, (*names, *query), query, path, frozenset(single))

    def match(self, uri: str) -> dict[str, str] | None:
        """The values, percent-decoded, or None when `uri` is not of this form."""
        before, mark, after = uri.partition("?") if self.query else (uri, "", "")
        found = self._path.fullmatch(before)
        if found is None:
            return None
        values = {name: unquote(value) for name, value in zip(self.names, found.groups(), strict=False)}
        for name, value in values.items():
            parts = re.split(r"[/\\]", value)
            if "\x00" in value or ".." in parts or (name in self._single and (len(parts) > 1 or value == ".")):
                return None
        if mark:
            given = dict(parse_qsl(after, keep_blank_values=True))
            values.update({name: given[name] for name in self.query if name in given})
        return values
