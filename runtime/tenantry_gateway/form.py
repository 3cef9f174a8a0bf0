"""A multipart form whose last part is a file: fields first, then the file, piece by piece (RFC 7578).

The order is S3's own rule for POST uploads: what comes after the file is not looked at.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from tenantry_registry.errors import PlatformError

FIELD_BYTES: Final = 16_384  # of all fields before the file: a grant and its signature are some hundred


class Form:
    """One form. Raises: PlatformError `upload.form`, when it is none."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise invalid()
        self.fields: dict[str, str] = {}
        self._name, self._value, self._header = b"", b"", b""
        self._pieces: list[bytes] = []
        self._in_file = self._ended = False
        self._room = FIELD_BYTES
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_part_data": self._data,
                "on_part_end": self._end,
            },
        )

    async def read_fields(self, body: AsyncIterator[bytes]) -> None:
        """Read up to where the file begins. Raises: PlatformError `upload.form`."""
        async for chunk in body:
            self._feed(chunk)
            if self._in_file or self._ended:
                return
        raise invalid()

    async def file(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The file's bytes. Raises: PlatformError `upload.form`, when the form ends before the file does."""
        while True:
            for piece in self._pieces:
                yield piece
            self._pieces = []
            if self._ended:
                return
            try:
                self._feed(await anext(body))
            except StopAsyncIteration:
                raise invalid() from None

    def _feed(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise invalid() from None
        if self._room < 0:
            raise invalid()

    def _begin(self) -> None:
        self._name, self._value, self._header = b"", b"", b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end].lower()

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        if self._header.endswith(b"content-disposition"):
            self._name += data[start:end]

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._ended:
            return
        if self._field() == "file":
            self._in_file = True
            self._pieces.append(data[start:end])
        else:
            self._room -= end - start
            self._value += data[start:end]

    def _end(self) -> None:
        name = self._field()
        if name == "file":
            self._ended = True
        elif not self._ended:
            self.fields[name] = self._value.decode(errors="replace")

    def _field(self) -> str:
        _, options = parse_options_header(self._name)
        return options.get(b"name", b"").decode(errors="replace")


def invalid() -> PlatformError:
    return PlatformError("upload.form", "This is not a form with a file at its end.", "Post fields, then `file`.")
