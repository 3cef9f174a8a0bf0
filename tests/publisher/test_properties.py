"""Whatever an author declares with the kit publishes in order, or is refused with a code: never a crash in between."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from tenantry import CSP, File, NoAuth, OAuth2, Plugin, PluginError, Profile, Result, Widget
from tenantry_publisher.publish import RulesBroken, publish
from tenantry_registry.bundle import pack
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.rules import RULES
from tenantry_registry.rules_wire import check_answers
from tenantry_registry.runners import Call, Release


class Animal(BaseModel):
    id: str
    legs: int | None = None
    kin: list[Animal] = []


class Animals(BaseModel):
    animals: list[Animal]


def plain(count: Annotated[int, Field(ge=1, le=20)] = 10, name: str | None = None) -> Animals:
    """Use this when the user wants animals."""
    raise NotImplementedError


def rich(animal: Animal, tags: list[str], where: dict[str, float] | None = None) -> Result[Animals]:
    """Use this with an animal."""
    raise NotImplementedError


def text() -> str:
    """Use this for words."""
    raise NotImplementedError


def filed(file: File, more: list[File], maybe: File | None = None) -> str:
    """Use this with a file."""
    raise NotImplementedError


TEXTS = st.one_of(st.none(), st.text(max_size=64), st.just("x" * 64))
RARELY = st.integers(0, 19).map(lambda number: number == 19)  # what the kit refuses already; that is its own tests' job
ORIGINS = st.lists(st.sampled_from(["https://a.example", "https://*.b.example", "https://c.example:8443"]), max_size=2)
PAGES = st.lists(
    st.sampled_from(
        [
            "<p>x", "<img src=cat.png>", "<img src=gone.png>", "<script src=https://a.example/x.js></script>",
            "<base href=/>", "<script>open('ui://widget/one.html')</script>", "<style>a{b:url(cat.png)}</style>",
            "<iframe src=https://a.example></iframe>", "\x00\ufffd", "<img src='http://x.example'>",
        ]
    ),
    max_size=3,
).map("".join)  # fmt: skip


@st.composite
def widgets(draw: st.DrawFn) -> Widget | None:
    if draw(st.booleans()):
        return None
    where: dict[str, Any] = (
        {"file": "widgets/one/index.html"}
        if draw(st.booleans())
        else {"html": draw(PAGES), "name": "a b" if draw(RARELY) else "one"}
    )
    csp = None
    if draw(st.booleans()):
        frame = {"http://a.example" if draw(RARELY) else "https://a.example": "a map"}
        csp = CSP(draw(ORIGINS), draw(ORIGINS), draw(st.sampled_from([{}, frame])), draw(ORIGINS))
    return Widget(
        **where,
        description=draw(TEXTS),
        csp=csp,
        border=draw(st.none() | st.booleans()),
        display_modes=draw(st.lists(st.sampled_from(["inline", "pip"]), max_size=2)),
        permissions=draw(st.lists(st.sampled_from(["camera", "clipboardWrite"]), max_size=1)),
    )


@st.composite
def plugins(draw: st.DrawFn) -> Plugin | None:
    """A plugin of up to four tools, or None where the kit itself refuses the declaration."""
    plugin = Plugin()
    try:
        widget = draw(widgets())
        for function in draw(st.lists(st.sampled_from([plain, rich, text, filed]), max_size=4, unique=True)):
            plugin.tool(
                read_only=draw(st.booleans()),
                destructive=draw(st.booleans()),
                open_world=draw(st.booleans()),
                idempotent=draw(st.none() | st.booleans()),
                name=draw(st.sampled_from(["not.ok", "", "é", "ok"])) if draw(RARELY) else None,
                title=draw(TEXTS),
                widget=draw(st.sampled_from([None, widget])),
                visibility=draw(st.sampled_from([None, ["model"], ["app"], ["model", "app"]])),
                invoking="x" * 65 if draw(RARELY) else draw(TEXTS),
                invoked=draw(TEXTS),
                auth=draw(st.sampled_from([(), (NoAuth(),), (OAuth2("read"),), (NoAuth(), OAuth2("other"))])),
                meta=draw(st.sampled_from([None, {"own": 1}, {"openai/widgetCSP": {}}])),
            )(function)
        if draw(st.booleans()):

            @plugin.profile(scopes=["read"])
            def whoami() -> Profile:
                raise NotImplementedError

    except PluginError:
        return None
    return plugin


TOMLS = st.sampled_from(
    [
        'name = "zoo"\nentrypoint = "server:plugin"\n',
        'name = "zoo"\nentrypoint = "server:plugin"\negress = "public"\n',
        'name = "zoo"\nentrypoint = "server:plugin"\n[auth]\nissuer = "https://i.example"\nscopes = ["read"]\n',
    ]
)


class Said:
    """A runner for which a plugin is what it says here."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description

    async def describe(self, release: Release) -> dict[str, Any]:
        return {"protocol": 1, "description": self.description}

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        raise NotImplementedError

    async def aclose(self) -> None:
        return None


async def published(plugin: Plugin, toml: str, page: str) -> Manifest | PlatformError:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        (source / "widgets" / "one").mkdir(parents=True)
        (source / "plugin.toml").write_text(toml)
        (source / "widgets" / "one" / "index.html").write_bytes(page.encode())
        (source / "widgets" / "one" / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        try:
            result = await publish(
                objects=FileObjects(Path(folder) / "store"),
                runner=Said(plugin.__tenantry_describe__()),
                name=Name("acme", "zoo"),
                bundle=pack(source),
            )
        except PlatformError as error:
            return error
        return result.manifest


@pytest.mark.row("N01", "N02", "N03", "T02", "T03", "T04", "T09", "T10", "R03", "F01", "F02")
@given(plugins(), TOMLS, PAGES)
def test_a_declaration_publishes_in_order_or_is_refused_with_a_code(
    plugin: Plugin | None, toml: str, page: str
) -> None:
    if plugin is None:
        event("refused by the kit")
        return
    result = asyncio.run(published(plugin, toml, page))
    event(type(result).__name__)
    if isinstance(result, RulesBroken):
        assert all(finding.code in RULES and finding.cure for finding in result.report.errors)
        return
    assert isinstance(result, Manifest), result
    assert Manifest.from_json(result.to_json()).to_json() == result.to_json()
    assert {str(finding["severity"]) for finding in result.findings} <= {"warn"}
    # The wire half agrees with the publish gate: what was let through has no error on the wire either
    reads = {str(entry["uri"]): {"contents": [{**entry, "text": "<p>"}]} for entry in result.resources}
    wire = check_answers(tools=result.tools, resources=result.resources, reads=reads)
    assert [(finding.code, finding.message) for finding in wire.errors if finding.code != "csp.origin"] == []
