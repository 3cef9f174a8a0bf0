"""Files that tools made: `files/{tenant}/{plugin}/{file_id}/{name}`.

A file's id is a capability of 128 random bits; who has it and calls this plugin may read the file. Where it was made
for a verified user, the id also carries a mark of that user, and only that user's calls may (never openai/subject,
which anyone can make up). The mark is part of the id, so nothing needs to be looked up. Storage forgets files after
their plan's days by a lifecycle rule; `platform serve` calls `expire`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects

FILE_ID = re.compile(r"file_[0-9a-f]{32}(?:u[0-9a-f]{32})?")
SUFFIX = re.compile(r"\.[^.]{1,16}$")  # kept when a name is cut: it tells what the file is
TYPE = re.compile(r"[\w!#$&^.+-]{1,120}/[\w!#$&^.+-]{1,120}(?:; ?[\w-]{1,40}=[\w\"!#$&^.+/:-]{1,80}){0,3}", re.ASCII)
NO_TYPE = "application/octet-stream"
SLOTS = 8  # files that one call may make, where the plugin makes files at all
SLOT_BYTES = 104_857_600  # of one file or one large reply: what 25 s and 512 MB can make
NAME_BYTES = 240  # of UTF-8, of a file's own name: room for what a browser adds


class Saved(NamedTuple):
    """A file as listed: `size` in bytes, `made` in seconds since the epoch."""

    file_id: str
    name: str
    key: str
    size: int
    made: float


def new_id(user: Mapping[str, Any] | None) -> str:
    """A new file's id; `user` are the verified claims of whose call makes it, None for an anonymous one."""
    random = secrets.token_hex(16)
    return f"file_{random}" + (f"u{_mark(random, user)}" if user else "")


def slots(name: Name, user: Mapping[str, Any] | None, count: int) -> list[dict[str, Any]]:
    """`count` upload slots as runners.Call has them; the id is that of the file a slot may become."""
    place = f"pending/{name.tenant}/{name.plugin}/uploads"
    ids = [new_id(user) for _ in range(count)]
    return [{"id": file_id, "key": f"{place}/{file_id}", "max_bytes": SLOT_BYTES} for file_id in ids]


def check_id(file_id: str, user: Mapping[str, Any] | None) -> None:
    """Refuse an id that is not one, or not this user's. Raises: PlatformError `file.unknown` for both."""
    if FILE_ID.fullmatch(file_id):
        random, _, mark = file_id.removeprefix("file_").partition("u")
        if not mark or (user and hmac.compare_digest(mark, _mark(random, user))):
            return
    raise _unknown(file_id)


def clean_name(name: str) -> str:
    """A name that storage, a URL and a browser can carry, as close to `name` as can be."""
    text = "".join(" " if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 else c for c in name)
    text = text.replace("/", "_").replace("\\", "_").encode("utf-8", "replace").decode()
    suffix = SUFFIX.search(text)
    end = suffix[0] if suffix else ""
    stem = text.removesuffix(end).encode()[: NAME_BYTES - len(end.encode())].decode("utf-8", "ignore")
    text = (stem + end).strip()
    return "file" if text in {"", ".", ".."} else text


def clean_type(mime_type: object) -> str:
    """A media type that can stand in a header (RFC 6838, section 4.2): a tool says it, and may say anything."""
    return mime_type if isinstance(mime_type, str) and TYPE.fullmatch(mime_type) else NO_TYPE


def file_key(name: Name, file_id: str, filename: str) -> str:
    """Where a file is kept. `filename` is clean; raises PlatformError `file.unknown` for an id that is none."""
    if not FILE_ID.fullmatch(file_id):
        raise _unknown(file_id)
    return f"files/{name.tenant}/{name.plugin}/{file_id}/{filename}"


async def find(objects: Objects, name: Name, file_id: str, user: Mapping[str, Any] | None) -> Saved:
    """The file of that id, for a call by `user`. Raises: PlatformError `file.unknown`; StorageDown."""
    check_id(file_id, user)
    async for saved in _list(objects, f"files/{name.tenant}/{name.plugin}/{file_id}/"):
        return saved
    raise _unknown(file_id)


def all_files(objects: Objects, name: Name) -> AsyncIterator[Saved]:
    """Every file of a plugin."""
    return _list(objects, f"files/{name.tenant}/{name.plugin}/")


async def revoke(objects: Objects, name: Name, file_id: str) -> None:
    """Remove a file: every link to it is dead at once. Raises: PlatformError `file.unknown`; StorageDown."""
    if not FILE_ID.fullmatch(file_id):
        raise _unknown(file_id)
    found = [saved async for saved in _list(objects, f"files/{name.tenant}/{name.plugin}/{file_id}/")]
    if not found:
        raise _unknown(file_id)
    for saved in found:
        await objects.delete(saved.key, all_versions=True)


async def expire(objects: Objects, name: Name, seconds: float, *, now: Callable[[], float] = time.time) -> list[Saved]:
    """Remove a plugin's files that are older than `seconds`; S3 does it by a lifecycle rule. Returns them."""
    old = [saved async for saved in all_files(objects, name) if now() - saved.made > seconds]
    for saved in old:
        await objects.delete(saved.key, all_versions=True)
    return old


async def _list(objects: Objects, prefix: str) -> AsyncIterator[Saved]:
    async for listed in objects.list(prefix):
        *_, file_id, filename = listed.key.split("/", 4)
        yield Saved(file_id, filename, listed.key, listed.size, listed.modified)


def _mark(random: str, user: Mapping[str, Any]) -> str:
    who = f"{random}\n{user.get('iss', '')}\n{user.get('sub', '')}"
    return hashlib.sha256(who.encode()).hexdigest()[:32]


def _unknown(file_id: str) -> PlatformError:
    return PlatformError("file.unknown", f"There is no file {file_id[:80]!r}.", "Make it again.")
