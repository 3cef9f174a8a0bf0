"""One line of JSON for every call: what an operator searches, what alarms and usage are made of.

Field names are a contract (infra makes metric filters of them, `platform logs` reads them): event ("call", or "fault"
for a failure of ours), time, tenant, plugin, release, method, tool, era, client, session, widget_session, subject,
status (of a whole request that failed), code, error_id, outcome ("sign-in", "scope": refused for lack of it;
"error": the tool's own answer is one), ms (all of it), tool_ms (inside the tool), cold.
Arguments, results, secrets and addresses are never in it. Tracebacks are, under `traceback`: for the log only.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

FIELD_CHARACTERS: Final = 256  # of a field that a client wrote (session, subject)
TEXT_CHARACTERS: Final = 65_536  # of captured output or a traceback
SHORTEST_SECRET: Final = 6  # shorter values are everywhere in any text; blanking them would blank the log
LINE: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str)


class Lines(Protocol):
    """Where lines go: a text stream, or what looks like one."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class Log:
    """Writes lines to a stream (standard error in Lambda goes to CloudWatch)."""

    def __init__(self, stream: Lines | None = None, *, now: Callable[[], float] = time.time) -> None:
        self._stream = stream
        self._now = now

    def __call__(self, event: str, **fields: Any) -> None:
        line: dict[str, Any] = {"event": event, "time": round(self._now(), 3)}
        line |= {key: _short(key, value) for key, value in fields.items() if value not in (None, "", {}, [])}
        stream = self._stream or sys.stderr
        stream.write(LINE.encode(line) + "\n")
        stream.flush()


def blank(text: str, secrets: Mapping[str, str]) -> str:
    """`text` without the values of `secrets`. The sandbox does it too, but what a tool writes and a crash's last words
    come from a process that the tenant's code owns: whoever reads the log need not be who set the secret."""
    for name, value in secrets.items():
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, f"[secret {name}]")
    return text


def _short(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value[: TEXT_CHARACTERS if key in ("traceback", "stdout", "stderr") else FIELD_CHARACTERS]
