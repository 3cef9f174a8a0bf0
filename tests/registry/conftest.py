"""Storage for the registry's tests: one moto server a session, a store of each kind a test, and a proxy that fails."""

from __future__ import annotations

import http.client
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import boto3
import pytest
from moto.server import DomainDispatcherApplication, ThreadedMotoServer, create_backend_app
from registry.tables import Clock
from tenantry_registry.credentials import fixed
from tenantry_registry.dynamodb import Table
from tenantry_registry.objects import Objects
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.sigv4 import Credentials
from werkzeug.serving import make_server

BUCKET = "tenantry-tests"
REGION = "eu-central-1"
KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of the moto server, with the bucket made and versioned."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = s3(endpoint)
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    client.close()
    yield endpoint
    server.stop()


@pytest.fixture
def bucket(moto: str) -> Iterator[Any]:
    """A boto3 client for looking behind the adapter's back; `Bucket` is filled in."""
    client = s3(moto)

    def fill(params: dict[str, Any], **_: object) -> None:
        params.setdefault("Bucket", BUCKET)

    client.meta.events.register("provide-client-params.s3.*", fill)
    yield client
    client.close()


@pytest.fixture
def distant(proxy: Proxy) -> S3Objects:
    """A store behind the failing proxy."""
    return s3_objects(proxy.endpoint, prefix="distant-" + uuid4().hex)


@pytest.fixture
def hasty(proxy: Proxy, distant: S3Objects) -> S3Objects:
    """The same store, seen with little patience."""
    return s3_objects(proxy.endpoint, prefix=distant._prefix, patience=0.5)


@pytest.fixture
def two_a_page(proxy: Proxy) -> None:
    """Lists through the proxy come two entries at a time (moto checks no signature)."""
    proxy.rewrite = lambda method, path: re.sub(r"\?", "?max-keys=2&", path, count=1) if method == "GET" else path


def s3(endpoint: str) -> Any:
    """A boto3 client for looking behind the adapter's back."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )


def s3_objects(endpoint: str, prefix: str = "", **more: Any) -> S3Objects:
    return S3Objects(
        BUCKET, credentials=fixed(KEYS), region=REGION, endpoint=endpoint, prefix=prefix or uuid4().hex, **more
    )


@pytest.fixture(params=["file", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    """An empty store of each kind."""
    if request.param == "file":
        return FileObjects(tmp_path / "store")
    return s3_objects(request.getfixturevalue("moto"))


@pytest.fixture
def files(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path / "store")


@dataclass
class Proxy:
    """A proxy in front of S3 that does to each request what stands first in `faults` (None: nothing).

    A number is answered with that status, unsent. "lost": sent on, the answer dropped. "drop": the connection closed.
    "hang": no answer until the test is over. "slow": the answer's body stops in the middle.
    """

    endpoint: str
    faults: deque[int | str | None] = field(default_factory=deque)
    seen: list[str] = field(default_factory=list)
    rewrite: Callable[[str, str], str] = lambda method, path: path
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def proxy(moto: str) -> Iterator[Proxy]:
    behind = urlsplit(moto)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            state.seen.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fault = state.faults.popleft() if state.faults else None
            if isinstance(fault, int):
                self.reply(fault, {}, b"<Error><Code>Injected</Code></Error>")
                return
            if fault in {"drop", "hang"}:
                state.over.wait(0 if fault == "drop" else 30)
                self.close_connection = True
                return
            connection = http.client.HTTPConnection(behind.netloc)
            connection.request(self.command, state.rewrite(self.command, self.path), body, dict(self.headers))
            got = connection.getresponse()
            data = got.read()
            connection.close()
            if fault == "lost":
                self.close_connection = True
                return
            skip = {"content-length", "transfer-encoding", "connection", "date", "server"}
            self.reply(got.status, {k: v for k, v in got.headers.items() if k.lower() not in skip}, data, fault)

        def reply(self, status: int, headers: dict[str, str], data: bytes, fault: str | None = None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if fault == "slow":
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                state.over.wait(30)
                self.close_connection = True
                return
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    state.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def dynamo() -> Iterator[str]:
    """The address of a DynamoDB that writes one thing after the other, as DynamoDB does to an item (moto's own server
    checks a condition in one thread while another writes)."""
    names = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "eu-central-1"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    # A daemon: whatever fails here, the run ends and says so, and does not wait for a server that nobody stops.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    try:
        for table in ("limits", "usage"):
            client.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
                AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in ("pk", "sk")],
                BillingMode="PAY_PER_REQUEST",
            )
        yield endpoint
        for table in ("limits", "usage"):  # moto's are the whole process's
            client.delete_table(TableName=table)
    finally:
        client.close()
        server.shutdown()
        server.server_close()
        thread.join()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def tables(dynamo: str) -> Iterator[Any]:
    """Makes tables and closes them."""
    made: list[Table] = []

    def table(name: str) -> Table:
        made.append(Table(name, endpoint=dynamo))
        return made[-1]

    yield table
    for table_made in made:
        table_made.close()
        table_made.close()
