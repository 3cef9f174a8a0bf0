"""window.openai's values: present, typed, right from the first script on, and live."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import House
from person import Person
from playwright.sync_api import expect
from scripted import DESTROYS, Scripted, result

MEMBERS = {
    "toolInput", "toolOutput", "toolResponseMetadata", "widgetState", "setWidgetState", "callTool",
    "sendFollowUpMessage", "uploadFile", "selectFiles", "getFileDownloadUrl", "requestDisplayMode", "requestModal",
    "requestClose", "notifyIntrinsicHeight", "openExternal", "setOpenInAppUrl", "theme", "displayMode", "maxHeight",
    "safeArea", "view", "userAgent", "locale",
}  # fmt: skip


@pytest.mark.row("O01", "O18", "H17", "H18", "H19", "H20", "H21", "H22", "H23")
def test_all_23_members_are_there_before_the_widgets_first_script(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look", {"a": 1})).ready()
    first = widget.read("first")
    assert set(first["keys"]) == MEMBERS
    assert first["openai"]["toolInput"] == {"a": 1}
    assert (first["path"], first["search"]) == ("/", "")


@pytest.mark.row("O01", "N02", "H01", "B16")
def test_input_stays_null_until_the_person_approves(person: Person, probe: Scripted) -> None:
    probe.tools[0]["annotations"] = DESTROYS
    person.open("probe")
    card = person.run("look", {"a": 1})
    widget = person.widget(card).ready()
    expect(card.get_by_role("heading", name="Allow Look?")).to_be_visible()
    widget.at("connect").click()
    expect(widget.at("reply")).to_contain_text('"early":0')
    assert widget.globals()["toolInput"] is None
    assert probe.calls == []
    card.get_by_role("button", name="Approve").click()
    expect(widget.at("bridge")).to_contain_text("ui/notifications/tool-result")
    assert widget.globals()["toolInput"] == {"a": 1}
    assert sum("toolInput" in e["globals"] for e in widget.events()) == 1
    methods = [m["method"] for m in widget.bridge()]
    assert methods.index("ui/notifications/tool-input") < methods.index("ui/notifications/tool-result")
    assert len(probe.calls) == 1


@pytest.mark.row("N02", "H37", "B16")
def test_a_denied_call_is_never_made_and_the_widget_hears_of_it(person: Person, probe: Scripted) -> None:
    probe.tools[0]["annotations"] = DESTROYS
    person.open("probe")
    card = person.run("look", {"a": 1})
    widget = person.widget(card).ready()
    widget.at("connect").click()
    card.get_by_role("button", name="Deny").click()
    expect(widget.at("bridge")).to_contain_text("ui/notifications/tool-cancelled")
    assert widget.globals()["toolInput"] is None
    assert probe.calls == []


@pytest.mark.row("O02", "O03", "S01", "S02", "S03", "S04", "H02", "H03", "H49", "H50", "H51", "H52")
def test_output_is_the_structured_content_and_the_hidden_meta_reaches_only_the_widget(
    person: Person, probe: Scripted, house: House
) -> None:
    gate = asyncio.Event()
    secret = {"byId": {"a1": {"note": "only-for-the-widget"}}}

    async def slow(arguments: dict[str, Any]) -> dict[str, Any]:
        await gate.wait()
        return result({"animals": ["a1"]}, "One animal.", _meta=secret)

    probe.handlers["look"] = slow
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    assert widget.globals()["toolOutput"] is None
    expect(card.get_by_text("Looking…")).to_be_visible()
    house.soon(gate.set)
    expect(widget.at("globals")).to_contain_text("animals")
    values = widget.globals()
    assert values["toolOutput"] == {"animals": ["a1"]}
    metadata = values["toolResponseMetadata"]
    assert set(metadata) == {"status", "call_tool_result", "mcp_tool_result"}
    assert metadata["mcp_tool_result"]["_meta"]["byId"] == secret["byId"]
    assert metadata["call_tool_result"]["content"] == [{"type": "text", "text": "One animal."}]
    assert metadata["mcp_tool_result"]["_meta"]["openai/widgetSessionId"].startswith("widget_")
    seen = person.pane("Model sees")
    expect(seen).to_contain_text("One animal.")
    expect(seen).to_contain_text("a1")
    assert "only-for-the-widget" not in seen.inner_text()
    expect(person.pane("Widget gets")).to_contain_text("only-for-the-widget")


@pytest.mark.row("O04", "O05", "H04", "H05", "H24")
def test_state_is_set_at_once_kept_over_a_reload_and_its_own_message_s(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert widget.globals()["widgetState"] is None
    widget.call("setWidgetState", {"page": 2})
    assert widget.globals()["widgetState"] == {"page": 2}
    assert widget.events()[-1] == {"custom": True, "globals": {"widgetState": {"page": 2}}}
    same = "(() => { const s = {}; window.openai.setWidgetState(s); return window.openai.widgetState === s; })()"
    assert widget.frame().evaluate(same) is True
    widget.call("setWidgetState", {"page": 3})
    person.page.reload()
    again = person.widget().ready()
    assert again.read("first")["openai"]["widgetState"] == {"page": 3}
    other = person.widget(person.run("look", {"b": 2})).ready()
    assert other.globals()["widgetState"] is None


@pytest.mark.row("O06", "H05")
def test_of_structured_state_the_model_sees_its_own_part_only(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.call(
        "setWidgetState", {"modelContent": "chose-the-zebra", "privateContent": "hover-7", "imageIds": ["file_9"]}
    )
    seen = person.pane("Model sees")
    expect(seen).to_contain_text("chose-the-zebra")
    expect(seen).to_contain_text("file_9")
    assert "hover-7" not in seen.inner_text()


@pytest.mark.row("O18", "O19", "H17", "H18", "H19", "H23", "H24")
@pytest.mark.parametrize(
    ("knob", "value", "key", "wanted"),
    [
        ("Theme", "dark", "theme", "dark"),
        ("Locale", "nl-NL", "locale", "nl-NL"),
        ("Max height", 350, "maxHeight", 350),
        ("Display mode", "pip", "displayMode", "pip"),
    ],
)
def test_a_knob_changes_its_value_live_and_nothing_else(
    person: Person, probe: Scripted, knob: str, value: str | int, key: str, wanted: object
) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    expect(widget.at("globals")).to_contain_text('"toolOutput":{')
    widget.connect()
    before = len(widget.events())
    person.knob(knob, value)
    expect(widget.at("bridge")).to_contain_text("host-context-changed")
    new = [e["globals"] for e in widget.events()[before:]]
    changed = {name for e in new for name in e}
    assert changed == ({key, "maxHeight"} if key == "displayMode" else {key})
    assert widget.globals()[key] == wanted
    context = [m["params"] for m in widget.bridge() if m["method"] == "ui/notifications/host-context-changed"]
    names = {"maxHeight": "containerDimensions"}.get(key, key)
    assert any(names in c for c in context)


@pytest.mark.row("O18", "H11", "H20", "H22")
def test_a_phone_has_touch_a_safe_area_and_no_picture_in_picture(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert widget.globals()["userAgent"] == {
        "device": {"type": "desktop"},
        "capabilities": {"hover": True, "touch": False},
    }
    assert widget.globals()["safeArea"] == {"insets": {"top": 0, "right": 0, "bottom": 0, "left": 0}}
    assert widget.globals()["view"] == {"mode": "inline", "params": None}
    person.knob("Device", "phone")
    expect(widget.at("globals")).to_contain_text("mobile")
    assert widget.globals()["userAgent"] == {
        "device": {"type": "mobile"},
        "capabilities": {"hover": False, "touch": True},
    }
    assert widget.globals()["safeArea"]["insets"]["top"] > 0
    assert widget.call("requestDisplayMode", {"mode": "pip"})["value"] == {"mode": "fullscreen"}


@pytest.mark.row("O18", "H20", "H22")
def test_a_tablet_has_touch_and_still_a_picture_in_picture(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    person.knob("Device", "tablet")
    expect(widget.at("globals")).to_contain_text("tablet")
    assert widget.globals()["userAgent"] == {
        "device": {"type": "tablet"},
        "capabilities": {"hover": False, "touch": True},
    }
    assert widget.globals()["safeArea"] == {"insets": {"top": 0, "right": 0, "bottom": 0, "left": 0}}
    assert widget.call("requestDisplayMode", {"mode": "pip"})["value"] == {"mode": "pip"}
