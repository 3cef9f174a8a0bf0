"""Objects in a folder: the local twin of S3, for one machine and any number of processes.

An object is ONE file, its headers in front of its bytes, so that one rename replaces both or neither:

    b"TNO1" + length of the header (4 bytes, big-endian) + header (JSON) + the object's bytes

It is written to `.tmp/`, synced, then renamed over its place while a lock is held that all writers of that key take
(flock on one of 64 files, released by the kernel when a process dies), then its folder is synced. Readers take no
lock: they open either the old file or the new one. So a process may be killed at any instruction: what was there
stays, and what `put_once` or `swap` returned from is on the disk. Left-over files in `.tmp/` are swept at the next
start. The version is a hash of bytes and headers; like S3's ETag it is the same for the same content.

Keys become paths that also suit case-insensitive file systems: everything but [a-z0-9._-] is %XX, long names are cut
into nested folders (`+`), and an object's file ends in `@`, so that `a` and `a/b` may both exist.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote_to_bytes

from tenantry_registry.errors import Conflict, PlatformError, StorageDown
from tenantry_registry.objects import ANY, JSON, AnyVersion, Download, Kind, Listed, Signed, Stored, Upload, check_key
from tenantry_registry.objects_grant import Grant, Signer

MAGIC = b"TNO1"
LOCKS = 64  # writers of different keys rarely share one; a store never has more lock files
NAME_BYTES = 200  # of one path component; file systems allow 255
INLINE_BYTES = 256 * 1024  # smaller reads are done at once: a thread would cost more than the read
STALE_SECONDS = 3600  # a file in .tmp/ that is older belongs to a process that died
PIECE = 1024 * 1024  # bytes read or written at a time when streaming

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Opened:
    """An object open for reading: `file` stands at the first byte of its content; close it."""

    file: IO[bytes]
    size: int
    version: str
    kind: Kind
    modified: float


class Disk:
    """The steps by which a store changes its folder, one system call each; a test lets each of them fail."""

    def create(self, path: Path) -> IO[bytes]:
        return open(path, "xb")

    def write(self, file: IO[bytes], data: bytes) -> None:
        file.write(data)

    def sync(self, file: IO[bytes]) -> None:
        file.flush()
        if hasattr(fcntl, "F_FULLFSYNC"):  # pragma: no cover - macOS, where fsync leaves the bytes in the drive
            fcntl.fcntl(file.fileno(), fcntl.F_FULLFSYNC)
        else:
            os.fsync(file.fileno())

    def make_folder(self, path: Path) -> None:
        path.mkdir()

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        path.rmdir()

    def sync_folder(self, path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class FileObjects:
    """Objects below `folder`, which is made when it does not exist.

    `origin` is where the gateway serves this store's signed addresses (`{origin}/_objects/...`).

    Raises: StorageDown when the folder can't be used.
    """

    def __init__(self, folder: Path | str, *, origin: str = "http://localhost:8787", disk: Disk | None = None) -> None:
        self.folder = Path(folder).absolute()
        self._data, self._temporary = self.folder / "objects", self.folder / ".tmp"
        self._disk = disk or Disk()
        try:
            for path in (self._data, self._temporary, self.folder / ".locks"):
                path.mkdir(parents=True, exist_ok=True)
            self._sweep()
            self.signer = Signer(origin, self.folder / "sign.key")
        except OSError as error:
            raise StorageDown(f"The store's folder can't be used ({error.strerror}).", "Check its rights.") from error

    # -- the port ---------------------------------------------------------------------------------------------------

    async def get(self, key: str) -> Stored | None:
        opened = self.open(key)
        if opened is None:
            return None
        with opened.file as file:
            data = file.read() if opened.size <= INLINE_BYTES else await asyncio.to_thread(file.read)
        return Stored(data, opened.version, opened.kind)

    async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
        return await self._run("write", key, lambda: self._put(key, data, kind, expected=None)) is not None

    async def swap(self, key: str, data: bytes, *, expected: str | AnyVersion | None, kind: Kind = JSON) -> str:
        version = await self._run("write", key, lambda: self._put(key, data, kind, expected=expected))
        if version is None:
            raise Conflict(f"{key} was changed by somebody else.")
        return version

    async def delete(self, key: str, *, all_versions: bool = False) -> None:
        if all_versions and key.endswith("/"):
            for listed in await self._run("list", key, lambda: self._walk(key)):
                await self._run("delete", listed.key, lambda k=listed.key: self._delete(k))  # type: ignore[misc]
            return
        await self._run("delete", key, lambda: self._delete(check_key(key)))

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        for listed in await self._run("list", prefix, lambda: self._walk(prefix)):
            yield listed

    async def sign(self, key: str, access: Download | Upload) -> Signed:
        return self.signer.sign(check_key(key), access)

    # -- for the gateway's local route ------------------------------------------------------------------------------

    def open(self, key: str) -> Opened | None:
        """The object, open for reading piece by piece, or None."""
        path = self._path(check_key(key))
        try:
            file = open(path, "rb")  # noqa: SIM115 - handed to the caller
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._down("read", key, error) from error
        try:
            head = file.read(8)
            length = int.from_bytes(head[4:], "big")
            header = json.loads(file.read(length)) if head[:4] == MAGIC else None
            stat = os.fstat(file.fileno())
        except (OSError, ValueError) as error:
            file.close()
            raise self._down("read", key, error) from error
        if header is None:
            file.close()
            raise StorageDown(f"Storage can't read {key}: it was not written by this store.", "Restore it.")
        version = header.pop("version")
        return Opened(file, stat.st_size - 8 - length, version, Kind(**header), stat.st_mtime)

    async def receive(self, grant: Grant, chunks: AsyncIterable[bytes]) -> str:
        """Store what was uploaded under `grant`, piece by piece; returns the version.

        Raises: PlatformError `upload.too-large`, `upload.too-small`, with nothing stored.
        """
        path = self._new()
        kind, size, hashing = Kind(grant.content_type), 0, hashlib.sha256()
        try:
            with self._disk.create(path) as file:
                room = len(_header(kind, "0" * 32))
                file.write(bytes(room))
                async for chunk in chunks:
                    size += len(chunk)
                    if size > grant.max_bytes:
                        raise PlatformError(
                            "upload.too-large", f"The upload is larger than {grant.max_bytes} bytes.", "Send less."
                        )
                    hashing.update(chunk)
                    await asyncio.to_thread(self._disk.write, file, chunk)
                if size < grant.min_bytes:
                    raise PlatformError("upload.too-small", f"The upload has {size} bytes, not {grant.min_bytes}.")
                version = hashing.hexdigest()[:32]
                file.seek(0)
                file.write(_header(kind, version))
                await asyncio.to_thread(self._disk.sync, file)
            with self._locked(grant.key):
                self._place(path, self._path(grant.key))
        except OSError as error:
            raise self._down("write", grant.key, error) from error
        finally:
            path.unlink(missing_ok=True)
        return version

    # -- steps, all of them blocking --------------------------------------------------------------------------------

    def _put(self, key: str, data: bytes, kind: Kind, *, expected: str | AnyVersion | None) -> str | None:
        target = self._path(check_key(key))
        if expected is not ANY and self._version(key) != expected:
            return None  # seen without the lock and without a write: the usual fate of a second put_once
        version = hashlib.sha256(data).hexdigest()[:32]
        path = self._new()
        try:
            with self._disk.create(path) as file:
                self._disk.write(file, _header(kind, version))
                self._disk.write(file, data)
                self._disk.sync(file)
            with self._locked(key):
                if expected is not ANY and self._version(key) != expected:
                    return None
                self._place(path, target)
        finally:
            path.unlink(missing_ok=True)
        return version

    def _place(self, source: Path, target: Path) -> None:
        """Rename into place, folders made as needed; a folder may vanish meanwhile, because a delete emptied it."""
        while True:
            made = self._make(target.parent)
            try:
                self._disk.rename(source, target)
            except FileNotFoundError:
                if not source.exists():
                    raise
                continue
            for folder in (target.parent, *made):
                with suppress(FileNotFoundError):  # emptied and removed by a delete that came after us
                    self._disk.sync_folder(folder)
            return

    def _make(self, folder: Path) -> Sequence[Path]:
        """Make `folder`; returns the folders that got a new entry by it, which must be synced too."""
        if folder.is_dir():
            return []
        above = self._make(folder.parent)
        with suppress(FileExistsError, FileNotFoundError):
            self._disk.make_folder(folder)
        return [folder.parent, *above]

    def _delete(self, key: str) -> None:
        path = self._path(key)
        with self._locked(key):
            try:
                self._disk.remove(path)
            except (FileNotFoundError, NotADirectoryError):
                return
            with suppress(FileNotFoundError):  # emptied and removed by another delete
                self._disk.sync_folder(path.parent)
        folder = path.parent
        while folder != self._data:
            try:
                self._disk.remove_folder(folder)
            except FileNotFoundError:
                pass  # another delete was faster
            except OSError:
                return  # something else stands in it
            folder = folder.parent

    def _walk(self, prefix: str) -> Sequence[Listed]:
        check_key(prefix, folder=True)
        root = self._data.joinpath(*[p for s in prefix[:-1].split("/") for p in _parts(s)])
        found = [Listed(_key(path.relative_to(self._data)), size, when) for path, size, when in _files(root)]
        return sorted(found, key=lambda listed: listed.key.encode())

    def _version(self, key: str) -> str | None:
        opened = self.open(key)
        if opened is None:
            return None
        opened.file.close()
        return opened.version

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        shard = hashlib.sha256(key.encode()).digest()[0] % LOCKS
        with open(self.folder / ".locks" / str(shard), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing it releases it; so does dying
            yield

    def _new(self) -> Path:
        return self._temporary / f"{os.getpid()}-{secrets.token_hex(8)}"

    def _sweep(self) -> None:
        for path in self._temporary.iterdir():
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()

    def _path(self, key: str) -> Path:
        parts = [p for segment in key.split("/") for p in _parts(segment)]
        parts[-1] += "@"
        return self._data.joinpath(*parts)

    async def _run(self, what: str, key: str, step: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(step)
        except OSError as error:
            raise self._down(what, key, error) from error

    def _down(self, what: str, key: str, error: Exception) -> StorageDown:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        return StorageDown(f"Storage can't {what} {key}: {reason}.")


def _header(kind: Kind, version: str) -> bytes:
    text = json.dumps({**kind._asdict(), "version": version}).encode()
    return MAGIC + len(text).to_bytes(4, "big") + text


def _parts(segment: str) -> list[str]:
    """A key's segment as path components of at most NAME_BYTES, cut ones joined by `+`/`+`."""
    safe = re.sub(rb"[^a-z0-9._-]", lambda m: b"%%%02X" % m[0][0], segment.encode()).decode()
    if safe.startswith("."):
        safe = "%2E" + safe[1:]  # not hidden
    pieces = [safe[i : i + NAME_BYTES] for i in range(0, len(safe), NAME_BYTES)]
    return "+/+".join(pieces).split("/")


def _key(path: Path) -> str:
    return unquote_to_bytes(path.as_posix().removesuffix("@").replace("+/+", "")).decode()


def _files(folder: Path) -> Iterator[tuple[Path, int, float]]:
    """Every object's file below, the size of its content and when it was written."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
            continue
        with suppress(FileNotFoundError), open(entry.path, "rb") as file:  # it may be deleted meanwhile
            head, stat = file.read(8), os.fstat(file.fileno())
            yield Path(entry.path), stat.st_size - 8 - int.from_bytes(head[4:], "big"), stat.st_mtime
