"""The one error of the platform: a stable code, a sentence, a hint.

Codes are slugs (`bundle.too-large`); docs/errors.md lists every one and a test compares the two both ways.
An error is translated once at each border: to JSON-RPC in the gateway's wire.py, to HTTP in web.py, to an exit
code in the command line's main.py. Vendor exceptions end at the adapter that met them.
"""

from __future__ import annotations


class PlatformError(Exception):
    """What went wrong, in words a tenant may see.

    `code` is the stable slug, `message` one sentence without secrets or paths of the server, `hint` what to do next
    (may be empty).
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {self.message!r}, {self.hint!r})"


class Conflict(PlatformError):
    """Somebody else changed the object since it was read (`objects.conflict`): read again, decide again."""

    def __init__(self, message: str, hint: str = "Read it again and retry.") -> None:
        super().__init__("objects.conflict", message, hint)


class StorageDown(PlatformError):
    """Storage did not answer or answered with a fault (`objects.unavailable`): nothing was half written."""

    def __init__(self, message: str, hint: str = "Retry in a moment; nothing was changed.") -> None:
        super().__init__("objects.unavailable", message, hint)
