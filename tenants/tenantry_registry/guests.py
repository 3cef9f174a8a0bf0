"""Guests: servers that weren't written with the kit, brought up to date on the way without touching their code.

The sandbox asked a guest everything in both eras. Here its widgets are found in those answers and declared as the kit
would (so that they are compiled, checked and hashed alike), and afterwards the answers are rewritten: templates get
their published URIs, the standard mime type and both dialects of `_meta`, and a server that knows only ChatGPT's older
keys gets the standard ones beside them. Everything else stays as the guest said it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenantry_registry.dialects import APP, BOTH, MIME, MODEL
from tenantry_registry.widgets import Compiled

ERAS = ("2026", "2025")  # the newer one is what lists are taken from, where a guest speaks both
REASON = "declared by the server itself"
# `_meta` keys that are made anew from the declaration
MADE = ("ui", "openai/widgetCSP", "openai/widgetDomain", "openai/widgetPrefersBorder", "openai/widgetDescription")
PERMITTED = ("camera", "microphone", "geolocation", "clipboardWrite")

Answers = Mapping[str, Mapping[str, Any]]


def listed(answers: Answers, method: str, key: str) -> list[dict[str, Any]]:
    """The entries of one list, as the newest era that answered gives it."""
    for era in ERAS:
        result = ((answers.get(era) or {}).get(method) or {}).get("result")
        if isinstance(result, Mapping) and isinstance(result.get(key), list):
            return [dict(entry) for entry in result[key] if isinstance(entry, Mapping)]
    return []


def instructions(answers: Answers) -> str:
    """What the guest tells the model about itself."""
    for era, method in (("2026", "server/discover"), ("2025", "initialize")):
        result = ((answers.get(era) or {}).get(method) or {}).get("result") or {}
        if isinstance(text := result.get("instructions"), str):
            return text
    return ""


def capabilities(answers: Answers) -> dict[str, Any]:
    """What the guest says it can do."""
    for era, method in (("2026", "server/discover"), ("2025", "initialize")):
        result = ((answers.get(era) or {}).get(method) or {}).get("result") or {}
        if isinstance(found := result.get("capabilities"), Mapping):
            return dict(found)
    return {}


def widgets(answers: Answers, files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """The guest's templates, declared as the kit declares widgets; `uri` is what the guest calls each.

    Where the HTML is a file of the bundle, that file's folder is the widget's tree, so that its relative URLs work.
    """
    found: list[dict[str, Any]] = []
    names: set[str] = set()
    by_content = {data: path for path, data in _pages(files)}
    for resource in listed(answers, "resources/list", "resources"):
        uri = str(resource.get("uri", ""))
        content = _content(answers, uri)
        if not uri.startswith("ui://") or content is None or not isinstance(content.get("text"), str):
            continue
        name = _named(uri, names)
        names.add(name)
        meta = {**(resource.get("_meta") or {}), **(content.get("_meta") or {})}
        path = by_content.get(content["text"].encode(), "")
        place = {"file": path} if "/" in path else {"html": content["text"]}
        found.append({"name": name, "uri": uri, **place, **_declared(resource, meta)})
    return found


def _pages(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        if path.lower().endswith((".html", ".htm")):
            yield path, files[path]


def _content(answers: Answers, uri: str) -> dict[str, Any] | None:
    """What resources/read gave for a template."""
    for era in ERAS:
        result = (((answers.get(era) or {}).get("resources/read") or {}).get(uri) or {}).get("result") or {}
        for content in result.get("contents") or ():
            if isinstance(content, Mapping) and str(content.get("uri")) == uri:
                return dict(content)
    return None


def _named(uri: str, taken: set[str]) -> str:
    """A name made of the URI's last part, told apart from the others."""
    path = uri.removeprefix("ui://").partition("?")[0].rstrip("/")
    last = posixpath.basename(path).removesuffix(".html")
    name = re.sub(r"[^A-Za-z0-9_-]", "-", last)[:56] or "widget"
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _declared(resource: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    ui, legacy = meta.get("ui") or {}, meta.get("openai/widgetCSP") or {}
    csp = ui.get("csp") or {}

    def both(key: str, older: str) -> list[str]:
        return list(dict.fromkeys([*(csp.get(key) or ()), *(legacy.get(older) or ())]))

    border = ui.get("prefersBorder", meta.get("openai/widgetPrefersBorder"))
    declared = {
        "title": resource.get("title"),
        "description": meta.get("openai/widgetDescription") or resource.get("description"),
        "csp": {
            "connect": both("connectDomains", "connect_domains"),
            "resource": both("resourceDomains", "resource_domains"),
            "frame": dict.fromkeys(both("frameDomains", "frame_domains"), REASON),
            "redirect": list(legacy.get("redirect_domains") or ()),
        },
        "border": border if isinstance(border, bool) else None,
        "display_modes": (meta.get("openai/ui") or {}).get("availableDisplayModes"),
        "permissions": [name for name in PERMITTED if name in (ui.get("permissions") or {})] or None,
        "meta": {key: value for key, value in meta.items() if key not in MADE} or None,
    }
    return {key: value for key, value in declared.items() if value is not None}


def upgraded(answers: Answers, compiled: Sequence[Compiled]) -> dict[str, dict[str, Any]]:
    """The answers with templates as they are published. The bare URI goes on being readable, with the same content."""
    by_uri = {str(widget.declared["uri"]): widget for widget in compiled}
    result: dict[str, dict[str, Any]] = {}
    for era, said in answers.items():
        now = dict(said)
        _rewrite(now, "tools/list", "tools", lambda entry: upgraded_tool(entry, by_uri))
        _rewrite(now, "resources/list", "resources", lambda entry: _resource(entry, by_uri))
        _rewrite(now, "resources/templates/list", "resourceTemplates", lambda entry: _template(entry, by_uri))
        if isinstance(reads := now.get("resources/read"), Mapping):
            now["resources/read"] = {
                uri: {"result": {**(read.get("result") or {}), "contents": [_contents(uri, by_uri[uri])]}}
                if uri in by_uri
                else read
                for uri, read in reads.items()
            }
        result[era] = now
    return result


def _rewrite(said: dict[str, Any], method: str, key: str, change: Any) -> None:
    result = (said.get(method) or {}).get("result")
    if isinstance(result, Mapping) and isinstance(result.get(key), list):
        said[method] = {**said[method], "result": {**result, key: [change(entry) for entry in result[key]]}}


def _contents(uri: str, widget: Compiled) -> dict[str, Any]:
    return {"uri": uri, "mimeType": MIME, "text": widget.html.decode(), "_meta": dict(widget.meta)}


def _resource(entry: Mapping[str, Any], by_uri: Mapping[str, Compiled]) -> dict[str, Any]:
    widget = by_uri.get(str(entry.get("uri")))
    if widget is None:
        return dict(entry)
    changed = {k: v for k, v in entry.items() if k != "size"}
    return {**changed, "uri": widget.uri, "mimeType": MIME, "_meta": dict(widget.meta)}


def _template(entry: Mapping[str, Any], by_uri: Mapping[str, Compiled]) -> dict[str, Any]:
    """A resource template without variables is a widget once more, as servers of ChatGPT's first SDK list theirs."""
    widget = by_uri.get(str(entry.get("uriTemplate")))
    if widget is None:
        return dict(entry)
    return {**entry, "uriTemplate": widget.uri, "mimeType": MIME, "_meta": dict(widget.meta)}


def upgraded_tool(entry: Mapping[str, Any], by_uri: Mapping[str, Compiled]) -> dict[str, Any]:
    """A guest's descriptor: its template by the published URI under both keys, visibility in both dialects (rows T03
    to T08), sign-in in both places (row T02)."""
    meta: dict[str, Any] = dict(entry.get("_meta") or {})
    had_ui = isinstance(meta.get("ui"), Mapping)
    ui = dict(meta["ui"]) if had_ui else {}
    written = ui.get("resourceUri") or meta.get("ui/resourceUri") or meta.get("openai/outputTemplate")
    if isinstance(written, str):
        widget = by_uri.get(written)
        ui["resourceUri"] = meta["openai/outputTemplate"] = widget.uri if widget else written
        if "ui/resourceUri" in meta:
            meta["ui/resourceUri"] = ui["resourceUri"]
        ui.setdefault("visibility", list(BOTH) if had_ui else _legacy(meta))
        meta.setdefault("openai/widgetAccessible", APP in ui["visibility"])
        meta.setdefault("openai/visibility", "public" if MODEL in ui["visibility"] else "private")
        meta["ui"] = ui
    changed = dict(entry)
    schemes = entry.get("securitySchemes", meta.get("securitySchemes"))
    if schemes is not None:
        changed["securitySchemes"] = schemes
        meta.setdefault("securitySchemes", schemes)
    return {**changed, "_meta": meta} if meta else changed


def _legacy(meta: Mapping[str, Any]) -> list[str]:
    """Who may call a tool that says it in the older keys only: their defaults apply (rows T07, T08)."""
    who = [] if meta.get("openai/visibility") == "private" else [MODEL]
    return [*who, APP] if meta.get("openai/widgetAccessible") is True else who
