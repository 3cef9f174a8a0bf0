"""What a person sees after a call: the whole turn, each line that a tool logs once, a console that can be read."""

from __future__ import annotations

from typing import Any

from conftest import House
from person import Person
from playwright.sync_api import ConsoleMessage, expect
from scripted import Scripted, result

IN_VIEW = """(card) => {
  const scroller = card.closest(".transcript").getBoundingClientRect(), shown = card.getBoundingClientRect();
  return shown.top >= scroller.top && shown.bottom <= scroller.bottom;
}"""


def test_a_turn_is_in_view_to_its_end_when_its_widget_has_found_its_height(person: Person, house: House) -> None:
    plugin = house.add(Scripted("tall"))
    uri = "ui://widget/tall.html"
    slowly = "setTimeout(() => { document.body.style.height = '380px' }, 600)"
    plugin.widget(uri, f"<!doctype html><title>x</title><p>Tall</p><script>{slowly}</script>")
    plugin.tool("look", lambda _: result({"a": 1}, "Done."), _meta={"ui": {"resourceUri": uri}})
    person.open("tall")
    for _ in range(2):
        card = person.run("look")
        expect(card.locator(".widget-stage")).to_have_css("height", "404px")
        assert card.evaluate(IN_VIEW)
    person.page.wait_for_timeout(200)
    card = person.run("look")
    box = person.page.get_by_role("region", name="Conversation")
    expect(card.get_by_role("status")).to_have_text("Called look")
    left = box.evaluate(
        "(box) => { box.scrollBy(0, -40); return box.scrollTop; }"
    )  # the person looks at what was above
    expect(card.locator(".widget-stage")).to_have_css("height", "404px")
    assert box.evaluate("(box) => box.scrollTop") == left
    assert not card.evaluate(IN_VIEW)


def test_what_a_tool_logs_stands_in_the_tool_logs_once(person: Person, house: House) -> None:
    plugin = house.add(Scripted("chatty"))

    def said(level: str, text: str) -> dict[str, Any]:
        return {"method": "notifications/message", "params": {"level": level, "logger": "zoo", "data": text}}

    plugin.tool("talk")
    person.open("chatty")
    plugin.notifications = [said("info", "fed\nthe zebra"), said("debug", "quietly"), said("warning", "low on hay")]
    card = person.run("talk")
    expect(card.get_by_role("status")).to_have_text("Called talk")
    printed = ["low on hay", "INFO zoo: fed", "the zebra", "WARNING zoo: low on hay", "INFO zoo: fed", "the zebra"]
    house.tell({"event": "output", "plugin": "chatty", "tool": "talk", "printed": printed, "traceback": []})
    lines = person.pane("Tool logs").get_by_role("list", name="Tool logs").get_by_role("listitem")
    expect(lines).to_have_text(
        ["infofed\nthe zebra", "debugquietly", "warninglow on hay", "printedtalklow on hay\nINFO zoo: fed\nthe zebra"]
    )
    house.tell({"event": "output", "plugin": "chatty", "tool": "talk", "printed": printed[:1], "traceback": []})
    expect(lines).to_have_count(5)


def test_neither_console_is_filled_by_the_messages_of_the_page(person: Person, house: House, probe_html: str) -> None:
    plugin = house.add(Scripted("heard"))
    uri = "ui://widget/heard.html"
    plugin.widget(uri, probe_html)
    plugin.tool("look", _meta={"ui": {"resourceUri": uri}})
    ignored: list[str] = []

    def hear(line: ConsoleMessage) -> None:
        if "Ignoring" in line.text:
            ignored.append(line.text)

    person.page.on("console", hear)
    person.open("heard")
    person.widget(person.run("look")).ready()
    widget = person.widget(person.run("look", {"a": 2})).ready()
    frame = widget.frame()
    frame.evaluate("() => { window.heard = []; addEventListener('message', (e) => window.heard.push(e.data)); }")
    widget.connect()
    person.knob("Theme", "dark")
    expect(widget.at("globals")).to_contain_text('"theme":"dark"')
    heard = frame.evaluate("window.heard")
    assert heard
    assert [message for message in heard if "jsonrpc" not in message] == []
    assert ignored == []
