from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tenantry_registry.contract import BREAKS, DEPLOY, RESCAN, compare, gone
from tenantry_registry.manifest import Manifest, WidgetEntry

TOOL: dict[str, Any] = {
    "name": "find",
    "description": "Finds.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    "securitySchemes": [{"type": "noauth"}],
    "_meta": {"ui": {"resourceUri": "ui://widget/a.0000000000.html", "visibility": ["model", "app"]}},
}
WIDGET = WidgetEntry("a", "ui://widget/a.0000000000.html", "k", "t", {"ui": {"csp": {}, "prefersBorder": False}}, 1)
AUTH = {"issuer": "https://id.example", "audience": "", "scopes": ["r"]}
OLD = Manifest("acme", "zoo", "0" * 64, 0.0, "s:p", {"name": "zoo"}, tools=(TOOL,), widgets=(WIDGET,))
OAUTH = [{"type": "oauth2", "scopes": ["r"]}]


def tools(*changes: dict[str, Any]) -> Manifest:
    return replace(OLD, tools=tuple({**TOOL, **change} for change in changes))


def without(key: str) -> Manifest:
    return replace(OLD, tools=({k: v for k, v in TOOL.items() if k != key},))


CHANGED = [
    (OLD, DEPLOY, ""),
    (replace(OLD, digest="1" * 64, created=9.0, timeout=3.0, egress="public"), DEPLOY, ""),
    (tools(), BREAKS, "find: The tool was removed."),
    (tools({"name": "search"}), BREAKS, "find: The tool was renamed to search."),
    (tools({"name": "search", "title": "x"}), BREAKS, "find: The tool was removed."),
    (tools({}, {"name": "more"}), RESCAN, "more: The tool is new."),
    (tools({"description": "Finds more."}), RESCAN, "find: Its description changed."),
    (tools({"title": "Find"}), RESCAN, "find: Its title changed."),
    (
        tools({"annotations": {**TOOL["annotations"], "openWorldHint": True}}),
        RESCAN,
        "find: Its annotations changed (openWorldHint).",
    ),
    (
        tools({"inputSchema": {**TOOL["inputSchema"], "required": ["q"]}}),
        BREAKS,
        "refuses what the published one allows",
    ),
    (tools({"inputSchema": {**TOOL["inputSchema"], "title": "x"}}), RESCAN, "takes more, or is worded differently"),
    (tools({"outputSchema": {"type": "object", "properties": {"n": {}}}}), BREAKS, "n is required"),
    (tools({"outputSchema": {**TOOL["outputSchema"], "title": "x"}}), RESCAN, "promises more"),
    (without("outputSchema"), BREAKS, "output schema is gone"),
    (tools({"securitySchemes": OAUTH}), BREAKS, "wants sign-in now"),
    (tools({"securitySchemes": [*OAUTH, {"type": "noauth"}]}), RESCAN, "securitySchemes changed"),
    (tools({"_meta": {"ui": {"visibility": ["app"]}}}), RESCAN, "find: Its _meta ui changed."),
    (tools({"_meta": {**TOOL["_meta"], "openai/profile": True}}), RESCAN, "_meta openai/profile changed"),
    (
        tools({"_meta": {"ui": {"resourceUri": "ui://widget/a.1111111111.html", "visibility": ["model", "app"]}}}),
        DEPLOY,
        "",
    ),
    (replace(OLD, widgets=(replace(WIDGET, uri="ui://widget/a.1111111111.html"),)), RESCAN, "a: The widget's content"),
    (replace(OLD, widgets=(replace(WIDGET, meta={"ui": {"csp": {"connectDomains": []}}}),)), RESCAN, "policy (CSP)"),
    (
        replace(OLD, widgets=(replace(WIDGET, meta={"ui": {"csp": {}}, "x": 1}),)),
        RESCAN,
        "a: The widget's _meta (ui, x)",
    ),
    (replace(OLD, widgets=()), RESCAN, "a: The widget is gone; its published URI goes on serving."),
    (replace(OLD, widgets=(WIDGET, replace(WIDGET, name="b"))), RESCAN, "b: The widget is new."),
    (replace(OLD, instructions="x"), RESCAN, ": The instructions changed."),
    (replace(OLD, auth=AUTH), BREAKS, "[auth] issuer changed"),
    (replace(OLD, listing={"display_name": "Zoo"}), RESCAN, "[listing] display_name changed"),
]


@pytest.mark.row("P03")
@pytest.mark.parametrize(("new", "verdict", "says"), CHANGED)
def test_a_release_is_deploy_only_rescan_or_break(new: Manifest, verdict: str, says: str) -> None:
    comparison = compare(OLD, new)
    assert comparison.verdict == verdict
    assert comparison.words
    said = [f"{difference.subject}: {difference.message}" for difference in comparison.differences]
    assert any(says in line for line in said) or (not says and not said)
    assert comparison.to_dict()["verdict"] == verdict
    assert len(comparison.to_dict()["differences"]) == len(said)


@pytest.mark.row("P03")
def test_what_was_added_may_go_without_breaking_but_what_is_promised_may_not() -> None:
    bare = without("outputSchema")
    assert compare(bare, OLD).verdict == RESCAN
    signed = tools({"securitySchemes": OAUTH, "title": "x"})
    assert compare(signed, tools({"securitySchemes": [{"type": "oauth2", "scopes": ["r", "w"]}]})).verdict == BREAKS
    assert compare(signed, tools({"securitySchemes": [{"type": "oauth2"}], "title": "x"})).verdict == RESCAN
    assert compare(replace(OLD, auth=AUTH), replace(OLD, auth={**AUTH, "audience": "x"})).verdict == BREAKS


def test_tools_that_a_release_no_longer_has_are_told_with_what_became_of_them() -> None:
    assert [*gone(OLD, tools())] == [("find", "is gone")]
    assert [*gone(OLD, tools({"name": "search"}))] == [("find", "was renamed to search")]
    assert [*gone(OLD, tools({"title": "Find"}, {"name": "more"}))] == []
