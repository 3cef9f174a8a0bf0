"""What must not be told: texts of unexpected exceptions, paths, secrets.

A caller learns that something failed and an error id; the author finds the id, with the traceback, in the log
(field report R37: exception texts with keys in them reached the model).
"""

import os
import traceback
from collections.abc import Mapping
from typing import Any

SHORTEST_SECRET = 6  # shorter values are everywhere in any text; blanking them would blank the log
TRACEBACK_CHARS = 32_768  # the log line it ends in is bounded too


def error_id() -> str:
    """Twelve random characters that a user can read out to an author."""
    return os.urandom(6).hex()


def failure(
    code: str, message: str, error: BaseException, secrets: Mapping[str, str], hint: str = ""
) -> dict[str, Any]:
    """The `error` of a reply: what the caller may know, and the traceback for the log only."""
    text = "".join(traceback.format_exception(error))
    return {
        "code": code,
        "message": message,
        "hint": hint,
        "error_id": error_id(),
        "traceback": blank(text[-TRACEBACK_CHARS:], secrets),
    }


def blank(text: str, secrets: Mapping[str, str]) -> str:
    """`text` without the values of `secrets`."""
    for name, value in secrets.items():
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, f"[secret {name}]")
    return text
