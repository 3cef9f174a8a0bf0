"""How a widget is shown: display modes, modals, closing, height, history."""

from __future__ import annotations

import pytest
from person import Person
from playwright.sync_api import expect
from scripted import HTML, Scripted

SECOND = """<!doctype html><title>Second</title><body><p id=place>second</p>
<pre id=view></pre><p id=csp></p><script>
document.getElementById('view').textContent = JSON.stringify(window.openai.view);
fetch('https://second.example/x').catch(() => { document.getElementById('csp').textContent = 'tried'; });
</script>"""


LATE = """<!doctype html><title>Late</title><body><p id=place></p><script>
const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const appInfo = { name: "late", version: "1" };
window.addEventListener("message", ({ data }) => {
  if (data?.id === 1 && data.result) {
    send({ method: "ui/notifications/initialized", params: {} });
    document.getElementById("place").textContent = "connected";
  }
  if (data?.method !== "ui/resource-teardown") return;
  send({ id: data.id, result: {} });
  for (let n = 0; n < 20; n += 1) setTimeout(() => {
    send({ id: 100 + n, method: "ui/message", params: { role: "user", content: [{ type: "text", text: "late" }] } });
    window.openai.callTool("late", {});
    window.openai.sendFollowUpMessage({ prompt: "too late" });
  }, n * 5);
});
send({ id: 1, method: "ui/initialize", params: { appInfo, appCapabilities: {}, protocolVersion: "2026-01-26" } });
</script>"""


@pytest.mark.row("O12", "H11", "B09")
def test_a_granted_display_mode_is_answered_and_seen_everywhere(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    widget.connect()
    assert widget.call("requestDisplayMode", {"mode": "fullscreen"})["value"] == {"mode": "fullscreen"}
    assert widget.globals()["displayMode"] == "fullscreen"
    assert widget.globals()["maxHeight"] == 900
    changed = [m["params"] for m in widget.bridge() if m["method"].endswith("host-context-changed")]
    assert changed[-1]["displayMode"] == "fullscreen"
    size = widget.proxy.bounding_box()
    assert size
    assert size["width"] == 1400
    person.page.get_by_role("button", name="Back to the conversation").click()
    expect(widget.at("globals")).to_contain_text('"displayMode":"inline"')
    widget.request("ui/request-display-mode", {"mode": "pip"})
    expect(card.locator(".widget")).to_have_attribute("data-mode", "pip")
    assert widget.read("reply")["value"]["mode"] == "pip"


@pytest.mark.row("O12", "R05", "H11")
def test_only_declared_modes_are_granted(person: Person, probe: Scripted) -> None:
    probe.resources[0]["_meta"]["openai/ui"] = {"availableDisplayModes": ["inline", "pip"]}
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert widget.call("requestDisplayMode", {"mode": "fullscreen"})["value"] == {"mode": "inline"}
    assert widget.call("requestDisplayMode", {"mode": "pip"})["value"] == {"mode": "pip"}
    widget.connect()  # the widget declares fullscreen as well
    assert widget.call("requestDisplayMode", {"mode": "fullscreen"})["value"] == {"mode": "fullscreen"}


@pytest.mark.row("R05", "H43")
def test_a_fullscreen_only_widget_opens_there_without_an_inline_spinner(person: Person, probe: Scripted) -> None:
    probe.resources[0]["_meta"]["openai/ui"] = {"availableDisplayModes": ["fullscreen"]}
    person.open("probe")
    person.page.evaluate(
        "() => new MutationObserver(() => { if (document.querySelector('.widget[data-mode=fullscreen] .widget-wait'))"
        " window.sawSpinner = true; }).observe(document.body, { subtree: true, childList: true, attributes: true })"
    )
    widget = person.widget(person.run("look")).ready()
    assert widget.read("first")["openai"]["displayMode"] == "fullscreen"
    assert person.page.evaluate("window.sawSpinner") is None


@pytest.mark.row("O13", "O18", "H12", "H21")
def test_a_modal_has_its_own_frame_and_the_params(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look", {"a": 1})).ready()
    assert widget.call("requestModal", {"params": {"id": 7}})["ok"]
    modal = person.modal().ready()
    assert modal.globals()["view"] == {"mode": "modal", "params": {"id": 7}}
    assert modal.globals()["toolInput"] == {"a": 1}
    assert widget.globals()["view"]["mode"] == "inline"
    modal.begin("requestClose")
    expect(person.page.get_by_role("dialog", name="Widget dialog")).to_have_count(0)


@pytest.mark.row("O13", "R03", "H12")
def test_a_modal_of_another_template_runs_under_that_template_s_policy(person: Person, probe: Scripted) -> None:
    meta = {"ui": {"csp": {"connectDomains": ["https://second.example"]}}}
    probe.widget("ui://widget/second.html", SECOND, meta)
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    assert widget.call("requestModal", {"template": "ui://widget/second.html", "params": {"q": 1}})["ok"]
    modal = person.modal()
    expect(modal.at("view")).to_have_text('{"mode":"modal","params":{"q":1}}')
    expect(modal.at("csp")).to_have_text("tried")
    expect(person.pane_quietly("Policy")).not_to_contain_text("second.example")
    for uri in ("ui://widget/unknown.html", "https://evil.example/x.html"):
        assert not widget.call_behind("requestModal", {"template": uri})["ok"]


@pytest.mark.row("O14", "O15", "H13", "B10")
def test_closing_tears_down_unmounts_and_deafens(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    widget.connect()
    widget.begin("requestClose")
    expect(card.locator("iframe")).to_have_count(0)
    expect(card).to_contain_text("The widget was closed.")
    log = person.pane("Messages")
    log.get_by_role("searchbox").fill("teardown")
    expect(log).to_contain_text("ui/resource-teardown")
    card.get_by_role("button", name="Show it again").click()
    person.widget(card).ready()


@pytest.mark.row("O14", "H13")
def test_what_a_widget_sends_after_its_goodbye_reaches_nobody(person: Person, probe: Scripted) -> None:
    probe.widget("ui://widget/late.html", LATE)
    probe.tool("late", _meta={"ui": {"resourceUri": "ui://widget/late.html"}})
    person.open("probe")
    card = person.run("late")
    expect(person.widget(card).at("place")).to_have_text("connected")
    card.get_by_role("button", name="Close the widget").click()
    expect(card).to_contain_text("The widget was closed.")
    card.get_by_role("button", name="Show it again").click()
    expect(person.widget(card).at("place")).to_have_text("connected")
    assert [c["name"] for c in probe.calls] == ["late"]
    assert person.says() == ["Late"]


@pytest.mark.row("O14", "B10")
def test_request_teardown_of_mcp_apps_closes_it_too(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    widget.connect()
    widget.notify("ui/notifications/request-teardown")
    expect(card).to_contain_text("The widget was closed.")


@pytest.mark.row("O15", "H14")
def test_the_frame_is_as_high_as_the_widget_says_up_to_the_limit(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    stage = card.locator(".widget-stage")
    widget.call("notifyIntrinsicHeight", 432)
    expect(stage).to_have_css("height", "432px")
    widget.call("notifyIntrinsicHeight", 5000)
    expect(stage).to_have_css("height", "800px")
    assert "threw" in widget.call("notifyIntrinsicHeight", "tall")
    widget.connect()
    widget.notify("ui/notifications/size-changed", {"width": 300, "height": 345})
    expect(stage).to_have_css("height", "345px")


@pytest.mark.row("O17", "H16")
def test_fullscreen_links_to_the_app_where_the_widget_says(person: Person, probe: Scripted) -> None:
    probe.resources[0]["_meta"]["ui"]["domain"] = "https://zoo.example"
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.at("push").click()
    widget.call("requestDisplayMode", {"mode": "fullscreen"})
    link = person.page.get_by_role("link", name="Open in Probe")
    expect(link).to_have_attribute("href", "https://zoo.example/items/7")
    widget.call("setOpenInAppUrl", {"href": "https://zoo.example/deep?x=1"})
    expect(link).to_have_attribute("href", "https://zoo.example/deep?x=1")
    assert not widget.call("setOpenInAppUrl", {"href": "javascript:alert(1)"})["ok"]


@pytest.mark.row("O20", "H25")
def test_history_is_mirrored_and_the_host_s_buttons_drive_it(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look")
    widget = person.widget(card).ready()
    expect(widget.at("place")).to_have_text("/")
    back, forward = (card.get_by_role("button", name=f"{way} in the widget") for way in ("Back", "Forward"))
    expect(back).to_be_disabled()
    widget.at("push").click()
    expect(card.locator(".widget-path")).to_have_text("/items/7")
    back.click()
    expect(widget.at("place")).to_have_text("/")
    expect(card.locator(".widget-path")).to_have_text("/")
    forward.click()
    expect(widget.at("place")).to_have_text("/items/7")
    person.page.evaluate("history.back()")
    expect(widget.at("place")).to_have_text("/")


@pytest.mark.row("O20", "H25")
def test_a_widget_that_reloads_itself_on_a_route_comes_back_there_with_its_state(
    person: Person, probe: Scripted
) -> None:
    person.open("probe")
    widget = person.widget(person.run("look", {"a": 1})).ready()
    widget.call("setWidgetState", {"n": 1})
    widget.at("push").click()
    widget.at("reload").click()
    expect(widget.at("answer")).to_be_empty()
    expect(widget.at("place")).to_have_text("/items/7")
    expect(widget.at("globals")).to_contain_text('"widgetState":{"n":1}')
    assert widget.globals()["toolInput"] == {"a": 1}


@pytest.mark.row("R02", "H40", "H45")
@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("older", [True, False], ids=["openai/widgetPrefersBorder", "ui.prefersBorder"])
def test_a_border_is_drawn_where_it_is_preferred(person: Person, probe: Scripted, wanted: bool, older: bool) -> None:
    given = {"openai/widgetPrefersBorder": wanted} if older else {"ui": {"prefersBorder": wanted}}
    probe.resources[0]["_meta"] = given
    person.open("probe")
    card = person.run("look")
    person.widget(card).ready()
    expect(card.locator(".widget-stage")).to_have_css("border-top-width", "1px" if wanted else "0px")


@pytest.mark.row("T03", "T05", "R01", "H27", "H29")
def test_a_template_that_is_missing_or_of_another_type_is_named(person: Person, probe: Scripted) -> None:
    probe.tool("gone", _meta={"ui": {"resourceUri": "ui://widget/gone.html"}})
    probe.widget("ui://widget/plain.html", "<p>plain", mimeType="text/html")
    probe.tool("plain", _meta={"openai/outputTemplate": "ui://widget/plain.html"})
    probe.tool("legacy", _meta={"openai/outputTemplate": "ui://widget/probe.html"})
    person.open("probe")
    expect(person.run("gone").get_by_role("alert")).to_contain_text("There is no resource ui://widget/gone.html")
    expect(person.run("plain").get_by_role("alert")).to_contain_text(f"mimeType text/html; a widget needs {HTML}")
    person.widget(person.run("legacy", {"z": 1})).ready()
