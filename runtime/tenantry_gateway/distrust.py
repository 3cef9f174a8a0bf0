"""A sandbox's reply, held to its documented shape: tenant code may have written any JSON there is.

What can be left out is left out; what can't be understood at all is `sandbox.bad-reply`, which a tool answers as a
failure of its own. Behind this, everything may rely on the types that runners.py documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tenantry_registry.errors import PlatformError

from tenantry_gateway.wire import dump, too_deep

ENDINGS: Final = ("result", "input_required", "protocol_error", "error", "overflow")
TEXTS: Final = ("stdout", "stderr")
QUESTION_BYTES: Final = 1_048_576  # of one run: they leave whole, and nothing of a question can be cut
TOO_MUCH: Final[Mapping[str, Any]] = {
    "code": "asks.too-large",
    "message": f"What the tool asks the client is larger than {QUESTION_BYTES:,} bytes.",
    "hint": "Ask for less at once.",
}
LONGEST_MS: Final = 900_000  # of a call, on Lambda; what a tool says of its time is added to its tenant's usage
NOTES: Final = 1_000  # notifications of one call; the sandbox keeps to it, a forged reply may not


def held(reply: Any) -> dict[str, Any]:
    """The reply, well-formed. Raises: PlatformError `sandbox.bad-reply`."""
    if not isinstance(reply, dict) or too_deep(reply):
        raise bad()
    clean: dict[str, Any] = {key: reply[key] for key in ENDINGS if isinstance(reply.get(key), dict)}
    clean |= {key: reply[key] for key in TEXTS if isinstance(reply.get(key), str) and reply[key]}
    ms = reply.get("ms")
    if isinstance(ms, (int, float)) and ms is not True and 0 <= ms <= LONGEST_MS:
        clean["tool_ms"] = ms
    if reply.get("cold") is True:
        clean["cold"] = True
    for key in ("state", "shared"):
        if isinstance(reply.get(key), dict):
            clean[key] = _patch(reply[key])
    clean["files"] = [file for file in _list(reply.get("files")) if isinstance(file, dict)]
    clean["notifications"] = [note for note in _list(reply.get("notifications")) if _is_note(note)][:NOTES]
    if "protocol_error" in clean:
        clean["protocol_error"] = _protocol_error(clean["protocol_error"])
    if "input_required" in clean:
        clean["input_required"] = _questions(clean["input_required"])
        if len(dump(clean["input_required"])) > QUESTION_BYTES:
            del clean["input_required"]
            clean["error"] = dict(TOO_MUCH)
    return clean


def tool_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """A CallToolResult with content that is a list of blocks and `_meta` that is an object."""
    clean = dict(result)
    clean["content"] = [
        block
        for block in _list(result.get("content"))
        if isinstance(block, dict) and isinstance(block.get("type"), str)
    ]
    if not isinstance(clean.get("_meta", {}), dict):
        del clean["_meta"]
    if "isError" in clean:
        clean["isError"] = bool(clean["isError"])
    return clean


def _patch(patch: Mapping[str, Any]) -> dict[str, Any]:
    read = patch.get("read")
    return {
        "set": patch["set"] if isinstance(patch.get("set"), dict) else {},
        "delete": [key for key in _list(patch.get("delete")) if isinstance(key, str)],
        "read": True if read is True else [key for key in _list(read) if isinstance(key, str)],
    }


def _is_note(note: Any) -> bool:
    return isinstance(note, dict) and isinstance(note.get("method"), str) and isinstance(note.get("params", {}), dict)


def _protocol_error(error: Mapping[str, Any]) -> dict[str, Any]:
    code = error.get("code")
    good = isinstance(code, int) and not isinstance(code, bool) and abs(code) < 2**31
    return {
        "code": code if good else -32602,
        "message": str(error.get("message", ""))[:4_000],
        "data": error.get("data"),
    }


def _questions(asked: Mapping[str, Any]) -> dict[str, Any]:
    requests = asked.get("inputRequests")
    questions = requests if isinstance(requests, dict) else {}
    return {key: question for key, question in questions.items() if _is_note(question)}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def bad() -> PlatformError:
    return PlatformError("sandbox.bad-reply", "The plugin's answer could not be read.", "Its author can see the log.")
