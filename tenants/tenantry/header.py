"""`Annotated[str, Header("Region")]`: an argument that clients also send as `Mcp-Param-Region` (2026-07-28)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenantry.errors import PluginError

KEY = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
TYPES = {"string", "integer", "boolean"}  # a float has no one spelling


@dataclass(frozen=True, slots=True)
class Header:
    """Mark a parameter of text, whole numbers or truth so that routers on the way can read it.

    Raises: PluginError for a name that no HTTP header has.
    """

    name: str

    def __post_init__(self) -> None:
        if not TOKEN.fullmatch(self.name):
            raise PluginError(f"{self.name!r} can't be part of a header's name.", "Use letters, digits and hyphens.")

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), KEY: self.name}


def fault(schema: Mapping[str, Any]) -> str:
    """What is wrong with the headers of an input schema, or ""."""
    if KEY in str(schema.get("$defs", "")):
        return "only a parameter itself can be a header"
    seen: set[str] = set()
    for name, given in schema["properties"].items():
        header = given.get(KEY)
        if header is None:
            if KEY in str(given):
                return f"{name}: a header is str, int or bool, and not optional"
            continue
        if given.get("type") not in TYPES:
            return f"{name}: a header is str, int or bool, and not optional"
        if header.lower() in seen:
            return f"{name}: the header {header!r} is taken"
        seen.add(header.lower())
    return ""
