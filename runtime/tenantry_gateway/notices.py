"""Notifications of a call, as far as its client wants them: log messages by level, progress by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tenantry_gateway.revisions import HANDSHAKE, LOG_LEVEL_KEY
from tenantry_gateway.wire import INVALID_PARAMS, Message, Refusal, dump

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")  # RFC 5424
DEFAULT_LEVEL: Final = "info"  # handshake era: what is sent where nobody set a level (the server may choose)


def check_level(level: Any) -> str:
    """A log level. Raises: Refusal."""
    if level not in LEVELS:
        raise Refusal(INVALID_PARAMS, f"{str(level)[:40]!r} is not a log level; use one of {', '.join(LEVELS)}.")
    return str(level)


def level_of(message: Message) -> str | None:
    """The least level that this request wants to hear of, or None for none of it. Raises: Refusal."""
    if message.era == HANDSHAKE:
        return DEFAULT_LEVEL
    wanted = message.meta.get(LOG_LEVEL_KEY)
    return None if wanted is None else check_level(wanted)


def wanted(message: Message, level: str | None, notes: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """The notifications to send before the result, as whole JSON-RPC messages."""
    token = message.meta.get("progressToken")
    sent = []
    for note in notes:
        params = dict(note.get("params") or {})
        if note["method"] == "notifications/progress":
            if token is None:
                continue
            params["progressToken"] = token
        elif note["method"] == "notifications/message":
            if level is None or LEVELS.index(_known(params.get("level"))) < LEVELS.index(level):
                continue
        else:
            continue
        sent.append(dump({"jsonrpc": "2.0", "method": note["method"], "params": params}))
    return sent


def _known(level: Any) -> str:
    return str(level) if level in LEVELS else DEFAULT_LEVEL
