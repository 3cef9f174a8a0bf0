"""A widget made with the published React Router, bundled as an author bundles it, is driven by clicks."""

from __future__ import annotations

import pytest
from conftest import HERE
from person import Person
from playwright.sync_api import expect
from scripted import Scripted

BUILT = HERE / "thirdparty" / "dist" / "router.js"  # from thirdparty/router.tsx, by the setup of this file's shard


@pytest.mark.row("O20", "H25")
def test_react_router_s_browserrouter_is_driven_by_links_and_by_the_host_s_buttons(
    person: Person, probe: Scripted
) -> None:
    script = BUILT.read_text().replace("</script", "<\\/script")
    probe.widget("ui://widget/router.html", f"<!doctype html><title>Animals</title><body><script>{script}</script>")
    probe.tool("browse", _meta={"ui": {"resourceUri": "ui://widget/router.html"}})
    person.open("probe")
    card = person.run("browse")
    inside = person.widget(card).inside
    back, forward, reload = (
        card.get_by_role("button", name=name)
        for name in ("Back in the widget", "Forward in the widget", "Reload the widget")
    )

    def shows(heading: str, path: str) -> None:
        expect(inside.get_by_role("heading")).to_have_text(heading)
        expect(card.locator(".widget-path")).to_have_text(path)

    shows("All animals", "/")
    expect(back).to_be_disabled()
    inside.get_by_role("link", name="Okapi").click()
    shows("Animal 7", "/animals/7")
    inside.get_by_role("button", name="Next").click()
    shows("Animal 8", "/animals/8")
    expect(forward).to_be_disabled()
    back.click()
    shows("Animal 7", "/animals/7")
    back.click()
    shows("All animals", "/")
    forward.click()
    shows("Animal 7", "/animals/7")

    note = inside.get_by_label("Note")
    note.fill("striped legs")
    inside.get_by_role("button", name="Start again").click()
    expect(note).to_have_value("")
    shows("Animal 7", "/animals/7")
    back.click()
    shows("All animals", "/")
    forward.click()
    shows("Animal 7", "/animals/7")

    reload.click()  # the host shows the template anew, at /; as does the page when it is opened again
    shows("All animals", "/")
    expect(back).to_be_disabled()
    inside.get_by_role("link", name="Okapi").click()
    shows("Animal 7", "/animals/7")
    person.page.reload()
    shows("All animals", "/")
    expect(back).to_be_disabled()
    expect(person.pane("Policy")).to_contain_text("Nothing was refused")
    expect(person.pane("Console")).to_contain_text("Nothing was printed")
