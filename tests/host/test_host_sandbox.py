"""What a widget can't do: the policy from the published metadata, the origins, the permissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from person import Person
from playwright.sync_api import expect
from scripted import Scripted

GREEDY = (Path(__file__).parent / "widgets" / "greedy.html").read_text()
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"/>'
OPENED = {
    "ui": {
        "csp": {
            "connectDomains": ["https://api.zoo.example"],
            "resourceDomains": ["https://cdn.zoo.example", "blob:"],
            "frameDomains": ["https://maps.zoo.example"],
        },
        "permissions": {"camera": {}},
    }
}
ALIASED = {
    "openai/widgetCSP": {
        "connect_domains": ["https://api.zoo.example"],
        "resource_domains": ["https://cdn.zoo.example", "blob:"],
        "frame_domains": ["https://maps.zoo.example"],
    }
}


def greedy(person: Person, probe: Scripted, meta: dict[str, Any] | None) -> dict[str, Any]:
    """Open a widget that wants everything. Returns what it got."""
    routed = person.page.context
    routed.route(
        "https://api.zoo.example/**", lambda r: r.fulfill(body="1", headers={"Access-Control-Allow-Origin": "*"})
    )
    routed.route("https://cdn.zoo.example/**", lambda r: r.fulfill(body=SVG, content_type="image/svg+xml"))
    routed.route("https://maps.zoo.example/**", lambda r: r.fulfill(body="<p>map", content_type="text/html"))
    port = person.origin.rsplit(":", 1)[1]
    probe.widget("ui://widget/greedy.html", GREEDY.replace("%PORT%", port), meta)
    probe.tool("greedy", _meta={"ui": {"resourceUri": "ui://widget/greedy.html"}})
    person.open("probe")
    widget = person.widget(person.run("greedy"))
    for name in ("files", "connect", "image", "worker"):
        expect(widget.at("got")).to_contain_text(f'"{name}"')
    found: dict[str, Any] = widget.read("got")
    return found


@pytest.mark.row("R03", "H41", "B13", "B14")
@pytest.mark.parametrize("meta", [None, {"ui": {}}])
def test_without_a_published_policy_the_strict_default_holds(
    person: Person, probe: Scripted, meta: dict[str, Any] | None
) -> None:
    got = greedy(person, probe, meta)
    assert got["connect"] == got["image"] == got["worker"] == got["eval"] == "refused"
    assert got["camera"] is False
    assert got["files"] == 404  # the host's own files answer, as in ChatGPT
    policy = person.pane("Policy")
    refused = policy.get_by_role("list", name="Refused requests")
    expect(refused).to_contain_text('_meta.ui.csp.connectDomains: ["https://api.zoo.example"]')
    expect(refused).to_contain_text('csp=CSP(connect=["https://api.zoo.example"])')
    expect(refused).to_contain_text('csp=CSP(resource=["https://cdn.zoo.example"])')
    expect(refused).to_contain_text('csp=CSP(frame={"https://maps.zoo.example": "why it is needed"})')
    expect(refused.get_by_role("listitem").filter(has_text="eval")).to_contain_text("Harmless")


@pytest.mark.row("R03", "R08", "H41", "H46")
@pytest.mark.parametrize("meta", [OPENED, ALIASED], ids=["ui.csp", "openai/widgetCSP"])
def test_a_published_policy_opens_exactly_what_it_names(person: Person, probe: Scripted, meta: dict[str, Any]) -> None:
    got = greedy(person, probe, meta)
    assert (got["connect"], got["image"], got["worker"], got["eval"]) == ("ok", "ok", "ok", "refused")
    assert got["camera"] is ("ui" in meta)


def test_developer_mode_is_an_explicit_toggle_and_says_so(person: Person, probe: Scripted) -> None:
    greedy(person, probe, None)
    policy = person.pane("Policy")
    policy.get_by_label("As in developer mode: no policy at all").check()
    widget = person.widget()
    expect(widget.at("got")).to_contain_text('"connect":"ok"')
    expect(policy).to_contain_text("turn this off before you trust what you see")
    person.page.reload()
    expect(person.widget().at("got")).to_contain_text('"connect":"ok"')  # the choice is kept, and still shown
    expect(person.pane("Policy")).to_contain_text("turn this off")


@pytest.mark.row("R04", "H42", "B11", "B12")
def test_a_widget_has_an_origin_of_its_own_where_storage_works_and_the_host_is_out_of_reach(
    person: Person, probe: Scripted
) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    reach = widget.read("reach")
    port = person.origin.rsplit(":", 1)[1]
    assert reach["origin"] == f"http://probe-test.widgets.localhost:{port}"
    assert reach["parent"] == reach["top"] == reach["topLocation"] == "SecurityError"
    assert reach["storage"] == "1"
    again = person.widget(person.run("look")).ready()
    assert again.read("reach")["storage"] == "2"


@pytest.mark.row("R04", "R10", "H42", "H47")
@pytest.mark.parametrize(
    ("meta", "domain"),
    [
        ({"ui": {"domain": "https://zoo.example"}}, "https://zoo.example"),
        ({"openai/widgetDomain": "https://old.example"}, "https://old.example"),
        (
            {"ui": {"domain": "https://zoo.example"}, "openai/widgetDomain": "https://old.example"},
            "https://zoo.example",
        ),
    ],
)
def test_the_domain_is_shown_and_a_missing_one_is_warned_about(
    person: Person, probe: Scripted, meta: dict[str, Any], domain: str
) -> None:
    person.open("probe")
    person.widget(person.run("look")).ready()
    expect(person.pane("Checks")).to_contain_text("required to submit")
    probe.resources[0]["_meta"] = meta
    person.open("probe")
    person.page.get_by_role("button", name="New conversation").click()
    person.widget(person.run("look")).ready()
    expect(person.pane("Widget gets")).to_contain_text(domain)
    expect(person.pane("Checks")).not_to_contain_text("required to submit")


@pytest.mark.row("R06", "H44")
def test_metadata_is_read_from_the_contents_and_from_the_list_where_they_have_none(
    person: Person, probe: Scripted
) -> None:
    person.open("probe")
    person.widget(person.run("look")).ready()
    expect(person.pane("Model sees")).to_contain_text("A probe for tests.")
    resource = probe.resources[0]
    listed = {k: v for k, v in resource.items() if k != "text"}
    probe.resources[:] = [listed, {**resource, "_meta": None, "name": "read"}]
    person.open("probe")
    person.page.get_by_role("button", name="New conversation").click()
    person.widget(person.run("look")).ready()
    expect(person.pane("Model sees")).to_contain_text("A probe for tests.")
    expect(person.pane("Checks")).to_contain_text("The metadata is only in resources/list")


def test_what_a_widget_prints_and_throws_is_shown(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    widget.at("log").click()
    console = person.pane("Console")
    for line in ('hello {"from":"probe"}', "careful", "it broke", "Unhandled rejection: Error: nobody caught this"):
        expect(console).to_contain_text(line)
    person.errors.clear()  # Playwright reports the widget's own rejection as the page's
