"""Whether one JSON Schema still takes what another one lets through, in both directions that a contract has.

A host keeps the schemas that it scanned. It sends arguments by the old input schema, so the new one must take all of
those; it checks results by the old output schema, so the new one must not let through more. Containment is decided by
jsonschema-rs's canonical forms; "unknown" counts as no. What a sender doesn't name it doesn't send, so the sender's
objects are taken as closed: an optional property more is no break.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from tenantry_registry.schemas import resolve

MAX_REASONS = 5
DEPTH = 8  # of properties that are compared by name, for the words
# keyword -> True when a larger number is stricter
LIMITS = {
    "minimum": True,
    "exclusiveMinimum": True,
    "minLength": True,
    "minItems": True,
    "minProperties": True,
    "maximum": False,
    "exclusiveMaximum": False,
    "maxLength": False,
    "maxItems": False,
    "maxProperties": False,
}
_INSIDE = ("properties", "$defs", "definitions", "patternProperties")
_SHAPED_ELSEWHERE = ("allOf", "$ref", "$dynamicRef", "if", "not", "unevaluatedProperties", "additionalProperties")


def refuses(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Why a server with the input schema `new` refuses arguments made by `old`; empty when it takes all of them."""
    return _reasons(receiver=new, sender=old)


def oversteps(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Why results by the output schema `new` fail a check by `old`; empty when all of them pass."""
    return _reasons(receiver=old, sender=new)


def _reasons(*, receiver: Mapping[str, Any], sender: Mapping[str, Any]) -> list[str]:
    if receiver == sender:
        return []
    answer = _covers(receiver, closed(sender))
    if answer == jsonschema_rs.canonical.Containment.YES:
        return []
    reasons = list(dict.fromkeys(_differences(receiver, sender, receiver, sender, "", 0)))[:MAX_REASONS]
    return reasons or ["it can't be shown to be compatible"]


def _covers(receiver: Mapping[str, Any], sender: Mapping[str, Any]) -> Any:
    try:
        wide = jsonschema_rs.canonicalize(dict(receiver), offline=True)
        return wide.covers(jsonschema_rs.canonicalize(dict(sender), offline=True))
    except (ValueError, jsonschema_rs.canonical.CanonicalizationError):
        return jsonschema_rs.canonical.Containment.UNKNOWN


def closed(schema: Any) -> Any:
    """`schema` with every object that lists its properties taken at its word. Where other keywords share in the shape
    (allOf, $ref beside properties) nothing is closed, because that could empty the schema."""
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = dict(schema)
    for key in _INSIDE:
        if isinstance(result.get(key), Mapping):
            result[key] = {name: closed(child) for name, child in result[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), Mapping):
            result[key] = closed(result[key])
    for key in ("anyOf", "oneOf", "prefixItems"):
        if isinstance(result.get(key), list):
            result[key] = [closed(child) for child in result[key]]
    if "properties" in result and not any(key in result for key in _SHAPED_ELSEWHERE):
        result["additionalProperties"] = False
    return result


def _differences(
    receiver: Any, sender: Any, receiver_root: Mapping[str, Any], sender_root: Mapping[str, Any], path: str, depth: int
) -> Iterator[str]:
    """In words, where `receiver` is stricter than `sender`. Not complete: the decision is `_covers`'s."""
    receiver, sender = resolve(receiver_root, receiver), resolve(sender_root, sender)
    where = path or "the value"
    if depth > DEPTH or receiver == sender:
        return
    types, sent_types = _types(receiver), _types(sender)
    taken = types | ({"integer"} if "number" in types else set())
    if types and (not sent_types or not sent_types <= taken):
        yield f"{where} may be {_either(sent_types)}, not only {_either(types)}"
        return
    yield from _values(receiver, sender, where)
    properties, sent = receiver.get("properties") or {}, sender.get("properties") or {}
    for name in receiver.get("required") or ():
        if name not in (sender.get("required") or ()):
            yield f"{_join(path, name)} is required" if name in sent else f"{_join(path, name)} is new and required"
    for name, child in sent.items():
        if name in properties:
            yield from _differences(properties[name], child, receiver_root, sender_root, _join(path, name), depth + 1)
        elif receiver.get("additionalProperties") is False:
            yield f"{_join(path, name)} is not allowed"
    if "items" in receiver and "items" in sender:
        yield from _differences(receiver["items"], sender["items"], receiver_root, sender_root, f"{path}[]", depth + 1)


def _values(receiver: Mapping[str, Any], sender: Mapping[str, Any], where: str) -> Iterator[str]:
    allowed = receiver.get("enum", [receiver["const"]] if "const" in receiver else None)
    sent = sender.get("enum", [sender["const"]] if "const" in sender else None)
    if allowed is not None:
        lost = [value for value in sent if value not in allowed] if sent is not None else None
        if lost:
            yield f"{where} may be {lost[0]!r}"
        elif lost is None:
            yield f"{where} is one of a list"
    for key, larger_is_stricter in LIMITS.items():
        limit, before = receiver.get(key), sender.get(key)
        if isinstance(limit, int | float) and (
            not isinstance(before, int | float) or (limit > before if larger_is_stricter else limit < before)
        ):
            yield f"{where} has {key} {limit}" + ("" if before is None else f" instead of {before}")
    if "pattern" in receiver and receiver["pattern"] != sender.get("pattern"):
        yield f"{where} has the pattern {receiver['pattern']}"


def _types(schema: Mapping[str, Any]) -> set[str]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return {str(item) for item in kind}
    if isinstance(kind, str):
        return {kind}
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    found: set[str] = set()
    for branch in branches:
        inside = _types(branch) if isinstance(branch, Mapping) else set()
        if not inside:
            return set()
        found |= inside
    return found


def _either(types: set[str]) -> str:
    return " or ".join(sorted(types)) or "anything"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
