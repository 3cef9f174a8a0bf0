"""`platform check URL`: the rules over what any endpoint answers."""

from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry.rules import RULES, markdown
from tenantry_registry.rules_plugin import check_challenges
from tenantry_registry.rules_wire import check_answers, templates_of

URI = "ui://widget/a.html"
META: dict[str, Any] = {
    "ui": {"csp": {"connectDomains": ["wss://a.example"]}, "domain": "https://zoo.example", "prefersBorder": True},
    "openai/widgetCSP": {"connect_domains": ["wss://a.example"], "redirect_domains": ["https://b.example"]},
    "openai/widgetDomain": "https://zoo.example",
    "openai/widgetPrefersBorder": True,
    "openai/ui": {"availableDisplayModes": ["inline"]},
}
MIME = "text/html;profile=mcp-app"
TOOL: dict[str, Any] = {
    "name": "find",
    "description": "Finds.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object", "properties": {"n": {}}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": True},
    "_meta": {"ui": {"resourceUri": URI, "visibility": ["model"]}, "openai/outputTemplate": URI},
}


def resource(**more: Any) -> dict[str, Any]:
    return {"uri": URI, "name": "a", "mimeType": MIME, "_meta": META, **more}


def reading(**more: Any) -> dict[str, Any]:
    return {URI: {"contents": [{"uri": URI, "mimeType": MIME, "text": "<p>", "_meta": META, **more}]}}


def codes(**answers: Any) -> set[str]:
    given = {"tools": [TOOL], "resources": [resource()], "reads": reading(), **answers}
    return {finding.code for finding in check_answers(**given).findings}


def meta(**changes: Any) -> dict[str, Any]:
    return {"resources": [resource(_meta={**META, **changes})], "reads": reading(_meta={**META, **changes})}


def test_an_endpoint_in_order_has_no_findings() -> None:
    report = check_answers(
        tools=[TOOL],
        resources=[resource(), {"uri": "docs://a", "name": "b"}],
        reads=reading(),
        server={"serverInfo": {"name": "zoo"}, "instructions": "x"},
    )
    assert report.findings == ()
    assert (report.name, report.tools, report.widgets, report.widget_bytes) == ("zoo", 1, 1, {URI: 3})
    assert report.errors == report.warnings == ()


@pytest.mark.row("R02", "R03", "R04", "R05", "R07", "R08", "R09", "R10")
@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({"reads": reading(_meta={**META, "x": 1})}, "wire.meta-differs"),
        ({"reads": {URI: {"error": {"code": -32602, "message": "no"}}}}, "wire.unreadable"),
        ({"reads": {URI: {"error": "no answer"}}}, "wire.unreadable"),
        ({"reads": {URI: {"contents": [{"uri": "ui://other"}]}}}, "wire.unreadable"),
        ({"reads": {}, "tools": []}, ""),
        ({"errors": {"resources/list": "HTTP 500"}}, "wire.errors"),
        ({"reads": reading(mimeType="text/html")}, "widget.mime"),
        ({"reads": reading(text="x" * 300_000)}, "widget.large"),
        ({"reads": reading(text="x" * 1_100_000)}, "widget.size"),
        ({"server": {"instructions": "x" * 513}}, "instructions.long"),
        (meta(ui={"domain": "https://zoo.example"}, **{"openai/widgetCSP": None}), "wire.csp-none"),
        (meta(**{"openai/widgetCSP": None}), "wire.csp-alias"),
        (meta(**{"openai/widgetCSP": {"connect_domains": []}}), "wire.alias-differs"),
        (meta(**{"openai/widgetPrefersBorder": False}), "wire.alias-differs"),
        (meta(ui={**META["ui"], "csp": {**META["ui"]["csp"], "redirectDomains": []}}), "wire.redirects"),
        (meta(ui={**META["ui"], "csp": {"connectDomains": ["*"]}}), "csp.origin"),
        (meta(ui={**META["ui"], "domain": "zoo"}), "wire.domain"),
        (meta(ui={"csp": META["ui"]["csp"]}, **{"openai/widgetDomain": None}), "wire.domain-missing"),
        (meta(**{"openai/ui": {"availableDisplayModes": []}}), "widget.display-mode"),
        ({"tools": [{**TOOL, "annotations": {}}]}, "annotations_required"),
        ({"tools": [{**TOOL, "name": "a.b"}]}, "tool.name"),
        ({"tools": [{**TOOL, "_meta": {"ui": {"resourceUri": "ui://none"}}}]}, "tool.widget-unknown"),
        ({"tools": [{**TOOL, "_meta": {"openai/outputTemplate": 7}}]}, "tool.template-uri"),
        ({"tools": [{**TOOL, "_meta": {**TOOL["_meta"], "openai/outputTemplate": "ui://b"}}]}, "tool.template-differs"),
        ({"tools": [{**TOOL, "securitySchemes": "none"}]}, "security.scheme"),
        ({"tools": [{**TOOL, "inputSchema": None}]}, "tool.input-schema"),
        (
            {"tools": [{**TOOL, "inputSchema": {"type": "object", "$schema": "https://x.example/s"}}]},
            "tool.input-schema",
        ),
        ({"tools": [{**TOOL, "outputSchema": {"$id": "https://x.example/", "$ref": "y.json"}}]}, "tool.output-schema"),
    ],
)
def test_what_an_endpoint_answers_wrong_is_found(answers: dict[str, Any], code: str) -> None:
    assert code in (codes(**answers) or {""})


def test_a_domain_of_the_hashed_kind_is_another_hosts_business() -> None:
    hashed = meta(ui={**META["ui"], "domain": f"{'a' * 32}.claudemcpcontent.com"})
    assert codes(**hashed) == set()


def test_hostile_schemas_are_refused_and_not_followed() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"x": deep}}
    assert "tool.input-schema" in codes(tools=[{**TOOL, "inputSchema": deep}])
    wide = {"type": "object", "anyOf": [{"type": "object"}] * 20_001}
    assert "tool.input-schema" in codes(tools=[{**TOOL, "inputSchema": wide}])


def test_templates_to_read_are_those_listed_and_those_that_tools_name() -> None:
    other = {**TOOL, "_meta": {"openai/outputTemplate": "ui://b"}}
    plain = {"name": "x", "_meta": None}
    assert templates_of([TOOL, other, plain], [resource(), {"uri": "docs://a"}]) == [URI, "ui://b"]


@pytest.mark.row("P01")
def test_two_plugins_on_one_host_can_not_both_be_verified() -> None:
    hosts = {"acme/zoo": "zoo-acme.example", "acme/inn": "shared.example", "acme/pub": "Shared.example"}
    (finding,) = check_challenges(hosts)
    assert (finding.code, finding.subject) == ("challenge.shared-host", "acme/pub")
    assert "acme/inn" in finding.message


def test_the_page_of_rules_is_the_table() -> None:
    page = markdown()
    assert all(f"| `{code}` | {rule.severity} |" in page for code, rule in RULES.items())
    assert page.count("\n| `") == len(RULES)
