"""Server-sent events (WHATWG HTML, 9.2), read as they come: the JSON messages in the pieces of a body."""

import json
from collections.abc import Iterator
from typing import Any

STREAM = "text/event-stream"


class Events:
    """Reads one stream. What is no JSON object is passed over; a message may come in any number of pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """The messages that this piece completes."""
        *events, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            message = read(b"\n".join(lines))
            if message is not None:
                yield message


def read(data: bytes) -> dict[str, Any] | None:
    """A JSON object, or None for anything else."""
    try:
        message = json.loads(data)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
