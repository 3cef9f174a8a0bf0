"""Widgets and their security policy, and what small parts look like on the wire."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tenantry
from tenantry import CSP, Audio, Contents, EmbeddedResource, Image, Plugin, ResourceLink, Widget, sniff
from tenantry.content import blocks
from tenantry.testing import Client


@pytest.mark.row("R02", "R03", "R05", "R06", "R08", "R09", "R01", "R04")
def test_a_widget_is_described_with_everything_that_was_declared():
    plugin = Plugin()
    widget = Widget(
        "widgets/animals/index.html",
        title="Animals",
        description="Cards of the animals.",
        csp=CSP(
            connect=["https://api.zoo.example/", "wss://live.zoo.example:8443"],
            resource=["https://*.Zoo.example"],
            frame={"https://maps.example": "Shows the way."},
            redirect=["https://zoo.example"],
        ),
        border=False,
        display_modes=["inline", "fullscreen"],
        permissions=["camera", "clipboardWrite"],
    )
    assert plugin.widget(widget) is widget
    assert plugin.widget(widget) is widget
    (described,) = Client(plugin).describe()["widgets"]
    assert described.pop("source")["file"].endswith("test_kit_widgets.py")
    assert described == {
        "name": "animals",
        "file": "widgets/animals/index.html",
        "title": "Animals",
        "description": "Cards of the animals.",
        "csp": {
            "connect": ["https://api.zoo.example", "wss://live.zoo.example:8443"],
            "resource": ["https://*.zoo.example"],
            "frame": {"https://maps.example": "Shows the way."},
            "redirect": ["https://zoo.example"],
        },
        "border": False,
        "display_modes": ["inline", "fullscreen"],
        "permissions": ["camera", "clipboardWrite"],
    }


@pytest.mark.parametrize(
    ("widget", "name"),
    [
        (Widget("widgets/animals/index.html"), "animals"),
        (Widget("detail.htm"), "detail"),
        (Widget("widgets/a/page.html"), "page"),
        (Widget("x/index.html", name="y"), "y"),
        (Widget(html="<p>", name="inline"), "inline"),
    ],
)
def test_a_widgets_name_is_its_files_or_its_folders(widget, name):
    assert widget.describe()["name"] == name
    assert widget.describe()["csp"] is None
    assert ("html" in widget.describe()) is (name == "inline")


def test_media_are_known_by_their_bytes_from_memory_or_disk(tmp_path: Path):
    picture, sound = tmp_path / "a", tmp_path / "b"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    sound.write_bytes(b"RIFF....WAVE")
    assert Image.open(picture).to_wire() == {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    assert Audio.open(str(sound)).to_wire()["mimeType"] == "audio/wav"
    assert Audio(b"x", "audio/aac", meta={}).to_wire() == {
        "type": "audio",
        "data": "eA==",
        "mimeType": "audio/aac",
        "_meta": {},
    }
    inside = EmbeddedResource(Contents("zoo://a", "{}", "application/json"))
    assert blocks(["a", inside]) == [
        {"type": "text", "text": "a"},
        {"type": "resource", "resource": {"uri": "zoo://a", "mimeType": "application/json", "text": "{}"}},
    ]
    link = ResourceLink("zoo://a", "a", "A", "An a.", "text/plain", 3).to_wire()
    assert (link["title"], link["description"], link["mimeType"], link["size"]) == ("A", "An a.", "text/plain", 3)
    with pytest.raises(TypeError, match="int is not content"):
        blocks([1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "text/plain"),
        (b"RIFF....WEBP", "image/webp"),
        (b"....ftypavif", "image/avif"),
        (b"....ftypisom", "video/mp4"),
        (b"PK\x03\x04", "application/zip"),
        (b"  <!DOCTYPE HTML><p>", "text/html"),
        (b"\xef\xbb\xbf<svg>", "image/svg+xml"),
        (b"<?xml version='1.0'?><svg/>", "image/svg+xml"),
        (b"<?xml version='1.0'?><a/>", "text/xml"),
        ("größer".encode(), "text/plain"),
        (b"x" * 511 + "ö".encode(), "text/plain"),
        (b"x" * 500 + b"\xff" + b"x" * 100, "application/octet-stream"),
        (b"\xff", "application/octet-stream"),
        (b"a\x00b", "application/octet-stream"),
    ],
)
def test_bytes_say_what_they_are(data, kind):
    assert sniff.media_type(data) == kind


@pytest.mark.parametrize(
    ("actual", "accepted", "answer"),
    [("image/png", "image/png", True), ("image/png", "image/*", True), ("image/png", "text/*", False)],
)
def test_media_types_are_compared_with_stars(actual, accepted, answer):
    assert sniff.matches(actual, accepted) is answer


def test_importing_the_kit_imports_nothing_that_a_declaration_does_not_need():
    heavy = {"asyncio", "logging", "ssl", "socket", "http.client", "urllib.request", "email", "concurrent.futures"}
    code = (
        "import sys, pydantic.fields, pydantic.json_schema; before = set(sys.modules); import tenantry; "
        "print(' '.join(set(sys.modules) - before))"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & heavy
    assert not loaded & {"tenantry.ask", "tenantry.prompt", "tenantry.download", "tenantry.calls", "tenantry.testing"}


def test_every_name_the_kit_offers_is_there():
    for name in tenantry.__all__:
        assert getattr(tenantry, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tenantry.nothing  # noqa: B018


def test_the_kits_version_is_the_distributions():
    import tomllib

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert tomllib.loads(text)["project"]["version"] == tenantry.__version__
