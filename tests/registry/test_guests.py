"""Servers that weren't written with the kit: what is brought up to date, and that nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry import guests
from tenantry_registry.compile import compile_release
from tenantry_registry.config import load
from tenantry_registry.description import read
from tenantry_registry.manifest import ORIGIN
from tenantry_registry.names import Name

PAGE = "<p><img src=a.png>"
OLD_META = {
    "openai/widgetDescription": "Pizzas.",
    "openai/widgetPrefersBorder": True,
    "openai/widgetCSP": {"connect_domains": ["https://a.example"], "redirect_domains": ["https://r.example"]},
    "openai/ui": {"availableDisplayModes": ["pip"]},
    "own/key": 1,
}
NEW_META = {
    "ui": {"csp": {"frameDomains": ["https://f.example"]}, "permissions": {"camera": {}}, "prefersBorder": False}
}
RESOURCES = [
    {"uri": "ui://widget/pizza.html", "name": "Pizza", "mimeType": "text/html+skybridge", "_meta": OLD_META, "size": 3},
    {"uri": "ui://maps/pizza.html", "name": "Map", "title": "Map", "mimeType": "text/html+skybridge"},
    {"uri": "ui://broken", "name": "Broken"},
    {"uri": "docs://a", "name": "A"},
]
TEMPLATES = [
    {"uriTemplate": "ui://widget/pizza.html", "name": "Pizza", "mimeType": "text/html+skybridge", "_meta": OLD_META},
    {"uriTemplate": "docs://{name}", "name": "Docs", "mimeType": "text/html+skybridge"},
]
READS = {
    "ui://widget/pizza.html": {"result": {"contents": [{"uri": "ui://widget/pizza.html", "text": PAGE}], "x": 1}},
    "ui://maps/pizza.html": {
        "result": {"contents": [{"uri": "ui://maps/pizza.html", "text": "<b>map", "_meta": NEW_META}]}
    },
    "ui://broken": {"error": {"code": -32603}},
}


def tool(name: str, **meta: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "odd": 1, **({"_meta": meta} if meta else {})}


TOOLS = [
    tool("old", **{"openai/outputTemplate": "ui://widget/pizza.html", "openai/widgetAccessible": True}),
    tool("private", **{"openai/outputTemplate": "ui://widget/pizza.html", "openai/visibility": "private"}),
    tool("new", ui={"resourceUri": "ui://maps/pizza.html"}),
    tool("flat", **{"ui/resourceUri": "ui://unknown"}),
    {**tool("plain"), "securitySchemes": [{"type": "noauth"}]},
    tool("nothing"),
]
ANSWERS: dict[str, dict[str, Any]] = {
    "2025": {
        "initialize": {"result": {"capabilities": {"tools": {}}, "instructions": "Old."}},
        "tools/list": {"result": {"tools": TOOLS, "ttl": 1}},
        "resources/list": {"result": {"resources": RESOURCES}},
        "resources/templates/list": {"result": {"resourceTemplates": TEMPLATES}},
        "resources/read": READS,
        "prompts/list": {"error": {"code": -32601}},
    },
    "2026": {
        "server/discover": {"result": {"capabilities": {"tools": {}, "x": 1}, "instructions": "New."}},
        "tools/list": {"result": {"tools": TOOLS[:3]}},
    },
}
FILES = {"ui/pizza/index.html": PAGE.encode(), "ui/pizza/a.png": b"1", "index.html": b"<b>map"}


def compiled(answers: Any = ANSWERS, toml: str = "") -> Any:
    description = read({"kind": "asgi", "answers": answers, "dynamic": ["tools/call"]})
    config = load('name = "zoo"\nentrypoint = "server:mcp"\n' + toml)
    return compile_release(
        name=Name("acme", "zoo"), digest="0" * 64, config=config, description=description, files=FILES, created=0.0
    )


@pytest.mark.row("R01", "T03", "T05")
def test_templates_get_hashed_uris_the_standard_type_and_both_dialects() -> None:
    release = compiled()
    pizza, map_ = release.widgets
    assert pizza.uri == f"ui://widget/pizza.{pizza.hash}.html"
    assert map_.uri == f"ui://maps/pizza.{map_.hash}.html"
    assert [widget.name for widget in release.widgets] == ["pizza", "pizza-2"]
    listed = release.manifest.answers["2025"]["resources/list"]["result"]["resources"]
    assert listed[0] == {
        "uri": pizza.uri,
        "name": "Pizza",
        "mimeType": "text/html;profile=mcp-app",
        "_meta": {
            "own/key": 1,
            "ui": {
                "csp": {"connectDomains": ["https://a.example"], "resourceDomains": [ORIGIN]},
                "prefersBorder": True,
            },
            "openai/widgetCSP": {
                "connect_domains": ["https://a.example"],
                "resource_domains": [ORIGIN],
                "redirect_domains": ["https://r.example"],
            },
            "openai/widgetPrefersBorder": True,
            "openai/ui": {"availableDisplayModes": ["pip"]},
            "openai/widgetDescription": "Pizzas.",
        },
    }
    assert listed[1]["_meta"]["ui"]["permissions"] == {"camera": {}}
    assert listed[1]["_meta"]["openai/widgetCSP"]["frame_domains"] == ["https://f.example"]
    assert listed[2:] == RESOURCES[2:]


def test_a_resource_template_that_names_a_widget_names_the_published_one() -> None:
    release = compiled()
    pizza, docs = release.manifest.answers["2025"]["resources/templates/list"]["result"]["resourceTemplates"]
    assert (pizza["uriTemplate"], pizza["mimeType"]) == (release.widgets[0].uri, "text/html;profile=mcp-app")
    assert pizza["_meta"]["ui"]["csp"]["connectDomains"] == ["https://a.example"]
    assert docs == TEMPLATES[1]
    assert list(release.manifest.templates) == [pizza, docs]


def test_html_that_is_a_file_of_the_bundle_brings_its_folder_along() -> None:
    pizza, map_ = compiled().widgets
    assert f"{ORIGIN}/assets/{pizza.tree.hash}/a.png".encode() in pizza.html
    assert set(pizza.tree.files) == {"index.html", "a.png"}
    assert (map_.folder, set(map_.tree.files)) == ("", {"index.html"})


def test_the_uri_that_the_server_itself_uses_goes_on_being_readable() -> None:
    release = compiled()
    reads = release.manifest.answers["2025"]["resources/read"]
    assert reads["ui://broken"] == READS["ui://broken"]
    result = reads["ui://widget/pizza.html"]["result"]
    assert result["x"] == 1
    assert result["contents"][0]["uri"] == "ui://widget/pizza.html"
    assert result["contents"][0]["text"].encode() == release.widgets[0].html
    assert result["contents"][0]["_meta"] == release.widgets[0].meta


@pytest.mark.row("T02", "T03", "T04", "T05", "T07", "T08")
def test_tools_that_know_one_dialect_get_the_other_beside_it() -> None:
    release = compiled()
    pizza, map_ = release.widgets
    tools = {t["name"]: t for t in release.manifest.answers["2025"]["tools/list"]["result"]["tools"]}
    old = tools["old"]["_meta"]
    assert old["ui"] == {"resourceUri": pizza.uri, "visibility": ["model", "app"]}
    assert (old["openai/outputTemplate"], old["openai/visibility"]) == (pizza.uri, "public")
    private = tools["private"]["_meta"]
    assert (private["ui"]["visibility"], private["openai/widgetAccessible"]) == ([], False)
    new = tools["new"]["_meta"]
    assert new["ui"] == {"resourceUri": map_.uri, "visibility": ["model", "app"]}
    assert (new["openai/outputTemplate"], new["openai/widgetAccessible"]) == (map_.uri, True)
    flat = tools["flat"]["_meta"]
    assert flat["ui/resourceUri"] == flat["ui"]["resourceUri"] == flat["openai/outputTemplate"] == "ui://unknown"
    assert tools["plain"]["_meta"] == {"securitySchemes": [{"type": "noauth"}]}
    assert tools["nothing"] == TOOLS[5]
    assert release.manifest.answers["2025"]["tools/list"]["result"]["ttl"] == 1


def test_lists_capabilities_and_instructions_are_the_newest_eras() -> None:
    manifest = compiled().manifest
    assert [t["name"] for t in manifest.tools] == ["old", "private", "new"]
    assert manifest.capabilities == {"tools": {}, "x": 1}
    assert manifest.instructions == "New."
    assert manifest.dynamic == ("tools/call",)
    assert manifest.resources[0]["uri"] == compiled().widgets[0].uri


def test_an_old_server_is_taken_at_its_old_word_and_a_silent_one_at_none() -> None:
    old = compiled({"2025": ANSWERS["2025"]}).manifest
    assert (old.instructions, old.capabilities) == ("Old.", {"tools": {}})
    silent = compiled({}).manifest
    assert (silent.instructions, silent.capabilities, silent.tools) == ("", {}, ())


@pytest.mark.row("T02")
def test_sign_in_of_plugin_toml_is_said_for_tools_that_say_nothing() -> None:
    toml = 'instructions = "Mine."\n[auth]\nissuer = "https://id.example"\nscopes = ["r"]\n'
    manifest = compiled({"2025": ANSWERS["2025"]}, toml).manifest
    by_name = {t["name"]: t for t in manifest.tools}
    oauth = [{"type": "oauth2", "scopes": ["r"]}]
    assert by_name["nothing"]["securitySchemes"] == by_name["nothing"]["_meta"]["securitySchemes"] == oauth
    assert by_name["plain"]["securitySchemes"] == [{"type": "noauth"}]
    assert manifest.instructions == "Mine."


def test_a_template_gets_a_name_even_where_its_uri_has_none() -> None:
    answers = {
        "2026": {
            "resources/list": {
                "result": {"resources": [{"uri": "ui://?x", "name": "n"}, {"uri": "ui://a b/", "name": "m"}]}
            },
            "resources/read": {
                "ui://?x": {"result": {"contents": [{"uri": "ui://?x", "text": "a"}]}},
                "ui://a b/": {"result": {"contents": ["odd", {"uri": "ui://a b/", "text": "b"}]}},
            },
        }
    }
    assert [widget["name"] for widget in guests.widgets(answers, {})] == ["widget", "a-b"]
