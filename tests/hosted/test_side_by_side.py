"""Every server answers hosted exactly what it answers alone, but for what makes its widgets current.

Both are asked the same over HTTP, with the session of whoever gives one. What may differ stands in `current`, as
docs/deploy.md and the module docstring of tenantry_registry.guests have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

OLD, OLDER, NEW = "2025-11-25", "2025-06-18", "2026-07-28"
MIME = "text/html;profile=mcp-app"
ALL = [NEW, OLD, OLDER, "2025-03-26"]
WIDGETS = {  # server -> (its template as the author calls it, the tool that shows it)
    "mcpserver": ("ui://zoo/animals.html", "animals"),
    "raw": ("ui://clock", "clock"),
    "first": ("ui://widget/pizza-map.html", "map"),
    "fast": ("ui://words/view.html", "count"),
}
BOTH_ERAS = ("mcpserver", "fast")
Asked = tuple[str, dict[str, Any]]


def call(name: str, /, **arguments: Any) -> Asked:
    return "tools/call", {"name": name, "arguments": arguments}


# What every server is asked, whether it knows of it or not.
COMMON: list[Asked] = [
    ("ping", {}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("no/such/method", {"x": 1}),
    call("nothing", x=1),
    ("prompts/get", {"name": "nothing"}),
    ("resources/read", {"uri": "zoo://nowhere"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
]
OWN: dict[str, list[Asked]] = {
    "mcpserver": [
        ("prompts/list", {}),
        call("animals", kind="Löwe"),
        call("animals", kind="owl", count=3),
        call("animals", kind="owl", count="many"),
        call("animals"),
        ("tools/call", {"name": "feed", "arguments": {}, "_meta": {"progressToken": "p1"}}),
        call("feed"),
        call("release", kind="owls"),
        ("tools/call", {"name": "animals", "arguments": [1]}),
        ("prompts/get", {"name": "greet", "arguments": {"name": "Ädä"}}),
        ("prompts/get", {"name": "greet"}),
        ("resources/read", {"uri": "zoo://hours"}),
        ("resources/read", {"uri": "zoo://animal/owl"}),
    ],
    "raw": [call("clock", city="Zürich"), call("clock")],
    "first": [
        ("prompts/list", {}),
        call("map", topping="basil"),
        call("map"),
        call("oven"),
        ("prompts/get", {"name": "order", "arguments": {"topping": "basil"}}),
        ("prompts/get", {"name": "order"}),
    ],
    "fast": [
        ("prompts/list", {}),
        call("count", words=["a", "b"]),
        ("tools/call", {"name": "count", "arguments": {"words": []}, "_meta": {"progressToken": 4}}),
        call("count", words=3),
        call("refuse", why="no"),
        ("resources/read", {"uri": "words://a"}),
        ("prompts/get", {"name": "rhyme", "arguments": {"word": "orange"}}),
        ("prompts/get", {"name": "rhyme"}),
    ],
}
ASKED = [(name, revision) for name in OWN for revision in (OLD, OLDER, NEW) if revision != NEW or name in BOTH_ERAS]


def current(pair: Any, method: str, params: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """What hosting makes of an answer: the widget's published URI and its standard keys, nothing else."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return answer
    [widget] = pair.manifest.widgets
    template, shown = WIDGETS[pair.name]
    if method == "tools/list":
        tools = [current_tool(tool, widget.uri) if tool["name"] == shown else tool for tool in result["tools"]]
        return {**answer, "result": {**result, "tools": tools}}
    if method == "resources/list":
        entries = [entry | {"uri": widget.uri} if entry["uri"] == template else entry for entry in result["resources"]]
        return {**answer, "result": {**result, "resources": entries}}
    if method == "resources/templates/list":
        named = {"uriTemplate": widget.uri}
        listed = [e | named if e["uriTemplate"] == template else e for e in result["resourceTemplates"]]
        return {**answer, "result": {**result, "resourceTemplates": listed}}
    if method == "tools/call" and params.get("name") == shown:
        meta = {**(result.get("_meta") or {}), "tenantry/widgets": {widget.name: widget.uri}}
        return {**answer, "result": {**result, "_meta": meta}}
    return answer


def current_tool(tool: dict[str, Any], uri: str) -> dict[str, Any]:
    meta = dict(tool["_meta"])
    ui = {"visibility": ["model", "app"], **meta.get("ui", {}), "resourceUri": uri}
    added = {"openai/widgetAccessible": True, "openai/visibility": "public"}
    return {**tool, "_meta": {**added, **meta, "ui": ui, "openai/outputTemplate": uri}}


def without_widget_meta(pair: Any, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without a template's own mime type and keys, which the next test looks at."""
    [widget] = pair.manifest.widgets
    result = messages[-1].get("result", {})
    for entry in [*result.get("resources", []), *result.get("resourceTemplates", [])]:
        if widget.uri in (entry.get("uri"), entry.get("uriTemplate")):
            entry.pop("mimeType"), entry.pop("_meta", None)
    return messages


@pytest.mark.parametrize(("pair", "revision"), ASKED, indirect=["pair"])
async def test_it_answers_what_it_answers_alone(pair: Any, revision: str) -> None:
    compared = 0
    for method, params in [*COMMON, *OWN[pair.name]]:
        alone = await pair.alone.ask(revision, method, params)
        hosted = await pair.hosted.ask(revision, method, params)
        expected = [*alone[:-1], current(pair, method, params, alone[-1])]
        if method in ("resources/list", "resources/templates/list"):
            expected, hosted = without_widget_meta(pair, expected), without_widget_meta(pair, hosted)
        assert hosted == expected, (method, params)
        compared += 1
    assert compared == len(COMMON) + len(OWN[pair.name])


@pytest.mark.parametrize("pair", OWN, indirect=True)
async def test_it_greets_as_it_greets_alone(pair: Any) -> None:
    spoken = (OLDER,) if pair.name == "raw" else (OLD, OLDER)  # what it can say of itself
    for revision in spoken:
        alone, hosted = await pair.alone.greet(revision), await pair.hosted.greet(revision)
        assert hosted == alone
    if pair.name in BOTH_ERAS:
        alone, hosted = [await side.result(NEW, "server/discover") for side in (pair.alone, pair.hosted)]
        promised = {
            name: {key: False if key in ("listChanged", "subscribe") else value for key, value in promises.items()}
            for name, promises in alone["capabilities"].items()
        }
        assert hosted == {**alone, "supportedVersions": ALL, "capabilities": promised}
        assert (await pair.hosted.ask(NEW, "subscriptions/listen"))[-1]["error"]["code"] == -32601
    else:
        hosted = await pair.hosted.result(NEW, "server/discover")
        assert (hosted["supportedVersions"], hosted["resultType"]) == (ALL, "complete")


@pytest.mark.parametrize("pair", OWN, indirect=True)
async def test_its_widget_is_a_current_one(pair: Any) -> None:
    template, _ = WIDGETS[pair.name]
    [widget] = pair.manifest.widgets
    assert widget.uri != template
    for revision in (OLD, NEW):
        entry = next(e for e in (await pair.hosted.result(revision, "resources/list"))["resources"])
        assert (entry["uri"], entry["mimeType"]) == (widget.uri, MIME)
        read = [(await pair.hosted.result(revision, "resources/read", {"uri": uri})) for uri in (widget.uri, template)]
        for uri, result in zip((widget.uri, template), read, strict=True):
            [content] = result["contents"]
            assert (content["uri"], content["mimeType"]) == (uri, MIME)
            ui = content["_meta"]["ui"]
            assert ui["csp"]["resourceDomains"] == ["https://plugins.example.com"]
            assert content["_meta"]["openai/widgetCSP"]["connect_domains"] == ui["csp"]["connectDomains"]
        assert read[0]["contents"][0]["text"] == read[1]["contents"][0]["text"]
        alone = (await pair.alone.result(OLD, "resources/read", {"uri": template}))["contents"][0]
        kept = {key: value for key, value in alone.get("_meta", {}).items() if key not in ("ui", "openai/widgetCSP")}
        assert kept.items() <= read[0]["contents"][0]["_meta"].items()
        body = alone["text"].partition("<body>")[2]
        assert body
        assert body in read[0]["contents"][0]["text"]


@pytest.mark.parametrize("pair", ["first"], indirect=True)
async def test_a_template_that_names_a_widget_names_the_current_one(pair: Any) -> None:
    [widget] = pair.manifest.widgets
    for revision in (OLD, NEW):
        [entry] = (await pair.hosted.result(revision, "resources/templates/list"))["resourceTemplates"]
        assert (entry["uriTemplate"], entry["mimeType"]) == (widget.uri, MIME)
        assert entry["_meta"]["ui"]["csp"]["resourceDomains"] == ["https://plugins.example.com"]


@pytest.mark.parametrize("pair", ["raw", "first"], indirect=True)
async def test_a_server_of_one_era_is_served_to_clients_of_the_other(pair: Any) -> None:
    for method, params in OWN[pair.name]:
        alone = (await pair.alone.ask(OLD, method, params))[-1]
        hosted = (await pair.hosted.ask(NEW, method, params))[-1]
        if "error" in alone:
            assert hosted == alone
            continue
        expected = current(pair, method, params, alone)["result"]
        own = {"io.modelcontextprotocol/serverInfo", *expected.get("_meta", {})}
        assert hosted["result"]["resultType"] == "complete"
        assert own == hosted["result"]["_meta"].keys()
        assert {k: hosted["result"][k] for k in expected if k != "_meta"} == {
            k: v for k, v in expected.items() if k != "_meta"
        }


@pytest.mark.parametrize("pair", ["raw"], indirect=True)
async def test_no_cookie_of_a_server_reaches_a_client(pair: Any) -> None:
    for side, sets in ((pair.alone, True), (pair.hosted, False)):
        await side.ask(OLD, *call("clock", city="Bern"))
        assert ("set-cookie" in side.headers) is sets


@pytest.mark.parametrize("pair", ["raw"], indirect=True)
async def test_a_list_that_a_server_does_not_have_is_empty(pair: Any) -> None:
    assert "error" in (await pair.alone.ask(OLD, "prompts/list"))[-1]
    assert await pair.hosted.result(OLD, "prompts/list") == {"prompts": []}
