"""A widget that shows nothing: what did not load, what is said of it, and that no empty frame is shown in its place."""

from __future__ import annotations

import pytest
from conftest import House
from person import Person
from playwright.sync_api import Route, expect
from scripted import DESTROYS, Scripted

CDN = "https://cdn.example"
META = {"ui": {"csp": {"connectDomains": [], "resourceDomains": [CDN]}}}
CORS = {"Access-Control-Allow-Origin": "*"}
URI = "ui://widget/silent.html"


@pytest.fixture
def silent(house: House) -> Scripted:
    """A plugin whose widget's script imports a file that is not there."""
    plugin = house.add(Scripted("silent", title="Silent"))
    plugin.widget(URI, f"<!doctype html><title>x</title><script type=module src={CDN}/app.js></script>", META)
    plugin.tool("look", title="Look", _meta={"ui": {"resourceUri": URI}})
    return plugin


def test_a_script_that_lacks_an_import_is_named_and_the_silence_is_said(person: Person, silent: Scripted) -> None:
    def answer(route: Route) -> None:
        found = route.request.url.endswith("/app.js")
        body = 'import "./brigde.js";' if found else "There is no such file."
        kind = "text/javascript" if found else "text/plain"
        route.fulfill(status=200 if found else 404, body=body, content_type=kind, headers=CORS)

    person.page.context.route(f"{CDN}/**", answer)
    person.open("silent")
    person.run("look")
    console = person.pane("Console")
    expect(console).to_contain_text(f"<script> did not load: {CDN}/app.js")
    expect(console).to_contain_text(f"404: {CDN}/brigde.js")
    expect(console).to_contain_text("The widget loaded, but never spoke to the host. What did not load:")


def test_an_image_that_does_not_load_is_named_and_a_widget_that_speaks_is_not_called_silent(
    person: Person, probe: Scripted, probe_html: str
) -> None:
    probe.resources[0] |= {"text": probe_html.replace("</body>", "<img src='/gone.png' alt=''></body>")}
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.connect()
    console = person.pane("Console")
    expect(console).to_contain_text("<img> did not load: /gone.png")
    person.page.wait_for_timeout(1600)  # after which silence would have been said
    expect(console).not_to_contain_text("never spoke")


def test_below_a_question_no_empty_frame_is_shown(person: Person, silent: Scripted) -> None:
    silent.tools[0]["annotations"] = DESTROYS
    person.page.context.route(f"{CDN}/**", lambda route: route.fulfill(body="", content_type="text/javascript"))
    person.open("silent")
    card = person.run("look")
    expect(card.get_by_role("heading", name="Allow Look?")).to_be_visible()
    expect(card.locator(".widget")).to_have_css("opacity", "0")
    expect(card.get_by_role("toolbar", name="Widget")).to_have_count(0)
    card.get_by_role("button", name="Approve").click()
    expect(card.locator(".widget")).to_have_css("opacity", "1")
    expect(card.get_by_role("toolbar", name="Widget")).to_be_visible()
