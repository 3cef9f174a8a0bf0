from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry.dialects import MIME, tool_meta, widget_meta
from tenantry_registry.manifest import ORIGIN, STORAGE

NOAUTH = [{"type": "noauth"}]
FULL: dict[str, Any] = {
    "name": "a",
    "description": "Cards of animals.",
    "border": True,
    "display_modes": ["inline", "fullscreen"],
    "permissions": ["microphone", "camera"],
    "csp": {
        "connect": ["https://api.example"],
        "resource": ["https://cdn.example", ORIGIN],
        "frame": {"https://map.example": "the map"},
        "redirect": ["https://pay.example"],
    },
}


@pytest.mark.row("R02", "R03", "R05", "R06", "R07", "R08", "R09")
def test_one_declaration_gives_both_dialects() -> None:
    assert widget_meta(FULL, files=False) == {
        "ui": {
            "prefersBorder": True,
            "csp": {
                "connectDomains": ["https://api.example"],
                "resourceDomains": [ORIGIN, "https://cdn.example"],
                "frameDomains": ["https://map.example"],
            },
            "permissions": {"camera": {}, "microphone": {}},
        },
        "openai/ui": {"availableDisplayModes": ["inline", "fullscreen"]},
        "openai/widgetDescription": "Cards of animals.",
        "openai/widgetPrefersBorder": True,
        "openai/widgetCSP": {
            "connect_domains": ["https://api.example"],
            "resource_domains": [ORIGIN, "https://cdn.example"],
            "frame_domains": ["https://map.example"],
            "redirect_domains": ["https://pay.example"],
        },
    }
    assert MIME == "text/html;profile=mcp-app"


@pytest.mark.row("R02", "R03", "R07", "R08")
def test_a_widget_that_declares_nothing_still_says_false_and_its_own_origin() -> None:
    assert widget_meta({"name": "a", "csp": None}, files=False) == {
        "ui": {"prefersBorder": False, "csp": {"connectDomains": [], "resourceDomains": [ORIGIN]}},
        "openai/widgetPrefersBorder": False,
        "openai/widgetCSP": {"connect_domains": [], "resource_domains": [ORIGIN]},
    }


@pytest.mark.row("O11", "R03")
def test_a_plugin_with_files_may_load_and_fetch_its_downloads() -> None:
    csp = widget_meta({"name": "a"}, files=True)["ui"]["csp"]
    assert csp == {"connectDomains": [ORIGIN, STORAGE], "resourceDomains": [ORIGIN, STORAGE]}


@pytest.mark.row("T02", "T03", "T04", "T05", "T06", "T07", "T08", "T09", "T10", "T11")
def test_a_tool_says_everything_in_both_dialects() -> None:
    tool = {
        "visibility": ["app"],
        "profile": True,
        "invoking": "Counting…",
        "invoked": "Counted",
        "fileParams": ["file"],
        "meta": {"own": 1, "ui": {"extra": 2}},
    }
    assert tool_meta(tool, uri="ui://widget/a.0123456789.html", schemes=NOAUTH, widgets=True) == {
        "own": 1,
        "ui": {"extra": 2, "resourceUri": "ui://widget/a.0123456789.html", "visibility": ["app"]},
        "openai/outputTemplate": "ui://widget/a.0123456789.html",
        "openai/widgetAccessible": True,
        "openai/visibility": "private",
        "securitySchemes": NOAUTH,
        "openai/profile": True,
        "openai/toolInvocation/invoking": "Counting…",
        "openai/toolInvocation/invoked": "Counted",
        "openai/fileParams": ["file"],
    }


@pytest.mark.row("T04", "T07", "T08")
@pytest.mark.parametrize(
    ("visibility", "accessible", "visible"),
    [
        (None, True, "public"),
        (["model"], False, "public"),
        (["app"], True, "private"),
        (["model", "app"], True, "public"),
    ],
)
def test_the_older_keys_are_derived_from_visibility(
    visibility: list[str] | None, accessible: bool, visible: str
) -> None:
    meta = tool_meta({"visibility": visibility}, uri=None, schemes=(), widgets=True)
    assert meta["ui"]["visibility"] == (visibility or ["model", "app"])
    assert (meta["openai/widgetAccessible"], meta["openai/visibility"]) == (accessible, visible)


@pytest.mark.row("T04")
def test_a_plugin_without_widgets_says_nothing_of_them() -> None:
    assert tool_meta({}, uri=None, schemes=NOAUTH, widgets=False) == {"securitySchemes": NOAUTH}
