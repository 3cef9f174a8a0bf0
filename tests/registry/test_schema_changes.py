from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import schemas
from tenantry_registry.schema_changes import closed, oversteps, refuses

A: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def with_(**changes: Any) -> dict[str, Any]:
    return {**A, **changes}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


WIDER = [
    (A, A),
    (A, with_(description="words")),
    (A, with_(required=[])),
    (A, with_(properties={**A["properties"], "b": {"type": "string"}})),
    (A, with_(properties={"a": {"type": ["integer", "null"]}})),
    (A, with_(properties={"a": {"type": "number"}})),
    (A, with_(properties={"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}})),
    (of(a={"enum": ["x"]}), of(a={"enum": ["x", "y"]})),
    (of(a={"const": "x"}), of(a={"type": "string"})),
    (of(a={"type": "string", "maxLength": 3}), of(a={"type": "string", "maxLength": 5})),
    (of(a={"type": "array", "items": {"type": "integer"}}), of(a={"type": "array"})),
    ({"$ref": "#/$defs/X", "$defs": {"X": A}}, A),
    (
        of(a={"$ref": "#/$defs/X"}) | {"$defs": {"X": A}},
        of(a={"$ref": "#/$defs/Y"}) | {"$defs": {"Y": with_(required=[])}},
    ),
]
NARROWER = [
    (A, with_(required=["a", "b"]), "b is new and required"),
    (with_(required=[]), A, "a is required"),
    (A, with_(properties={"a": {"type": "string"}}), "a may be integer, not only string"),
    (A, {"type": "object", "properties": {}, "additionalProperties": False}, "a is not allowed"),
    (of(a={"enum": ["x", "y"]}), of(a={"enum": ["x"]}), "a may be 'y'"),
    (of(a={"const": "x"}), of(a={"const": "y"}), "a may be 'x'"),
    (of(a={"enum": ["x"]}), of(a={"enum": ["x"], "minLength": 2}), "a has minLength 2"),
    (of(a={"type": "string"}), of(a={"enum": ["x"]}), "a is one of a list"),
    (of(a={"type": "integer"}), of(a={"type": "integer", "minimum": 1}), "a has minimum 1"),
    (of(a={"minimum": 1}), of(a={"minimum": 2}), "a has minimum 2 instead of 1"),
    (
        of(a={"type": "string", "maxLength": 5}),
        of(a={"type": "string", "maxLength": 3}),
        "a has maxLength 3 instead of 5",
    ),
    (of(a={"type": "string"}), of(a={"type": "string", "pattern": "^x"}), "a has the pattern ^x"),
    (of(a={"type": "array", "items": {}}), of(a={"type": "array", "items": A}), "a[] may be anything, not only object"),
    (of(o=of(x={})), of(o=of(x={}) | {"required": ["x"]}), "o.x is required"),
    (of(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}), of(a={"type": "integer"}), "a may be integer or null"),
    (of(a={"type": ["integer", "null"]}), of(a={"type": "integer"}), "a may be integer or null"),
    (of(a={"type": "string"}, b={}), of(a={"type": "integer"}), "a may be string, not only integer"),
    (of(a={"oneOf": [{"type": "integer"}, {}]}), of(a={"type": "integer"}), "a may be anything"),
    (of(a={"type": "string"}), of(a={"type": "string", "not": {"const": "x"}}), "it can't be shown to be compatible"),
    ({"type": "object"}, {"type": "string"}, "the value may be object, not only string"),
    (of(a={"$ref": "#/$defs/none"}), of(a={"type": "string"}), "may be"),
]


@pytest.mark.parametrize(("old", "new"), WIDER)
def test_an_input_schema_that_takes_more_refuses_nothing(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert refuses(old, new) == []


@pytest.mark.parametrize(("old", "new", "says"), NARROWER)
def test_an_input_schema_that_takes_less_says_what_it_refuses(
    old: dict[str, Any], new: dict[str, Any], says: str
) -> None:
    assert any(says in reason for reason in refuses(old, new)), refuses(old, new)


@pytest.mark.parametrize(("new", "old"), WIDER)
def test_an_output_schema_that_promises_more_oversteps_nothing(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert oversteps(old, new) == []


@pytest.mark.parametrize(("new", "old", "says"), NARROWER)
def test_an_output_schema_that_promises_less_says_what_may_come(
    old: dict[str, Any], new: dict[str, Any], says: str
) -> None:
    assert any(says in reason for reason in oversteps(old, new))


def test_deep_and_recursive_schemas_come_to_an_end() -> None:
    tree: dict[str, Any] = {
        "$defs": {"N": of(kids={"type": "array", "items": {"$ref": "#/$defs/N"}})},
        "$ref": "#/$defs/N",
    }
    assert refuses(tree, tree) == []
    assert refuses(tree, {**tree, "$defs": {"N": {**tree["$defs"]["N"], "required": ["kids"]}}}) != []
    deep: dict[str, Any] = {"type": "string"}
    deeper: dict[str, Any] = {"type": "string", "minLength": 1}
    for _ in range(12):
        deep, deeper = of(x=deep), of(x=deeper)
    assert refuses(deep, deeper) == ["it can't be shown to be compatible"]


def test_a_schema_that_can_not_be_read_is_not_compatible() -> None:
    assert refuses(A, {"type": "object", "properties": {"a": {"$ref": "https://x.example/a"}}}) != []


def test_only_what_stands_alone_is_closed() -> None:
    schema = {
        "allOf": [A],
        "properties": {"a": A, "b": {"items": A, "prefixItems": [A]}, "c": {**A, "additionalProperties": A}},
        "anyOf": [A, True],
    }
    shut = {**A, "additionalProperties": False}
    assert closed(schema) == {
        "allOf": [A],
        "properties": {
            "a": shut,
            "b": {"items": shut, "prefixItems": [shut]},
            "c": {**A, "additionalProperties": shut},
        },
        "anyOf": [shut, True],
    }


KINDS = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "string"},
        {"type": "string", "maxLength": 2},
        {"type": ["integer", "null"]},
        {"enum": ["a", 1]},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "integer", "minimum": 3},
        {},
    ]
)
OBJECTS = st.builds(
    lambda properties, required: of(**properties) | {"required": sorted(required & set(properties))},
    st.dictionaries(st.sampled_from("abc"), KINDS, max_size=3),
    st.sets(st.sampled_from("abc")),
)
VALUES = st.dictionaries(
    st.sampled_from("abc"), st.one_of(st.integers(0, 5), st.none(), st.text("ab", max_size=4), st.just([1])), max_size=3
)


@given(OBJECTS, OBJECTS, VALUES)
def test_what_is_called_compatible_takes_every_value_that_was_sent_before(
    old: dict[str, Any], new: dict[str, Any], value: dict[str, Any]
) -> None:
    if not refuses(old, new) and not schemas.mismatch(closed(old), value):
        assert schemas.mismatch(new, value) == ""
