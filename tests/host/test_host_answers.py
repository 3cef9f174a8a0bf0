"""What the page says of a call: what is wrong with its arguments, that there is nothing, and the files it made."""

from __future__ import annotations

from typing import Any

from conftest import House
from person import Person
from playwright.sync_api import expect
from scripted import Scripted, result

LINK = "http://zoo.example/files/f1/the%20report.csv?signature=" + "x" * 200


def test_a_field_says_its_own_fault_and_not_what_the_validator_makes_of_it(person: Person, house: House) -> None:
    plugin = house.add(Scripted("strict"))
    properties: dict[str, Any] = {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 60}}
    plugin.tool("plan", inputSchema={"type": "object", "properties": properties, "additionalProperties": False})
    person.open("strict")
    composer = person.choose("plan")
    days = composer.get_by_label("days", exact=True)
    days.fill("99")
    composer.get_by_role("button", name="Run").click()
    expect(days).to_have_accessible_description("At most 60.")
    composer.get_by_role("button", name="JSON").click()
    composer.get_by_label("Arguments as JSON").fill('{"days": 9, "hours": 1}')
    composer.get_by_role("button", name="Run").click()
    expect(composer.get_by_role("alert")).to_contain_text("hours: This is not among what is taken.")


def test_a_result_without_structured_content_is_said_to_have_none(person: Person, house: House) -> None:
    plugin = house.add(Scripted("failing"))
    plugin.tool("fails", lambda _: {"isError": True, "content": [{"type": "text", "text": "No."}]})
    person.open("failing")
    expect(person.run("fails")).to_contain_text("The tool reported an error")
    found = person.pane("Model sees").get_by_role("region", name="structuredContent")
    expect(found).to_contain_text("none")
    expect(found).not_to_contain_text("undefined")


def test_files_of_a_result_are_there_to_open(person: Person, house: House) -> None:
    plugin = house.add(Scripted("files"))
    made = {"report": {"download_url": LINK, "file_id": "f1", "file_name": "report.csv", "mime_type": "text/csv"}}
    link = {"type": "resource_link", "uri": "https://zoo.example/map.png", "name": "map"}
    same = {"type": "resource_link", "uri": LINK, "name": "again"}
    local = {"type": "resource_link", "uri": "ui://widget/x.html", "name": "no file"}
    plugin.tool("make", lambda _: {**result(made), "content": [link, same, local]})
    person.open("files")
    files = person.run("make").get_by_role("list", name="Files").get_by_role("link")
    expect(files).to_have_text(["report.csvtext/csv", "map"])
    expect(files.first).to_have_attribute("href", LINK)
    expect(files.first).to_have_attribute("download", "report.csv")


def test_arguments_are_told_in_the_order_of_the_form(person: Person, house: House) -> None:
    plugin = house.add(Scripted("orderly", kind="kit"))
    words = {"type": "string"}
    plugin.tool("go", inputSchema={"type": "object", "properties": {"start": words, "end": words}, "required": ["end"]})
    person.open("orderly")
    card = person.run("go", {"end": "Delft", "start": "Utrecht"})
    expect(person.page.get_by_text("Called go")).to_be_visible()
    assert person.says() == ["Go — start: Utrecht, end: Delft"]
    card.get_by_role("button", name="Copy as pytest").click()
    expect(person.page.get_by_text("Test copied")).to_be_visible()
    copied: str = person.page.evaluate("navigator.clipboard.readText()")
    assert 'client.call("go", start="Utrecht", end="Delft")' in copied
