"""Opens the store that the options name: a folder, S3, or a moto server that is S3 for as long as the command runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Objects
from tenantry_registry.objects_open import open_objects

MOTO = "moto"
BUCKET = "tenantry"
KEYS = {"AWS_ACCESS_KEY_ID": "tenantry", "AWS_SECRET_ACCESS_KEY": "tenantry"}  # moto takes any


def is_s3(store: str) -> bool:
    return store.startswith("s3://")


@contextmanager
def opened(store: str, *, s3: str | None = None, origin: str = "") -> Iterator[Objects]:
    """The store. `s3`: "moto" or the URL of an endpoint; releases are then kept in its bucket, not in the folder.

    Raises: PlatformError `store.no-moto`, `store.s3-url`, `objects.credentials`; StorageDown.
    """
    if s3 == MOTO:
        with moto() as endpoint:
            yield open_objects(f"s3://{BUCKET}", endpoint=endpoint, environment={**os.environ, **KEYS})
        return
    if s3 is not None:
        if not s3.startswith(("http://", "https://")):
            raise PlatformError("store.s3-url", f"{s3!r} is no S3 endpoint.", "Write --s3 moto, or --s3 http(s)://...")
        yield open_objects(store if is_s3(store) else f"s3://{BUCKET}", endpoint=s3)
        return
    yield open_objects(store if is_s3(store) else folder_of(store), origin=origin)


def folder_of(store: str) -> Path:
    """Where a folder's objects stand; the machine's cache stands beside them."""
    return Path(store).resolve() / "objects"


def cache_of(store: str) -> Path:
    """Where this machine unpacks bundles and keeps what can be made again."""
    return (Path(".tenantry") if is_s3(store) else Path(store)).resolve() / "cache"


@contextmanager
def moto() -> Iterator[str]:
    """A moto server in this process, with an empty bucket. Yields its URL. Raises: PlatformError `store.no-moto`."""
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        raise PlatformError("store.no-moto", "moto is not installed here.", "pip install 'moto[server,s3]'") from None
    import logging
    import urllib.request

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT")).close()
        yield url
    finally:
        server.stop()
