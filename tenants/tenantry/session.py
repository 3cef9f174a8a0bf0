"""What the runner gives to a call: the kit's side of the border to the sandbox.

The runner is standard library only and passes any object of this shape; `tenantry.testing` has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Session(Protocol):
    """One call's surroundings. `deadline` is in seconds of time.monotonic, `folder` is for scratch files.

    `uploads` are the free slots for files: the kit takes from the front what it fills, the runner uses what is left.
    """

    secrets: Mapping[str, str]
    uploads: list[dict[str, Any]]
    folder: str
    deadline: float

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification to the client, in order."""
        ...

    def put(self, upload: dict[str, Any], data: bytes, content_type: str) -> None:
        """Fill one of `uploads`."""
        ...
