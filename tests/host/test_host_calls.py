"""Calls that widgets make: who may be called, what is asked first, and what the host adds."""

from __future__ import annotations

from typing import Any

import pytest
from person import Person
from playwright.sync_api import expect
from scripted import DESTROYS, READS, WRITES, Refusal, Scripted, result

CLIENT_META = {
    "openai/locale": "en-US",
    "openai/userAgent": "ChatGPT/1.2026.320 (Web)",
    "openai/subject": None,
    "openai/session": None,
    "openai/userLocation": None,
}


@pytest.mark.row("O07", "T04", "T07", "T08", "H06", "H28", "H31")
@pytest.mark.parametrize(
    ("meta", "allowed"),
    [
        (None, True),
        ({"ui": {"visibility": ["app"]}}, True),
        ({"ui": {"visibility": ["model"]}}, False),
        ({"ui": {"visibility": ["model", "app"]}, "openai/widgetAccessible": False}, True),
        ({"openai/outputTemplate": "ui://widget/probe.html"}, False),
        ({"openai/outputTemplate": "ui://widget/probe.html", "openai/widgetAccessible": True}, True),
    ],
)
def test_a_widget_may_call_what_its_visibility_says(
    person: Person, probe: Scripted, meta: dict[str, object] | None, allowed: bool
) -> None:
    probe.tool("other", lambda arguments: result({"got": arguments}), _meta=meta)
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    answer = widget.call("callTool", "other", {"x": 1})
    assert answer["ok"] is allowed
    assert [c["name"] for c in probe.calls] == (["look", "other"] if allowed else ["look"])
    if allowed:
        assert answer["value"]["structuredContent"] == {"got": {"x": 1}}
        assert answer["value"]["content"][0]["text"] == "Done."


@pytest.mark.row("O07", "H06")
def test_a_tool_s_error_resolves_and_a_protocol_error_rejects(person: Person, probe: Scripted) -> None:
    probe.tool("fails", lambda _: result(None, "No such animal.", isError=True))
    probe.tool("breaks", lambda _: Refusal(-32603, "The server is out of order"))
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    failed = widget.call("callTool", "fails", {})
    assert failed["ok"]
    assert failed["value"]["isError"] is True
    broken = widget.call("callTool", "breaks", {})
    assert not broken["ok"]
    assert "out of order" in broken["error"]
    assert not widget.call("callTool", "not_there", {})["ok"]


@pytest.mark.row("O07", "N02", "H37", "H38", "B16")
@pytest.mark.parametrize("yes", [True, False])
def test_a_widget_s_destructive_call_asks_the_person_too(person: Person, probe: Scripted, yes: bool) -> None:
    probe.tool("delete", annotations=DESTROYS, title="Delete it")
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    widget.begin("callTool", "delete", {"id": 7})
    expect(card.get_by_role("heading", name="Allow Delete it?")).to_be_visible()
    expect(card.get_by_role("group", name="Allow Delete it?")).to_contain_text("It reaches the public internet.")
    assert [c["name"] for c in probe.calls] == ["look"]
    card.get_by_role("button", name="Approve" if yes else "Deny").click()
    assert widget.answer()["ok"] is yes
    assert len(probe.calls) == (2 if yes else 1)


@pytest.mark.row("N02", "H36")
def test_a_tool_that_destroys_nothing_can_be_allowed_for_the_conversation(person: Person, probe: Scripted) -> None:
    probe.tool("write", annotations=WRITES, title="Write")
    probe.tool("delete", annotations=DESTROYS, title="Delete")
    person.open("probe")
    card = person.run("write")
    card.get_by_role("button", name="Always allow").click()
    expect(card.get_by_role("status")).to_have_text("Called Write")
    expect(person.run("write").get_by_role("status")).to_have_text("Called Write")
    card = person.run("delete")
    expect(card.get_by_role("button", name="Approve")).to_be_visible()
    expect(card.get_by_role("button", name="Always allow")).to_have_count(0)
    person.page.get_by_role("button", name="New conversation").click()
    expect(person.run("write").get_by_role("button", name="Approve")).to_be_visible()


@pytest.mark.row("M01", "M02", "M03", "M04", "M05", "S04", "H52", "H54", "H55", "H56", "H57", "H58")
def test_calls_by_the_model_and_by_widgets_carry_what_chatgpt_adds(person: Person, probe: Scripted) -> None:
    probe.tool("other")
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    first = widget.call("callTool", "other", {})
    second = widget.call("callTool", "other", {})
    by_model, by_widget, again = [c["_meta"] for c in probe.calls]
    for key, value in CLIENT_META.items():
        assert by_model[key] == by_widget[key]
        assert value is None or by_model[key] == value
    assert by_model["openai/userLocation"]["timezone"] == "Europe/Amsterdam"
    assert set(by_model["openai/userLocation"]) == {"city", "region", "country", "timezone", "longitude", "latitude"}
    assert "openai/organization" not in by_model
    session = by_widget["openai/widgetSessionId"]
    assert session == again["openai/widgetSessionId"]
    assert first["value"]["_meta"]["openai/widgetSessionId"] == session
    assert second["value"]["_meta"]["openai/widgetSessionId"] == session
    opening = next(r for r in probe.requests if r["method"] == "server/discover")
    assert opening["params"]["_meta"]["openai/locale"] == "en-US"
    person.page.get_by_role("button", name="Reload the widget").click()
    expect(widget.at("answer")).to_be_empty()
    assert widget.call("callTool", "other", {})["value"]["_meta"]["openai/widgetSessionId"] != session


@pytest.mark.row("M01", "M02", "M03", "M04", "M05", "M06", "H54", "H55", "H56", "H57", "H58", "H59")
def test_each_of_them_can_be_switched_off_and_the_old_locale_key_sent_instead(person: Person, probe: Scripted) -> None:
    person.open("probe")
    person.knob("Organisation", True)
    widget = person.widget(person.run("look")).ready()
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    assert widget.call("callTool", "look", {})["ok"]
    by_model, by_widget = [c["_meta"]["openai/organization"] for c in probe.calls]
    assert by_model == by_widget
    assert by_model.startswith("v1/")
    for knob in ("Subject", "Session", "Organisation"):
        person.knob(knob, False)
    person.knob("Location", "off")
    person.knob("Locale under the old key (webplus/i18n)", True)
    person.pane("Knobs").get_by_label("User agent").fill("")
    person.run("look")
    expect(person.page.get_by_text("Called Look").nth(1)).to_be_visible()
    sent = probe.calls[-1]["_meta"]
    assert [key for key in sent if key.startswith("openai/")] == []
    assert sent["webplus/i18n"] == "en-US"


@pytest.mark.parametrize(("client", "name"), [("plain", "tenantry-host"), ("hashed", "claude-ai")])
def test_a_client_that_is_not_chatgpt_sends_none_of_it_and_names_itself(
    person: Person, probe: Scripted, client: str, name: str
) -> None:
    person.open("probe")
    person.knob("Client", client)
    expect(person.page.locator(".status[data-status=ready]")).to_be_visible()
    person.run("look")
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    sent = probe.calls[-1]["_meta"]
    assert [key for key in sent if key.startswith("openai/")] == []
    assert sent["io.modelcontextprotocol/clientInfo"]["name"] == name


@pytest.mark.row("M01", "H54")
def test_the_handshake_era_is_spoken_too_with_the_locale_at_initialize(person: Person, probe: Scripted) -> None:
    person.open("probe")
    person.knob("Protocol", "2025")
    expect(person.page.get_by_text("MCP 2025-11-25")).to_be_visible()
    initialize = next(r for r in probe.requests if r["method"] == "initialize")
    assert initialize["params"]["_meta"] == {"openai/locale": "en-US"}
    assert initialize["params"]["clientInfo"]["name"] == "openai-mcp"
    widget = person.widget(person.run("look", {"a": 1})).ready()
    expect(widget.at("globals")).to_contain_text('"toolOutput":{"a":1}')
    assert probe.calls[-1]["_meta"]["openai/locale"] == "en-US"


@pytest.mark.row("T09", "T10")
def test_progress_and_logs_of_a_tool_are_shown(person: Person, probe: Scripted) -> None:
    probe.notifications = [
        {"method": "notifications/progress", "params": {"progress": 1, "total": 4, "message": "a quarter"}},
        {"method": "notifications/message", "params": {"level": "warning", "data": "low on hay"}},
    ]
    probe.tools[0]["_meta"]["openai/toolInvocation/invoked"] = "Looked"
    person.open("probe")
    card = person.run("look")
    expect(card.get_by_text("Looked")).to_be_visible()
    logs = person.pane("Tool logs")
    expect(logs).to_contain_text("1 of 4 · a quarter")
    expect(logs).to_contain_text("low on hay")


@pytest.mark.parametrize(
    ("failure", "says"),
    [("network", "Failed to fetch"), ("server", "Injected by the local host"), ("tool", "The tool failed")],
)
def test_trouble_can_be_injected(person: Person, probe: Scripted, failure: str, says: str) -> None:
    person.open("probe")
    person.knob("Calls fail", failure)
    person.knob("Latency, ms", 100)
    card = person.run("look")
    card.locator(".result summary, .problem").first.wait_for()
    expect(card).to_contain_text(says)
    assert probe.calls == []


@pytest.mark.row("S01", "H49")
def test_structured_content_that_breaks_the_output_schema_is_shown(person: Person, probe: Scripted) -> None:
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    probe.tool("count", lambda _: result({"count": "many"}), outputSchema=schema, annotations=READS)
    person.open("probe")
    card = person.run("count")
    expect(card.get_by_role("alert")).to_contain_text("structuredContent breaks outputSchema")
    expect(person.pane("Model sees")).to_contain_text("many")


def test_a_plugin_asks_the_person_while_its_tool_runs(person: Person, probe: Scripted) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    form = {"mode": "form", "message": "Whose hay is it?", "requestedSchema": schema}
    messages = [{"role": "user", "content": {"type": "text", "text": "Rhyme on hay"}}]
    asked = {
        "who": {"method": "elicitation/create", "params": form},
        "rhyme": {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 9}},
    }

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        answers = probe.calls[-1].get("inputResponses")
        if answers is None:
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "sealed"}
        assert probe.calls[-1]["requestState"] == "sealed"
        return result({"who": answers["who"]["content"]["name"], "rhyme": answers["rhyme"]["content"]["text"]})

    probe.tool("ask", ask)
    person.open("probe")
    card = person.run("ask")
    form_card = person.page.get_by_role("group", name="The plugin asks you")
    expect(form_card).to_contain_text("Whose hay is it?")
    form_card.get_by_label("name").fill("Ada")
    form_card.get_by_role("button", name="Answer").click()
    model = person.page.get_by_role("form", name="The plugin asks the model")
    expect(model).to_contain_text("Rhyme on hay")
    model.get_by_label("The model's answer").fill("Every day")
    model.get_by_role("button", name="Answer").click()
    expect(card.get_by_role("status")).to_have_text("Called ask")
    seen = person.pane("Model sees")
    expect(seen).to_contain_text("Every day")
    expect(seen).to_contain_text("Ada")
