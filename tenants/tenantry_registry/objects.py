"""The port behind which all bytes are kept: S3 on AWS, a folder on one machine.

Keys are `/`-separated paths of [A-Za-z0-9._-] segments (a file's own name may hold any Unicode), laid out as the
design's section 3 says. Six verbs. A version is an opaque string that changes with the content: what `swap` compares.
`move` is the loop that everything changed by compare-and-set goes through: read, decide, swap, and again.

Adapters: `objects_s3.S3Objects` (obstore) and `objects_file.FileObjects`; one suite of tests runs against both.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from tenantry_registry.errors import Conflict, PlatformError

KEY_BYTES = 1024  # of UTF-8, with the store's own prefix: S3's limit for an object key
ROUNDS = 20  # of read, decide, swap; so many losses in a row are not chance
PARALLEL = 16  # requests under way at once: S3 answers each in some 30 ms
BACKOFF = (0.002, 0.05)  # seconds: the longest pause after the first loss, doubled by each to the longest there is

T = TypeVar("T")


class Kind(NamedTuple):
    """How an object is served: the HTTP headers that are stored beside its bytes."""

    content_type: str = "application/octet-stream"
    cache_control: str = ""
    content_encoding: str = ""


JSON: Final = Kind("application/json")
ZIP: Final = Kind("application/zip")


class Stored(NamedTuple):
    """An object as read: its bytes, the version to hand to `swap`, and its headers."""

    data: bytes
    version: str
    kind: Kind = Kind()


class Listed(NamedTuple):
    """An object as listed: `size` in bytes, `modified` in seconds since the epoch."""

    key: str
    size: int
    modified: float


class Download(NamedTuple):
    """What a signed GET or HEAD allows. `expires` in seconds; `name` is what a browser saves it as (RFC 8187)."""

    expires: int
    name: str = ""
    content_type: str = ""
    method: str = "GET"


class Upload(NamedTuple):
    """What a signed upload allows: this one key, a size range in bytes, one type, for `expires` seconds."""

    expires: int
    max_bytes: int
    content_type: str
    min_bytes: int = 1


class Signed(NamedTuple):
    """A signed request. For an upload, POST `fields` and then the file as multipart/form-data to `url`."""

    url: str
    fields: Mapping[str, str] = {}


class AnyVersion:
    """`swap(..., expected=ANY)`: put whatever stands there."""


ANY: Final = AnyVersion()


def check_key(key: str, *, folder: bool = False) -> str:
    """Return `key` when it is one; with `folder`, when it is the beginning of keys and ends in `/`.

    No empty, `.` or `..` segment, no control character, nothing that is not UTF-8, at most 1,024 bytes.

    Raises: PlatformError `objects.key`.
    """
    segments = (key[:-1] if folder and key.endswith("/") else key).split("/")
    bad = (
        not all(segments)
        or folder != key.endswith("/")
        or any(s in {".", ".."} for s in segments)
        or any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in key)
        or len(key.encode(errors="replace")) > KEY_BYTES
    )
    if bad:
        raise PlatformError("objects.key", f"{key[:80]!r} can not name an object.", "Use a shorter, plainer name.")
    return key


class Objects(Protocol):
    """Bytes by key. Every verb raises StorageDown on a fault of storage; nothing is ever half written."""

    async def get(self, key: str) -> Stored | None:
        """The object, or None when there is none (S3's 403 without ListBucket counts as none)."""
        ...

    async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
        """Write where nothing stands. True when written, False when something already stood there."""
        ...

    async def swap(self, key: str, data: bytes, *, expected: str | AnyVersion | None, kind: Kind = JSON) -> str:
        """Replace the version `expected` (None: nothing stands there). Returns the new version. Raises: Conflict."""
        ...

    async def delete(self, key: str, *, all_versions: bool = False) -> None:
        """Remove it; nothing happens where nothing stands.

        `all_versions`: older versions too (erasure); a key that ends in `/` then means everything below it, the
        versions of objects deleted earlier included.
        """
        ...

    def list(self, prefix: str) -> AsyncIterator[Listed]:
        """Everything below `prefix` (which ends in `/`), in key order."""
        ...

    async def sign(self, key: str, access: Download | Upload) -> Signed:
        """A request that anyone holding it may make once or often until it expires."""
        ...


async def read_all(objects: Objects, keys: Iterable[str]) -> list[Stored | None]:
    """What stands at `keys`, in their order; PARALLEL reads under way at once. Raises: StorageDown."""
    room = asyncio.Semaphore(PARALLEL)

    async def read(key: str) -> Stored | None:
        async with room:
            return await objects.get(key)

    return await asyncio.gather(*(read(key) for key in keys))


class Moved(NamedTuple, Generic[T]):
    """What `move` did: the value that stood there, the one that stands there now, and its version."""

    before: T
    after: T
    version: str


async def move(
    objects: Objects,
    key: str,
    *,
    read: Callable[[Stored | None], T],
    decide: Callable[[T], T],
    write: Callable[[T], bytes],
    what: str,
    known: tuple[T, str | None] | None = None,
    prove: bool = False,
    rounds: int = ROUNDS,
) -> Moved[T]:
    """Swap what stands at `key` for what `decide` makes of it, as often as somebody else was faster.

    `read` and `write` are how a value is stored; `read` gets None where nothing stands. `known` is a value with its
    version (None: nothing stands there) that was read already; it is what the first round decides on. A decision that
    changes nothing that stands there is not written, unless the swap shall `prove` that it still stands there. `what`
    names it in the error. Between rounds there is a short pause of chance length, so that many who race don't race
    again in step.

    Raises: what the three raise; Conflict after `rounds`; StorageDown.
    """
    pause = BACKOFF[0]
    for lost in range(rounds):
        if lost:
            await asyncio.sleep(random.uniform(0, pause))
            pause = min(2 * pause, BACKOFF[1])
        if lost or known is None:
            stored = await objects.get(key)
            old, version = read(stored), stored.version if stored else None
        else:
            old, version = known
        new = decide(old)
        if version is not None and new == old and not prove:
            return Moved(old, old, version)
        try:
            return Moved(old, new, await objects.swap(key, write(new), expected=version))
        except Conflict:
            continue
    raise Conflict(f"{what} is being changed by too many others.")
