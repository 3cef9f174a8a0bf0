"""Widgets that mean harm, or are broken: the page stays usable, the message is refused, and that is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from person import Person, Widget
from playwright.sync_api import expect
from scripted import Scripted

HOSTILE = (Path(__file__).parent / "widgets" / "hostile.html").read_text()


@pytest.fixture
def hostile(person: Person, probe: Scripted) -> Widget:
    probe.widget("ui://widget/hostile.html", HOSTILE)
    probe.tool("attack", _meta={"ui": {"resourceUri": "ui://widget/hostile.html"}})
    person.open("probe")
    widget = person.widget(person.run("attack"))
    expect(widget.at("place")).to_have_text("hostile")
    return widget


def usable(person: Person) -> None:
    """The page still calls tools and shows another widget."""
    card = person.run("look", {"still": "here"})
    expect(person.widget(card).at("globals")).to_contain_text('"toolOutput":{"still":"here"}')
    assert person.page.url.startswith(person.origin)


def refused(person: Person, what: str) -> None:
    log = person.pane("Messages")
    log.get_by_role("searchbox").fill("refused")
    expect(log.get_by_role("listitem").filter(has_text=what).first).to_be_visible()


def test_a_flood_of_messages_is_cut_off(person: Person, hostile: Widget) -> None:
    hostile.at("flood").click()
    expect(hostile.at("done")).to_have_text("flooded")
    refused(person, "more than 200 messages a second")
    usable(person)


def test_a_giant_message_is_refused(person: Person, hostile: Widget) -> None:
    hostile.at("giant").click()
    refused(person, "a message of more than 4000000 characters")
    assert person.says() == ["Attack"]
    usable(person)


def test_endless_resizing_comes_to_rest(person: Person, hostile: Widget) -> None:
    hostile.at("resize").click()
    refused(person, "endless resizing")
    usable(person)


def test_a_widget_that_navigates_away_is_stopped_and_can_be_reloaded(person: Person, hostile: Widget) -> None:
    asked: list[str] = []
    person.page.context.on("request", lambda r: asked.append(r.url) if "evil" in r.url else None)
    hostile.at("leave").click()
    alert = person.page.get_by_role("alert").filter(has_text="navigated itself away")
    expect(alert).to_be_visible()
    alert.get_by_role("button", name="Reload the widget").click()
    expect(hostile.at("place")).to_have_text("hostile")
    expect(alert).to_have_count(0)
    usable(person)


def test_a_widget_can_t_navigate_the_page(person: Person, hostile: Widget) -> None:
    hostile.at("top").click()
    expect(hostile.at("done")).not_to_be_empty()
    usable(person)


def test_frames_nested_in_a_widget_are_not_heard(person: Person, hostile: Widget) -> None:
    hostile.at("nested").click()
    refused(person, "a message from a window that is neither the page nor the widget")
    refused(person, "a message from a window that is not a proxy")
    assert person.says() == ["Attack"]
    usable(person)


def test_forged_ids_and_the_proxy_s_own_messages_are_refused(person: Person, hostile: Widget) -> None:
    hostile.at("forge").click()
    refused(person, "a message that only the proxy may send")
    refused(person, "a sandbox message, which only the host may send")
    refused(person, "malformed message")  # an answer to nothing that was asked
    assert person.says() == ["Attack"]
    expect(hostile.at("place")).to_have_text("hostile")
    usable(person)


def test_malformed_messages_are_refused_one_by_one(person: Person, hostile: Widget) -> None:
    hostile.at("malformed").click()
    refused(person, "malformed message")
    refused(person, "unknown message")
    assert person.says() == ["Attack"]
    usable(person)


def test_shouting_on_the_console_is_counted_not_shown(person: Person, hostile: Widget) -> None:
    hostile.at("shout").click()
    expect(hostile.at("done")).to_have_text("shouted")
    refused(person, "console flood")
    usable(person)


def test_a_widget_that_hides_its_document_loses_its_frame_only(person: Person, hostile: Widget) -> None:
    hostile.at("swap").click()
    expect(person.page.get_by_role("alert").filter(has_text="navigated itself away")).to_be_visible()
    usable(person)
