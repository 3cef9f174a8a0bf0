"""Files that the host hands to a tool, and files that a tool makes: rows F01 to F04 and O11.

One type for both directions. As a parameter it always yields the one legal schema, whether it stands alone, in a
list or is optional; as an output it is the reference that a widget gives to getFileDownloadUrl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

if TYPE_CHECKING:
    from tenantry.download import Download

MARK = "x-tenantry-file"  # stands in a schema until schema.py has found where files are
MAX_BYTES = 20_000_000  # by default: what fits a small environment's memory twice
TIMEOUT = 15.0  # seconds by default, of a tool's 25

_FIELDS = ("download_url", "file_id", "mime_type", "file_name")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in _FIELDS},
    "required": ["download_url", "file_id"],
}


@dataclass(frozen=True, slots=True)
class File:
    """A reference to a file. `mime_type` and `file_name` are what somebody said: look at `Download.media_type`.

    The address must be https and public; every redirect and every resolved address is checked, and the connection
    goes to the address that was checked. In development the platform also allows this machine's own.
    """

    download_url: str
    file_id: str
    mime_type: str | None = None
    file_name: str | None = None

    def open(self, *, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT, accept: Sequence[str] = ()) -> Download:
        """A binary stream to be used with `with`; reading beyond `max_bytes` fails.

        `timeout` is for all of it, in seconds. `accept` are media types like "image/png" or "image/*", compared with
        what the first bytes say. Raises: FileError.
        """
        from tenantry import download

        return download.open_url(self.download_url, max_bytes=max_bytes, timeout=timeout, accept=accept)

    def read(self, *, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT, accept: Sequence[str] = ()) -> bytes:
        """All of it. Raises: FileError."""
        with self.open(max_bytes=max_bytes, timeout=timeout, accept=accept) as stream:
            return stream.read()

    def save_to(
        self,
        path: str | Path,
        *,
        max_bytes: int = MAX_BYTES,
        timeout: float = TIMEOUT,
        accept: Sequence[str] = (),
    ) -> Path:
        """Write it to `path`, or into that folder under its own last name. Nothing is left behind when it fails.

        Raises: FileError, OSError.
        """
        from tenantry import download

        with self.open(max_bytes=max_bytes, timeout=timeout, accept=accept) as stream:
            return download.save(stream, Path(path), self.file_name or self.file_id)

    def to_wire(self) -> dict[str, str]:
        """snake_case, without what is not known (row F03)."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[..., Any]) -> core_schema.CoreSchema:
        text = core_schema.str_schema()
        fields = core_schema.typed_dict_schema(
            {
                "download_url": core_schema.typed_dict_field(text, required=True),
                "file_id": core_schema.typed_dict_field(text, required=True),
                "mime_type": core_schema.typed_dict_field(core_schema.nullable_schema(text), required=False),
                "file_name": core_schema.typed_dict_field(core_schema.nullable_schema(text), required=False),
            }
        )

        def read(value: Any, inner: core_schema.ValidatorFunctionWrapHandler) -> File:
            return value if isinstance(value, File) else cls(**inner(value))

        return core_schema.no_info_wrap_validator_function(
            read, fields, serialization=core_schema.plain_serializer_function_ser_schema(File.to_wire)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {**SCHEMA, "properties": {name: {"type": "string"} for name in _FIELDS}, MARK: True}
