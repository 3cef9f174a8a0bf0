"""What one call may use: the object that `__tenantry_call__` gets beside the call."""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

NOTIFICATIONS_KEPT = 1_000  # of one call; they travel in one buffered body with its result
NOTIFICATION_CHARS = 1_048_576  # of all of them together, measured as text

Deliver = Callable[[Mapping[str, Any], bytes, str], None]


class Session:
    """One call's means.

    `secrets` by name; `uploads` the slots that files may be put into; `folder` a scratch folder that is emptied
    afterwards; `deadline` in seconds of `time.monotonic`.
    """

    def __init__(
        self, *, secrets: Mapping[str, str], uploads: list[dict[str, Any]], timeout: float, deliver: Deliver
    ) -> None:
        self.secrets = secrets
        self.uploads = uploads
        self.deadline = time.monotonic() + timeout
        self.notifications: list[dict[str, Any]] = []
        self.used: set[str] = set()
        self._deliver = deliver
        self._folder: str | None = None
        self._room = NOTIFICATION_CHARS

    @property
    def folder(self) -> str:
        """A folder of this call's own, made at first use."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="call-")
        return self._folder

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification along with the result; past the limits they are dropped, oldest kept."""
        self._room -= len(str(params))
        if len(self.notifications) < NOTIFICATIONS_KEPT and self._room >= 0:
            self.notifications.append({"method": method, "params": params})

    def put(self, upload: Mapping[str, Any], data: bytes, content_type: str) -> None:
        """Fill an upload slot, once. Raises: OSError when storage refuses or does not answer."""
        self.used.add(upload["id"])
        self._deliver(upload, data, content_type)

    def free_upload(self) -> dict[str, Any] | None:
        """A slot that the call has left, for a reply that is too large to return."""
        return next((upload for upload in self.uploads if upload["id"] not in self.used), None)

    def close(self) -> None:
        """Remove the scratch folder and all in it."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
