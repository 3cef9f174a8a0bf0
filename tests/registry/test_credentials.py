"""Access keys from the environment and from the address that a SnapStart function is given."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.credentials import ContainerCredentials, from_environment
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.objects import JSON
from tenantry_registry.objects_s3 import S3Objects

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class Source:
    """What the local server answers; it counts its requests and wants the token "let-me-in"."""

    url: str = ""
    begun: datetime = NOW
    minutes: int = 60
    status: int = 200
    body: bytes = b""
    seen: list[str] = field(default_factory=list)


@pytest.fixture
def source() -> Iterator[Source]:
    state = Source()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            state.seen.append(f"{self.path} {self.headers.get('Authorization')}")
            number = len(state.seen)
            until = (state.begun + timedelta(minutes=state.minutes * number)).strftime("%Y-%m-%dT%H:%M:%SZ")
            body = (
                state.body
                or json.dumps(
                    {"AccessKeyId": f"ASIA{number}", "SecretAccessKey": "s", "Token": "t", "Expiration": until}
                ).encode()
            )
            status = state.status if self.headers.get("Authorization") in {"let-me-in", None} else 403
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v2/credentials?x=1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_snapstart_functions_keys_come_from_its_address_with_its_token(source: Source) -> None:
    keys = await from_environment(
        {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": source.url,
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let-me-in",
            "AWS_ACCESS_KEY_ID": "ignored",
            "AWS_SECRET_ACCESS_KEY": "ignored",
        }
    )()
    assert (keys.access_key, keys.secret_key, keys.token) == ("ASIA1", "s", "t")
    assert source.seen == ["/v2/credentials?x=1 let-me-in"]


async def test_the_token_is_read_from_its_file_each_time(source: Source, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("let-me-in\n")
    keys = ContainerCredentials(source.url, "", str(file), now=lambda: NOW)
    await keys()
    assert source.seen == ["/v2/credentials?x=1 let-me-in"]


async def test_keys_are_kept_until_shortly_before_they_die(source: Source) -> None:
    clock = [NOW]
    keys = ContainerCredentials(source.url.partition("/v2")[0], now=lambda: clock[0])
    first = await keys()
    clock[0] += timedelta(minutes=54)
    assert await keys() is first
    clock[0] += timedelta(minutes=2)
    assert (await keys()).access_key == "ASIA2"
    assert source.seen == ["/ None", "/ None"]


async def test_nothing_is_fetched_before_the_first_use(source: Source) -> None:
    ContainerCredentials(source.url)
    assert source.seen == []


ANSWERS = [(500, b"no"), (200, b"not json"), (200, b"[]"), (200, b'{"AccessKeyId": "a"}')]


@pytest.mark.parametrize(("status", "body"), ANSWERS)
async def test_an_answer_that_is_no_key_is_a_fault_of_storage(source: Source, status: int, body: bytes) -> None:
    source.status, source.body = status, body
    with pytest.raises(StorageDown, match="credentials could not be fetched"):
        await ContainerCredentials(source.url)()


async def test_a_wrong_token_and_a_dead_address_are_faults_of_storage(source: Source) -> None:
    with pytest.raises(StorageDown, match="status 403"):
        await ContainerCredentials(source.url, "wrong")()
    with pytest.raises(StorageDown, match="ConnectionRefusedError"):
        await ContainerCredentials("http://127.0.0.1:9/")()


@pytest.mark.parametrize("uri", ["http://example.com/", "http://10.0.0.1/", "ftp://x/", "http://[::2]/", "nothing"])
def test_keys_are_asked_for_at_local_addresses_only(uri: str) -> None:
    with pytest.raises(PlatformError) as caught:
        ContainerCredentials(uri)
    assert caught.value.code == "objects.credentials"


LOCAL = [
    "https://example.com/",
    "http://localhost/",
    "http://[::1]/",
    "http://169.254.170.2/x",
    "http://[fd00:ec2::23]/",
]


@pytest.mark.parametrize("uri", LOCAL)
def test_local_and_secure_addresses_are_taken(uri: str) -> None:
    ContainerCredentials(uri)


async def test_keys_of_the_environment_are_used_as_they_are() -> None:
    keys = await from_environment(
        {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
    )()
    assert (keys.access_key, keys.secret_key, keys.token, keys.until) == ("AKID", "s", "t", None)


async def test_storage_signs_with_fetched_keys_and_fetches_them_again_when_they_die(source: Source, proxy: Any) -> None:
    objects = S3Objects(
        "tenantry-tests",
        credentials=ContainerCredentials(source.url),
        region="eu-central-1",
        endpoint=proxy.endpoint,
        prefix="snap",
    )
    source.begun = datetime.now(UTC)  # obstore goes by the real clock
    await objects.put_once("a/b", b"1", JSON)
    await objects.get("a/b")
    assert len(source.seen) == 1
    source.minutes = 1  # from the next on, they are about to die whenever they are looked at
    dying = ContainerCredentials(source.url)
    objects = S3Objects("tenantry-tests", credentials=dying, region="eu-central-1", endpoint=proxy.endpoint)
    begun = time.monotonic()
    while len(source.seen) < 4 and time.monotonic() - begun < 5:  # obstore asks at most every 0.1 s
        await objects.get("a/b")
    assert len(source.seen) >= 4
