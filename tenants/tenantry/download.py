"""Fetching a file by its address, without becoming somebody's way into a private network.

Resolve, check every address, connect to the one that was checked, and do it again for each redirect. Standard
library only; nothing here is imported before a tool opens a file. `OPENER` is what `File.open` uses: tests of
authors put files in memory there.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
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

ADDRESS = re.compile(r"[!-~]+")  # printable ASCII: names in other scripts come as xn--
REFUSED = "The file's address is not one that may be opened."

Resolve = Callable[[str, int], Sequence[str]]


class Readable(Protocol):
    def read1(self, amount: int, /) -> bytes: ...


class Download(io.RawIOBase):
    """A file being read, at most `max_bytes` of it before `deadline` (time.monotonic). Use it with `with`.

    `media_type` is what its first bytes say. Reading raises FileError for too much, too long, or a broken connection.
    """

    def __init__(self, source: Readable, *, max_bytes: int, deadline: float, close: Callable[[], None]) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._close = close
        self._count = 0
        self._head = b""
        while len(self._head) < sniff.NEEDED and (more := self._take(sniff.NEEDED - len(self._head))):
            self._head += more
        self.media_type = sniff.media_type(self._head)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), BLOCK)
        data, self._head = self._head[:wanted], self._head[wanted:]
        if not data:
            data = self._take(wanted)
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to `size` bytes, or all; b"" at the end."""
        return self.readall() if size is None or size < 0 else super().read(size) or b""

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()

    def _take(self, amount: int) -> bytes:
        try:
            data = self._source.read1(amount)
        except (OSError, http.client.HTTPException) as error:
            raise _late(self._deadline) or FileError("The file's download broke off.") from error
        if late := _late(self._deadline):
            raise late
        self._count += len(data)
        if self._count > self._max_bytes:
            raise FileError(f"The file is larger than {self._max_bytes} bytes.")
        return data


class Line:
    """One connection and its time: at the deadline it is cut, whatever it is doing (a server may trickle for ever)."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._cut)
        self.timer.daemon = True
        self.socket: socket.socket | None = None
        self.response: http.client.HTTPResponse | None = None  # keeps the socket open until it is closed itself
        self.timer.start()

    def left(self) -> float:
        """Seconds until it is cut. Raises: TimeoutError when there are none."""
        if _late(self.deadline):
            raise TimeoutError
        return self.deadline - time.monotonic()

    def close(self) -> None:
        self.timer.cancel()
        if self.response is not None:
            self.response.close()
        if self.socket is not None:
            self.socket.close()

    def _cut(self) -> None:
        if self.socket is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self.socket.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """How addresses become connections. `resolve` gives the addresses of a host; `development` allows loopback."""

    resolve: Resolve
    development: bool = False

    def open(self, url: str, *, max_bytes: int, deadline: float) -> Download:
        """Follow `url` to a file. Raises: FileError."""
        for _ in range(REDIRECTS + 1):
            line = Line(deadline)
            try:
                response = line.response = self._get(url, line)
                if response.status in {301, 302, 303, 307, 308}:
                    url = urljoin(url, response.headers.get("Location", ""))
                    line.close()
                    continue
                if response.status != 200:
                    raise FileError(f"The file's server answered {response.status}.")
                if (response.length or 0) > max_bytes:
                    raise FileError(f"The file is larger than {max_bytes} bytes.")
                return Download(response, max_bytes=max_bytes, deadline=deadline, close=line.close)
            except (OSError, http.client.HTTPException) as error:
                line.close()
                raise _late(deadline) or FileError("The file's server can't be reached.") from error
            except BaseException:
                line.close()
                raise
        raise FileError("The file's address redirects too often.")

    def _get(self, url: str, line: Line) -> http.client.HTTPResponse:
        parts = self._checked(url)
        host, secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        self._connect(self._addresses(host, port, plain=not secure), port, line)
        assert line.socket is not None
        if secure:
            line.socket = ssl.create_default_context().wrap_socket(line.socket, server_hostname=host)
        connection = http.client.HTTPConnection(host, port)
        connection.default_port = 443 if secure else 80  # it stays out of the Host header then
        connection.sock = line.socket
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return self.send(connection, target)

    def send(self, connection: http.client.HTTPConnection, target: str) -> http.client.HTTPResponse:
        """Ask for `target` over a checked connection; the platform's own fetching adds its form and headers here."""
        connection.request("GET", target, headers={"Accept": "*/*", "Accept-Encoding": "identity"})
        return connection.getresponse()

    def _connect(self, addresses: Sequence[str], port: int, line: Line) -> None:
        *others, final = addresses
        for address in others:
            with contextlib.suppress(OSError):
                line.socket = socket.create_connection((address, port), timeout=line.left())
                return
        line.socket = socket.create_connection((final, port), timeout=line.left())

    def _checked(self, url: str) -> SplitResult:
        try:
            parts = urlsplit(url)
            usable = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        except ValueError:
            raise FileError(REFUSED) from None
        schemes = {"https", "http"} if self.development else {"https"}
        if not usable or parts.scheme not in schemes or not ADDRESS.fullmatch(url):
            raise FileError(REFUSED)
        return parts

    def _addresses(self, host: str, port: int, *, plain: bool) -> Sequence[str]:
        try:
            found = self.resolve(host, port)
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise FileError("The file's server has no address.")
        for address in found:
            local = self.development and is_loopback(address)
            if not local and (plain or not is_public(address)):
                raise FileError(REFUSED)
        return found


def _late(deadline: float) -> FileError | None:
    return FileError("The file takes too long to download.") if time.monotonic() >= deadline else None


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
