from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tenantry_registry.contract import compare
from tenantry_registry.manifest import Manifest, WidgetEntry
from tenantry_registry.submission import justification, prepare

TOOL = {
    "name": "find",
    "description": "Use this to find animals. It knows all of them.",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    "securitySchemes": [{"type": "noauth"}],
}
LISTING = dict.fromkeys(
    ("display_name", "short_description", "long_description", "category", "developer", "support"), "x"
) | dict.fromkeys(("privacy_policy", "terms", "icon"), "https://zoo.example")
EXAMPLE = {"prompt": "Three animals", "tool": "find", "arguments": {"n": 3}, "expect": "Cards"}
WIDGET = WidgetEntry("cards", "ui://widget/cards.0000000000.html", "k", "t", {"openai/widgetCSP": {"x": []}}, 1)
READY = Manifest(
    "acme",
    "zoo",
    "0" * 64,
    0.0,
    "s:p",
    {"name": "zoo"},
    instructions="Use it.",
    tools=(TOOL,),
    widgets=(WIDGET,),
    listing=LISTING,
    examples=(EXAMPLE, {**EXAMPLE, "expect": ""}, EXAMPLE),
)
URL = "https://zoo-acme.plugins.example/mcp"


@pytest.mark.row("P08")
def test_a_plugin_in_order_has_nothing_left_to_do() -> None:
    package = prepare(READY, mcp_url=URL, own_host=True, challenge="tok", screenshots={"cards.png": b"PNG"})
    assert package.missing == ()
    assert set(package.files) == {
        "submission.json",
        "tools.md",
        "prompts.md",
        "domain.md",
        "checklist.md",
        "screenshots/cards.png",
    }
    assert b"- [ ]" not in package.files["checklist.md"]


@pytest.mark.parametrize(("picture", "counts"), [("1-find.png", True), ("2-cards.png", True), ("1-other.png", False)])
def test_a_picture_of_a_tool_with_a_widget_is_a_picture_of_that_widget(picture: str, counts: bool) -> None:
    shows = {**TOOL, "_meta": {"ui": {"resourceUri": WIDGET.uri}}}
    other = {**TOOL, "name": "other", "_meta": None}
    manifest = replace(READY, tools=(shows, other))
    package = prepare(manifest, mcp_url=URL, own_host=True, challenge="tok", screenshots={picture: b"PNG"})
    assert [item.text for item in package.missing] == ([] if counts else ["Every widget has a screenshot"])
    assert all("--page" in item.cure and "cards" in item.cure for item in package.missing)


@pytest.mark.row("N01", "N02", "N03")
def test_every_hint_has_a_justification_in_the_tools_own_words() -> None:
    package = prepare(READY, mcp_url=URL, own_host=True)
    metadata = json.loads(package.files["submission.json"])
    hints = metadata["tools"][0]["annotations"]
    assert set(hints) == {"readOnlyHint", "destructiveHint", "openWorldHint"}
    assert hints["readOnlyHint"]["justification"].endswith("What it does: Use this to find animals.")
    assert justification({"description": "Deletes"}, "readOnlyHint").endswith("What it does: Deletes")
    assert "openWorldHint = false" in package.files["tools.md"].decode()


def test_the_package_says_what_was_agreed_and_what_changed() -> None:
    comparison = compare(READY, replace(READY, instructions="Other."))
    frames = {"cards": {"https://map.example": "the map"}}
    package = prepare(READY, mcp_url=URL, own_host=True, frames=frames, comparison=comparison)
    metadata = json.loads(package.files["submission.json"])
    assert metadata["frames"] == frames
    assert metadata["changes"]["verdict"] == "rescan"
    assert metadata["widgets"] == [{"name": "cards", "uri": WIDGET.uri, "csp": {"x": []}}]
    assert "expected: Cards" in package.files["prompts.md"].decode()


@pytest.mark.row("P01", "P02")
def test_the_domain_page_names_the_command_and_the_address() -> None:
    page = prepare(READY, mcp_url=URL, own_host=True).files["domain.md"].decode()
    assert "platform challenge acme/zoo TOKEN" in page
    assert "https://zoo-acme.plugins.example/.well-known/openai-apps-challenge" in page
    assert "nothing (404)" in page
    shared = prepare(READY, mcp_url="https://x.example/t/acme/zoo/mcp", own_host=False).files["domain.md"].decode()
    assert "x.example is shared" in shared


def test_what_is_missing_is_listed_with_its_cure() -> None:
    bare = Manifest(
        "acme", "zoo", "0" * 64, 0.0, "s:p", {}, widgets=(WIDGET,), findings=({"code": "x"},), auth={"i": 1}
    )
    package = prepare(bare, mcp_url="http://localhost/t/acme/zoo/mcp", own_host=False)
    texts = [item.text for item in package.missing]
    assert len(texts) == 3 + len(LISTING) + 4
    assert all(item.cure for item in package.missing)
    assert "cards" in package.files["checklist.md"].decode()
