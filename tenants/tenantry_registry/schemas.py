"""JSON Schema as the rules need it: is it valid, is it bounded, does it stay inside, and what lies at a `$ref`.

Validation is jsonschema-rs's (2020-12 unless the schema says otherwise). Nothing here ever fetches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

MAX_DEPTH = 64  # of nesting; more is made to hurt validators
MAX_NODES = 20_000
STANDARD = "json-schema.org/"  # the meta-schemas, which validators carry with them


def problem(schema: Any) -> str:
    """Why `schema` can't be used, in words; empty when it can."""
    if not isinstance(schema, Mapping):
        return "it is not an object"
    for count, (depth, node) in enumerate(nodes(schema)):
        if depth > MAX_DEPTH or count > MAX_NODES:
            return "it is nested too deeply or too large"
        for key in ("$ref", "$dynamicRef", "$schema"):
            reference = node.get(key) if isinstance(node, Mapping) else None
            if isinstance(reference, str) and "://" in reference and STANDARD not in reference:
                return f"{key} {reference[:80]!r} leads to the network"
    try:
        jsonschema_rs.meta.validate(dict(schema))
        _validator(schema)
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(part) for part in error.instance_path)
        return f"{where or 'root'}: {error.message}"[:300]
    return ""


def mismatch(schema: Mapping[str, Any], value: Any) -> str:
    """Why `value` doesn't fit `schema` (which is in order); empty when it does."""
    for error in _validator(schema).iter_errors(value):
        where = "/".join(str(part) for part in error.instance_path)
        return f"{where or 'the value'}: {error.message}"[:300]
    return ""


def _validator(schema: Mapping[str, Any]) -> Any:
    return jsonschema_rs.validator_for(dict(schema), offline=True)


def nodes(value: Any) -> Iterator[tuple[int, Any]]:
    """Every object and array inside `value`, with its depth; whoever asks stops when it has seen enough."""
    stack = [(0, value)]
    while stack:
        depth, node = stack.pop()
        yield depth, node
        inside = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
        stack += [(depth + 1, child) for child in inside if isinstance(child, Mapping | list)]


def resolve(schema: Mapping[str, Any], node: Any) -> Mapping[str, Any]:
    """`node` with its chain of local `$ref`s followed; empty where it leads nowhere."""
    for _ in range(MAX_DEPTH):
        if not isinstance(node, Mapping):
            return {}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        node = _pointed(schema, reference)
    return {}


def _pointed(schema: Mapping[str, Any], reference: str) -> Any:
    if reference == "#":
        return schema
    if not reference.startswith("#/"):
        return None
    node: Any = schema
    for part in reference[2:].split("/"):
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node
