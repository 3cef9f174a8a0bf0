"""Completion: what may stand in a prompt's argument or a template's variable, as the user types.

Literals, enums and truth values complete by themselves; the rest by a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tenantry import signature
from tenantry.context import Context
from tenantry.loop import settle
from tenantry.schema import Json
from tenantry.signature import Signature

MOST = 100  # values in one answer (MCP, completion)


@dataclass(frozen=True, slots=True)
class Completion:
    """A checked function for one argument."""

    signature: Signature

    def complete(self, value: str, others: Mapping[str, str], context: Context) -> Json:
        given = {"value": value, "arguments": dict(others)}
        arguments: dict[str, Any] = {name: given[name] for name in self.signature.names}
        if self.signature.context:
            arguments[self.signature.context] = context
        return answer(settle(self.signature.function(**arguments)))


def define(function: Any) -> Completion:
    """Check a declaration. Raises: PluginError."""
    read = signature.read(function, kind="completion")
    if not {"value"} <= set(read.names) <= {"value", "arguments"}:
        raise read.fault(
            "a completion takes value: str, and if it likes arguments: dict[str, str] and ctx: Context.",
            "Rename its parameters.",
        )
    return Completion(read)


def choices(schema: Json) -> list[str]:
    """What a plain field can be, where that is a short list."""
    if schema.get("type") == "boolean":
        return ["true", "false"]
    return [str(value) for value in schema.get("enum", [])]


def beginning(values: Iterable[str], value: str) -> Json:
    """Those of `values` that begin with `value`, whatever their case."""
    return answer(choice for choice in values if choice.lower().startswith(value.lower()))


def answer(values: Iterable[str]) -> Json:
    """The CompleteResult."""
    found = [str(value) for value in values]
    return {"completion": {"values": found[:MOST], "total": len(found), "hasMore": len(found) > MOST}}
