"""Forms as servers write them, at a terminal: whatever a schema says, it can be filled in or left."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner
from tenantry_cli import answering

ESCAPE = "\x1b[2J\x1b]0;title\x07"
OPTIONAL = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "title": "Nights"}  # as pydantic writes it


def form(schema: dict[str, Any], typed: str) -> tuple[tuple[str, dict[str, Any]], str]:
    """What a form comes to when this is typed, and what was shown."""
    with CliRunner().isolation(typed) as (_, err, _):
        return answering.at_form(schema), err.getvalue().decode()


def typed(field: Any, text: str, *required: str) -> Any:
    (action, content), _ = form({"properties": {"a": field}, "required": [*required]}, f"{text}\n")
    assert action == "accept"
    return content["a"]


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": []}, {"required": None}])
def test_a_form_without_fields_is_accepted_or_not(schema: dict[str, Any]) -> None:
    assert form(schema, "y\n")[0] == ("accept", {})
    assert form(schema, "n\n")[0] == ("decline", {})
    assert form(schema, "")[0] == ("cancel", {})


@pytest.mark.parametrize(
    "field",
    [
        *(True, None, {}, {"type": "unheard-of"}, {"type": "object", "properties": {"b": {}}}, {"items": True}),
        *({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{}, {}]}),
        *({"title": 5, "description": [7]}, {"enum": None}, {"oneOf": [True, {"title": "x"}]}, {"oneOf": "a"}),
        *({"minimum": "1", "maximum": True}, {"anyOf": [True]}, {"type": 5}),
    ],
)
def test_a_field_that_the_protocol_does_not_have_takes_any_text(field: Any) -> None:
    assert typed(field, "x", "a") == "x"


def test_fields_have_the_type_that_they_ask_for() -> None:
    assert typed(OPTIONAL, "2") == 2
    assert form({"properties": {"a": OPTIONAL, "b": {}}}, "\nx\n")[0] == ("accept", {"b": "x"})
    assert typed({"type": "integer", "minimum": "1"}, "0") == 0
    assert typed({"enum": [1, 2]}, "2") == 2
    assert typed({"oneOf": [{"const": 1, "title": "One"}]}, "one") == 1
    assert typed({"type": "array", "items": {"enum": [1, 2]}}, "2,1") == [2, 1]
    for wrong in ("yes", [1], 0):
        assert typed({"type": "boolean", "default": wrong}, "", "b") is False


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_a_number_that_json_has_not_is_asked_for_again(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not a number"):
        answering.taken(text, {"type": "number"})


def test_a_form_gives_the_terminal_no_orders() -> None:
    field = {"title": f"T{ESCAPE}", "description": ESCAPE, "enum": [f"x{ESCAPE}", "y"], "default": ESCAPE}
    answer, told = form({"properties": {ESCAPE: {"type": "boolean"}, "b": field}, "required": ["b"]}, "y\nz\ny\n")
    assert answer == ("accept", {ESCAPE: True, "b": "y"})
    assert "\u241b[2J\u241b]0;title" in told
    assert not {"\x1b", "\x07"} & {*told}
