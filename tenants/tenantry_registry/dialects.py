"""One declaration, two dialects: what MCP Apps (`ui.*`) and ChatGPT's older keys (`openai/*`) read off the wire.

Both are derived here and nowhere else, so they can't disagree (field reports R01, R04). False values are present:
a host that treats an absent hint as unknown refuses the tool (R31).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenantry_registry.manifest import ORIGIN, STORAGE

MIME = "text/html;profile=mcp-app"  # row R01
MODEL, APP = "model", "app"
BOTH = (MODEL, APP)  # row T04, the default


def widget_meta(widget: Mapping[str, Any], *, files: bool) -> dict[str, Any]:
    """The `_meta` of a widget's resource, without domain (rows R02 to R09).

    The plugin's own origin joins resourceDomains, since assets come from there; with `files`, so do the origins of
    its downloads, for fetch as well. redirect domains exist in the older key alone (row R09).
    """
    declared = widget.get("csp") or {}
    own = (ORIGIN, STORAGE) if files else (ORIGIN,)
    connect = _unique((*(own if files else ()), *declared.get("connect", ())))
    resource = _unique((*own, *declared.get("resource", ())))
    frames = _unique(declared.get("frame") or ())
    border = bool(widget.get("border"))
    csp: dict[str, Any] = {"connectDomains": connect, "resourceDomains": resource}
    legacy: dict[str, Any] = {"connect_domains": connect, "resource_domains": resource}
    if frames:
        csp["frameDomains"] = legacy["frame_domains"] = frames
    if redirects := _unique(declared.get("redirect", ())):
        legacy["redirect_domains"] = redirects
    meta: dict[str, Any] = dict(widget.get("meta") or {})
    ui: dict[str, Any] = {"csp": csp, "prefersBorder": border}
    if permissions := widget.get("permissions"):
        ui["permissions"] = {name: {} for name in sorted(permissions)}
    meta |= {"ui": ui, "openai/widgetCSP": legacy, "openai/widgetPrefersBorder": border}
    if modes := widget.get("display_modes"):
        meta["openai/ui"] = {"availableDisplayModes": list(modes)}
    if description := widget.get("description"):
        meta["openai/widgetDescription"] = description
    return meta


def tool_meta(
    tool: Mapping[str, Any], *, uri: str | None, schemes: Sequence[Mapping[str, Any]], widgets: bool
) -> dict[str, Any]:
    """The `_meta` of a tool's descriptor (rows T02 to T11).

    `uri` is its widget's published URI; `widgets` whether the plugin has any, because then a widget may call any tool
    that the author left open to it, and older hosts want that said.
    """
    meta: dict[str, Any] = dict(tool.get("meta") or {})
    visibility = list(tool.get("visibility") or BOTH)
    ui: dict[str, Any] = dict(meta.get("ui") or {})
    if uri is not None:
        ui["resourceUri"] = meta["openai/outputTemplate"] = uri
    if widgets or tool.get("visibility"):
        ui["visibility"] = visibility
        meta["openai/widgetAccessible"] = APP in visibility
        meta["openai/visibility"] = "public" if MODEL in visibility else "private"
    if ui:
        meta["ui"] = ui
    if schemes:
        meta["securitySchemes"] = [dict(scheme) for scheme in schemes]
    if tool.get("profile"):
        meta["openai/profile"] = True
    for key in ("invoking", "invoked"):
        if text := tool.get(key):
            meta[f"openai/toolInvocation/{key}"] = text
    if fields := tool.get("fileParams"):
        meta["openai/fileParams"] = list(fields)
    return meta


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
