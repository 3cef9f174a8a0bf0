from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry.schemas import mismatch, problem, resolve

ROOT: dict[str, Any] = {
    "$defs": {"a/b~c": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
    "allOf": [{"type": "integer"}],
}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("#", ROOT),
        ("#/$defs/a~1b~0c", {"type": "string"}),
        ("#/$defs/a~1b%7E0c", {"type": "string"}),
        ("#/allOf/0", {"type": "integer"}),
        ("#/allOf/7", {}),
        ("#/allOf/x", {}),
        ("#/none/none", {}),
        ("#/$defs/a~1b~0c/type/x", {}),
        ("#/$defs/loop", {}),
        ("other.json", {}),
    ],
)
def test_a_local_reference_is_followed_and_nothing_else(reference: str, expected: Any) -> None:
    assert resolve(ROOT, {"$ref": reference}) == expected


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "object"}, ""),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, ""),
        ([], "it is not an object"),
        ({"type": 7}, "type: "),
        ({"pattern": "("}, "pattern: "),
        ({"$ref": "#/none"}, "does not exist"),
        ({"$ref": "y.json"}, "y.json"),
        ({"$id": "https://x.example/", "$ref": "y.json"}, "https://x.example/y.json"),
        ({"$dynamicRef": "https://x.example/y"}, "leads to the network"),
    ],
)
def test_what_is_wrong_with_a_schema_is_said_in_words(schema: Any, says: str) -> None:
    assert says in problem(schema)
    assert bool(problem(schema)) == bool(says)


def test_what_does_not_fit_is_said_with_its_place() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert mismatch(schema, {"a": 1}) == ""
    assert mismatch(schema, {"a": "x"}).startswith("a: ")
    assert mismatch(schema, []).startswith("the value: ")
