"""Standard logging during a call: to the release's log on stderr, and to the client as notifications where it asked.

2026-07-28 sends messages only to a client that named a level in the request; the handshake revisions from "info".
A traceback stays on stderr: it may hold what nobody outside should see.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenantry.session import Session

LEVELS = {
    "debug": 10, "info": 20, "notice": 25, "warning": 30, "error": 40, "critical": 50, "alert": 60, "emergency": 70,
}  # fmt: skip
LEVEL = "io.modelcontextprotocol/logLevel"
NEVER = 1000
FORMAT = logging.Formatter("%(levelname)s %(name)s: %(message)s")


def requested(meta: Any, revision: str) -> int:
    """The level from which the client wants to hear, as a number of standard logging."""
    fallback = NEVER if revision >= "2026-07-28" else LEVELS["info"]
    return LEVELS.get(str(meta.get(LEVEL)), fallback)


def level_name(number: int) -> str:
    return next((name for name, least in reversed(LEVELS.items()) if number >= least), "debug")


class Carrier(logging.Handler):
    """One call's handler; `echo` writes to stderr too, where nobody else does."""

    def __init__(self, session: Session, least: int, *, echo: bool) -> None:
        super().__init__()
        self._session = session
        self._least = least
        self._echo = echo

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if record.levelno >= self._least:
                data = {"level": level_name(record.levelno), "logger": record.name, "data": record.getMessage()}
                self._session.notify("notifications/message", data)
            if self._echo and record.levelno >= logging.INFO:
                print(FORMAT.format(record), file=sys.stderr)
        except Exception:  # a bad format string is reported on stderr, as by every handler
            self.handleError(record)


@contextmanager
def during(session: Session, least: int) -> Iterator[None]:
    """Carry what is logged inside. An author who has configured the root logger keeps that configuration."""
    root = logging.getLogger()
    before, bare = root.level, not root.handlers
    carrier = Carrier(session, least, echo=bare)
    if bare:
        root.setLevel(min(before, least, logging.INFO))
    root.addHandler(carrier)
    try:
        yield
    finally:
        root.removeHandler(carrier)
        carrier.close()
        if bare:
            root.setLevel(before)
