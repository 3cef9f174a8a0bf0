"""Calls: a table of methods, and the one place where what a call raises becomes what the platform is told.

`answer` is what the runner reaches through `Plugin.__tenantry_call__`; call and reply are documented in
tenantry_registry/runners.py. A call that does not succeed writes nothing: no state, no files.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tenantry import completion
from tenantry.content import blocks
from tenantry.context import Context
from tenantry.errors import AuthRequired, ToolError, WrongReturn
from tenantry.session import Session
from tenantry.signature import BadArguments

if TYPE_CHECKING:
    from tenantry.plugin import Plugin

Json = dict[str, Any]

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
MISSING_CAPABILITY = -32021  # 2026-07-28
RESOURCE_NOT_FOUND = -32002  # before 2026-07-28
INTERNAL = -32603
MAY_ASK = {"tools/call", "prompts/get", "resources/read"}  # 2026-07-28: no other answer may be input_required
CANT_ASK = "This client can't be asked for what is needed here."


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
    level = log.requested(context.meta, context.revision)
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
    return tool.call(_arguments(params), context)


def _prompt(plugin: Plugin, params: Mapping[str, Any], context: Context) -> Json:
    prompt = plugin.prompts.get(str(params.get("name")))
    if prompt is None:
        raise Refusal(f"Unknown prompt: {params.get('name')}")
    return prompt.get(_arguments(params), context)


def _read(plugin: Plugin, params: Mapping[str, Any], context: Context) -> Json:
    uri = str(params.get("uri"))
    exact = plugin.resources.get(uri)
    found = exact.read(uri, {}, context) if exact is not None and exact.template is None else None
    if exact is None or exact.template is not None:
        for resource in plugin.resources.values():
            values = resource.template.match(uri) if resource.template is not None else None
            if values is not None:
                found = resource.read(uri, values, context)
                break
    if found is None:
        code = INVALID_PARAMS if context.revision >= "2026-07-28" else RESOURCE_NOT_FOUND
        raise Refusal(f"Resource not found: {uri}", code=code, data={"uri": uri})
    return found


def _complete(plugin: Plugin, params: Mapping[str, Any], context: Context) -> Json:
    reference, argument = params.get("ref") or {}, params.get("argument") or {}
    target, name, value = (
        str(reference.get("name") or reference.get("uri")),
        str(argument.get("name")),
        str(argument.get("value", "")),
    )
    prompt, template = plugin.prompts.get(target), plugin.resources.get(target)
    if prompt is None and template is None:
        raise Refusal(f"Unknown prompt or resource template: {target}")
    handler = plugin.completions.get((target, name))
    if handler is not None:
        return handler.complete(value, (params.get("context") or {}).get("arguments") or {}, context)
    return completion.beginning(completion.choices(prompt.arguments.get(name, {}) if prompt else {}), value)


def _arguments(params: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = params.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise Refusal("arguments is not an object.")
    return arguments


HANDLERS: dict[str, Callable[[Plugin, Mapping[str, Any], Context], Json]] = {
    "tools/call": _tool,
    "prompts/get": _prompt,
    "resources/read": _read,
    "completion/complete": _complete,
}


def _failure(method: str, error: BaseException, context: Context) -> Json:
    from tenantry.ask import InputRequired, MissingCapability

    if isinstance(error, InputRequired) and method in MAY_ASK:
        return {"input_required": {"inputRequests": dict(error.requests)}}
    if isinstance(error, MissingCapability):
        if context.revision < "2026-07-28":  # no code for it there
            error = ToolError(CANT_ASK)
        else:
            data = {"requiredCapabilities": dict(error.needed)}
            return {"protocol_error": {"code": MISSING_CAPABILITY, "message": CANT_ASK, "data": data}}
    if isinstance(error, Refusal):
        return {"protocol_error": error.error}
    if isinstance(error, BadArguments):
        text = "Invalid arguments. " + "; ".join(error.faults)
        if method == "tools/call":
            return {"result": {"content": blocks(text), "isError": True}}
        return {"protocol_error": {"code": INVALID_PARAMS, "message": text}}
    if isinstance(error, ToolError):
        if method == "tools/call":
            return {"result": _tool_error(error, context)}
        meta = _meta(error, context)
        return {"protocol_error": {"code": INTERNAL, "message": str(error)} | ({"data": meta} if meta else {})}
    return {"error": _masked(error)}


def _tool_error(error: ToolError, context: Context) -> Json:
    result: Json = {"content": blocks([str(error), *error.content]), "isError": True}
    if meta := _meta(error, context):
        result["_meta"] = meta
    return result


def _meta(error: ToolError, context: Context) -> Json:
    return error.to_meta(signed_in=context.signed_in) if isinstance(error, AuthRequired) else error.meta


def _masked(error: BaseException) -> Json:
    return {
        "code": "tool.failed",
        "message": "The tool failed.",
        "hint": "Its author finds the reason in the log under this error id.",
        "error_id": os.urandom(6).hex(),
        "traceback": str(error) if isinstance(error, WrongReturn) else "".join(traceback.format_exception(error)),
    }
