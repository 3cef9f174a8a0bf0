"""Property: any signature that can be declared has a legal schema, and what fits it can be called."""

from __future__ import annotations

import datetime
import enum
import inspect
import uuid
from dataclasses import make_dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model
from tenantry import File, Plugin
from tenantry.testing import Client
from typing_extensions import TypedDict

READS = {"read_only": True, "destructive": False, "open_world": False}


class Colour(enum.Enum):
    red = "red"
    green = "green"


class Node(BaseModel):
    value: int
    next: Node | None = None


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


Point = make_dataclass("Point", [("x", int), ("y", int, 0)])

LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers(-1000, 1000)),
    (float, st.floats(-1000, 1000)),
    (bool, st.booleans()),
    (str, st.text(max_size=5)),
    (Annotated[int, Field(ge=1, le=9, description="few")], st.integers(1, 9)),
    (Annotated[str, Field(min_length=1, max_length=3)], st.text("abc", min_size=1, max_size=3)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (Literal["only"], st.just("only")),
    (Colour, st.sampled_from(["red", "green"])),
    (datetime.date, st.dates().map(str)),
    (uuid.UUID, st.uuids().map(str)),
    (Decimal, st.integers(0, 9)),
    (Node, st.fixed_dictionaries({"value": st.integers(0, 9)}, optional={"next": st.just({"value": 1})})),
    (Movie, st.fixed_dictionaries({"title": st.text(max_size=3)}, optional={"year": st.integers(1900, 2000)})),
    (Point, st.fixed_dictionaries({"x": st.integers(0, 9)})),
]
Typed = tuple[Any, st.SearchStrategy[Any]]


def wider(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return st.one_of(
        inner.map(lambda t: (list[t[0]], st.lists(t[1], max_size=2))),  # type: ignore[name-defined]
        inner.map(lambda t: (dict[str, t[0]], st.dictionaries(st.text(max_size=2), t[1], max_size=2))),  # type: ignore[name-defined]
        inner.map(lambda t: (Optional[t[0]], st.none() | t[1])),  # noqa: UP045
        inner.map(lambda t: (create_model("Holder", it=(t[0], ...)), st.fixed_dictionaries({"it": t[1]}))),
    )


TYPES = st.recursive(st.sampled_from(LEAVES), wider, max_leaves=4)
FILE = {"download_url": "https://f.example/1", "file_id": "f"}
FILES: st.SearchStrategy[Typed] = st.sampled_from(
    [
        (File, st.just(FILE)),
        (Annotated[File | None, Field(description="one")], st.just({**FILE, "mime_type": "text/csv"})),
        (list[File], st.just([FILE])),
        (list[File] | None, st.just([FILE, FILE])),
    ]
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: not _is_keyword(name))


def _is_keyword(name: str) -> bool:
    import keyword

    return keyword.iskeyword(name)


@st.composite
def declarations(draw: st.DrawFn) -> tuple[Plugin, dict[str, Any], Any]:
    """A plugin with one tool of any signature, arguments for it, and its returned value."""
    parameters, arguments, hints = [], {}, {}
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        kind, values = draw(st.one_of(TYPES, FILES))
        default = None if draw(st.booleans()) else inspect.Parameter.empty
        if default is None:
            kind = Optional[kind]  # noqa: UP045
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
        hints[name] = kind
        if default is inspect.Parameter.empty or draw(st.booleans()):
            arguments[name] = draw(values)
    returns, values = draw(TYPES)
    value = draw(values)

    def tool(**given: Any) -> Any:
        """Any."""
        assert set(given) == set(hints)
        return value

    tool.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    tool.__annotations__ = {**hints, "return": returns}
    plugin = Plugin()
    plugin.tool(**READS)(tool)
    return plugin, arguments, value


@pytest.mark.row("T01", "F01", "F02")
@given(declarations())
def test_any_signature_has_legal_schemas_that_fit_what_it_takes_and_gives(declared):
    plugin, arguments, _ = declared
    tool = Client(plugin).describe()["tools"][0]
    given_schema, output = tool["inputSchema"], tool.get("outputSchema")
    jsonschema_rs.meta.validate(given_schema)
    assert given_schema["type"] == "object"
    assert given_schema["additionalProperties"] is False
    for name in tool.get("fileParams", ()):
        schema = given_schema["properties"][name]
        schema = schema.get("items", schema)
        assert sorted(schema["required"]) == ["download_url", "file_id"]
        assert len(schema["properties"]) == 4
        assert not {"anyOf", "oneOf", "default"} & set(given_schema["properties"][name])
    assert "x-tenantry-file" not in str(tool)
    jsonschema_rs.validate(given_schema, arguments)
    called = Client(plugin).call("tool", **arguments)
    assert not called.is_error
    if output is None:
        assert called.structured is None
    else:
        jsonschema_rs.meta.validate(output)
        assert output["type"] == "object"
        jsonschema_rs.validate(output, called.structured)


class Shown(BaseModel):
    """Shown."""

    plain: int
    given: int = 1
    hidden: int = Field(2, exclude=True)
    sometimes: int = Field(0, exclude_if=lambda value: value == 0)


def test_an_output_schema_is_exact_about_what_is_always_there():
    plugin = Plugin()

    @plugin.tool(**READS)
    def show() -> Shown:
        """Shows."""
        return Shown(plain=1)

    tool = Client(plugin).describe()["tools"][0]
    assert tool["outputSchema"]["required"] == ["plain", "given"]
    assert tool["outputSchema"]["description"] == "Shown."
    assert set(tool["outputSchema"]["properties"]) == {"plain", "given", "sometimes"}
    assert Client(plugin).call("show").structured == {"plain": 1, "given": 1}
    jsonschema_rs.validate(tool["outputSchema"], {"plain": 1, "given": 1})


class Wrapped(BaseModel):
    inner: Node


def test_a_definition_that_nothing_else_uses_is_not_repeated():
    plugin = Plugin()

    @plugin.tool(**READS)
    def give(wrapped: Wrapped, nodes: list[Node]) -> list[Node]:
        """Gives."""
        return nodes

    tool = Client(plugin).describe()["tools"][0]
    assert set(tool["inputSchema"]["$defs"]) == {"Node", "Wrapped"}
    assert "title" not in str(tool["inputSchema"])
    assert set(tool["outputSchema"]["$defs"]) == {"Node"}
    assert tool["outputSchema"]["properties"] == {"result": {"items": {"$ref": "#/$defs/Node"}, "type": "array"}}
