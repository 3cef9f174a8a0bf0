"""The widget compiler: a folder of HTML, CSS, scripts, images and fonts becomes one `ui://` resource and one tree.

A widget's tree is its HTML and every file beside it, under one hash: `/assets/{tree}/{path}`. Only URLs in the HTML
itself are made absolute, because the HTML is the one document that a host moves to an origin of its own; style sheets
and scripts keep their relative URLs, which resolve inside the tree. So cycles of modules, workers, `import.meta.url`
and subresource integrity stay right, and unchanged files need no second look. Everything else in the author's source
is left as it was, byte for byte.

The URI carries a hash of name, tree, compiled HTML and the canonical published `_meta` (without domain, placeholders
unfilled): `ui://widget/zoo.{hash10}.html`. Same content, same URI, in any release and on any stage.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from tenantry_registry import css, html, references, script
from tenantry_registry.dialects import widget_meta
from tenantry_registry.errors import PlatformError
from tenantry_registry.html import Attribute, Element, Source
from tenantry_registry.manifest import ORIGIN, WidgetEntry
from tenantry_registry.names import Name

TREE_DIGITS = 20  # of sha256, in an asset's URL: 80 bits, within one plugin
HASH_DIGITS = 10  # in a ui:// URI
STRING_FILE = "index.html"  # the name of a widget's HTML that was given as a string
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Kept as written in a path; everything that could end an attribute, a CSS string or a JS string is not among them
SAFE = "/@!$*+,;=:-._~&"


@dataclass(frozen=True, slots=True)
class Reference:
    """One URL that the HTML loads, as the author wrote it. `path` is the file of the tree it means, where it is
    relative; `role` is `references`' word."""

    url: str
    role: str
    line: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder as published: `files` by path, the HTML under `entry`."""

    hash: str
    entry: str
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A widget ready to publish, and what the rules want to know about it.

    `html` holds the origin placeholder; `folder` is where its tree stands in the bundle ("" for a string).
    """

    name: str
    declared: Mapping[str, Any]
    uri: str
    hash: str
    html: bytes
    meta: Mapping[str, Any]
    tree: Tree
    folder: str
    references: tuple[Reference, ...]
    elements: tuple[Element, ...] = ()
    source: Source = field(default_factory=lambda: Source(""))

    @property
    def file(self) -> str:
        """The HTML's path in the bundle."""
        return str(self.declared.get("file") or "")

    def entry(self, name: Name) -> WidgetEntry:
        """What the manifest and the widget's record keep."""
        return WidgetEntry(self.name, self.uri, html_key(name, self.hash), self.tree.hash, self.meta, len(self.html))


def html_key(name: Name, digest: str) -> str:
    """The Objects key of a compiled HTML, by its URI's hash."""
    return f"site/{name.tenant}/{name.plugin}/{digest}/{STRING_FILE}"


def asset_key(name: Name, tree: str, path: str) -> str:
    """The Objects key of a file of a tree."""
    return f"site/{name.tenant}/{name.plugin}/{tree}/{path}"


def bare_uri(name: str) -> str:
    """The URI that authors write: without a hash. (A guest's widget has one of its own, in its declaration.)"""
    return f"ui://widget/{name}.html"


def published_uri(bare: str, digest: str) -> str:
    """A template's URI with its hash, before the ending where it has one."""
    stem, ending = (bare[:-5], ".html") if bare.endswith(".html") else (bare, "")
    return f"{stem}.{digest}{ending}"


def split_uri(uri: str) -> tuple[str, str] | None:
    """The name and hash (empty in a bare URI) of a widget's URI, or None where it is none of ours."""
    match = re.fullmatch(rf"ui://widget/([A-Za-z0-9_-]+)(?:\.([0-9a-f]{{{HASH_DIGITS}}}))?\.html", uri)
    return (match[1], match[2] or "") if match else None


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no white space: the form that hashes are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def compile_widget(declared: Mapping[str, Any], files: Mapping[str, bytes], *, uses_files: bool) -> Compiled:
    """Compile one widget of a description against the files of its bundle.

    Raises: PlatformError `widget.missing`, `widget.at-root`, `widget.encoding`.
    """
    folder, tree = _tree(declared, files)
    source = html.read(tree.files[tree.entry])
    found = html.elements(source)
    pass_ = _Pass(tree, source)
    for element in found:
        pass_.element(element)
    compiled = source.replaced(pass_.edits).encode()
    meta = widget_meta(declared, files=uses_files)
    name = str(declared["name"])
    digest = hashlib.sha256(canonical([name, tree.hash, hashlib.sha256(compiled).hexdigest(), meta])).hexdigest()[
        :HASH_DIGITS
    ]
    return Compiled(
        name=name,
        declared=declared,
        uri=published_uri(str(declared.get("uri") or bare_uri(name)), digest),
        hash=digest,
        html=compiled,
        meta=meta,
        tree=tree,
        folder=folder,
        references=tuple(pass_.references),
        elements=tuple(found),
        source=source,
    )


def _tree(declared: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[str, Tree]:
    text = declared.get("html")
    if text is not None:
        data = str(text).encode()
        return "", Tree(hashlib.sha256(data).hexdigest()[:TREE_DIGITS], STRING_FILE, {STRING_FILE: data})
    file = posixpath.normpath(str(declared.get("file", "")))
    if file not in files:
        raise PlatformError(
            "widget.missing",
            f"The widget {declared['name']!r} names {declared.get('file')!r}, which is not in the bundle.",
            "Name the HTML file by its path from plugin.toml's folder.",
        )
    folder, entry = posixpath.split(file)
    if not folder:
        raise PlatformError(
            "widget.at-root",
            f"{file} stands beside plugin.toml; its whole folder would be published, source code included.",
            f"Move it into a folder of its own, such as widgets/{declared['name']}/index.html.",
        )
    inside = {
        path[len(folder) + 1 :]: files[path]
        for path in sorted(files)
        if path.startswith(f"{folder}/") and "/." not in path[len(folder) :]
    }
    digest = hashlib.sha256()
    for path, data in inside.items():
        digest.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return folder, Tree(digest.hexdigest()[:TREE_DIGITS], entry, inside)


class _Pass:
    """One walk over a document: collects edits and references. `inner` documents (srcdoc) walk on their own."""

    def __init__(self, tree: Tree, source: Source, line: int = 0) -> None:
        self.tree = tree
        self.source = source
        self.outer_line = line
        self.edits: list[tuple[int, int, str]] = []
        self.references: list[Reference] = []

    def element(self, element: Element) -> None:
        changed = self._attributes(element)
        if changed and "integrity" in element.attributes and "crossorigin" not in element.attributes:
            # The file is on another origin now, and a browser checks integrity only of what it fetched with CORS
            self.edits.append((element.name_end, element.name_end, " crossorigin"))
        if element.name == "style":
            self._text(element, self._in_css(element.text, element.text_start))
        elif element.name == "script" and element.text:
            kind = references.script_kind(element)
            if kind == "js":
                self._text(element, self._in_script(element))
            elif kind == "importmap":
                self._text(element, self._in_importmap(element))

    def _attributes(self, element: Element) -> bool:
        """Edit what attributes load. True when src or href changed."""
        edits: dict[str, list[tuple[int, int, str]]] = {}
        for loaded in references.in_attributes(element):
            attribute = element.attributes[loaded.attribute]
            url = attribute.value[loaded.start : loaded.end]
            if (new := self._resolve(url, loaded.role, attribute.start)) is not None:
                edits.setdefault(loaded.attribute, []).append((loaded.start, loaded.end, new))
        for name in references.in_style(element):
            attribute = element.attributes[name]
            if found := self._in_css(attribute.value, attribute.start, exact=False):
                edits[name] = found
        if element.name == "iframe" and "srcdoc" in element.attributes:
            self._srcdoc(element.attributes["srcdoc"])
        for name, found in edits.items():
            self._value(element.attributes[name], _splice(element.attributes[name].value, found))
        return "src" in edits or "href" in edits

    def _srcdoc(self, attribute: Attribute) -> None:
        source = Source(attribute.value)
        inner = _Pass(self.tree, source, self._line(attribute.start))
        for element in html.elements(source):
            inner.element(element)
        self.references += inner.references
        if inner.edits:
            self._value(attribute, source.replaced(inner.edits))

    def _value(self, attribute: Attribute, value: str) -> None:
        """Replace an attribute's value, escaped for its quotes; one without quotes gets some."""
        mark = attribute.quote or '"'
        escaped = value.replace("&", "&amp;").replace(mark, "&quot;" if mark == '"' else "&#39;")
        self.edits.append((attribute.start, attribute.end, escaped if attribute.quote else f'"{escaped}"'))

    def _text(self, element: Element, edits: list[tuple[int, int, str]]) -> None:
        if not edits:
            return
        if element.raw:
            self.edits += [(element.text_start + start, element.text_start + end, new) for start, end, new in edits]
        else:  # style or script inside SVG is markup: its text may have been written with escapes
            text = _splice(element.text, edits).replace("&", "&amp;").replace("<", "&lt;")
            self.edits.append((element.text_start, element.text_end, text))

    def _in_css(self, text: str, offset: int, exact: bool = True) -> list[tuple[int, int, str]]:
        edits = []
        for found in css.urls(text):
            place = offset + (found.start if exact else 0)
            if (new := self._resolve(found.url, references.RESOURCE, place)) is not None:
                edits.append((found.start, found.end, css.written(found, new)))
        return edits

    def _in_script(self, element: Element) -> list[tuple[int, int, str]]:
        edits = []
        for found in script.specifiers(element.text):
            relative = found.form == "url" or found.value.startswith(("./", "../", "/"))
            if not relative and not SCHEME.match(found.value):
                continue  # a bare specifier: the import map's business
            place = element.text_start + found.start
            if (new := self._resolve(found.value, references.RESOURCE, place)) is not None:
                mark = element.text[found.start]
                edits.append((found.start, found.end, f"{mark}{new}{mark}"))
        return edits

    def _in_importmap(self, element: Element) -> list[tuple[int, int, str]]:
        """An import map's URLs: every string that begins like a path, keys included (they are matched as URLs)."""
        edits = []
        for token in script.tokens(element.text):
            if token.kind == script.STRING and token.value.startswith(("./", "../", "/")):
                place = element.text_start + token.start
                folder = token.value.endswith("/")
                if (new := self._resolve(token.value, references.RESOURCE, place, folder=folder)) is not None:
                    edits.append((token.start, token.end, f'"{new}"'))
        return edits

    def _line(self, offset: int) -> int:
        return self.outer_line or self.source.line(offset)

    def _resolve(self, url: str, role: str, offset: int, folder: bool = False) -> str | None:
        """The absolute URL for a relative one, or None for one that stays (absolute, fragment, data)."""
        plain = re.sub(r"[\t\n\r]", "", url).strip(" \f\v")
        if not plain or plain.startswith("#"):
            return None
        line = self._line(offset)
        if SCHEME.match(plain) or plain.replace("\\", "/").startswith("//"):
            self.references.append(Reference(plain, role, line))
            return None
        rest, hash_, fragment = plain.partition("#")
        rest, mark, query = rest.partition("?")
        path = posixpath.normpath(unquote(rest.replace("\\", "/")).lstrip("/"))
        path = self.tree.entry if path == "." else path
        self.references.append(Reference(plain, role, line, path))
        inside = path if not path.startswith("..") else path.replace("../", "").lstrip(".")
        tail = "/" if folder else ""
        return (
            f"{ORIGIN}/assets/{self.tree.hash}/{quote(inside, safe=SAFE)}{tail}"
            f"{mark}{quote(query, safe=SAFE + '%?')}{hash_}{quote(fragment, safe=SAFE + '%?')}"
        )


def _splice(text: str, edits: list[tuple[int, int, str]]) -> str:
    parts, last = [], 0
    for start, end, new in sorted(edits):
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])
