"""Rules of widgets: their policy, what their HTML loads, their sizes and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tenantry_registry import references
from tenantry_registry.description import place
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found
from tenantry_registry.widgets import Compiled, Reference

WARN_BYTES = 256 * 1024  # design, section 9
MAX_BYTES = 1024 * 1024
INLINE_BYTES = 64 * 1024  # of data: URLs
MODES = ("inline", "fullscreen", "pip")  # row R05
PERMISSIONS = ("camera", "microphone", "geolocation", "clipboardWrite")
HOST = r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
SOURCE = re.compile(rf"(?P<scheme>https|wss)://{HOST}(?::\d{{1,5}})?")
HARMLESS = ("data", "blob", "about", "javascript", "mailto", "ui")
LOCAL = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]")  # what a development server listens on


def check_widgets(widgets: Sequence[Compiled]) -> Iterator[Finding]:
    """Every rule of widgets that looks at the HTML and the declaration."""
    names: set[str] = set()
    for widget in widgets:
        where = place(widget.declared)
        if widget.name in names:
            yield found("widget.duplicate", widget.name, f"There are two widgets {widget.name!r}.", where)
        names.add(widget.name)
        yield from _settings(widget, where)
        yield from check_csp(widget.name, widget.declared.get("csp") or {}, where)
        yield from _sizes(widget)
        yield from _elements(widget)
        for reference in widget.references:
            yield from _reference(widget, reference)


def _settings(widget: Compiled, where: Place) -> Iterator[Finding]:
    modes = widget.declared.get("display_modes")
    if modes is not None and (not modes or any(mode not in MODES for mode in modes)):
        yield found("widget.display-mode", widget.name, f"The display modes are {list(modes)}.", where)
    for permission in widget.declared.get("permissions") or ():
        if permission not in PERMISSIONS:
            yield found("widget.permission", widget.name, f"{permission!r} is not known.", where)


def check_csp(name: str, csp: Mapping[str, Any], where: Place) -> Iterator[Finding]:
    """A declared policy: every entry an origin, every frame with a reason."""
    for kind, schemes in (("connect", ("https", "wss")), ("resource", ("https",)), ("redirect", ("https",))):
        for source in csp.get(kind) or ():
            if not is_origin(source, schemes):
                yield found("csp.origin", name, f"{kind}: {source!r} is not an origin.", where)
    frames = csp.get("frame") or {}
    for source, reason in frames.items():
        if not is_origin(source, ("https",)):
            yield found("csp.origin", name, f"frame: {source!r} is not an origin.", where)
        if not str(reason).strip():
            yield found("csp.frame-reason", name, f"frame: {source!r} has no reason.", where)


def is_origin(source: Any, schemes: Sequence[str] = ("https",)) -> bool:
    """Whether a CSP may name it: scheme and host, perhaps *. in front, perhaps a port."""
    match = SOURCE.fullmatch(source) if isinstance(source, str) else None
    return match is not None and match["scheme"] in schemes


def allows(sources: Sequence[str], url: str) -> bool:
    """Whether a list of CSP sources lets `url` through (CSP 3, 6.7.2.6, for sources without a path)."""
    parts = urlsplit(url)
    host, port = (parts.hostname or "").lower(), _port(parts.scheme, url)
    for source in sources:
        allowed = urlsplit(source)
        name = (allowed.hostname or "").lower()
        fits = host.endswith(name[1:]) if name.startswith("*.") else host == name
        if fits and allowed.scheme == parts.scheme and _port(allowed.scheme, source) == port:
            return True
    return False


def _port(scheme: str, url: str) -> int | None:
    try:
        given = urlsplit(url).port
    except ValueError:
        return None
    return given or {"https": 443, "wss": 443, "http": 80, "ws": 80}.get(scheme)


def _sizes(widget: Compiled) -> Iterator[Finding]:
    size, file = len(widget.html), Place(widget.file)
    if size > MAX_BYTES:
        yield found("widget.size", widget.name, f"The HTML has {size // 1024} KB.", file)
    elif size > WARN_BYTES:
        yield found("widget.large", widget.name, f"The HTML has {size // 1024} KB.", file)
    inline = sum(len(reference.url) for reference in widget.references if reference.url[:5].lower() == "data:")
    if inline > INLINE_BYTES:
        yield found("widget.inline-data", widget.name, f"{inline // 1024} KB are data: URLs.", file)


def _elements(widget: Compiled) -> Iterator[Finding]:
    for element in widget.elements:
        if element.name == "base":
            line = widget.source.line(element.start)
            yield found("widget.base", widget.name, "There is a <base> element.", Place(widget.file, line))


def _reference(widget: Compiled, reference: Reference) -> Iterator[Finding]:
    where = Place(widget.file, reference.line)
    if reference.path is None:
        yield from absolute(widget, reference.url, reference.role, where)
        return
    if reference.path.startswith(".."):
        yield found("asset.outside", widget.name, f"{reference.url[:120]!r} is outside its folder.", where)
    elif reference.path not in widget.tree.files and not _is_folder(widget, reference.path):
        yield found("asset.missing", widget.name, f"{reference.url[:120]!r} is not beside the HTML.", where)
    if reference.role == references.USE:
        yield found("widget.svg-use", widget.name, f"<use> refers to {reference.url[:120]!r}.", where)
    elif reference.role == references.FRAME:
        yield from _own_frame(widget, reference, where)


def _is_folder(widget: Compiled, path: str) -> bool:
    """An import map may name a folder of modules."""
    return any(name.startswith(f"{path}/") for name in widget.tree.files)


def _own_frame(widget: Compiled, reference: Reference, where: Place) -> Iterator[Finding]:
    message = f"The frame {reference.url[:120]!r} is of the plugin's own host."
    cure = "Use srcdoc, or show the page's content in the widget itself."
    yield found("csp.frame-missing", widget.name, message, where, cure)


def absolute(widget: Compiled, url: str, role: str, where: Place) -> Iterator[Finding]:
    """An absolute URL that a widget loads, against its policy. `//host` is read as https."""
    whole = f"https:{url}" if url.replace("\\", "/").startswith("//") else url
    try:
        parts = urlsplit(whole.replace("\\", "/"))
        host = (parts.hostname or "").lower()
    except ValueError:
        yield found("asset.missing", widget.name, f"{url[:120]!r} is not a URL.", where)
        return
    scheme, shown = parts.scheme.lower(), f"{parts.scheme}://{parts.netloc}"
    if scheme in HARMLESS:
        return
    if host in LOCAL or f"[{host}]" in LOCAL or host.endswith(".localhost"):
        yield found("widget.localhost", widget.name, f"{url[:120]!r} is on this machine.", where)
        return
    if scheme != "https":
        yield found("widget.http", widget.name, f"{url[:120]!r} is not https.", where)
        return
    csp = widget.declared.get("csp") or {}
    if role == references.FRAME:
        if not allows(list(csp.get("frame") or ()), whole):
            cure = f'Add csp=CSP(frame={{"{shown}": "why it is needed"}}).'
            yield found("csp.frame-missing", widget.name, f"The frame {shown} is not declared.", where, cure)
    elif role != references.PAGE and not allows(csp.get("resource") or (), whole):
        cure = f'Add "{shown}" to csp=CSP(resource=[…]), or put the file beside the HTML.'
        yield found("csp.missing", widget.name, f"{shown} is not in the CSP.", where, cure)
