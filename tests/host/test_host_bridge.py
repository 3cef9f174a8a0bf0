"""MCP Apps 2026-01-26 from the widget's side: handshake, order, every request and notification."""

from __future__ import annotations

import pytest
from conftest import House
from person import Person
from playwright.sync_api import expect
from scripted import Scripted, result

#: What a host of MCP Apps may advertise, and a request that only works where it is handled.
HANDLED = {
    "openLinks": ("ui/open-link", {"url": "javascript:0"}, "Only http and https"),
    "serverTools": ("tools/list", {}, None),
    "serverResources": ("resources/list", {}, None),
    "updateModelContext": ("ui/update-model-context", {"structuredContent": {"x": 1}}, None),
    "message": ("ui/message", {"role": "user", "content": [{"type": "text", "text": "hi"}]}, None),
}


@pytest.mark.row("O01", "O18", "B01", "B02", "B03", "B18")
def test_the_handshake_answers_with_info_capabilities_and_context_and_nothing_comes_before(
    person: Person, probe: Scripted
) -> None:
    person.open("probe")
    widget = person.widget(person.run("look", {"a": 1})).ready()
    expect(widget.at("globals")).to_contain_text('"toolOutput":{')
    hello = widget.connect()
    assert hello["protocolVersion"] == "2026-01-26"
    assert hello["hostInfo"]["name"] == "chatgpt"
    assert set(hello["hostCapabilities"]) == {
        "openLinks", "downloadFile", "serverTools", "serverResources", "logging", "sandbox", "updateModelContext",
        "message", "sampling",
    }  # fmt: skip
    context = hello["hostContext"]
    assert context["toolInfo"]["tool"]["name"] == "look"
    assert set(context) >= {
        "theme", "styles", "displayMode", "availableDisplayModes", "containerDimensions", "locale", "timeZone",
        "userAgent", "platform", "deviceCapabilities", "safeAreaInsets",
    }  # fmt: skip
    messages = widget.bridge()
    assert [m["method"] for m in messages] == ["ui/notifications/tool-input", "ui/notifications/tool-result"]
    assert messages[0]["params"] == {"arguments": {"a": 1}}
    assert messages[1]["params"]["structuredContent"] == {"a": 1}


@pytest.mark.row("B18")
@pytest.mark.parametrize("capability", sorted(HANDLED))
def test_what_is_advertised_is_handled(person: Person, probe: Scripted, capability: str) -> None:
    method, params, refusal = HANDLED[capability]
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert capability in widget.connect()["hostCapabilities"]
    answer = widget.request(method, params)
    if refusal is None:
        assert answer["ok"]
    else:
        assert refusal in answer["error"]


@pytest.mark.row("B04", "B05")
def test_ping_is_answered_and_an_unknown_method_is_not_found(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    assert widget.request("ping")["value"] == {}
    assert widget.request("ui/unheard-of")["code"] == -32601
    assert not widget.request("ui/request-display-mode", {"mode": "sideways"})["ok"]


@pytest.mark.row("B06")
def test_tools_and_resources_of_the_server_are_reached_through_the_host(person: Person, probe: Scripted) -> None:
    probe.tool("other", lambda a: result({"got": a}))
    probe.tool("model_only", _meta={"ui": {"visibility": ["model"]}})
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    assert widget.request("tools/call", {"name": "other", "arguments": {"x": 1}})["value"]["structuredContent"] == {
        "got": {"x": 1}
    }
    assert "visibility" in widget.request("tools/call", {"name": "model_only"})["error"]
    assert [t["name"] for t in widget.request("tools/list")["value"]["tools"]] == ["look", "other"]
    contents = widget.request("resources/read", {"uri": "ui://widget/probe.html"})["value"]["contents"]
    assert contents[0]["text"].startswith("<!doctype html>")
    assert widget.request("resources/templates/list")["value"]["resourceTemplates"] == []
    assert widget.request("prompts/list")["value"]["prompts"] == []


@pytest.mark.row("O08", "B07", "B08")
def test_a_message_becomes_the_user_s_and_context_is_shown_to_the_model(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    content = [{"type": "text", "text": "Tell me about zebras"}]
    assert widget.request("ui/message", {"role": "user", "content": content})["ok"]
    assert person.says()[-1] == "Tell me about zebras"
    assert widget.request("ui/update-model-context", {"structuredContent": {"chosen": "zebra-9"}})["ok"]
    expect(person.pane("Model sees")).to_contain_text("zebra-9")


@pytest.mark.row("B18")
def test_a_file_is_saved_after_the_person_agrees(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    widget.connect()
    file = {"uri": "file:///report.csv", "mimeType": "text/csv", "text": "a,b"}
    widget.start("ui/download-file", {"contents": [{"type": "resource", "resource": file}]})
    with person.page.expect_download() as download:
        card.get_by_role("button", name="Save", exact=True).click()
    assert download.value.suggested_filename == "report.csv"
    assert widget.answer("reply")["value"] == {}
    widget.start("ui/download-file", {"contents": [{"type": "resource", "resource": file}]})
    card.get_by_role("button", name="Cancel").click()
    assert widget.answer("reply")["value"] == {"isError": True}


@pytest.mark.row("B18")
def test_the_person_answers_for_the_model(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    messages = [{"role": "user", "content": {"type": "text", "text": "Name one animal"}}]
    widget.start("sampling/createMessage", {"messages": messages, "maxTokens": 10})
    card = person.page.get_by_role("form", name="The widget asks the model")
    expect(card).to_contain_text("Name one animal")
    card.get_by_label("The model's answer").fill("A zebra")
    card.get_by_role("button", name="Answer").click()
    assert widget.answer("reply")["value"]["content"] == {"type": "text", "text": "A zebra"}


@pytest.mark.row("B18")
def test_the_widget_s_log_messages_and_its_own_tools_are_shown(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    widget.notify("notifications/message", {"level": "error", "data": "the hay is wet", "logger": "barn"})
    expect(person.pane("Console")).to_contain_text("barn: the hay is wet")
    pane = person.pane("Widget gets")
    pane.get_by_role("button", name="List them").click()
    pane.get_by_role("button", name="Call widget_tool").click()
    expect(pane).to_contain_text("from the widget")


def test_arguments_can_be_streamed_before_the_input(person: Person, probe: Scripted) -> None:
    person.open("probe")
    person.knob("Stream arguments to widgets", True)
    widget = person.widget(person.run("look", {"a": 1, "b": 2, "c": 3})).ready()
    widget.connect()
    inputs = [m for m in widget.bridge() if "tool-input" in m["method"]]
    assert [m["params"]["arguments"] for m in inputs] == [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}]
    assert inputs[-1]["method"] == "ui/notifications/tool-input"


@pytest.mark.row("B18")
def test_a_widget_hears_that_the_tools_have_changed(person: Person, probe: Scripted, house: House) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert widget.connect()["hostCapabilities"]["serverTools"] == {"listChanged": True}
    probe.tool("new_one")
    house.released(probe)
    expect(widget.at("bridge")).to_contain_text("notifications/tools/list_changed")
    expect(widget.at("bridge")).to_contain_text("notifications/resources/list_changed")


@pytest.mark.row("B17")
def test_messages_are_shown_with_their_time(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    log = person.pane("Messages")
    row = log.get_by_role("listitem").filter(has_text="ui/initialize").first
    expect(row).to_contain_text("← widget")
    expect(row).to_contain_text("ms")
    row.locator("summary").first.click()
    expect(row).to_contain_text("appCapabilities")


@pytest.mark.row("O16", "R09", "H15", "H48")
def test_a_link_is_shown_first_and_an_approved_one_learns_the_way_back(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    context = person.page.context
    context.route("**/*.example/**", lambda route: route.fulfill(body="there"))
    widget.begin("openExternal", {"href": "https://other.example/page"})
    expect(card.get_by_text("https://other.example/page")).to_be_visible()
    with context.expect_page() as opened:
        card.get_by_role("button", name="Open link").click()
    assert opened.value.url == "https://other.example/page"
    with context.expect_page() as opened:
        assert widget.call("openExternal", {"href": "https://go.example/buy?x=1"})["ok"]
    opened.value.wait_for_url("https://go.example/buy?x=1&redirectUrl=*")
    assert "redirectUrl=http%3A%2F%2Flocalhost" in opened.value.url
    with context.expect_page() as opened:
        widget.call("openExternal", {"href": "https://go.example/buy", "redirectUrl": False})
    opened.value.wait_for_url("https://go.example/buy")
    for href in ("javascript:alert(1)", "data:text/html,x", "not a url"):
        assert not widget.call("openExternal", {"href": href})["ok"]


@pytest.mark.row("O08", "H07")
def test_a_follow_up_is_a_message_and_scrolls_unless_told_not_to(person: Person, probe: Scripted) -> None:
    person.open("probe")
    for _ in range(3):
        person.widget(person.run("look")).ready()
    widget = person.widget(person.page.get_by_role("article").first)
    transcript = person.page.get_by_role("region", name="Conversation")
    top = "(e) => e.scrollTop"
    widget.proxy.scroll_into_view_if_needed()
    before = transcript.evaluate(top)
    assert widget.call("sendFollowUpMessage", {"prompt": "Stay", "scrollToBottom": False})["ok"]
    assert person.says()[-1] == "Stay"
    assert transcript.evaluate(top) == before
    assert widget.call("sendFollowUpMessage", {"prompt": "Scroll"})["ok"]
    expect(person.page.locator(".said").get_by_text("Scroll", exact=True)).to_be_in_viewport()
