"""Objects on S3, by obstore: a cold read costs a fifth of boto3's time and less than half its memory.

Conditions do the work: `put_once` is If-None-Match, `swap` is If-Match. obstore's own retries are off, because a write
that is sent twice must know that its first copy may have arrived: after an unclear answer a refused condition is
settled by reading back. A 409 (two conditional writes at once) is tried again. A missing key is a 403 where the role
may not list the bucket, and means missing. Every request has a bounded time; what fails is StorageDown, saying what.

obstore's threads hand an answer over by waking the event loop, and are in Python's hands for a moment after that. A
program that ends at that moment is aborted (Python before 3.14 ends such a thread, which Rust does not bear), so
`settle` lets them go first.
"""

from __future__ import annotations

import asyncio
import atexit
import random
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, PreconditionError
from obstore.store import S3Store

from tenantry_registry import sigv4
from tenantry_registry.credentials import CredentialSource
from tenantry_registry.errors import Conflict, StorageDown
from tenantry_registry.objects import JSON, AnyVersion, Download, Kind, Listed, Signed, Stored, Upload, check_key

if TYPE_CHECKING:
    from obstore import Attributes, PutMode
    from obstore.store import S3Config, S3Credential

ATTEMPTS = 4  # of one request; waits between them grow from BACKOFF, with jitter
BACKOFF = 0.025  # seconds
PATIENCE = 4.0  # seconds for one request without its body
BUDGET = 10.0  # seconds after which no further attempt begins: well inside the API's 29 s
BYTES_PER_SECOND = 1_000_000  # slower than this, a body counts as stuck
FINAL = frozenset({"status 400", "status 401", "status 403", "status 404"})  # no attempt will change these
SETTLE_SECONDS = 1.0  # for obstore's threads to leave Python, which takes microseconds, when the program ends
XML = "{http://s3.amazonaws.com/doc/2006-03-01/}"

T = TypeVar("T")


class S3Objects:
    """The bucket `bucket`, keys below `prefix`. `endpoint` for anything that is not AWS itself.

    `kms_key`: objects are encrypted under this KMS key (secrets), else as the bucket says. `patience` in seconds.
    """

    def __init__(
        self,
        bucket: str,
        *,
        credentials: CredentialSource,
        region: str,
        prefix: str = "",
        endpoint: str = "",
        kms_key: str = "",
        patience: float = PATIENCE,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._bucket = sigv4.Bucket(bucket, region, endpoint)
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._credentials, self._patience, self._now = credentials, patience, now
        config: S3Config = {"bucket": bucket, "region": region}
        if endpoint:
            config["endpoint"] = endpoint
        elif "." not in bucket:
            config["virtual_hosted_style_request"] = True
        if kms_key:
            config.update({"server_side_encryption": "aws:kms", "sse_kms_key_id": kms_key})
        self._store = S3Store(
            config=config,
            client_options={
                "allow_http": endpoint.startswith("http:"),
                "connect_timeout": timedelta(seconds=min(2.0, patience)),
                "read_timeout": timedelta(seconds=patience),
                "timeout": timedelta(minutes=10),  # the last bound; the real ones are per request, below
            },
            retry_config={"max_retries": 0},
            credential_provider=self._for_obstore,
        )

    async def get(self, key: str) -> Stored | None:
        path = self._path(key)

        async def attempt() -> Stored | None:
            try:
                async with asyncio.timeout(self._patience):
                    found = await obstore.get_async(self._store, path)
                async with asyncio.timeout(self._time_for(found.meta["size"])):
                    data = await found.bytes_async()
            except (FileNotFoundError, PermissionDeniedError):
                return None
            return Stored(data.to_bytes(), found.meta["e_tag"] or "", _kind(found.attributes))

        return await self._try("read", key, attempt)

    async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
        return await self._put(key, data, "create", kind) is not None

    async def swap(self, key: str, data: bytes, *, expected: str | AnyVersion | None, kind: Kind = JSON) -> str:
        mode: PutMode = "overwrite"
        if expected is None:
            mode = "create"
        elif isinstance(expected, str):
            mode = {"e_tag": expected}
        return _won(key, await self._put(key, data, mode, kind))

    async def delete(self, key: str, *, all_versions: bool = False) -> None:
        if all_versions:
            await self._delete_versions(key)
            return
        path = self._path(key)

        async def attempt() -> None:
            async with asyncio.timeout(self._patience):
                await obstore.delete_async(self._store, path)

        await self._try("delete", key, attempt)

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        path, last = self._prefix + check_key(prefix, folder=True), ""
        pages: AsyncIterator[Any] | None = None

        async def attempt() -> Any:
            nonlocal pages
            stream = pages or obstore.list(self._store, path, offset=last or None).__aiter__()
            pages = None  # a stream that failed can't go on; the next one begins after the last key
            async with asyncio.timeout(self._patience):
                page = await anext(stream, None)
            pages = stream
            return page

        while page := await self._try("list", prefix, attempt):
            last = page[-1]["path"]
            for meta in page:
                yield Listed(meta["path"][len(self._prefix) :], meta["size"], meta["last_modified"].timestamp())

    async def sign(self, key: str, access: Download | Upload) -> Signed:
        path, credentials = self._path(key), await self._credentials()
        if isinstance(access, Upload):
            return sigv4.post_policy(self._bucket, path, access, credentials, self._now())
        return Signed(sigv4.presign(self._bucket, path, access, credentials, self._now()))

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _put(self, key: str, data: bytes, mode: PutMode, kind: Kind) -> str | None:
        """The new version, or None where the condition was refused."""
        path, unclear = self._path(key), False

        async def attempt() -> str | None:
            nonlocal unclear
            try:
                async with asyncio.timeout(self._time_for(len(data))):
                    put = await obstore.put_async(
                        self._store, path, data, attributes=_attributes(kind), mode=mode, use_multipart=False
                    )
                return put["e_tag"] or ""
            except (AlreadyExistsError, PreconditionError) as refused:
                if "409 Conflict" in str(refused):
                    raise _Again("another write at the same moment") from refused
                if not unclear:
                    return None
            except (BaseError, OSError, TimeoutError):
                unclear = True  # it may have arrived, all the same
                raise
            stands = await self.get(key)
            return stands.version if stands and stands.data == data else None

        return await self._try("write", key, attempt)

    async def _delete_versions(self, key: str) -> None:
        """Every version and delete marker of `key`, or of everything below it when it ends in `/`.

        Always the first page: what was on it is gone the next time, and a marker that was deleted marks nothing.
        """
        import xml.etree.ElementTree as ET  # here, since the gateway starts cold and never comes by

        path = self._prefix + check_key(key, folder=key.endswith("/"))
        before: set[tuple[str, str]] = set()
        while True:
            page = ET.fromstring(await self._rest("list", key, "GET", "", {"versions": "", "prefix": path}))
            found = {
                (entry.findtext(f"{XML}Key") or "", entry.findtext(f"{XML}VersionId") or "null")
                for entry in page  # an exact key comes before all longer ones
                if entry.findtext(f"{XML}Key") == path or (key.endswith("/") and entry.find(f"{XML}Key") is not None)
            }
            if not found:
                return
            if found == before:
                raise StorageDown(f"Storage can't delete {key}: its versions stay.", "Look for a lock on the bucket.")
            before = found
            await asyncio.gather(*(self._rest("delete", key, "DELETE", k, {"versionId": v}) for k, v in found))

    async def _rest(self, what: str, key: str, method: str, path: str, query: dict[str, str]) -> bytes:
        """One signed request that obstore has no verb for."""

        async def attempt() -> bytes:
            signed = sigv4.headers(self._bucket, method, path, query, await self._credentials(), self._now())
            return await asyncio.to_thread(self._send, method, sigv4.url(self._bucket, path, query), signed)

        return await self._try(what, key, attempt)

    def _send(self, method: str, url: str, headers: dict[str, str]) -> bytes:
        import http.client

        parts = urlsplit(url)
        connect = http.client.HTTPConnection if parts.scheme == "http" else http.client.HTTPSConnection
        connection = connect(parts.netloc, timeout=self._patience)
        try:
            connection.request(method, url[url.index(parts.netloc) + len(parts.netloc) :], headers=headers)
            response = connection.getresponse()
            body = response.read()
        except http.client.HTTPException as error:
            raise _Again(type(error).__name__) from error
        finally:
            connection.close()
        if response.status >= 300:
            raise _Again(f"status {response.status}")
        return body

    async def _try(self, what: str, key: str, attempt: Callable[[], Awaitable[T]]) -> T:
        begun, number = time.monotonic(), 0
        while True:
            try:
                return await attempt()
            except TimeoutError:
                reason = "no answer in time"
            except (BaseError, OSError, _Again) as error:
                reason = _reason(error)
            number += 1
            if number == ATTEMPTS or reason in FINAL or time.monotonic() - begun > BUDGET:
                raise StorageDown(f"Storage can't {what} {key}: {reason}.")
            await asyncio.sleep(BACKOFF * 2**number * random.uniform(0.5, 1.5))

    async def _for_obstore(self) -> S3Credential:
        held = await self._credentials()
        return {
            "access_key_id": held.access_key,
            "secret_access_key": held.secret_key,
            "token": held.token or None,
            "expires_at": held.until,
        }

    def _time_for(self, size: int) -> float:
        return self._patience + size / BYTES_PER_SECOND

    def _path(self, key: str) -> str:
        return self._prefix + check_key(key)


@atexit.register
def settle(seconds: float = SETTLE_SECONDS) -> None:
    """Wait, at most so long, until no thread that Python did not start itself is in the middle of Python."""
    end = time.monotonic() + seconds
    while sys._current_frames().keys() - {thread.ident for thread in threading.enumerate()}:
        if time.monotonic() > end:
            return
        time.sleep(0.001)


class _Again(Exception):
    """A refusal that is worth another attempt."""


def _won(key: str, version: str | None) -> str:
    if version is None:
        raise Conflict(f"{key} was changed by somebody else.")
    return version


def _reason(error: Exception) -> str:
    """What happened, without addresses or the answer's body (both are in the exception's text)."""
    text = str(error)
    status = text.find("status code: ")
    if status >= 0:
        return "status " + text[status + len("status code: ") :][:3]
    return text if isinstance(error, _Again) else "no connection"


def _attributes(kind: Kind) -> Attributes:
    given: Attributes = {"Content-Type": kind.content_type}
    if kind.cache_control:
        given["Cache-Control"] = kind.cache_control
    if kind.content_encoding:
        given["Content-Encoding"] = kind.content_encoding
    return given


def _kind(attributes: Attributes) -> Kind:
    return Kind(
        attributes.get("Content-Type", "application/octet-stream"),
        attributes.get("Cache-Control", ""),
        attributes.get("Content-Encoding", ""),
    )
