"""The wire half: the same rules over what any MCP endpoint answers, hosted here or not (`platform check URL`).

Pure functions over answers that the command line fetched: lists as JSON, and what resources/read gave for each
template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenantry_registry.dialects import MIME
from tenantry_registry.report import Finding, Report, ordered
from tenantry_registry.rules import found
from tenantry_registry.rules_plugin import INSTRUCTIONS, check_resources
from tenantry_registry.rules_tools import Surroundings, Tool, check_tools
from tenantry_registry.rules_widgets import MAX_BYTES, MODES, WARN_BYTES, is_origin

# ui.csp key -> the older key (rows R03, R08)
CSP_KEYS = {"connectDomains": "connect_domains", "resourceDomains": "resource_domains", "frameDomains": "frame_domains"}


def check_answers(
    *,
    tools: Sequence[Mapping[str, Any]],
    resources: Sequence[Mapping[str, Any]] = (),
    reads: Mapping[str, Mapping[str, Any]] | None = None,
    server: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Report:
    """The report on an endpoint.

    `tools` and `resources` are whole lists; `reads` maps a ui:// URI to the result of resources/read, or to
    {"error": …}; `server` is the result of initialize or server/discover; `errors` maps a method to what went wrong.
    """
    reads = reads or {}
    findings = [*_errors(errors or {})]
    listed = {str(resource.get("uri")): resource for resource in resources}
    templates = frozenset([*listed, *(uri for uri in reads if _read(reads, uri) is not None)])
    findings += check_tools([Tool(entry, entry.get("_meta") or {}) for entry in tools], Surroundings(templates))
    findings += check_resources(resources)
    for uri in dict.fromkeys([*(u for u in listed if u.startswith("ui://")), *reads]):
        findings += _template(uri, listed.get(uri), reads)
    instructions = str((server or {}).get("instructions") or "")
    if len(instructions) > INSTRUCTIONS:
        findings.append(found("instructions.long", "", f"The instructions have {len(instructions)} characters."))
    info = (server or {}).get("serverInfo") or {}
    return Report(
        name=str(info.get("name", "")),
        findings=ordered(findings),
        tools=len(tools),
        widgets=len(reads),
        widget_bytes={uri: len(_text(content)) for uri in reads if (content := _read(reads, uri)) is not None},
    )


def templates_of(tools: Sequence[Mapping[str, Any]], resources: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ui:// URIs that `check_answers` wants read: those listed and those that tools name."""
    named = []
    for tool in tools:
        meta = tool.get("_meta") or {}
        named += [(meta.get("ui") or {}).get("resourceUri"), meta.get("openai/outputTemplate")]
    listed = [resource.get("uri") for resource in resources]
    return list(dict.fromkeys(uri for uri in (*listed, *named) if isinstance(uri, str) and uri.startswith("ui://")))


def _errors(errors: Mapping[str, str]) -> Iterator[Finding]:
    for method, words in errors.items():
        yield found("wire.errors", method, f"{method}: {words}")


def _read(reads: Mapping[str, Mapping[str, Any]], uri: str) -> Mapping[str, Any] | None:
    """The content that a read gave for `uri`, or None."""
    contents = (reads.get(uri) or {}).get("contents") or ()
    for content in contents:
        if content.get("uri") == uri:
            return dict(content)
    return None


def _text(content: Mapping[str, Any]) -> bytes:
    return str(content.get("text") or content.get("blob") or "").encode()


def _template(uri: str, listed: Mapping[str, Any] | None, reads: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    content = _read(reads, uri)
    if content is None:
        if uri in reads:
            error = reads[uri].get("error") or {}
            said = error.get("message", "there is no content of this URI") if isinstance(error, Mapping) else error
            yield found("wire.unreadable", uri, f"{uri}: {said}")
        return
    if content.get("mimeType") != MIME:
        yield found("widget.mime", uri, f"resources/read gives the type {content.get('mimeType')!r}.")
    size = len(_text(content))
    if size > MAX_BYTES:
        yield found("widget.size", uri, f"The HTML has {size // 1024} KB.")
    elif size > WARN_BYTES:
        yield found("widget.large", uri, f"The HTML has {size // 1024} KB.")
    meta = content.get("_meta") or {}
    before = (listed or {}).get("_meta")
    if before is not None and before != meta:
        keys = sorted(key for key in {*before, *meta} if before.get(key) != meta.get(key))
        yield found("wire.meta-differs", uri, f"{', '.join(keys)} differ.")
    yield from check_meta(uri, meta)


def check_meta(uri: str, meta: Mapping[str, Any]) -> Iterator[Finding]:
    """A widget's `_meta` as a host reads it: policy, domain, modes, and that both dialects agree."""
    ui = meta.get("ui") or {}
    csp, legacy = ui.get("csp"), meta.get("openai/widgetCSP")
    if csp is None and legacy is None:
        yield found("wire.csp-none", uri, "There is no policy.")
    elif legacy is None:
        yield found("wire.csp-alias", uri, "There is no openai/widgetCSP.")
    if isinstance(csp, Mapping):
        yield from _policy(uri, csp, legacy)
    border, older = ui.get("prefersBorder"), meta.get("openai/widgetPrefersBorder")
    if border is not None and older is not None and border != older:
        yield found("wire.alias-differs", uri, f"openai/widgetPrefersBorder is not ui.prefersBorder ({border!r}).")
    domains = (ui.get("domain"), meta.get("openai/widgetDomain"))
    if domains == (None, None):
        yield found("wire.domain-missing", uri, "There is no domain.")
    for value in domains:
        # Another kind of host wants a label of its own there (row P09); an origin is what ChatGPT wants
        if value is not None and not is_origin(value) and not str(value).endswith(".claudemcpcontent.com"):
            yield found("wire.domain", uri, f"{value!r} is not an https origin.")
    modes = (meta.get("openai/ui") or {}).get("availableDisplayModes")
    if modes is not None and (not modes or any(mode not in MODES for mode in modes)):
        yield found("widget.display-mode", uri, f"The display modes are {modes!r}.")


def _policy(uri: str, csp: Mapping[str, Any], legacy: Any) -> Iterator[Finding]:
    for key in ("redirectDomains", "redirect_domains"):
        if key in csp:
            yield found("wire.redirects", uri, f"ui.csp has {key}.")
    for key, older in CSP_KEYS.items():
        for source in csp.get(key) or ():
            if not is_origin(source, ("https", "wss") if key == "connectDomains" else ("https",)):
                yield found("csp.origin", uri, f"{key}: {source!r} is not an origin.")
        if isinstance(legacy, Mapping) and set(csp.get(key) or ()) != set(legacy.get(older) or ()):
            yield found("wire.alias-differs", uri, f"openai/widgetCSP.{older} is not ui.csp.{key}.")
