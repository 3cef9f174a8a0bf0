"""The rule of module scripts: what they import statically is in the widget's folder.

A browser that can't load one static import runs nothing of the whole graph, and says so in its own console alone: the
widget stays empty. So the graph is walked as the browser walks it, from the HTML's module scripts. Dynamic imports are
left out (a program may try them), as are bare specifiers (an import map's business) and other hosts (the policy's).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

from tenantry_registry import script
from tenantry_registry.html import Source
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found
from tenantry_registry.widgets import SCHEME, Compiled

STATIC = ("import", "export")
PATHS = ("./", "../", "/")


def check_modules(widgets: Sequence[Compiled]) -> Iterator[Finding]:
    """Every module that the widgets' pages reach, once a tree. What the HTML itself names is looked at elsewhere."""
    seen: set[tuple[str, str]] = set()
    for widget in widgets:
        files = widget.tree.files if widget.folder else {}
        waiting = [*_entries(widget)]
        while waiting:
            path = waiting.pop()
            if path not in files or (widget.tree.hash, path) in seen:
                continue
            seen.add((widget.tree.hash, path))
            source = Source(files[path].decode("utf-8", "replace"))
            for start, url, target in _imports(source.text, path):
                where = Place(f"{widget.folder}/{path}", source.line(start))
                if target.startswith(".."):
                    yield found("asset.outside", widget.name, f"{url[:120]!r} is outside its folder.", where)
                elif target not in files or url.startswith("/"):  # from a module, "/" is the root of the plugin's host
                    yield found("asset.missing", widget.name, f"{url[:120]!r} is not beside {path}.", where)
                else:
                    waiting.append(target)


def _entries(widget: Compiled) -> Iterator[str]:
    """The modules that the HTML names: by `src`, or by an import of an inline script."""
    for element in widget.elements:
        if element.name != "script" or element.get("type") != "module":
            continue
        if source := element.attributes.get("src"):
            yield _plain(source.value.strip())
        else:
            yield from (target for _, _, target in _imports(element.text, widget.tree.entry))


def _imports(text: str, path: str) -> Iterator[tuple[int, str, str]]:
    """(offset, as written, path in the tree) of each static import of a module by a path."""
    for one in script.specifiers(text):
        if one.form in STATIC and one.value.startswith(PATHS) and not one.value.startswith("//"):
            yield one.start, one.value, posixpath.normpath(posixpath.join(posixpath.dirname(path), _plain(one.value)))


def _plain(url: str) -> str:
    """The path of a relative URL as the tree names it; of another, one that no tree has."""
    if SCHEME.match(url) or url.startswith("//"):
        return ""
    return posixpath.normpath(unquote(urlsplit(url).path).lstrip("/"))
