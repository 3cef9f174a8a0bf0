"""Mcp-Param-* headers: arguments that a tool's schema asks to be repeated where intermediaries can see them.

2026-07-28, Custom Headers (SEP-2243): a property with `x-mcp-header`, reached through `properties` alone, of type
string, integer or boolean. Header and argument must agree: both there and equal after decoding, or both absent. A
schema whose declarations break the rules validates nothing, as conforming clients then send none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tenantry_gateway.request import Request
from tenantry_gateway.wire import Id, decode_header, mismatch

MARK: Final = "x-mcp-header"
PREFIX: Final = "mcp-param-"
TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
DECIMAL: Final = re.compile(r"-?[0-9]+(?:\.0+)?")
TYPES: Final = ("string", "integer", "boolean")

Declared = tuple[tuple[str, ...], str, str]  # the argument's path, the header's name, the type


def declared(schema: Mapping[str, Any]) -> list[Declared]:
    """The declarations of a schema; none when one of them is not allowed."""
    found: list[Declared] = []
    for path, node in _properties(schema):
        token, kind = node.get(MARK), node.get("type")
        if token is None:
            continue
        if not isinstance(token, str) or not TOKEN.fullmatch(token) or kind not in TYPES:
            return []
        found.append((path, PREFIX + token.lower(), str(kind)))
    names = {name for _, name, _ in found}
    return found if len(names) == len(found) else []


def _properties(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, node in properties.items() if isinstance(properties, dict) else ():
        if isinstance(node, dict):
            yield (*path, name), node
            yield from _properties(node, (*path, name))


def check_parameters(request: Request, wanted: Iterable[Declared], arguments: Mapping[str, Any], id: Id) -> None:
    """Hold a call's headers against its arguments; `wanted`: `declared` of its tool. Raises: Refusal (mismatch)."""
    for path, name, kind in wanted:
        if name in request.repeated:
            raise mismatch(f"The header {name} came more than once.", id)
        raw, value = request.headers.get(name), _at(arguments, path)
        shown = _render(value)
        if raw is None and shown is None:
            continue
        if raw is None or shown is None:
            which = "is missing beside" if raw is None else "came without"
            raise mismatch(f"The header {name} {which} the argument {'.'.join(path)}.", id)
        sent = decode_header(raw)
        if sent is None or not _equal(kind, shown, sent):
            raise mismatch(f"The header {name} must repeat the argument {'.'.join(path)}.", id)


def parameters(request: Request) -> dict[str, str]:
    """A request's Mcp-Param-* headers, as they came."""
    return {name: value for name, value in request.headers.items() if name.startswith(PREFIX)}


def _at(arguments: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments


def _render(value: Any) -> str | None:
    """An argument as a header has it, or None where it has no such form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, (str, int, float)) else None


def _equal(kind: str, shown: str, sent: str) -> bool:
    if kind == "integer" and DECIMAL.fullmatch(sent):
        return sent.partition(".")[0] == shown  # 42 and 42.0 are the same integer
    return sent == shown
