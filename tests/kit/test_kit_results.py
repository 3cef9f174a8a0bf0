"""What a tool returns, and what of it goes where."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, cast

import pytest
from pydantic import BaseModel, Field, field_serializer, model_validator
from tenantry import (
    Audio,
    Image,
    Plugin,
    Profile,
    ResourceLink,
    Result,
)
from tenantry.testing import Client, Crashed
from typing_extensions import TypedDict

READS = {"read_only": True, "destructive": False, "open_world": False}


class Animal(BaseModel):
    """An animal of the zoo."""

    id: str
    name: str = "nameless"
    children: list[Animal] = []


class Coordinates(TypedDict):
    x: int
    y: int


@dataclass
class Weight:
    kilos: float


def described(plugin: Plugin, name: str) -> dict[str, Any]:
    return next(tool for tool in Client(plugin).describe()["tools"] if tool["name"] == name)


@pytest.mark.row("S01", "T01")
@pytest.mark.parametrize(
    ("returns", "value", "structured", "kind"),
    [
        (Animal, Animal(id="a"), {"id": "a", "name": "nameless", "children": []}, "object"),
        (Animal, {"id": "a", "children": [{"id": "b"}]}, None, "object"),
        (Coordinates, {"x": 1, "y": 2}, {"x": 1, "y": 2}, "object"),
        (Weight, Weight(2.5), {"kilos": 2.5}, "object"),
        (dict[str, int], {"a": 1}, {"a": 1}, "object"),
        (Result[Animal], Result(Animal(id="a")), {"id": "a", "name": "nameless", "children": []}, "object"),
        (list[int], [1, 2], {"result": [1, 2]}, "wrapped"),
        (list[Animal], [Animal(id="a")], {"result": [{"id": "a", "name": "nameless", "children": []}]}, "wrapped"),
        (int | None, None, {"result": None}, "wrapped"),
        (Annotated[bool, Field(description="yes?")], True, {"result": True}, "wrapped"),
        (Result[str], Result("a"), {"result": "a"}, "wrapped"),
        (Literal["a"], "a", {"result": "a"}, "wrapped"),
    ],
)
def test_data_are_structured_content_under_a_schema_from_the_return_type(returns, value, structured, kind):
    plugin = Plugin()

    def give():
        """Gives."""
        return value

    give.__annotations__["return"] = returns
    plugin.tool(**READS)(give)
    schema = described(plugin, "give")["outputSchema"]
    assert schema["type"] == "object"
    assert (list(schema.get("properties", ())) == ["result"]) is (kind == "wrapped")
    called = Client(plugin).call("give")
    if structured is not None:
        assert called.structured == structured
    assert not called.is_error
    assert called.text == json.dumps(called.structured, separators=(",", ":"))


def test_a_recursive_model_is_an_object_at_its_root_with_its_definition_beside():
    plugin = Plugin()

    @plugin.tool(**READS)
    def tree() -> Animal:
        """Gives a family."""
        return Animal(id="a", children=[Animal(id="b")])

    schema = described(plugin, "tree")["outputSchema"]
    assert schema["type"] == "object"
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Animal"}
    assert schema["$defs"]["Animal"]["required"] == ["id", "name", "children"]
    assert "title" not in schema


@pytest.mark.row("S02")
@pytest.mark.parametrize(
    ("returns", "value", "types"),
    [
        (str, "hello", ["text"]),
        (None, None, []),
        (Image, Image(b"\x89PNG\r\n\x1a\n"), ["image"]),
        (Audio | None, Audio(b"ID3"), ["audio"]),
        (list[str | Image], ["look", Image(b"GIF89a")], ["text", "image"]),
        (tuple[str, ResourceLink], ("see", ResourceLink("zoo://a", "a")), ["text", "resource_link"]),
        (Result, Result(content="hello"), ["text"]),
        (Result[None], Result(content=["a", "b"]), ["text", "text"]),
    ],
)
def test_text_and_blocks_are_content_without_any_schema(returns, value, types):
    plugin = Plugin()

    def give():
        """Gives."""
        return value

    give.__annotations__["return"] = returns
    plugin.tool(**READS)(give)
    assert "outputSchema" not in described(plugin, "give")
    called = Client(plugin).call("give")
    assert [block["type"] for block in called.content] == types
    assert called.structured is None


@pytest.mark.row("S01", "S02", "S03")
def test_a_result_says_which_part_is_for_whom():
    plugin = Plugin()

    @plugin.tool(**READS)
    def give() -> Result[Weight]:
        """Gives."""
        return Result(Weight(1.5), content="Light.", meta={"hidden": [1]})

    called = Client(plugin).call("give")
    assert (called.structured, called.text, called.meta) == ({"kilos": 1.5}, "Light.", {"hidden": [1]})


class Even(BaseModel):
    number: int

    @model_validator(mode="after")
    def is_even(self) -> Self:
        if self.number % 2:
            raise ValueError("it is odd")
        return self


class Fragile(BaseModel):
    number: int

    @field_serializer("number")
    def write(self, number: int) -> str:
        raise KeyError("the author's own")


class Hollow(BaseModel):
    inside: Any


@pytest.mark.parametrize(
    ("returns", "value", "words"),
    [
        (list[int], "x", "'x', but says it returns list[int]."),
        (list[int], [1, "x" * 500], "but says it returns list[int]: 1: Input should be a valid integer"),
        (Animal, {"name": "no id"}, "{'name': 'no id'}, but says it returns Animal: id: Field required."),
        (Animal, None, "None, but says it returns Animal."),
        (Even, {"number": 1}, "but says it returns Even: Value error, it is odd."),
        (float, float("nan"), "nan, which is not JSON: Out of range float values"),
        (Hollow, Hollow(inside=object()), "which is not JSON: Unable to serialize unknown type"),
        (Result, Result({"a": 1}), "Result({'a': 1}), which has structured data without a type: annotate it ->"),
        (str, 1, "1, but says it returns str."),
        (list[Image], [1], "[1], but says it returns list[tenantry.content.Image]."),
        (Result[Animal], Result(content="only text"), "Result(None), but says it returns"),
    ],
)
def test_what_does_not_fit_its_return_type_is_the_authors_error_and_never_sent(returns, value, words):
    plugin = Plugin()

    def give():
        """Gives."""
        return value

    give.__annotations__["return"] = returns
    plugin.tool(**READS)(give)
    with pytest.raises(Crashed) as crashed:
        Client(plugin).call("give")
    told = str(crashed.value)
    assert re.match(r"give \(\S*test_kit_results\.py:\d+\) returned ", told)
    assert words in told
    assert len(told) < 400
    assert "Traceback" not in told


def test_what_an_authors_own_serializer_raises_keeps_its_frames():
    plugin = Plugin()

    @plugin.tool(**READS)
    def give() -> Fragile:
        """Gives."""
        return Fragile(number=1)

    with pytest.raises(Crashed, match="in write"):
        Client(plugin).call("give")


def test_what_is_promised_by_a_raw_schema_or_a_profile_and_not_returned_is_said():
    plugin = Plugin()

    @plugin.tool(**READS, output_schema={"type": "object"})
    def give() -> dict[str, Any] | None:
        """Gives."""
        return None

    @plugin.profile
    def whoami() -> Profile:
        return cast(Profile, "ada")

    with pytest.raises(Crashed, match=r"returned None, but output_schema= promises structured data\."):
        Client(plugin).call("give")
    with pytest.raises(Crashed, match=r"returned 'ada', but says it returns Profile\."):
        Client(plugin, user={"sub": "ada"}).call("whoami")
