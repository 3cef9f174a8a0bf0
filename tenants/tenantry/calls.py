"""Calls: a table of methods, and the one place where what a call raises becomes what the platform is told.

`answer` is what the runner reaches through `Plugin.__tenantry_call__`; call and reply are documented in
tenantry_registry/runners.py. A call that does not succeed writes nothing: no state, no files.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tenantry.content import blocks
from tenantry.context import Context
from tenantry.errors import AuthRequired, ToolError
from tenantry.session import Session
from tenantry.signature import BadArguments

if TYPE_CHECKING:
    from tenantry.plugin import Plugin

Json = dict[str, Any]

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
MISSING_CAPABILITY = -32021  # 2026-07-28
RESOURCE_NOT_FOUND = -32002  # before 2026-07-28


class Refusal(Exception):
    """A JSON-RPC error: the request itself is wrong (an unknown name, a missing prompt argument)."""

    def __init__(self, message: str, *, code: int = INVALID_PARAMS, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": dict(data)} if data else {})


def answer(plugin: Plugin, call: Mapping[str, Any], session: Session) -> Json:
    """One call's part of the reply: result | input_required | protocol_error | error, and what it leaves behind."""
    from tenantry import log

    method = str(call.get("method", ""))
    params: Mapping[str, Any] = call.get("params") or {}
    context = Context(call, session, str(params.get("name") or params.get("uri") or ""))
    level = log.requested(params.get("_meta") or {}, str(call.get("revision", "")))
    with log.during(session, level):
        try:
            handler = HANDLERS.get(method)
            if handler is None:
                raise Refusal(f"Method not found: {method}", code=METHOD_NOT_FOUND)
            result = handler(plugin, params, context)
            outcome = context.outcome()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _failure(method, context.pending or error, context)
        if context.pending is not None:  # the author's code swallowed a question
            return _failure(method, context.pending, context)
    return {"result": result, **outcome}


def _tool(plugin: Plugin, params: Mapping[str, Any], context: Context) -> Json:
    tool = plugin.tools.get(str(params.get("name")))
    if tool is None:
        raise Refusal(f"Unknown tool: {params.get('name')}")
    return tool.call(params.get("arguments") or {}, context)


HANDLERS: dict[str, Callable[[Plugin, Mapping[str, Any], Context], Json]] = {
    "tools/call": _tool,
}


def _failure(method: str, error: BaseException, context: Context) -> Json:
    from tenantry.ask import InputRequired, MissingCapability

    if isinstance(error, InputRequired):
        return {"input_required": {"inputRequests": dict(error.requests)}}
    if isinstance(error, MissingCapability):
        data = {"requiredCapabilities": dict(error.needed)}
        message = "This client can't be asked for what the tool needs."
        return {"protocol_error": {"code": MISSING_CAPABILITY, "message": message, "data": data}}
    if isinstance(error, Refusal):
        return {"protocol_error": error.error}
    if method == "tools/call":
        if isinstance(error, BadArguments):
            return {"result": {"content": blocks("Invalid arguments. " + "; ".join(error.faults)), "isError": True}}
        if isinstance(error, ToolError):
            return {"result": _tool_error(error, context)}
    elif isinstance(error, BadArguments | ToolError):
        return {"protocol_error": {"code": INVALID_PARAMS, "message": str(error)}}
    return {"error": _masked(error)}


def _tool_error(error: ToolError, context: Context) -> Json:
    result: Json = {"content": blocks([str(error), *error.content]), "isError": True}
    meta = error.to_meta(signed_in=context.signed_in) if isinstance(error, AuthRequired) else error.meta
    if meta:
        result["_meta"] = meta
    return result


def _masked(error: BaseException) -> Json:
    return {
        "code": "tool.failed",
        "message": "The tool failed.",
        "hint": "Its author finds the reason in the log under this error id.",
        "error_id": os.urandom(6).hex(),
        "traceback": "".join(traceback.format_exception(error)),
    }
