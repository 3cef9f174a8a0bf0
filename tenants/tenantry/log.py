"""Standard logging during a call: to the release's log on stderr, and to the client as notifications where it asked.

2026-07-28 sends messages only to a client that named a level in the request; the handshake revisions from "info".
A traceback stays on stderr: it may hold what nobody outside should see.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenantry.session import Session

LEVELS = {
    "debug": 10, "info": 20, "notice": 25, "warning": 30, "error": 40, "critical": 50, "alert": 60, "emergency": 70,
}  # fmt: skip
LEVEL = "io.modelcontextprotocol/logLevel"
NEVER = 1000


def requested(meta: Any, revision: str) -> int:
    """The level from which the client wants to hear, as a number of standard logging."""
    fallback = NEVER if revision >= "2026-07-28" else LEVELS["info"]
    return LEVELS.get(meta.get(LEVEL), fallback)


def level_name(number: int) -> str:
    return next((name for name, least in reversed(LEVELS.items()) if number >= least), "debug")


@contextmanager
def during(session: Session, level: int) -> Iterator[None]:
    """Carry what is logged inside. An author who has configured the root logger keeps that configuration."""
    import logging

    class Carrier(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                if record.levelno >= level:
                    data = {"level": level_name(record.levelno), "logger": record.name, "data": record.getMessage()}
                    session.notify("notifications/message", data)
                if ours and record.levelno >= logging.INFO:
                    print(self.format(record), file=sys.stderr)
            except Exception:  # a bad format string is reported on stderr, as by every handler
                self.handleError(record)

    root = logging.getLogger()
    ours = not root.handlers
    before = root.level
    carrier = Carrier()
    carrier.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if ours:
        root.setLevel(min(before, level, logging.INFO))
    root.addHandler(carrier)
    try:
        yield
    finally:
        root.removeHandler(carrier)
        root.setLevel(before)
