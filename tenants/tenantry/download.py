"""Fetching a file by its address, without becoming somebody's way into a private network.

Resolve, check every address, connect to the one that was checked, and do it again for each redirect. Standard
library only; nothing here is imported before a tool opens a file. `OPENER` is what `File.open` uses: tests of
authors put files in memory there.
"""

from __future__ import annotations

import http.client
import io
import os
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import SplitResult, urljoin, urlsplit

from tenantry import sniff
from tenantry.addresses import is_loopback, is_public
from tenantry.errors import FileError

DEVELOPMENT = "TENANTRY_DEV_FILES"  # "1": this machine's own addresses are allowed, by http too
REDIRECTS = 5  # signed links need one or two
BLOCK = 64 * 1024

Resolve = Callable[[str, int], Sequence[str]]


class Readable(Protocol):
    def read(self, amount: int, /) -> bytes: ...


class Download(io.RawIOBase):
    """A file being read, at most `max_bytes` of it before `deadline` (time.monotonic). Use it with `with`.

    `media_type` is what its first bytes say. Reading raises FileError for too much, too long, or a broken connection.
    """

    def __init__(self, source: Readable, *, max_bytes: int, deadline: float, close: Callable[[], None]) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._close = close
        self._head = b""
        self._count = 0
        self._head = self._fill(sniff.NEEDED)
        self.media_type = sniff.media_type(self._head)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), BLOCK)
        data, self._head = self._head[:wanted], self._head[wanted:]
        if not data and wanted:
            data = self._take(wanted)
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            return self.readall()
        return super().read(size) or b""

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()

    def _fill(self, least: int) -> bytes:
        data = b""
        while len(data) < least and (more := self._take(least - len(data))):
            data += more
        return data

    def _take(self, amount: int) -> bytes:
        if time.monotonic() > self._deadline:
            raise FileError("The file takes too long to download.")
        try:
            data = self._source.read(amount)
        except (OSError, http.client.HTTPException) as error:
            raise FileError("The file's download broke off.") from error
        self._count += len(data)
        if self._count > self._max_bytes:
            raise FileError(f"The file is larger than {self._max_bytes} bytes.")
        return data


@dataclass(frozen=True, slots=True)
class Fetcher:
    """How addresses become connections. `resolve` gives the addresses of a host; `development` allows loopback."""

    resolve: Resolve
    development: bool = False
    context: ssl.SSLContext | None = None

    def open(self, url: str, *, max_bytes: int, deadline: float) -> Download:
        """Follow `url` to a file. Raises: FileError."""
        for _ in range(REDIRECTS + 1):
            with ExitStack() as opened:
                connection = self._connect(url, deadline)
                opened.callback(connection.close)
                response = self.request(connection, url)
                opened.callback(response.close)
                if response.status in {301, 302, 303, 307, 308}:
                    url = urljoin(url, response.headers.get("Location", ""))
                    continue
                if response.status != 200:
                    raise FileError(f"The file's server answered {response.status}.")
                if int(response.headers.get("Content-Length") or 0) > max_bytes:
                    raise FileError(f"The file is larger than {max_bytes} bytes.")
                kept = opened.pop_all()
                try:
                    return Download(response, max_bytes=max_bytes, deadline=deadline, close=kept.close)
                except BaseException:
                    kept.close()
                    raise
        raise FileError("The file's address redirects too often.")

    def request(self, connection: http.client.HTTPConnection, url: str) -> http.client.HTTPResponse:
        """Send the request; the platform's own fetching sends forms and headers here. Raises: FileError."""
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers={"Accept": "*/*", "Accept-Encoding": "identity"})
            return connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise FileError("The file can't be downloaded.") from error

    def _connect(self, url: str, deadline: float) -> http.client.HTTPConnection:
        parts = self._checked(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        left = deadline - time.monotonic()
        if left <= 0:
            raise FileError("The file takes too long to download.")
        address = self._address(host, port, plain=parts.scheme == "http")
        try:
            connected = socket.create_connection((address, port), timeout=left)
            if parts.scheme == "https":
                context = self.context or ssl.create_default_context()
                connected = context.wrap_socket(connected, server_hostname=host)
        except OSError as error:
            raise FileError("The file's server can't be reached.") from error
        connection = http.client.HTTPConnection(host, port, timeout=left)
        if parts.scheme == "https":
            connection.default_port = 443
        connection.sock = connected
        return connection

    def _checked(self, url: str) -> SplitResult:
        try:
            parts = urlsplit(url)
            usable = bool(parts.hostname) and parts.port != 0 and parts.username is None and parts.password is None
        except ValueError:
            usable = False
        schemes = {"https", "http"} if self.development else {"https"}
        if not usable or parts.scheme not in schemes or not url.isascii() or not url.isprintable() or " " in url:
            raise FileError("The file's address is not one that may be opened.")
        return parts

    def _address(self, host: str, port: int, *, plain: bool) -> str:
        try:
            found = self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise FileError("The file's server has no address.") from error
        for address in found:
            local = self.development and is_loopback(address)
            if not local and (plain or not is_public(address)):
                raise FileError("The file's address is not one that may be opened.")
        if not found:
            raise FileError("The file's server has no address.")
        return found[0]


def resolve(host: str, port: int) -> list[str]:
    """All addresses of `host`, IPv4 first (what isolated networks speak). Raises: OSError."""
    found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    return sorted(found, key=lambda address: (":" in address, address))


class Opener(Protocol):
    def __call__(self, url: str, *, max_bytes: int, deadline: float) -> Download: ...


OPENER: ContextVar[Opener | None] = ContextVar("opener", default=None)


def open_url(url: str, *, max_bytes: int, timeout: float, accept: Sequence[str]) -> Download:
    """Open `url` under the rules above. Raises: FileError."""
    opener = OPENER.get() or Fetcher(resolve, development=os.environ.get(DEVELOPMENT) == "1").open
    stream = opener(url, max_bytes=max_bytes, deadline=time.monotonic() + timeout)
    if accept and not any(sniff.matches(stream.media_type, kind) for kind in accept):
        stream.close()
        raise FileError(f"The file is {stream.media_type}; this takes {', '.join(accept)}.")
    return stream


def save(stream: Download, path: Path, name: str) -> Path:
    """Write `stream` to `path`, or into that folder as the last part of `name`; by a temporary file beside it."""
    if path.is_dir():
        path = path / (PurePosixPath(name.replace("\\", "/")).name.lstrip(".") or "file")
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as out:
            while data := stream.read(BLOCK):
                out.write(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
