"""Values against JSON Schema 2020-12: compiled once a release, never fetching anything, bounded in work.

The schemas are a tenant's and the gateway is shared, so a schema may not be a weapon: patterns have a backtracking
limit, network references are refused, and a schema whose references multiply (each definition naming the next one
twice) is weighed before a value is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tenantry_registry.errors import PlatformError

BACKTRACK: Final = 100_000  # steps a pattern may take on one string: milliseconds
PATTERN_BYTES: Final = 1_000_000  # of one compiled pattern
WEIGHT: Final = 100_000  # subschemas that one place of a value may be held against: milliseconds
PROBLEMS: Final = 5  # told at once: enough for a model to correct itself
PROBLEM_CHARACTERS: Final = 300

HERE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "$ref", "$dynamicRef")
BELOW: Final = (
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "contains",
    "unevaluatedItems",
)
NAMED: Final = ("dependentSchemas", "properties", "patternProperties")  # values are {name: schema}


class Checker:
    """One schema, ready. Raises: PlatformError `schema.unusable`, with the reason."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs  # at first use: a cold list needs no validator

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                dict(schema),
                offline=True,
                validate_formats=False,
                pattern_options=jsonschema_rs.FancyRegexOptions(
                    backtrack_limit=BACKTRACK, size_limit=PATTERN_BYTES, dfa_size_limit=PATTERN_BYTES
                ),
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise PlatformError(
                "schema.unusable", f"A schema can't be used: {_first_line(error)}", "Correct the schema."
            ) from error
        self._scale = Scale(schema)

    def problems(self, value: Any) -> list[str]:
        """What is wrong with `value`, a line each that names the place; empty when nothing is."""
        if self._scale.weigh(depth_of(value)) > WEIGHT:
            return ["the value is nested too deeply for this schema"]
        try:
            if self._validator.is_valid(value):
                return []
            found = []
            for error in self._validator.iter_errors(value):
                place = ".".join(str(part) for part in error.instance_path)
                found.append((f"{place}: " if place else "") + error.message[:PROBLEM_CHARACTERS])
                if len(found) == PROBLEMS:
                    break
        except ValueError as error:  # a lone surrogate, a number beyond the validator's reach
            return [_first_line(error)]
        return found


class Scale:
    """How many subschemas one place of a value is held against, at most, for a value of a given depth."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._edges: dict[int, tuple[list[int], list[list[int]]]] = {}  # in place; below, grouped by place
        self._anchors: dict[str, Any] = {}
        self._weights: dict[int, float] = {}
        self._collect(schema)

    def weigh(self, depth: int) -> float:
        if depth not in self._weights:
            self._weights[depth] = self._weigh(depth)
        return self._weights[depth]

    def _weigh(self, depth: int) -> float:
        """Level by level from the leaves up, so that nothing recurses with the value's depth."""
        below: dict[int, float] = dict.fromkeys(self._edges, 0.0)
        for _ in range(depth + 1):
            level: dict[int, float] = {}
            for node in self._edges:
                self._at(node, level, below)
            below = level
            if below[id(self._root)] > WEIGHT:
                break
        return below[id(self._root)]

    def _at(self, start: int, level: dict[int, float], below: dict[int, float]) -> None:
        """The weight of one schema at one level; a schema that refers to itself in place weighs too much."""
        stack = [start]
        open_nodes: set[int] = set()
        while stack:
            node = stack[-1]
            here, under = self._edges[node]
            waiting = [child for child in here if child not in level]
            if node in level:
                stack.pop()
            elif not waiting or node in open_nodes:
                level[node] = (
                    1.0
                    + sum(level.get(child, WEIGHT + 1.0) for child in here)
                    + sum(max(below[child] for child in group) for group in under)
                )
                stack.pop()
            else:
                open_nodes.add(node)
                stack.extend(waiting)

    def _collect(self, schema: Any) -> None:
        stack, found = [schema], []
        while stack:
            node = stack.pop()
            if not isinstance(node, dict) or id(node) in self._edges:
                continue
            self._edges[id(node)] = ([], [])
            found.append(node)
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(node.get(key), str):
                    self._anchors["#" + node[key]] = node
            for key, value in node.items():
                stack.extend(_subschemas(key, value))
        for node in found:
            here, under = self._edges[id(node)]
            for key, value in node.items():
                if key in ("$ref", "$dynamicRef"):
                    target = self._find(value)
                    here.extend([id(target)] if id(target) in self._edges else [])
                    continue
                children = [id(child) for child in _subschemas(key, value) if isinstance(child, dict)]
                if key in HERE:
                    here.extend(children)
                elif key in ("properties", "prefixItems"):  # one child a place
                    under.extend([children] if children else [])
                elif key in BELOW:
                    under.extend([child] for child in children)

    def _find(self, reference: Any) -> Any:
        if not isinstance(reference, str) or reference in self._anchors:
            return self._anchors.get(str(reference))
        node: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                node = node.get(part)
            elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            else:
                return None
        return node


def _subschemas(key: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return list(value) if key in HERE or key in BELOW else []
    if not isinstance(value, dict):
        return []
    if key in NAMED or key in ("$defs", "definitions"):
        return list(value.values())
    return [value] if key in HERE or key in BELOW else []


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:PROBLEM_CHARACTERS]


def depth_of(value: Any) -> int:
    """Levels of nesting; 0 for a scalar."""
    depth, level = 0, [value]
    while True:
        below: list[Any] = []
        for item in level:
            below.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        if not any(isinstance(item, (dict, list)) for item in level):
            return depth
        depth, level = depth + 1, below
