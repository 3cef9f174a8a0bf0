"""Every rule of the table, each with a plugin that breaks it and nothing else; the checks that need a bundle."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_registry.rules import RULES

TOML = 'name = "zoo"\nentrypoint = "server:plugin"\n'
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 64
PAGE = "<!doctype html><title>x</title><img src=cat.png>"
CAT = {"widgets/animals/cat.png": PNG}
FILE_FIELD: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("download_url", "file_id", "mime_type", "file_name")},
    "required": ["download_url", "file_id"],
}
PUBLIC = TOML + 'egress = "public"\n'
SIGNED = TOML + '[auth]\nissuer = "https://id.example"\nscopes = ["read"]\n'
PROFILE: dict[str, Any] = {
    "name": "whoami",
    "profile": True,
    "securitySchemes": [{"type": "oauth2", "scopes": ["read"]}],
    "outputSchema": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    },
}


def hints(**more: Any) -> dict[str, Any]:
    return {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False, **more}


def takes(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def elf(machine: int) -> bytes:
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, machine) + bytes(44)


@dataclass
class Case:
    """A broken plugin: what a tool and a widget say beside what is right, what the folder holds, and the message."""

    code: str
    says: str
    tool: dict[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=list)
    widget: dict[str, Any] | None = None
    widgets: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    page: str = PAGE
    toml: str = TOML
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    target: str = ""
    place: str = ""
    also: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


def on_page(code: str, says: str, page: str, **more: Any) -> Case:
    return Case(code, says, widget={**more.pop("widget", {})}, page=page, **more)


CASES = [
    Case(
        "annotations_required",
        "destructive (destructiveHint) is not set",
        tool={"annotations": {"readOnlyHint": True, "openWorldHint": False}},
        place="server.py:10",
        rows=("N01", "N02", "N03", "N05", "P04"),
    ),
    Case(
        "annotations_required",
        "read_only (readOnlyHint) and destructive (destructiveHint) are not set; open_world (openWorldHint) is not",
        tool={"annotations": {"openWorldHint": "no"}},
    ),
    Case("annotations_required", "is not true or false", tool={"annotations": hints(openWorldHint="no")}),
    Case("hint.type", "idempotentHint", tool={"annotations": hints(idempotentHint=1)}, rows=("N04",)),
    Case("hint.contradiction", "read-only and destructive", tool={"annotations": hints(destructiveHint=True)}),
    Case("hint.egress", "egress is none", tool={"annotations": hints(openWorldHint=True)}),
    Case("tool.name", "'a.b'", tool={"name": "a.b"}, rows=("P08",)),
    Case("tool.duplicate", "two tools", tools=[{"name": "animals"}]),
    Case("tool.description", "no description", tool={"description": " "}),
    Case("tool.input-schema", "its type is not object", tool={"inputSchema": {"type": "string"}}),
    Case(
        "tool.input-schema", "leads to the network", tool={"inputSchema": takes(a={"$ref": "https://x.example/a.json"})}
    ),
    Case("tool.output-schema", "type", tool={"outputSchema": {"type": 7}}, rows=("T01", "S01")),
    Case(
        "tool.output-schema-missing", "without saying what", tool={"widget": "animals"}, widget={}, rows=("T01", "S01")
    ),
    Case("tool.output-open", "names no property", tool={"outputSchema": {"type": "object"}}, rows=("O02",)),
    Case("tool.status", "invoking has 65 characters", tool={"invoking": "x" * 65}, rows=("T09",)),
    Case("tool.status", "invoked has 65 characters", tool={"invoked": "x" * 65}, rows=("T10",)),
    Case("tool.visibility", "['nobody']", tool={"visibility": ["nobody"]}, rows=("T04",)),
    Case("tool.widget-unknown", "no widget 'ghost'", tool={"widget": "ghost"}, rows=("T03",)),
    Case(
        "tool.widget-unknown",
        "no resource ui://widget/ghost.html",
        tool={"meta": {"ui": {"resourceUri": "ui://widget/ghost.html"}}},
        also=("tool.output-schema-missing",),
    ),
    Case(
        "tool.template-uri",
        "can't be a template's URI",
        tool={"meta": {"openai/outputTemplate": "ui://widget/{id}.html"}},
        also=("tool.output-schema-missing",),
    ),
    Case(
        "tool.template-differs",
        "is not",
        tool={
            "meta": {"ui": {"resourceUri": "ui://widget/animals.html"}, "openai/outputTemplate": "ui://widget/b.html"}
        },
        widget={},
        also=("tool.output-schema-missing",),
    ),
    Case(
        "tool.csp",
        "openai/widgetCSP, ui.csp stands on the tool",
        tool={"meta": {"openai/widgetCSP": {}, "ui": {"csp": {}}}},
        rows=("R03", "R04"),
    ),
    Case(
        "tool.alias-differs",
        "openai/widgetAccessible is False",
        tool={"visibility": ["model", "app"], "meta": {"openai/widgetAccessible": False}},
        rows=("T04",),
    ),
    Case(
        "tool.alias-differs",
        "_meta.securitySchemes",
        tool={"meta": {"securitySchemes": [{"type": "oauth2"}]}},
        rows=("T02",),
    ),
    Case("tool.meta-unknown", "'openai/widgetAccesible'", tool={"meta": {"openai/widgetAccesible": True}}),
    Case("security.scheme", "is not a security scheme", tool={"securitySchemes": [{"type": "basic"}]}, rows=("T02",)),
    Case(
        "security.scopes",
        "there is no [auth]",
        tool={"securitySchemes": [{"type": "oauth2", "scopes": []}]},
        rows=("T02",),
    ),
    Case(
        "security.scopes",
        "no scope 'write'",
        tool={"securitySchemes": [{"type": "oauth2", "scopes": ["write"]}]},
        toml=SIGNED,
    ),
    Case(
        "profile.count",
        "whoami is the profile tool already",
        tools=[PROFILE, {**PROFILE, "name": "me"}],
        toml=SIGNED,
        rows=("T06",),
    ),
    Case(
        "profile.shape",
        "Its input is not closed and empty",
        tools=[{**PROFILE, "inputSchema": {"type": "object"}}],
        toml=SIGNED,
        rows=("T06",),
    ),
    Case(
        "profile.shape",
        "It is not read-only",
        tools=[{**PROFILE, "annotations": hints(readOnlyHint=False)}],
        toml=SIGNED,
    ),
    Case(
        "profile.shape", "without signing in", tools=[{**PROFILE, "securitySchemes": [{"type": "noauth"}]}], toml=SIGNED
    ),
    Case(
        "profile.shape",
        "Its output is not exactly",
        tools=[{**PROFILE, "outputSchema": {"type": "object", "properties": {"uid": {}}}}],
        toml=SIGNED,
    ),
    Case(
        "profile.shape",
        "Its id is not required",
        tools=[{**PROFILE, "outputSchema": {**PROFILE["outputSchema"], "required": []}}],
        toml=SIGNED,
    ),
    Case(
        "profile.shape",
        "openai/profile is not true",
        tools=[{**PROFILE, "profile": None, "meta": {"openai/profile": "yes"}}],
        toml=SIGNED,
    ),
    Case("files.unknown", "no input field 'file'", tool={"fileParams": ["file"]}, toml=PUBLIC, rows=("F01", "T11")),
    Case("files.unknown", "not a list", tool={"meta": {"openai/fileParams": "file"}}, toml=PUBLIC),
    Case(
        "files.schema",
        "required is not exactly",
        tool={"fileParams": ["f"], "inputSchema": takes(f={**FILE_FIELD, "required": ["file_id"]})},
        toml=PUBLIC,
        rows=("F02",),
    ),
    Case("files.egress", "can't be downloaded", tool={"fileParams": ["f"], "inputSchema": takes(f=FILE_FIELD)}),
    Case(
        "meta.size",
        "KB",
        tool={"description": "d" * 99_000},
        tools=[{"name": "b", "description": "e" * 40_000}],
        rows=("O02",),
    ),
    Case(
        "example.tool",
        "no tool 'ghost'",
        toml=TOML + '[[examples]]\nprompt = "x"\ntool = "ghost"\n',
        place="plugin.toml:5",
    ),
    Case(
        "example.arguments",
        "is not of type",
        tool={"inputSchema": takes(n={"type": "integer"})},
        toml=TOML + '[[examples]]\nprompt = "x"\ntool = "animals"\narguments = {n = "1"}\n',
    ),
    Case("widget.missing", "not in the bundle", widget={"file": "widgets/none/index.html"}),
    Case("widget.at-root", "stands beside plugin.toml", widget={"file": "index.html"}, files={"index.html": PAGE}),
    Case("widget.encoding", "not UTF-8", widget={}, files={"widgets/animals/index.html": b"<p>\xff"}),
    Case("widget.duplicate", "two widgets", widgets=[{}, {}]),
    Case(
        "widget.mime",
        "Its type is 'text/html'",
        more={"resources": [{"uri": "ui://x/y.html", "name": "y", "mimeType": "text/html", "text": "x"}]},
        rows=("R01",),
    ),
    on_page("widget.base", "<base>", "<head><base href='/x'></head>", place="widgets/animals/index.html:1"),
    on_page(
        "widget.localhost",
        "on this machine",
        "\n<script src=http://localhost:5173/x.js></script>",
        place="widgets/animals/index.html:2",
    ),
    on_page("widget.localhost", "on this machine", "<img src=//127.0.0.1/x.png>"),
    on_page("widget.http", "not https", "<img src=http://a.example/x.png>"),
    on_page("widget.size", "1025 KB", "<p>" + "x" * 1025 * 1024),
    on_page("widget.large", "257 KB", "<p>" + "x" * 257 * 1024),
    on_page("widget.inline-data", "KB are data", f"<img src=data:image/png;base64,{'A' * 70_000}>"),
    on_page(
        "widget.bare-uri",
        '"ui://widget/animals.html" is cached by hosts',
        "<p><script>\nopen('ui://widget/animals.html')</script>",
        place="widgets/animals/index.html:2",
    ),
    on_page("widget.svg-use", "<use>", "<svg><use href='i.svg#a'/></svg>", files={"widgets/animals/i.svg": "<svg/>"}),
    on_page(
        "widget.worker",
        "straight from a URL",
        "<p>",
        files={"widgets/animals/a.js": "const w =\n new Worker(new URL('./w.js', import.meta.url))"},
        place="widgets/animals/a.js:2",
    ),
    on_page(
        "widget.localhost-script",
        "on this machine",
        "<p>",
        files={"widgets/animals/a.js": "fetch('http://localhost:3000/x')"},
    ),
    on_page("widget.display-mode", "['big']", "<p>", widget={"display_modes": ["big"]}, rows=("R05",)),
    on_page("widget.permission", "'usb'", "<p>", widget={"permissions": ["usb"]}),
    on_page(
        "csp.origin",
        "connect: 'https://a.example/x'",
        "<p>",
        widget={"csp": {"connect": ["https://a.example/x"]}},
        rows=("R03",),
    ),
    on_page("csp.origin", "resource: 'wss://a.example'", "<p>", widget={"csp": {"resource": ["wss://a.example"]}}),
    on_page("csp.origin", "frame: '*'", "<p>", widget={"csp": {"frame": {"*": "all"}}}),
    on_page("csp.frame-reason", "has no reason", "<p>", widget={"csp": {"frame": {"https://f.example": " "}}}),
    on_page(
        "csp.missing",
        "https://cdn.example is not in the CSP",
        "<script src=https://cdn.example/x.js></script>",
        rows=("R03",),
    ),
    on_page("csp.missing", "https://cdn.example:x is not", "<script src=https://cdn.example:x/x.js></script>"),
    on_page("csp.frame-missing", "https://f.example is not declared", "<iframe src=https://f.example/x></iframe>"),
    on_page(
        "csp.frame-missing",
        "of the plugin's own host",
        "<iframe src=inner.html></iframe>",
        files={"widgets/animals/inner.html": "<p>"},
    ),
    on_page("asset.missing", "'gone.png' is not beside", "<img src=gone.png>"),
    on_page("asset.missing", "is not a URL", "<img src='https://[x'>"),
    on_page(
        "asset.missing",
        "'no.woff2'",
        "<p>",
        files={"widgets/animals/a.css": "@font-face{src:\nurl(no.woff2)}"},
        place="widgets/animals/a.css:2",
    ),
    on_page("asset.outside", "outside its folder", "<img src=../../server.png>"),
    on_page("asset.outside", "outside its folder", "<p>", files={"widgets/animals/a.css": "a{b:url(../x.png)}"}),
    on_page("asset.root-relative", "begins with a slash", "<p>", files={"widgets/animals/a.css": "a{b:url(/x.png)}"}),
    on_page("asset.type", "a.xyz has no known type", "<p>", files={"widgets/animals/a.xyz": "x"}),
    on_page("asset.mistyped", "not what its ending says", "<p>", files={"widgets/animals/a.png": "GIF89a"}),
    on_page(
        "asset.mistyped", "not what its ending says", "<p>", files={"widgets/animals/a.js": "<!DOCTYPE html>not found"}
    ),
    on_page("asset.mistyped", "not what its ending says", "<p>", files={"widgets/animals/a.css": b"\xff"}),
    on_page("asset.mistyped", "not what its ending says", "<p>", files={"widgets/animals/a.webp": b"RIFF0000WAVE"}),
    on_page("asset.private", "published to the world", "<p>", files={"widgets/animals/helper.py": "x = 1"}),
    Case(
        "resource.duplicate",
        "two resources",
        more={"resources": [{"uri": "a:b", "name": "x", "text": ""}, {"uri": "a:b", "name": "y", "text": ""}]},
    ),
    Case("resource.uri", "has no scheme", more={"resources": [{"uri": "b", "name": "x", "text": ""}]}),
    Case(
        "listing.length",
        "display_name has 31 characters",
        toml=TOML + f'[listing]\ndisplay_name = "{"x" * 31}"\n',
        place="plugin.toml:4",
        rows=("P08",),
    ),
    Case("listing.icon", "'no.png'", toml=TOML + '[listing]\nicon = "no.png"\n'),
    Case("instructions.long", "513 characters", toml=TOML + f'instructions = "{"x" * 513}"\n'),
    Case(
        "bundle.secret",
        "holds a private key",
        files={"lib/k.txt": "a\n-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64},
        place="lib/k.txt:2",
    ),
    Case("bundle.secret", "holds an AWS access key", files={"conf.py": "K = 'AKIAZZZZZZZZZZZZZZ22'"}),
    Case("bundle.secret", "usually holds secrets", files={".npmrc": "x"}),
    Case("bundle.secret", "usually holds a private key", files={"tls/x.pem": "?"}),
    Case(
        "bundle.env-secret",
        "TOKEN looks like a GitHub token",
        toml=TOML + f'[env]\nTOKEN = "ghp_{"a" * 36}"\n',
        place="plugin.toml:4",
    ),
    Case("dependency.undeclared", "imports yaml", files={"server.py": "\nimport yaml"}, place="server.py:2"),
    Case(
        "dependency.egress",
        "server.py imports urllib.request and socket, and egress is none.",
        files={"server.py": "\nfrom urllib.request import urlopen\nimport urllib.parse, socket"},
        place="server.py:2",
    ),
    Case("bundle.platform", "fast was built for x86_64", files={"fast.cpython-313.so": elf(62)}, target="lambda"),
    Case("bundle.platform", "macOS", files={"fast.so": b"\xcf\xfa\xed\xfe" + bytes(60)}, target="lambda"),
    Case("bundle.platform", "Windows", files={"fast.dll": b"MZ", "fast.dylib": b"x"}),
    Case(
        "bundle.platform",
        "built for win_amd64",
        files={"fast-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: cp313-cp313-win_amd64\n"},
        target="lambda",
    ),
]


async def report(workshop: Any, make: SimpleNamespace, case: Case) -> Any:
    widgets = [make.widget(**more) for more in (case.widgets or ([] if case.widget is None else [case.widget]))]
    tools = [make.tool(**case.tool), *(make.tool(**more) for more in case.tools)]
    files = {"plugin.toml": case.toml, **case.files}
    if widgets:
        files = {"widgets/animals/index.html": case.page, **CAT, **files}
    description = make.description(*tools, widgets=tuple(widgets), **case.more)
    return await workshop.examine(description, files, target=case.target)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.code}-{number}" for number, case in enumerate(CASES)])
async def test_a_plugin_that_breaks_one_rule_is_told_so_with_the_place_and_the_cure(
    workshop: Any, make: SimpleNamespace, case: Case
) -> None:
    found = (await report(workshop, make, case)).findings
    assert {finding.code for finding in found} == {case.code, *case.also}
    told = [finding for finding in found if finding.code == case.code and case.says in finding.message]
    assert told, [finding.message for finding in found]
    assert told[0].severity == RULES[case.code].severity
    assert told[0].rows == RULES[case.code].rows
    assert told[0].cure
    if case.place:
        assert str(told[0].place) == case.place


async def test_a_plugin_in_order_has_no_findings(workshop: Any, make: SimpleNamespace) -> None:
    tool = make.tool(
        widget="animals",
        invoking="x" * 64,
        invoked="x" * 64,
        visibility=["app"],
        annotations=hints(idempotentHint=True),
        outputSchema=takes(n={"type": "integer"}),
        fileParams=["one", "many", "shared"],
        inputSchema={
            **takes(one=FILE_FIELD, many={"type": "array", "items": FILE_FIELD}, shared={"$ref": "#/$defs/File"}),
            "$defs": {"File": FILE_FIELD},
        },
        securitySchemes=[{"type": "noauth"}, {"type": "oauth2", "scopes": ["read"]}],
    )
    csp = {
        "connect": ["wss://live.example"],
        "resource": ["https://*.cdn.example", "https://b.example:8443"],
        "frame": {"https://f.example": "the map"},
        "redirect": ["https://pay.example"],
    }
    page = (
        "<!doctype html><img src=https://a.cdn.example/x.png><img src='//b.example:8443/y.png'><img src=data:,x>"
        "<iframe src=https://f.example/map></iframe><svg><use href='#a'/></svg><a href=http://localhost>x</a>"
        '<script type=importmap>{"imports": {"m/": "./lib/"}}</script><img src=cat.png>'
    )
    files = {
        "plugin.toml": SIGNED.replace("[auth]", 'egress = "public"\n[auth]')
        + '[[examples]]\nprompt = "x"\ntool = "animals"\n'
        "arguments = {one = {download_url = 'u', file_id = 'i', mime_type = 't', file_name = 'n'}}\n",
        "widgets/animals/index.html": page,
        "widgets/animals/lib/m.js": "new Worker(URL.createObjectURL(b)); new Worker(u); x = `ui://widget/other.html`",
        "widgets/animals/a.css": "@import 'sub/b.css';a{b:url(#x);c:url(cat.png);d:url(data:,x)}",
        "widgets/animals/sub/b.css": "a{b:url('../cat.png?v=1#x')}",
        "widgets/animals/f.ttf": b"\0\1\0\0",
        "lib/public.pem": "-----BEGIN PUBLIC KEY-----\nx",
        "lib/readme.txt": "AKIAIOSFODNN7EXAMPLE",
        "lib/fast.so": elf(183),
        "lib/odd.so": b"not an ELF",
        "lib-1.dist-info/WHEEL": "Tag: py3-none-any\n",
        "other-1.dist-info/WHEEL": "Tag: cp313-cp313-manylinux_2_28_aarch64\n",
        **CAT,
    }
    tools = (tool, make.tool(**PROFILE))
    widget = make.widget(title="Animals", csp=csp, display_modes=["pip"], permissions=["camera"])
    found = await workshop.examine(make.description(*tools, widgets=(widget,)), files, target="lambda")
    assert [(finding.code, finding.message) for finding in found.findings] == []
    assert (found.tools, found.widgets, found.widget_bytes["animals"] > 0) == (2, 1, True)


def test_every_rule_that_looks_at_a_bundle_has_a_plugin_that_breaks_it() -> None:
    called = ("result.", "example.failed", "example.un")
    elsewhere = {code for code in RULES if code.startswith(("wire.", "challenge.", *called))}
    assert {case.code for case in CASES} == set(RULES) - elsewhere


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"anyOf": [FILE_FIELD, {"type": "null"}]}, "it is a choice of schemas, which hosts refuse"),
        ({"type": "string"}, "it is not an object"),
        ({"type": "array", "items": {"$ref": "#/nowhere"}}, "it is not an object"),
        ({**FILE_FIELD, "properties": {"file_id": {"type": "string"}}}, "download_url is not a text property"),
        ({**FILE_FIELD, "required": ["download_url", "file_id", "file_name"]}, "required is not exactly"),
        ({**FILE_FIELD, "required": None}, "required is not exactly"),
    ],
)
@pytest.mark.row("F02")
def test_file_fields_of_another_shape_are_refused(node: dict[str, Any], reason: str) -> None:
    from tenantry_registry.rules_tools import file_problem

    assert file_problem({}, node).startswith(reason)


@pytest.mark.row("F02")
def test_more_properties_than_the_four_are_fine_in_a_file_field() -> None:
    from tenantry_registry.rules_tools import file_problem

    more = {**FILE_FIELD, "properties": {**FILE_FIELD["properties"], "size": {"type": "integer"}}}
    assert file_problem({}, more) == ""
