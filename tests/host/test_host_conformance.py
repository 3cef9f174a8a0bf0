"""Our conformance widget: it checks the host from inside the frame, and all of it has to be green."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import HERE, House
from person import Person
from playwright.sync_api import expect
from scripted import Scripted, result

CHECKS = 100  # as docs/host-comparison.md counts them


def conformance(plugin: Scripted) -> Scripted:
    """Give a plugin the conformance widget and the tools it calls."""
    uri = "ui://widget/conformance.html"
    plugin.widget(uri, (HERE / "widgets" / "conformance.html").read_text(), {"ui": {"csp": {}}})
    number = {"type": "object", "properties": {"answer": {"type": "integer"}}}

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        return result({"answer": 42}, _meta={"hidden": "for the widget"})

    plugin.tool("conform", answer, title="Conform", outputSchema=number, _meta={"ui": {"resourceUri": uri}})
    plugin.tool("echo")
    plugin.tool("fails", lambda _: result(None, "It failed.", isError=True))
    plugin.tool("model_only", _meta={"ui": {"visibility": ["model"]}})
    return plugin


@pytest.mark.row(
    "O01", "O02", "O03", "O04", "O05", "O07", "O08", "O09", "O11", "O12", "O13", "O15", "O16", "O18", "O19", "O20"
)
def test_the_conformance_widget_is_all_green(person: Person, house: House, shots: Path) -> None:
    house.add(conformance(Scripted("conformance")))
    person.open("conformance")
    widget = person.widget(person.run("conform", {"n": 3}))
    expect(widget.at("summary")).to_contain_text("passed", timeout=30_000)
    person.page.screenshot(path=shots / "conformance.png")
    failed = widget.at("results").locator("li[data-ok=false]").all_inner_texts()
    assert failed == []
    passed = int(widget.at("summary").inner_text().split()[0])
    assert passed == CHECKS
    assert person.says()[-2:] == ["From conformance", "And on it goes"]
