"""What an HTML document loads: the places of its URLs, by the element and attribute that load them.

The table is the HTML standard's and SVG 2's. Links that a person follows (`a`, `area`, `form`) are not loads and stay
as written, so that a widget's own router keeps its paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tenantry_registry.html import Element

RESOURCE, FRAME, PAGE, USE = "resource", "frame", "page", "use"

# element -> attribute -> what it loads
LOADS: dict[str, dict[str, str]] = {
    "audio": {"src": RESOURCE},
    "bgsound": {"src": RESOURCE},
    "body": {"background": RESOURCE},
    "embed": {"src": RESOURCE},
    "feimage": {"href": RESOURCE, "xlink:href": RESOURCE},
    "frame": {"src": FRAME},
    "iframe": {"src": FRAME},
    "image": {"href": RESOURCE, "src": RESOURCE, "xlink:href": RESOURCE},
    "img": {"src": RESOURCE, "lowsrc": RESOURCE},
    "input": {"src": RESOURCE},
    "object": {"data": RESOURCE},
    "script": {"href": RESOURCE, "src": RESOURCE, "xlink:href": RESOURCE},
    "source": {"src": RESOURCE},
    "table": {"background": RESOURCE},
    "tbody": {"background": RESOURCE},
    "td": {"background": RESOURCE},
    "tfoot": {"background": RESOURCE},
    "th": {"background": RESOURCE},
    "thead": {"background": RESOURCE},
    "tr": {"background": RESOURCE},
    "track": {"src": RESOURCE},
    "use": {"href": USE, "xlink:href": USE},
    "video": {"poster": RESOURCE, "src": RESOURCE},
} | {
    name: {"href": RESOURCE, "xlink:href": RESOURCE}
    for name in ("cursor", "filter", "lineargradient", "mpath", "pattern", "radialgradient", "textpath")
}
SETS = {("img", "srcset"), ("source", "srcset"), ("link", "imagesrcset")}
# Link types that make the browser fetch (HTML 4.6.7); a link with none of them is for people or crawlers
LINK_LOADS = frozenset(
    (
        *("stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest"),
        *("modulepreload", "preload", "prefetch", "prerender", "apple-touch-startup-image", "compression-dictionary"),
    )
)
# SVG presentation attributes that may hold url()
PRESENTATION = frozenset(
    ("clip-path", "cursor", "fill", "filter", "marker", "marker-end", "marker-mid", "marker-start", "mask", "stroke")
)
SCRIPT_TYPES = frozenset(
    (
        *("", "module", "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript"),
        *("application/x-javascript", "application/x-ecmascript", "text/jscript", "text/livescript"),
        "text/x-javascript",
    )
)
_REFRESH = re.compile(r"""\s*\d*[\d.]*[\s;,]*(?:url\s*=\s*)?(?P<quote>["']?)(?P<url>.*)""", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A URL inside an attribute's decoded value: its offsets there, and what it loads."""

    attribute: str
    start: int
    end: int
    role: str


def in_attributes(element: Element) -> Iterator[Loaded]:
    """The URLs that the attributes of `element` load, but for CSS (`in_style`) and `srcdoc`."""
    for name, role in LOADS.get(element.name, {}).items():
        if name in element.attributes:
            yield Loaded(name, 0, len(element.attributes[name].value), role)
    if element.name == "link" and "href" in element.attributes and LINK_LOADS & set(element.get("rel").split()):
        yield Loaded("href", 0, len(element.attributes["href"].value), RESOURCE)
    for name in ("srcset", "imagesrcset"):
        if (element.name, name) in SETS and name in element.attributes:
            for start, end in candidates(element.attributes[name].value):
                yield Loaded(name, start, end, RESOURCE)
    if element.name == "meta" and element.get("http-equiv") == "refresh" and "content" in element.attributes:
        match = _REFRESH.match(element.attributes["content"].value)
        if match and match["url"].strip():
            end = match.end("url")
            if match["quote"] and (closing := match["url"].find(match["quote"])) != -1:
                end = match.start("url") + closing
            yield Loaded("content", match.start("url"), end, PAGE)


def in_style(element: Element) -> Iterator[str]:
    """The attributes of `element` that are CSS and may load something."""
    for name, attribute in element.attributes.items():
        if (name == "style" or name in PRESENTATION) and "(" in attribute.value:
            yield name


def candidates(srcset: str) -> Iterator[tuple[int, int]]:
    """The offsets of each URL in a srcset (HTML 4.8.4.2.2): URLs may hold commas, descriptors may hold brackets."""
    position, size = 0, len(srcset)
    while position < size:
        while position < size and (srcset[position].isspace() or srcset[position] == ","):
            position += 1
        start = position
        while position < size and not srcset[position].isspace():
            position += 1
        end = position
        while end > start and srcset[end - 1] == ",":
            end -= 1
        if end > start:
            yield start, end
        if end == position:  # no comma ended the URL: descriptors follow
            depth = 0
            while position < size and (depth or srcset[position] != ","):
                depth += {"(": 1, ")": -1}.get(srcset[position], 0)
                position += 1


def script_kind(element: Element) -> str:
    """ "js", "importmap", or "" for a block of data that nobody runs."""
    kind: Any = element.get("type").partition(";")[0].strip()
    if kind == "importmap":
        return "importmap"
    return "js" if kind in SCRIPT_TYPES else ""
