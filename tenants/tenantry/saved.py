"""`ctx.files`: files that a tool makes for the model and the widget, and files it was given.

A saved file goes into one of the call's upload slots. Its address is a placeholder, `LINK`, that the platform
replaces by a signed link wherever it stands in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tenantry import sniff
from tenantry.download import Download
from tenantry.errors import ToolError
from tenantry.file import MAX_BYTES, TIMEOUT, File
from tenantry.session import Session

LINK = "https://origin.tenantry.invalid/files/{id}/{name}"  # tenantry_registry.manifest.ORIGIN + the file's path
NAME_LENGTH = 120  # characters, so that every file system and header can carry it


class Files:
    """Raises nothing by itself until used; `made` is what the platform is told about."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.made: list[dict[str, Any]] = []

    def save(self, name: str, data: bytes | str | Path, mime_type: str | None = None) -> File:
        """Keep `data` (bytes, text as UTF-8, or a file on disk) and return the reference to return from the tool.

        Without `mime_type` it is read from the bytes. The link in it works for a while, see docs/kit.md.
        Raises: ToolError when the call has no room for another file, OSError for a file on disk.
        """
        body = data.read_bytes() if isinstance(data, Path) else data.encode() if isinstance(data, str) else data
        if not self._session.uploads:
            raise ToolError(f"A call can make {len(self.made)} files and no more.")
        safe = "".join("_" if c in '/\\:*?"<>|' or not c.isprintable() else c for c in name).strip(". ")
        safe = safe[-NAME_LENGTH:] or "file"
        kind = mime_type or sniff.media_type(body)
        slot = self._session.uploads[0]
        if len(body) > slot.get("max_bytes", len(body)):
            raise ToolError(f"The file is {len(body)} bytes; {slot['max_bytes']} at most.")
        del self._session.uploads[0]
        self._session.put(slot, body, kind)
        self.made.append({"id": slot["id"], "name": safe, "mime_type": kind, "size": len(body)})
        return File(LINK.format(id=slot["id"], name=quote(safe, safe="")), str(slot["id"]), kind, safe)

    def open(
        self, file: File, *, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT, accept: Sequence[str] = ()
    ) -> Download:
        """`file.open(...)`. Raises: FileError."""
        return file.open(max_bytes=max_bytes, timeout=timeout, accept=accept)
