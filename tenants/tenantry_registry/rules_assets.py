"""Rules of the files in a widget's tree: their types, what style sheets load, and what scripts say."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

from tenantry_registry import css, references, script
from tenantry_registry.html import Source
from tenantry_registry.media import TYPES
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found
from tenantry_registry.rules_modules import check_modules
from tenantry_registry.rules_widgets import LOCAL, absolute
from tenantry_registry.widgets import SCHEME, Compiled, split_uri

PRIVATE_ENDINGS = (".py", ".pyc", ".pyi", ".toml", ".env", ".pem", ".key", ".sqlite", ".db", ".ipynb", ".sh", ".lock")
PRIVATE_NAMES = ("package.json", "package-lock.json", "tsconfig.json", "requirements.txt", "node_modules")
# ending -> how such a file begins; None where nothing is sure. RIFF formats say their kind at byte 8.
MAGIC: dict[str, tuple[bytes, ...]] = {
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpg": (b"\xff\xd8\xff",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "webp": (b"RIFF",),
    "woff": (b"wOFF",),
    "woff2": (b"wOF2",),
    "wasm": (b"\x00asm",),
    "pdf": (b"%PDF-",),
    "gz": (b"\x1f\x8b",),
}
TEXTS = ("css", "js", "mjs", "cjs", "json", "svg", "map", "html", "htm", "vtt", "webmanifest")
URL_BASE = "http://localhost"  # what routers resolve paths against; a development server has a port
SCRIPTS = (".js", ".mjs", ".cjs")


def check_assets(widgets: Sequence[Compiled]) -> Iterator[Finding]:
    """Every file of every tree, once; a tree that two widgets share is reported under the first."""
    names = {widget.name for widget in widgets}
    seen: set[str] = set()
    for widget in widgets:
        first = widget.tree.hash not in seen
        seen.add(widget.tree.hash)
        for element in widget.elements:
            if element.name == "script" and element.text and references.script_kind(element) == "js":
                line = widget.source.line(element.text_start) - 1
                yield from _script(widget, element.text, widget.file, line, names)
        for path, data in widget.tree.files.items() if first and widget.folder else ():
            yield from _file(widget, path, data, names)
    yield from check_modules(widgets)


def _file(widget: Compiled, path: str, data: bytes, names: set[str]) -> Iterator[Finding]:
    where = Place(f"{widget.folder}/{path}")
    base, ending = posixpath.basename(path).lower(), posixpath.splitext(path)[1][1:].lower()
    if base.endswith(PRIVATE_ENDINGS) or base in PRIVATE_NAMES or "node_modules/" in path:
        yield found("asset.private", widget.name, f"{path} would be published to the world.", where)
        return
    if ending not in TYPES:
        yield found("asset.type", widget.name, f"{path} has no known type.", where)
    elif _is_mistyped(ending, data):
        yield found("asset.mistyped", widget.name, f"{path} is not what its ending says.", where)
    elif ending == "css":
        yield from _style(widget, path, data)
    elif base.endswith(SCRIPTS):
        yield from _script(widget, data.decode("utf-8", "replace"), where.file, 0, names)


def _is_mistyped(ending: str, data: bytes) -> bool:
    if starts := MAGIC.get(ending):
        return not data.startswith(starts) or (ending == "webp" and data[8:12] != b"WEBP")
    if ending not in TEXTS:
        return False
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return True
    begins = text[:200].lstrip().lower()
    # A server's "not found" page saved under the asset's name, a script saved as an image
    return ending not in ("html", "htm") and begins.startswith(("<!doctype html", "<html"))


def _style(widget: Compiled, path: str, data: bytes) -> Iterator[Finding]:
    source = Source(data.decode("utf-8-sig"))
    folder = posixpath.dirname(path)
    for loaded in css.urls(source.text):
        where = Place(f"{widget.folder}/{path}", source.line(loaded.start))
        url = loaded.url.strip()
        if not url or url.startswith("#"):
            continue
        if SCHEME.match(url) or url.startswith("//"):
            yield from absolute(widget, url, references.RESOURCE, where)
            continue
        plain = unquote(urlsplit(url).path)
        if plain.startswith("/"):
            yield found("asset.root-relative", widget.name, f"{url[:120]!r} begins with a slash.", where)
            continue
        target = posixpath.normpath(posixpath.join(folder, plain))
        if target.startswith(".."):
            yield found("asset.outside", widget.name, f"{url[:120]!r} is outside its folder.", where)
        elif target not in widget.tree.files:
            yield found("asset.missing", widget.name, f"{url[:120]!r} is not in the widget's folder.", where)


def _script(widget: Compiled, text: str, file: str, before: int, names: set[str]) -> Iterator[Finding]:
    """A script's own words: template URIs, development servers, workers. Read by the lexer only where one may be."""
    if not any(word in text for word in ("ui://", "//localhost", "//127.0.0.1", "Worker")):
        return
    source = Source(text)
    last: list[str] = []
    for token in script.tokens(source.text):
        where = Place(file, before + source.line(token.start))
        if token.kind == script.STRING or (token.kind == script.TEMPLATE and token.plain):
            yield from _words(widget, token.value, where, names)
        if token.text == "(" and last[-2:] in (["new", "Worker"], ["new", "SharedWorker"]):
            last.append("(")
            continue
        if last[-3:] in (["new", "Worker", "("], ["new", "SharedWorker", "("]) and _is_direct(token):
            yield found("widget.worker", widget.name, "A worker is started straight from a URL.", where)
        last = [*last[-2:], token.text]


def _is_direct(token: script.Token) -> bool:
    """A literal, or `new URL(...)`; an expression may well be a Blob's URL."""
    return token.kind == script.STRING or token.text == "new"


def _words(widget: Compiled, value: str, where: Place, names: set[str]) -> Iterator[Finding]:
    parts = split_uri(value.strip())
    if parts is not None and parts[0] in names and not parts[1]:
        yield found("widget.bare-uri", widget.name, f'"{value}" is cached by hosts', where)
    elif value != URL_BASE and any(value.startswith((f"http://{host}", f"https://{host}")) for host in LOCAL):
        yield found("widget.localhost-script", widget.name, f"{value[:120]!r} is on this machine.", where)
