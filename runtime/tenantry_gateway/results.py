"""A tool's result before it leaves: of the right shape, true to its schema, with its links, small enough."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tenantry_registry.errors import PlatformError

from tenantry_gateway import distrust, door, governor
from tenantry_gateway.edition import Edition, Tool
from tenantry_gateway.revisions import HANDSHAKE
from tenantry_gateway.turn import Desk
from tenantry_gateway.wire import dump
from tenantry_gateway.work import Done, Work

WIDGETS_KEY: Final = "tenantry/widgets"  # hidden _meta of a widget tool's result: widget name -> its published URI


async def finish(desk: Desk, work: Work, done: Done, era: str) -> dict[str, Any]:
    """A result that may leave: of the right shape, true to its schema, small enough."""
    result = _linked(done)
    if work.method != "tools/call":
        return result
    tool = work.edition.tools.get(str(work.params.get("name")))
    if "resultType" not in result or result["resultType"] == "complete":
        result = distrust.tool_result(result)
    if tool is not None:
        result = door.completed(work.site, result if work.edition.guest else _checked(tool, result))
        _point_at_widgets(work.edition, tool, result)
    if era == HANDSHAKE and not isinstance(result.get("structuredContent", {}), dict):
        del result["structuredContent"]  # objects only, until 2026

    async def offload(data: bytes, mime: str, name: str) -> Mapping[str, Any]:
        return await desk.attachments.offload(work.site, work.user, data, mime, name)

    return await governor.fit(result, offload)


def _linked(done: Done) -> dict[str, Any]:
    """The result with the files' placeholders replaced by their signed links, wherever they stand."""
    if not done.links:
        return dict(done.result or {})
    data = dump(done.result)
    for placeholder, link in done.links.items():
        data = data.replace(placeholder.encode(), link.encode())
    linked: dict[str, Any] = json.loads(data)
    return linked


def _checked(tool: Tool, result: dict[str, Any]) -> dict[str, Any]:
    if result.get("isError") or "outputSchema" not in tool.entry:
        return result
    if "structuredContent" not in result:
        return dict(
            error_result(f"{tool.name} returned no structured data, which its output schema promises.").result or {}
        )
    try:
        wrong = tool.wrong_output(result["structuredContent"])
    except PlatformError as error:
        wrong = [error.message]
    if wrong:
        text = f"{tool.name} returned data that its output schema does not allow. " + "; ".join(wrong)
        return dict(error_result(text).result or {})
    return result


def _point_at_widgets(edition: Edition, tool: Tool, result: dict[str, Any]) -> None:
    """Tell the widget where its sisters are: requestModal needs published URIs, which change with their content."""
    meta = tool.entry.get("_meta") or {}
    ui = meta.get("ui")
    shown = (ui.get("resourceUri") if isinstance(ui, dict) else None) or meta.get("openai/outputTemplate")
    if edition.widget_uris and shown:
        given = result.get("_meta")
        result["_meta"] = {WIDGETS_KEY: edition.widget_uris, **(given if isinstance(given, dict) else {})}


def error_result(text: str, code: str = "") -> Done:
    return Done({"content": [{"type": "text", "text": text}], "isError": True}, facts={"code": code})


def outcome(result: Mapping[str, Any]) -> dict[str, str]:
    """What the log says of a tool's result that is an error: which one, never its words."""
    if not result.get("isError"):
        return {}
    meta = result.get("_meta")
    asked = str(meta.get("mcp/www_authenticate", "")) if isinstance(meta, dict) else ""
    return {"outcome": ("scope" if "insufficient_scope" in asked else "sign-in") if asked else "error"}
