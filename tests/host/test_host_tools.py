"""What the page shows and says of tools: visibility, status, schemes, findings."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import House
from person import Person
from playwright.sync_api import expect
from scripted import READS, WRITES, Scripted

OBJECT = {"type": "object", "properties": {}}
FILE = {k: {"type": "string"} for k in ("download_url", "file_id", "mime_type", "file_name")}
SCHEMES = [{"type": "noauth"}, {"type": "oauth2", "scopes": ["read"]}]


TWO = {"ui": {"resourceUri": "ui://a"}, "openai/outputTemplate": "ui://b"}
TEXT = {"type": "object", "properties": {"f": {"type": "string"}}}
THREE = {k: v for k, v in FILE.items() if k != "mime_type"}
BOTH = ["download_url", "file_id"]


def file_param(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"f": {"type": "object", "properties": properties, "required": required}}}
    return {"inputSchema": schema, "_meta": {"openai/fileParams": ["f"]}}


#: A descriptor, and what is said about it.
FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("read-only", {"annotations": {"destructiveHint": False, "openWorldHint": False}}, "readOnlyHint is not set"),
    ("destructive", {"annotations": {"readOnlyHint": True, "openWorldHint": False}}, "destructiveHint is not set"),
    ("open-world", {"annotations": {"readOnlyHint": True, "destructiveHint": False}}, "openWorldHint is not set"),
    ("status", {"_meta": {"openai/toolInvocation/invoking": "x" * 65}}, "The invoking text has 65 characters"),
    ("status after", {"_meta": {"openai/toolInvocation/invoked": "x" * 65}}, "The invoked text has 65 characters"),
    ("templates", {"_meta": TWO}, "name different templates"),
    ("csp on tool", {"_meta": {"ui": {"csp": {}}}}, "_meta.ui.csp is on the tool"),
    ("profile value", {"_meta": {"openai/profile": False}}, "true or absent"),
    ("profile writes", {"annotations": WRITES, "_meta": {"openai/profile": True}}, "has to be read-only"),
    ("profile open", {"_meta": {"openai/profile": True}}, "has to require sign-in"),
    ("profile twice", {"_meta": {"openai/profile": True}}, "There is more than one profile tool"),
    ("schemes", {"securitySchemes": SCHEMES, "_meta": {"securitySchemes": []}}, "its copy in _meta differ"),
    ("file missing", {"_meta": {"openai/fileParams": ["f"]}}, "f: there is no such top-level property"),
    ("file text", {"inputSchema": TEXT, "_meta": {"openai/fileParams": ["f"]}}, "not an object"),
    ("file property", file_param(THREE, BOTH), "does not declare mime_type"),
    ("file not required", file_param(FILE, ["file_id"]), "download_url is not required"),
    ("file too required", file_param(FILE, ["download_url", "file_id", "file_name"]), "file_name must not be required"),
]  # fmt: skip


@pytest.mark.row(
    "N01",
    "N02",
    "N03",
    "T02",
    "T06",
    "T09",
    "T10",
    "T11",
    "F01",
    "F02",
    "H26",
    "H29",
    "H30",
    "H33",
    "H34",
    "H35",
    "H36",
    "H37",
    "H38",
)
def test_each_fault_of_a_descriptor_is_found(person: Person, house: House) -> None:
    plugin = house.add(Scripted("faulty"))
    for number, (_, descriptor, _) in enumerate(FAULTS):
        plugin.tool(f"t{number}", **descriptor)
    person.open("faulty")
    for number, (name, descriptor, says) in enumerate(FAULTS):
        card = person.run(f"t{number}")
        notes = descriptor.get("annotations", READS)
        if notes.get("readOnlyHint") is not True:
            card.get_by_role("button", name="Approve").click()
        expect(person.pane("Checks"), name).to_contain_text(says)


@pytest.mark.row("H26", "H35", "H39")
def test_a_faultless_tool_has_nothing_said_about_it(person: Person, house: House) -> None:
    plugin = house.add(Scripted("faultless"))
    plugin.tool("fine", outputSchema=OBJECT, securitySchemes=SCHEMES, _meta={"securitySchemes": SCHEMES})
    plugin.tool("sure", outputSchema=OBJECT, annotations=READS | {"idempotentHint": True})
    plugin.tool(
        "f", **file_param({**FILE, "extra": {"type": "integer"}}, ["download_url", "file_id"]), outputSchema=OBJECT
    )
    person.open("faultless")
    for tool in ("fine", "sure", "f"):
        person.run(tool)
        expect(person.pane("Checks")).to_contain_text(f"Nothing to report about {tool}")
    seen = person.pane("Model sees")
    person.run("fine")
    seen.get_by_role("region", name="Tool", exact=True).locator("summary", has_text="securitySchemes").click()
    expect(seen).to_contain_text("oauth2")
    expect(seen).to_contain_text("noauth")


@pytest.mark.row("T01")
def test_structured_content_without_an_output_schema_is_mentioned(person: Person, probe: Scripted) -> None:
    person.open("probe")
    person.run("look")
    expect(person.pane("Model sees")).to_contain_text("declares no outputSchema")


@pytest.mark.row("R02", "R07", "R08", "R10", "R04", "H45", "H46", "H47")
def test_aliases_that_disagree_are_found(person: Person, probe: Scripted) -> None:
    probe.resources[0]["_meta"] = {
        "ui": {"prefersBorder": True, "domain": "https://a.example", "csp": {"connectDomains": ["https://a.example"]}},
        "openai/widgetPrefersBorder": False,
        "openai/widgetDomain": "https://b.example",
        "openai/widgetCSP": {"connect_domains": []},
    }
    person.open("probe")
    person.widget(person.run("look")).ready()
    checks = person.pane("Checks")
    for name in ("prefersBorder", "domain", "csp.connectDomains"):
        expect(checks).to_contain_text(f"ui.{name} and its openai/* alias differ")


def test_the_findings_of_platform_check_are_shown_with_their_place(
    person: Person, probe: Scripted, house: House
) -> None:
    house.findings = [
        {"severity": "error", "rule": "x.y", "message": "A bare URI", "tool": "look", "where": "a.js:7"},
        {"severity": "warn", "rule": "other", "message": "About another tool", "tool": "else"},
    ]  # fmt: skip
    person.open("probe")
    person.run("look")
    checks = person.pane("Checks")
    expect(checks).to_contain_text("A bare URI")
    expect(checks).to_contain_text("a.js:7")
    expect(checks).not_to_contain_text("About another tool")
    house.findings = []


@pytest.mark.row("T04", "T08", "H28", "H32")
def test_what_is_hidden_from_the_model_is_not_offered(person: Person, probe: Scripted) -> None:
    probe.tool("app_only", _meta={"ui": {"visibility": ["app"]}})
    probe.tool("private", _meta={"openai/visibility": "private"})
    person.open("probe")
    offered = person.page.get_by_role("list", name="Tools", exact=True)
    expect(offered.get_by_role("listitem")).to_have_count(1)
    model = person.pane("Model sees").get_by_role("region", name="Tools the model may call")
    expect(model).to_contain_text("look")
    for name in ("app_only", "private"):
        expect(model).not_to_contain_text(name)
    person.page.get_by_text("2 for widgets only").click()
    expect(person.page.get_by_role("list", name="Tools for widgets only")).to_contain_text("app_only")
    person.run("app_only")
    expect(person.page.get_by_text("app_only is hidden from the model")).to_be_visible()
    assert probe.calls == []


@pytest.mark.row("T09", "T10", "H33", "H34")
def test_status_texts_are_shown_before_and_after(person: Person, probe: Scripted) -> None:
    meta = {"openai/toolInvocation/invoking": "Counting animals…", "openai/toolInvocation/invoked": "Counted"}
    probe.tool("count", _meta=meta)
    person.open("probe")
    person.knob("Latency, ms", 600)
    card = person.run("count")
    expect(card.get_by_role("status")).to_have_text("Counting animals…")
    expect(card.get_by_role("status")).to_have_text("Counted")


def test_every_kind_of_content_is_shown(person: Person, probe: Scripted) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    content = [
        {"type": "text", "text": "words"},
        {"type": "image", "data": dot, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "https://zoo.example/map", "name": "The map"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "embedded words"}},
    ]
    probe.tool("mixed", lambda _: {"content": content})
    person.open("probe")
    card = person.run("mixed")
    expect(card.get_by_role("img", name="Made by the tool")).to_be_visible()
    expect(card.locator("audio")).to_have_count(1)
    links = card.get_by_role("link", name="The map")  # as a file of the call, and where the content has it
    expect(links).to_have_count(2)
    expect(links.last).to_have_attribute("href", "https://zoo.example/map")
    expect(card).to_contain_text("embedded words")
