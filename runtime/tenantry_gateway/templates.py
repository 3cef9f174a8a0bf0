"""Whether a URI is one that a URI template makes (RFC 6570, as far as MCP servers use it)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
URI_CHARACTERS: Final = 8_192  # of a URI that is matched at all


@lru_cache(maxsize=1024)
def pattern(template: str) -> re.Pattern[str]:
    """A template as a pattern: every variable takes what a value of its kind can be, and nothing backtracks far."""
    parts, last = [], 0
    for found in EXPRESSION.finditer(template):
        parts.append(re.escape(template[last : found.start()]))
        parts.append(_value(found[1], found[2]))
        last = found.end()
    parts.append(re.escape(template[last:]))
    return re.compile("".join(parts))


def _value(operator: str, variables: str) -> str:
    if operator in ("?", "&"):
        return r"(?:[?&][^#]*)?"
    if operator == "+" or "*" in variables:
        return r".+"
    if operator == "#":
        return r"(?:#.*)?"
    before = {".": r"\.", "/": "/", ";": ";"}.get(operator, "")
    return before + r"[^/?#]+"


def matches(template: str, uri: str) -> bool:
    return len(uri) <= URI_CHARACTERS and pattern(template).fullmatch(uri) is not None
