"""Forms made from JSON Schemas, filled in by keys and clicks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import House
from person import Person
from playwright.sync_api import Locator, expect
from scripted import Scripted

WORDS = {"type": "string"}


def kind(name: str, size: str) -> dict[str, Any]:
    """One of several shapes, told apart by a constant."""
    properties = {"kind": {"const": name}, size: {"type": "number"}}
    return {"title": name.title(), "type": "object", "properties": properties, "required": ["kind", size]}


ALL_KINDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "Any words"},
        "long": {"type": "string", "maxLength": 2000},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "colour": {"enum": ["red", "green"]},
        "level": {"oneOf": [{"const": 1, "title": "Low"}, {"const": 2, "title": "High"}]},
        "maybe": {"type": ["string", "null"]},
        "optional": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False},
        "place": {"$ref": "#/$defs/Place"},
        "scores": {"type": "object", "additionalProperties": {"type": "number"}},
        "shape": {"oneOf": [kind("circle", "r"), kind("box", "w")]},
        "merged": {"allOf": [{"type": "object", "properties": {"a": WORDS}}, {"properties": {"b": WORDS}}]},
        "anything": {},
    },
    "required": ["text", "sure", "place"],
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "inside": {"$ref": "#/$defs/Place"}},
            "required": ["city"],
        }
    },
}  # fmt: skip


@pytest.fixture
def form(person: Person, house: House) -> tuple[Locator, Scripted]:
    plugin = house.add(Scripted("forms"))
    plugin.tool("fill", inputSchema=ALL_KINDS)
    person.open("forms")
    return person.choose("fill"), plugin


def sent(person: Person, plugin: Scripted, tool: str = "fill") -> dict[str, Any]:
    expect(person.page.get_by_text(f"Called {tool}")).to_be_visible()
    found: dict[str, Any] = plugin.calls[-1]["arguments"]
    return found


def test_every_kind_of_field_is_filled_in(person: Person, form: tuple[Locator, Scripted]) -> None:
    box, plugin = form

    def field(name: str) -> Locator:
        return box.get_by_role("group", name=name, exact=False).first

    box.get_by_label("text").first.fill("some words")
    box.get_by_label("long", exact=True).fill("line one\nline two")
    box.get_by_label("day", exact=True).fill("2026-12-24")
    box.get_by_label("ratio", exact=True).fill("0.5")
    box.get_by_label("sure").check()
    box.get_by_label("colour", exact=True).select_option("green")
    box.get_by_label("level", exact=True).select_option("High")
    box.get_by_label("optional", exact=True).fill("9")
    box.get_by_role("button", name="Add tags").click()
    for tag in ("one", "two"):
        field("tags").get_by_role("button", name="Add an item").click()
        field("tags").get_by_role("textbox").last.fill(tag)
    box.get_by_role("button", name="Add pair").click()
    for index, value in enumerate(("1", "2")):
        field("pair").get_by_role("spinbutton").nth(index).fill(value)
    field("place").get_by_label("city").first.fill("Utrecht")
    field("place").get_by_role("button", name="Add inside").click()
    field("inside").get_by_label("city").first.fill("Centre")
    box.get_by_role("button", name="Add scores").click()
    field("scores").get_by_label("New key").fill("math")
    field("scores").get_by_role("button", name="Add", exact=True).click()
    field("scores").get_by_label("math").last.fill("7.5")
    box.get_by_role("button", name="Add shape").click()
    field("shape").get_by_label("Kind", exact=True).select_option("Box")
    field("shape").get_by_role("spinbutton").fill("4")
    box.get_by_role("button", name="Add merged").click()
    field("merged").get_by_label("a", exact=True).fill("first")
    field("merged").get_by_label("b", exact=True).fill("second")
    box.get_by_label("anything", exact=True).fill('{"free": [1]}')
    box.get_by_role("button", name="Run").click()
    assert sent(person, plugin) == {
        "text": "some words",
        "long": "line one\nline two",
        "day": "2026-12-24",
        "count": 3,
        "ratio": 0.5,
        "sure": True,
        "colour": "green",
        "level": 2,
        "optional": 9,
        "tags": ["one", "two"],
        "pair": [1, 2],
        "place": {"city": "Utrecht", "inside": {"city": "Centre"}},
        "scores": {"math": 7.5},
        "shape": {"kind": "box", "w": 4},
        "merged": {"a": "first", "b": "second"},
        "anything": {"free": [1]},
    }


def test_the_keyboard_is_enough_and_what_is_not_filled_in_is_not_sent(
    person: Person, form: tuple[Locator, Scripted]
) -> None:
    box, plugin = form
    keys = person.page.keyboard
    expect(box.get_by_label("text").first).to_be_focused()
    keys.type("typed")
    box.get_by_role("group", name="place").get_by_label("city").first.focus()
    keys.type("Delft")
    keys.press("Control+Enter")
    assert sent(person, plugin) == {"text": "typed", "count": 3, "sure": False, "place": {"city": "Delft"}}


def test_what_does_not_match_is_said_under_its_field_and_can_be_sent_anyway(
    person: Person, form: tuple[Locator, Scripted]
) -> None:
    box, plugin = form
    text, count = box.get_by_label("text").first, box.get_by_label("count", exact=True)
    city = box.get_by_role("group", name="place").get_by_label("city").first
    count.fill("0")
    box.get_by_role("button", name="Run").click()
    expect(text).to_be_focused()
    expect(text).to_have_accessible_description("Any words Fill this in.")
    expect(count).to_have_accessible_description("At least 1.")
    expect(city).to_have_accessible_description("Fill this in.")
    for field in (text, count, city):
        expect(field).to_have_attribute("aria-invalid", "true")
    expect(box.get_by_label("ratio", exact=True)).not_to_have_attribute("aria-invalid", "true")
    text.fill("now there")
    count.fill("2")
    expect(text).to_have_accessible_description("Any words")
    expect(box.get_by_role("alert")).to_contain_text("One field needs another look.")
    box.get_by_role("button", name="Run").click()
    expect(city).to_be_focused()
    assert plugin.calls == []
    box.get_by_role("alert").get_by_role("button", name="Send anyway").click()
    assert sent(person, plugin) == {"text": "now there", "count": 2, "sure": False, "place": {}}


FAULTY: dict[str, tuple[dict[str, Any], str, str]] = {
    "short": ({"type": "string", "minLength": 3}, "ab", "At least 3 characters."),
    "coded": ({"type": "string", "pattern": "^[A-Z]+$"}, "abc", "Is not in the form that is asked for."),
    "post": ({"type": "string", "format": "email"}, "nobody", "Is not a valid email."),
    "most": ({"type": "number", "maximum": 9}, "10", "At most 9."),
    "above": ({"type": "number", "exclusiveMinimum": 0}, "0", "More than 0."),
    "below": ({"type": "number", "exclusiveMaximum": 5}, "5", "Less than 5."),
    "whole": ({"type": "integer"}, "1.5", "Has to be a whole number."),
    "step": ({"type": "number", "multipleOf": 5}, "7", "A multiple of 5."),
}


def test_each_kind_of_fault_is_in_plain_words(person: Person, house: House) -> None:
    plugin = house.add(Scripted("strict"))
    schema = {"type": "object", "properties": {name: rule for name, (rule, _, _) in FAULTY.items()}}
    schema["properties"] |= {"some": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}}
    plugin.tool("fill", inputSchema=schema)
    person.open("strict")
    box = person.choose("fill")
    for name, (_, typed, _) in FAULTY.items():
        box.get_by_label(name, exact=True).fill(typed)
    box.get_by_role("button", name="Add some").click()
    box.get_by_role("button", name="Run").click()
    for name, (_, _, says) in FAULTY.items():
        expect(box.get_by_label(name, exact=True), name).to_have_accessible_description(says)
    expect(box.get_by_role("group", name="some")).to_have_accessible_description("At least 1 item.")
    assert plugin.calls == []


def test_raw_json_is_the_same_form_both_ways(person: Person, form: tuple[Locator, Scripted]) -> None:
    box, plugin = form
    box.get_by_label("text").first.fill("kept")
    box.get_by_role("button", name="JSON").click()
    raw = box.get_by_label("Arguments as JSON")
    assert json.loads(raw.input_value())["text"] == "kept"
    raw.fill("{ not json")
    box.get_by_role("button", name="Run").click()
    expect(box.get_by_role("alert")).to_contain_text("This is not JSON")
    raw.fill('{"text": "raw", "sure": true, "place": {"city": "Gouda"}}')
    box.get_by_role("button", name="JSON").click()
    expect(box.get_by_label("text").first).to_have_value("raw")
    box.get_by_role("button", name="Run").click()
    assert sent(person, plugin)["place"] == {"city": "Gouda"}


def test_items_and_optional_objects_can_be_taken_away_again(person: Person, form: tuple[Locator, Scripted]) -> None:
    box, plugin = form
    box.get_by_label("text").first.fill("x")
    box.get_by_role("group", name="place").get_by_label("city").first.fill("y")
    box.get_by_role("button", name="Add merged").click()
    box.get_by_role("button", name="Remove merged").click()
    box.get_by_role("button", name="Add tags").click()
    tags = box.get_by_role("group", name="tags")
    tags.get_by_role("button", name="Add an item").click()
    tags.get_by_role("textbox").fill("gone")
    tags.get_by_role("button", name="Remove 1").click()
    box.get_by_role("button", name="Run").click()
    assert sent(person, plugin) == {"text": "x", "count": 3, "sure": False, "place": {"city": "y"}, "tags": []}


def test_a_list_of_choices_is_boxes_to_tick(person: Person, house: House) -> None:
    plugin = house.add(Scripted("choices"))
    titled = [{"const": "hay", "title": "Hay"}, {"const": "oats", "title": "Oats"}, {"const": "bran", "title": "Bran"}]
    properties = {
        "food": {"type": "array", "items": {"anyOf": titled}, "minItems": 1, "maxItems": 2},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}, "default": ["mon"]},
        "never": {"type": "array", "items": {"enum": [1, 2]}},
    }
    plugin.tool("feed", inputSchema={"type": "object", "properties": properties, "required": ["food"]})
    person.open("choices")
    box = person.choose("feed")
    expect(box.get_by_role("button", name="Add")).to_have_count(0)
    box.get_by_role("button", name="Run").click()
    expect(box.get_by_role("group", name="food")).to_have_accessible_description("At least 1 item.")
    expect(box.get_by_label("Hay")).to_be_focused()
    box.get_by_label("Bran").check()
    box.get_by_label("Hay").check()
    expect(box.get_by_label("Oats")).to_be_disabled()
    box.get_by_label("mon").uncheck()
    box.get_by_role("button", name="Run").click()
    assert sent(person, plugin, "feed") == {"food": ["hay", "bran"], "days": []}
