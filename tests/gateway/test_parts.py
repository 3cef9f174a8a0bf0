"""The smaller parts by themselves: seals, settings, schemas, headers, templates, clients, the log."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest
from gateway.house import KEY, manifest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_gateway import clients, headers, templates
from tenantry_gateway.edition import Edition
from tenantry_gateway.log import Log, blank
from tenantry_gateway.request import Request, Response
from tenantry_gateway.seal import Seal
from tenantry_gateway.settings import GatewaySettings
from tenantry_gateway.validate import WEIGHT, Checker, depth_of
from tenantry_gateway.wire import Message, Refusal, decode_header
from tenantry_registry.errors import PlatformError

KEYS = {"new": b"n" * 32, "old": b"o" * 32}

# -- seals ----------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()))
def test_what_was_sealed_comes_back(data: dict[str, Any]) -> None:
    seal = Seal(KEYS)
    assert seal.open("p", "b", seal.close("p", "b", data, seconds=60)) == data


@given(st.text())
def test_nothing_else_opens(text: str) -> None:
    assert Seal(KEYS).open("p", "b", text) is None
    assert Seal(KEYS).open("p", "b", "new." + text) is None


def test_keys_rotate_and_go() -> None:
    note = Seal({"old": KEYS["old"]}).close("p", "b", {"x": 1}, seconds=60)
    assert Seal(KEYS).open("p", "b", note) == {"x": 1}
    assert Seal({"new": KEYS["new"]}).open("p", "b", note) is None


def test_a_note_is_for_one_purpose_one_holder_and_one_time() -> None:
    note = Seal(KEYS, now=lambda: 1000.0).close("p", "b", {}, seconds=60)
    assert Seal(KEYS, now=lambda: 1059.0).open("p", "b", note) == {}
    assert Seal(KEYS, now=lambda: 1060.0).open("p", "b", note) is None
    assert Seal(KEYS, now=lambda: 1000.0).open("q", "b", note) is None
    assert Seal(KEYS, now=lambda: 1000.0).open("p", "c", note) is None


@pytest.mark.parametrize("keys", [{}, {"k": b"short"}])
def test_a_weak_key_is_refused(keys: dict[str, bytes]) -> None:
    with pytest.raises(PlatformError, match="32 bytes"):
        Seal(keys)


# -- settings -------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANTRY_SEAL_KEYS", f"{KEY},{KEY.replace('k1', 'k2')}")
    monkeypatch.setenv("TENANTRY_HOSTS", '["a.example","b.example"]')
    settings = GatewaySettings()
    assert list(settings.keys(local=False)) == ["k1", "k2"]
    assert settings.hosts == ("a.example", "b.example")
    assert settings.mode == "production"


@pytest.mark.parametrize("text", ["", "k1:AAAA", f":{KEY[3:]}", "k1:***", "nonsense"])
def test_keys_that_are_none_are_refused_outside_development(text: str) -> None:
    with pytest.raises(PlatformError, match="TENANTRY_SEAL_KEYS"):
        GatewaySettings(seal_keys=text).keys(local=False)


def test_development_may_go_without() -> None:
    assert len(GatewaySettings().keys(local=True)["dev"]) == 32


# -- schemas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.com/s.json"},
        {"$ref": "file:///etc/passwd"},
        {"type": 5},
        {"pattern": "("},
        {"$ref": "#/nope"},
    ],
)
def test_a_schema_that_is_broken_or_reaches_out_is_unusable(schema: dict[str, Any]) -> None:
    with pytest.raises(PlatformError, match="can't be used"):
        Checker(schema)


def test_problems_name_their_place() -> None:
    checker = Checker({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})
    assert checker.problems({"a": [1, "x"]}) == ['a.1: "x" is not of type "integer"']
    assert len(checker.problems({"a": ["x"] * 50})) == 5
    assert checker.problems({"a": [1]}) == []


def test_a_pattern_that_backtracks_ends_soon() -> None:
    began = time.perf_counter()
    assert Checker({"type": "string", "pattern": "^(a+)+(?=b)$"}).problems("a" * 5_000 + "c")
    assert time.perf_counter() - began < 2


def test_a_value_no_validator_can_take_is_a_problem() -> None:
    assert Checker({"type": "string"}).problems("\ud800")


def multiplying(depth: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(depth)
    }
    return {"$defs": {**definitions, f"d{depth}": {}}, "$ref": "#/$defs/d0"}


def test_references_that_multiply_are_weighed_not_tried() -> None:
    began = time.perf_counter()
    assert "too deeply" in Checker(multiplying(40)).problems({})[0]
    assert Checker(multiplying(5)).problems({}) == []
    assert "too deeply" in Checker({"$ref": "#"}).problems({})[0]
    assert time.perf_counter() - began < 2


def test_a_tree_is_fine_and_a_doubling_tree_is_bounded() -> None:
    tree = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    twice = {
        "$defs": {"node": {"properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}]}}}},
        "$ref": "#/$defs/node",
    }
    value: dict[str, Any] = {}
    for _ in range(60):
        value = {"next": value}
    assert depth_of(value) == 61
    assert Checker(tree).problems(value) == []
    assert "too deeply" in Checker(twice).problems(value)[0]
    assert WEIGHT == 100_000


def test_every_kind_of_reference_is_followed() -> None:
    schema = {
        "$defs": {
            "a": {"$anchor": "here", "type": "string"},
            "list": {"prefixItems": [{"$ref": "#here"}], "items": {"$ref": "#/$defs/list/prefixItems/0"}},
            "x/y~z": {"type": "integer"},
        },
        "properties": {"p": {"$ref": "#/$defs/list"}, "q": {"$ref": "#/$defs/x~1y~0z"}},
        "patternProperties": {"^r": {"type": "null"}},
        "additionalProperties": False,
        "dependentSchemas": {"p": {"required": ["q"]}},
        "default": {"properties": 5},
        "not": {"required": ["z"]},
    }
    checker = Checker(schema)
    assert checker.problems({"p": ["a", "b"], "q": 3, "r1": None}) == []
    assert checker.problems({"p": ["a", 5], "q": 3})


@pytest.mark.parametrize("reference", ["#/$defs/list/9", "#/a/b/c", 7])
def test_references_to_nothing_weigh_nothing(reference: Any) -> None:
    from tenantry_gateway.validate import Scale

    scale = Scale({"$defs": {"list": [1]}, "$ref": reference, "items": True, "allOf": [True]})
    assert scale.weigh(0) < 5


# -- Mcp-Param-* ----------------------------------------------------------------------------------------------------

REGION = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
NESTED = {"properties": {"a": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}}}
FLAG = {"properties": {"f": {"type": "boolean", "x-mcp-header": "F"}}}


def check(schema: dict[str, Any], arguments: dict[str, Any], *given: tuple[str, str]) -> bool:
    try:
        headers.check_parameters(Request("POST", "/mcp", given), headers.declared(schema), arguments, 1)
    except Refusal as refusal:
        return {-32020: False}[refusal.code]
    return True


@pytest.mark.parametrize(
    ("schema", "arguments", "given", "good"),
    [
        (REGION, {"region": "eu"}, [("Mcp-Param-Region", "eu")], True),
        (REGION, {"region": "eu"}, [("mcp-param-REGION", " eu ")], True),
        (REGION, {"region": "ü"}, [("mcp-param-region", "=?base64?w7w=?=")], True),
        (REGION, {"region": "eu"}, [("mcp-param-region", "us")], False),
        (REGION, {"region": "eu"}, [], False),
        (REGION, {}, [("mcp-param-region", "eu")], False),
        (REGION, {"region": None}, [], True),
        (REGION, {"region": "eu"}, [("mcp-param-region", "eu"), ("mcp-param-region", "eu")], False),
        (REGION, {"region": "x"}, [("mcp-param-region", "=?base64?***?=")], False),
        (REGION, {"region": ["x"]}, [], True),
        (NESTED, {"a": {"n": 42}}, [("mcp-param-n", "42")], True),
        (NESTED, {"a": {"n": 42}}, [("mcp-param-n", "42.0")], True),
        (NESTED, {"a": {"n": 42.0}}, [("mcp-param-n", "42")], True),
        (NESTED, {"a": {"n": 42}}, [("mcp-param-n", "4.2e1")], False),
        (NESTED, {"a": 5}, [], True),
        (FLAG, {"f": True}, [("mcp-param-f", "true")], True),
        (FLAG, {"f": False}, [("mcp-param-f", "False")], False),
        ({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, {"a": 1.5}, [], True),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "sp ace"}}}, {"a": "1"}, [], True),
        ({"properties": {"a": {"type": "string", "x-mcp-header": 5}, "b": True}}, {"a": "1"}, [], True),
        ({"properties": {**REGION["properties"], "s": {"type": "string", "x-mcp-header": "region"}}}, {}, [], True),
        ({"properties": {"a": True}}, {"a": 1}, [("mcp-param-a", "2")], True),
        ({}, {"a": 1}, [("mcp-param-a", "2")], True),
    ],
)
def test_parameter_headers(schema: Any, arguments: Any, given: Any, good: bool) -> None:
    assert check(schema, arguments, *given) is good


@given(st.text())
def test_a_headers_value_never_breaks_the_decoder(text: str) -> None:
    decode_header(text)
    decode_header(f"=?base64?{text}?=")
    assert decode_header(None) is None


# -- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "uri", "good"),
    [
        ("x://{id}/data", "x://7/data", True),
        ("x://{id}/data", "x://7/8/data", False),
        ("x://{+path}", "x://a/b/c", True),
        ("x://{path*}", "x://a/b/c", True),
        ("x://a{?page,size}", "x://a", True),
        ("x://a{?page,size}", "x://a?page=1&size=2", True),
        ("x://a{&q}", "x://a&q=1", True),
        ("x://a{/b}", "x://a/b", True),
        ("x://a{/b}", "x://a", False),
        ("x://a{.ext}", "x://a.json", True),
        ("x://a{;k}", "x://a;k=1", True),
        ("x://a{#part}", "x://a#part", True),
        ("x://a.b", "x://aXb", False),
        ("x://{id}", "x://" + "7" * 9_000, False),
    ],
)
def test_templates(template: str, uri: str, good: bool) -> None:
    assert templates.matches(template, uri) is good


def test_a_template_cannot_be_made_to_think_long() -> None:
    began = time.perf_counter()
    templates.matches("x://{+a}{+b}{+c}!", "x://" + "a" * 500)
    assert time.perf_counter() - began < 5


def test_a_client_is_what_it_says() -> None:
    def kind(note: dict[str, Any] | None = None, agent: str = "", era: str = "2026", **meta: Any) -> str:
        request = Request("POST", "/mcp", [("user-agent", agent)])
        return clients.recognise(request, Message("tools/list", {"_meta": meta}, 1, era), note or {}).kind

    assert kind(**{"openai/subject": "x"}) == "chatgpt"
    assert kind(agent="openai-mcp/1.0") == "chatgpt"
    assert kind(**{"io.modelcontextprotocol/clientInfo": {"name": "claude-ai"}}) == "claude"
    assert kind({"kind": "chatgpt"}, era="2025") == "chatgpt"
    assert kind(agent="curl/8") == ""
    odd = {"io.modelcontextprotocol/clientInfo": 5, "io.modelcontextprotocol/clientCapabilities": 5}
    assert kind(**odd) == ""


@pytest.mark.row("M01")
def test_a_locale_is_text_or_nothing() -> None:
    def locale(note: dict[str, Any], **meta: Any) -> str:
        message = Message("tools/call", {"_meta": meta}, 1, "2025")
        return clients.recognise(Request("POST", "/"), message, note).locale

    assert locale({}, **{"openai/locale": "de"}) == "de"
    assert locale({}, **{"webplus/i18n": "fr"}) == "fr"
    assert locale({"locale": "it"}) == "it"
    assert locale({}, **{"openai/locale": 7}) == ""


def test_what_is_remembered_is_small() -> None:
    long = clients.Client("", {"name": "n" * 9_000}, {"elicitation": {"form": {"x": 1}, "y": 2}, "roots": 5}, "l" * 999)
    note = clients.remember(long, "2025-11-25")
    assert len(json.dumps(note)) < 800
    assert note["capabilities"] == {"elicitation": {"form": {}}}


def test_the_log_leaves_out_what_is_empty_and_keeps_tracebacks_whole() -> None:
    stream = io.StringIO()
    Log(stream, now=lambda: 1.23456)("call", tenant="a", tool="", code=None, traceback="t" * 1_000, ms=0)
    line = json.loads(stream.getvalue())
    assert line == {"event": "call", "time": 1.235, "tenant": "a", "traceback": "t" * 1_000, "ms": 0}


def test_the_log_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Log()("call", tenant="a")
    assert json.loads(capsys.readouterr().err)["tenant"] == "a"


def test_a_response_knows_its_headers() -> None:
    response = Response(200, b"", "text/plain", [("x", "1"), ("x", "2")])
    assert (response.header("x"), response.header("y")) == ("1", None)


def test_an_edition_without_anything_lists_nothing() -> None:
    edition = Edition(manifest(tools=(), resources=(), templates=(), prompts=(), widgets=(), instructions=""))
    assert edition.tools == {}


def test_secrets_are_blanked_by_name_and_those_too_short_to_be_some_are_left() -> None:
    assert blank("a hushhush b 12", {"KEY": "hushhush", "PIN": "12"}) == "a [secret KEY] b 12"
