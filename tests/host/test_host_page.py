"""The page as a piece of software: screens, keyboard, links, tests to copy, hot reload, accessibility."""

from __future__ import annotations

import ast
import base64
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from conftest import HERE, House
from person import Person
from playwright.sync_api import Page, expect
from scripted import Scripted, result

AXE = HERE.parent.parent / "cli/tenantry_cli/host/page/node_modules/axe-core/axe.min.js"
MARK = '<pre id="place">'


def serious(page: Page) -> list[str]:
    """What axe-core finds that is serious or worse, in the page itself (not inside widgets)."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { iframes: false })")
    return [
        f"{v['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
        for node in v["nodes"]
    ]


@pytest.fixture
def shown(person: Person, probe: Scripted) -> Person:
    probe.instructions = "A plugin for looking at things."
    probe.tool(
        "write", annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}, title="Write"
    )
    probe.examples = [{"prompt": "Look at three things", "tool": "look", "arguments": {"count": 3}}]
    person.open("probe")
    return person


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_screen_is_free_of_serious_accessibility_faults(shown: Person, theme: str, shots: Path) -> None:
    page = shown.page
    if theme == "dark":
        page.get_by_role("button", name="Dark theme").click()
    assert serious(page) == []
    page.screenshot(path=shots / f"welcome-{theme}.png")
    shown.choose("look")
    assert serious(page) == []
    page.keyboard.press("Control+Enter")
    shown.widget(page.get_by_role("article", name="Call of look")).ready()
    shown.run("write", {"text": "hello"})
    page.get_by_role("heading", name="Allow Write?").wait_for()
    page.screenshot(path=shots / f"conversation-{theme}.png")
    for tab in page.get_by_role("tab").all():
        name = tab.get_attribute("title")
        assert name
        shown.pane(name)
        assert serious(page) == [], name
        page.screenshot(path=shots / f"pane-{name.lower().replace(' ', '-')}-{theme}.png")


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (760, 800), (600, 800), (360, 740)])
def test_narrow_windows_keep_everything_in_reach(
    person: Person, probe: Scripted, shots: Path, width: int, height: int
) -> None:
    page = person.page
    page.set_viewport_size({"width": width, "height": height})
    person.open("probe")
    if width <= 760:
        page.get_by_role("button", name="Tools").click()
    person.choose("look")
    page.get_by_role("button", name="Run").click()
    person.widget().ready()
    page.screenshot(path=shots / f"narrow-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(person.pane("Model sees")).to_be_visible()
    sheet = page.get_by_role("complementary", name="Inspector").bounding_box()
    main = page.get_by_role("main").bounding_box()
    assert sheet
    assert main
    assert (sheet["x"], sheet["width"]) == (main["x"], main["width"])  # all the room there is, and none of the widget's
    assert sheet["y"] >= main["y"] + main["height"]
    assert serious(page) == []
    page.get_by_role("tab", name="Model sees").click()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()


def test_the_keyboard_reaches_tools_panes_and_leaves_fullscreen(shown: Person) -> None:
    page, keys = shown.page, shown.page.keyboard
    page.get_by_role("searchbox", name="Search tools").focus()
    keys.type("look")
    keys.press("Tab")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Look")).to_be_visible()
    keys.press("Control+Enter")
    widget = shown.widget().ready()
    page.get_by_role("tab", name="Model sees").focus()
    keys.press("ArrowDown")
    expect(page.get_by_role("tab", name="Widget gets")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("Host context")
    page.get_by_role("button", name="Fullscreen").press("Enter")
    expect(widget.at("globals")).to_contain_text('"displayMode":"fullscreen"')
    keys.press("Escape")
    expect(widget.at("globals")).to_contain_text('"displayMode":"inline"')


def test_an_example_is_one_click(shown: Person, probe: Scripted) -> None:
    shown.page.get_by_role("button", name="Look at three things").click()
    expect(shown.page.get_by_text("Called Look")).to_be_visible()
    assert shown.says() == ["Look at three things"]
    assert probe.calls[-1]["arguments"] == {"count": 3}


def test_a_link_makes_the_same_call_again_once(person: Person, probe: Scripted) -> None:
    person.open("probe")
    card = person.run("look", {"a": [1, "x"]})
    card.get_by_role("button", name="Copy link to this call").click()
    link: str = person.page.evaluate("navigator.clipboard.readText()")
    assert link == f"{person.origin}/?" + urlencode(
        {"tool": "look", "arguments": '{"a":[1,"x"]}', "plugin": "test/probe"}
    )
    person.page.get_by_role("button", name="New conversation").click()
    person.page.goto(link)
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    assert [c["arguments"] for c in probe.calls] == [{"a": [1, "x"]}] * 2
    person.page.reload()
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    assert len(probe.calls) == 2


def test_a_call_of_a_server_that_was_brought_along_is_copied_as_a_test_against_it(
    person: Person, probe: Scripted
) -> None:
    answer: dict[str, Any] = {
        "names": ["zèbra", 'quo"te'],
        "n": 1.5,
        "yes": True,
        "none": None,
        "deep": [{"k": []}] * 9,
    }
    probe.handlers["look"] = lambda _: result(answer)
    person.open("probe")
    card = person.run("look", {"count": 3, "flag": False})
    card.get_by_role("button", name="Copy as pytest").click()
    expect(person.page.get_by_text("Test copied")).to_be_visible()
    source: str = person.page.evaluate("navigator.clipboard.readText()")
    tree = ast.parse(source)
    literals = [ast.literal_eval(n) for n in ast.walk(tree) if isinstance(n, ast.Dict)]
    assert answer in literals
    assert {"count": 3, "flag": False} in literals
    assert "async def test_look_3()" in source
    assert "assert not result.is_error" in source


def test_a_copied_test_of_a_kit_plugin_carries_who_asked_and_what_may_not_be_expected_twice(
    person: Person, probe: Scripted, house: House
) -> None:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    probe.kind, probe.secrets = "kit", ["ZOO_KEY"]
    claims = {"sub": "ada", "name": "Áda", "scope": "zoo.read", "exp": 4102444800, "iss": house.origin}
    token = f"{part({'alg': 'none'})}.{part(claims)}.x"
    kept = {"accounts": [{"id": "a", "label": "Ada", "tokens": {"access_token": token, "token_type": "Bearer"}}]}
    place = f"tenantry.accounts.{house.origin}/t/test/probe/mcp"
    person.page.add_init_script(f"localStorage.setItem({place!r}, {json.dumps(json.dumps(kept | {'current': 'a'}))})")
    numbers = iter(range(9))
    probe.handlers["look"] = lambda a: result(
        {"class": a["class"], "n": next(numbers), "when": time.time(), "kept": [1]}
    )
    person.open("probe")
    person.knob("Location", "tokyo")
    for _ in range(2):
        card = person.run("look", {"class": "zebra"})
        expect(card.get_by_role("status")).to_have_text("Called Look")
    card.get_by_role("button", name="Copy as pytest").click()
    expect(person.page.get_by_text("Test copied")).to_be_visible()
    source: str = person.page.evaluate("navigator.clipboard.readText()")
    given = {k.arg: ast.literal_eval(k.value) for call in calls(source, "Client") for k in call.keywords}
    assert given["user"] == {"sub": "ada", "name": "Áda", "scope": "zoo.read"}
    assert given["secrets"] == {"ZOO_KEY": "for tests"}
    assert given["meta"]["openai/userLocation"]["city"] == "Tokyo"
    assert set(given["meta"]) == {"openai/locale", "openai/userLocation"}
    assert 'client.call("look", **{"class": "zebra"})' in source
    assert '{"class": "zebra", "n": ANY, "when": ANY, "kept": [1]}' in source
    person.knob("Calls fail", "tool")
    card = person.run("look")
    expect(card.get_by_role("status")).to_have_text("Look reported an error")
    card.get_by_role("button", name="Copy as pytest").click()
    expect(person.page.get_by_text("An injected failure is no test of the plugin.")).to_be_visible()


def calls(source: str, name: str) -> list[ast.Call]:
    """The calls of a function in some Python."""
    found = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == name]


def test_the_inspector_is_as_wide_as_the_person_makes_it(person: Person, probe: Scripted) -> None:
    person.open("probe")
    page = person.page
    inspector, sash = page.get_by_role("complementary"), page.get_by_role("separator", name="Width of the inspector")
    expect(inspector).to_have_css("width", "460px")
    sash.focus()
    page.keyboard.press("ArrowLeft")
    expect(inspector).to_have_css("width", "484px")
    edge = sash.bounding_box()
    assert edge
    page.mouse.move(edge["x"] + 4, 300)
    page.mouse.down()
    page.mouse.move(800, 300, steps=3)
    page.mouse.up()
    expect(inspector).to_have_css("width", "600px")
    page.reload()
    expect(inspector).to_have_css("width", "600px")


def test_a_call_that_waits_has_no_request_yet(shown: Person) -> None:
    shown.run("look")
    expect(shown.page.get_by_text("Called Look")).to_be_visible()
    card = shown.run("write")
    request = shown.pane("Request")
    expect(request).to_contain_text("write was not sent yet: it waits for your approval.")
    card.get_by_role("button", name="Approve").click()
    expect(request).not_to_contain_text("was not sent")
    expect(request.locator(".json-item", has_text="namewrite").first).to_be_visible()


def test_a_saved_change_shows_in_the_widget_within_a_second_and_keeps_its_state(
    person: Person, probe: Scripted, house: House, probe_html: str
) -> None:
    person.open("probe")
    card = person.run("look", {"a": 1})
    widget = person.widget(card).ready()
    widget.call("setWidgetState", {"page": 4})
    widget.call("notifyIntrinsicHeight", 500)
    height = card.locator(".widget-stage").bounding_box()
    meta = probe.resources[0]["_meta"]
    probe.widget("ui://widget/probe.v2.html", probe_html.replace(MARK, '<h1 id="new">Second edition</h1>' + MARK), meta)
    probe.tools[0]["_meta"] = {"ui": {"resourceUri": "ui://widget/probe.v2.html"}}
    began = time.monotonic()
    house.released(probe)
    expect(widget.at("new")).to_have_text("Second edition")
    assert time.monotonic() - began < 2  # a second on an idle machine; two shards share this one
    assert widget.ready().globals()["widgetState"] == {"page": 4}
    assert widget.globals()["toolOutput"] == {"a": 1}
    assert card.locator(".widget-stage").bounding_box() == height
    assert len(probe.calls) == 1


def test_a_bubble_says_the_call_in_short(person: Person, probe: Scripted) -> None:
    probe.tool("add_to_diary")
    person.open("probe")
    person.run("look", {"animal_kind": "zebra", "sure": True, "tags": ["a", "b"], "more": 1, "again": 2})
    person.run("add_to_diary", {"text": "x" * 90, "pages": [1, 2, 3, 4], "file": {"file_name": "a.csv"}})
    person.run("add_to_diary")
    assert person.says() == [
        "Look — animal kind: zebra, sure: yes, tags: a, b, 2 more",
        f"Add to diary — text: {'x' * 47}…, pages: 4 items, file: a.csv",
        "Add to diary",
    ]


def test_nothing_jumps_while_the_plugin_is_asked_for_its_lists(person: Person, probe: Scripted, shots: Path) -> None:
    page = person.page
    held: list[Any] = []
    page.route("**/mcp", lambda route: held.append(route))
    page.goto(f"{person.origin}/?plugin=test/probe")
    expect(page.get_by_text("Connecting")).to_be_attached()
    expect(page.locator(".welcome.skeleton")).to_be_visible()
    page.screenshot(path=shots / "connecting.png")
    selectors = "['.topbar h1', '.status', '.composer', '.welcome']"
    places = f"{selectors}.map((s) => document.querySelector(s).getBoundingClientRect())"
    before = page.evaluate(f"{places}.map((r) => [r.x, r.y])")
    page.unroute("**/mcp")  # what was held goes on
    expect(page.get_by_text("Try Look")).to_be_visible()
    assert page.evaluate(f"{places}.map((r) => [r.x, r.y])") == before


def test_forty_tools_are_searched_and_walked_by_keys(person: Person, house: House, shots: Path) -> None:
    plugin = house.add(Scripted("many", title="A plugin with a name that is rather long, and forty tools in it"))
    for number in range(40):
        kind = "count" if number % 2 else "remove"
        plugin.tool(f"{kind}_animals_of_enclosure_number_{number}", description=f"It says {number} zebras.")
    page, keys = person.page, person.page.keyboard
    person.open("many")
    keys.press("/")
    box = page.get_by_role("searchbox", name="Search tools")
    expect(box).to_be_focused()
    tools = page.get_by_role("list", name="Tools", exact=True).get_by_role("listitem")
    expect(tools).to_have_count(40)
    expect(page.get_by_role("main")).to_have_css("width", "692px")
    page.screenshot(path=shots / "forty-tools.png")
    keys.type("remove zebras")
    expect(tools).to_have_count(20)
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Remove animals of enclosure number 2", exact=True)).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    box.fill("unicorns")
    expect(page.get_by_text("No tool has “unicorns”")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_a_result_of_a_megabyte_is_folded(person: Person, probe: Scripted, shots: Path) -> None:
    rows = [{"id": number, "note": "hay " * 20} for number in range(10_000)]
    probe.tool("big", lambda _: result({"rows": rows, "text": "straw " * 20_000}, "oats " * 40_000), title="Big")
    person.open("probe")
    card = person.run("big")
    card.get_by_role("button", name="Show all 200,000 characters").click()
    seen = person.pane("Model sees")
    expect(seen.get_by_role("button", name="9,900 more")).to_be_visible()
    seen.get_by_role("button", name="9,900 more").click()
    expect(seen.get_by_role("button", name="9,400 more")).to_be_visible()
    expect(seen.get_by_role("button", name="all 120,000 characters")).to_be_visible()
    person.page.screenshot(path=shots / "a-megabyte.png")
    assert person.page.evaluate("document.querySelectorAll('*').length") < 12_000
    person.widget(person.run("look", {"still": "quick"})).ready()


def test_an_empty_page_says_what_to_do(person: Person, house: House, shots: Path) -> None:
    page = person.page
    house.add(Scripted("bare"))
    person.open("bare")
    expect(page.get_by_text("Add one and save: it appears here at once.")).to_be_visible()
    expect(page.get_by_text("@plugin.tool")).to_be_visible()
    page.screenshot(path=shots / "no-tools.png")
    state = json.dumps({"plugins": [], "url": None, "screenshots": False})
    page.route("**/_host/state", lambda route: route.fulfill(body=state, content_type="application/json"))
    page.goto(person.origin)
    expect(page.get_by_role("heading", name="No plugin is being served yet")).to_be_visible()
    expect(page.get_by_text("platform init zoo")).to_be_visible()
    assert serious(page) == []


def test_a_template_is_read_once_ahead_and_the_times_are_shown(person: Person, probe: Scripted) -> None:
    def reads() -> int:
        return sum(r["method"] == "resources/read" for r in probe.requests)

    person.open("probe")
    expect(person.page.locator("iframe.spare")).to_have_count(1)
    person.choose("look")
    for number in range(2):
        card = person.run_chosen("look") if number == 0 else person.run("look", {"again": number})
        person.widget(card).ready()
    times = person.pane("Widget gets").get_by_role("region", name="Timings")
    for step in ("Template read", "Sandbox ready", "First script runs", "First paint"):
        expect(times).to_contain_text(step)
    assert reads() == 1


def test_a_document_that_the_server_has_let_go_is_handed_over_again(person: Person, probe: Scripted) -> None:
    with person.page.expect_response("**/_host/documents"):
        person.open("probe")
    for _ in range(64):  # as many as the server keeps
        body = {"label": "other", "html": "<p>x"}
        answer = person.page.request.post(
            f"{person.origin}/_host/documents", data=body, headers={"Origin": person.origin}
        )
        assert answer.ok
    person.widget(person.run("look", {"a": 1})).ready()
    expect(person.page.get_by_role("alert")).to_have_count(0)


def test_an_edit_that_changes_no_widget_leaves_it_alone(person: Person, probe: Scripted, house: House) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.at("url").fill("typed by hand")
    probe.tool("brand_new")
    house.released(probe)
    expect(person.page.get_by_role("list", name="Tools", exact=True)).to_contain_text("brand_new")
    assert widget.at("url").input_value() == "typed by hand"


def test_a_screenshot_of_the_widget_is_saved(person: Person, probe: Scripted, shots: Path) -> None:
    person.open("probe")
    card = person.run("look", {"shown": "in the picture"})
    person.widget(card).ready()
    with person.page.expect_download(timeout=60_000) as download:
        card.get_by_role("button", name="Screenshot of the widget").click()
    assert download.value.suggested_filename == "look.png"
    saved = shots / "widget.png"
    download.value.save_as(saved)
    data = saved.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20]) == 2 * (768 + 32)  # twice the density
    assert len(set(data)) > 50
    assert len(probe.calls) == 1


def test_the_request_is_shown_and_copied_as_curl(person: Person, probe: Scripted) -> None:
    person.open("probe")
    person.run("look", {"a": 1})
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    request = person.pane("Request")
    expect(request).to_contain_text("mcp-protocol-version")
    expect(request).to_contain_text("openai/locale")
    request.get_by_role("button", name="Copy as curl").click()
    copied: str = person.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"curl '{person.origin}/t/test/probe/mcp'")
    body = json.loads(copied.split("-d '")[1].rstrip("'"))
    assert body["params"]["name"] == "look"


def test_several_plugins_are_switched_between_and_keep_their_conversations(
    person: Person, probe: Scripted, house: House
) -> None:
    second = house.add(Scripted("second", title="Second"))
    second.tool("hello", title="Hello")
    person.open("probe")
    person.run("look")
    expect(person.page.get_by_text("Called Look")).to_be_visible()
    picker = person.page.get_by_label("Plugin", exact=True)
    picker.select_option("Second · test")
    expect(person.page.get_by_text("Try Hello")).to_be_visible()
    picker.select_option("Probe · test")
    expect(person.page.get_by_text("Called Look")).to_be_visible()


def test_a_plugin_that_does_not_answer_is_said_so_and_tried_again(person: Person, house: House) -> None:
    plugin = house.add(Scripted("down"))
    plugin.tool("up")

    async def fail(_: object) -> object:
        from starlette.responses import PlainTextResponse

        return PlainTextResponse("out of order", 503)

    plugin.protects = fail
    person.page.goto(f"{person.origin}/?plugin=test/down")
    expect(person.page.get_by_role("alert")).to_contain_text("The plugin does not answer")
    plugin.protects = None
    person.page.get_by_role("button", name="Try again").click()
    expect(person.page.get_by_text("Try up")).to_be_visible()


@pytest.mark.row("B15")
def test_nothing_is_asked_of_anybody_else(person: Person, probe: Scripted) -> None:
    hosts: set[str] = set()
    person.page.context.on("request", lambda r: hosts.add(r.url.split("/")[2].rsplit(":", 1)[0]))
    person.open("probe")
    person.widget(person.run("look")).ready()
    assert hosts <= {"localhost", "proxy.localhost", "probe-test.widgets.localhost", ""}


def test_any_other_mcp_server_is_shown_by_its_url(person: Person, probe: Scripted) -> None:
    address = f"{person.origin}/t/test/probe/mcp"
    state = json.dumps({"plugins": [], "url": address, "screenshots": False})
    person.page.route("**/_host/state", lambda route: route.fulfill(body=state, content_type="application/json"))
    person.page.goto(person.origin)
    expect(person.page.locator(".status[data-status=ready]")).to_be_visible()
    widget = person.widget(person.run("look")).ready()
    origin = widget.read("reach")["origin"]
    assert origin.startswith("http://url-")
    person.page.reload()
    assert person.widget().ready().read("reach")["origin"] == origin
