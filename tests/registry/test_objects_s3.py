"""What only S3 does: it fails in many ways, and the adapter knows each of them."""

from __future__ import annotations

import _thread
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tenantry_registry.credentials import fixed
from tenantry_registry.errors import Conflict, StorageDown
from tenantry_registry.objects import ANY, JSON, Download, Kind, Upload
from tenantry_registry.objects_s3 import ATTEMPTS, S3Objects, settle
from tenantry_registry.sigv4 import Credentials


async def keys(objects: S3Objects, prefix: str) -> list[str]:
    return [listed.key async for listed in objects.list(prefix)]


@pytest.mark.parametrize("fault", [500, 503, 429, "drop", "hang", "slow"])
async def test_a_read_that_fails_once_is_tried_again(
    distant: S3Objects, hasty: S3Objects, proxy: Any, fault: Any
) -> None:
    await distant.put_once("a/b", b"1" * 100_000, JSON)
    proxy.faults.append(fault)
    stored = await hasty.get("a/b")
    assert stored is not None
    assert stored.data == b"1" * 100_000


FATAL = [(500, "status 500"), (503, "status 503"), ("drop", "no connection"), ("hang", "no answer in time")]


@pytest.mark.parametrize(("fault", "reason"), FATAL)
async def test_storage_that_stays_down_is_said_with_what_failed(
    hasty: S3Objects, proxy: Any, fault: Any, reason: str
) -> None:
    proxy.faults.extend([fault] * 20)
    begun = time.monotonic()
    with pytest.raises(StorageDown) as caught:
        await hasty.get("a/b")
    assert time.monotonic() - begun < 10
    assert caught.value.message == f"Storage can't read a/b: {reason}."
    assert len(proxy.seen) == ATTEMPTS


async def test_every_verb_says_what_it_could_not_do(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.extend([500] * 20)
    for verb in (distant.put_once("a/b", b"1", JSON), distant.swap("a/b", b"1", expected=ANY), distant.delete("a/b")):
        with pytest.raises(StorageDown, match=r"can't (write|delete) a/b: "):
            await verb
    with pytest.raises(StorageDown, match="can't list a/: "):
        await keys(distant, "a/")
    with pytest.raises(StorageDown, match="can't list a/b: "):
        await distant.delete("a/b", all_versions=True)


async def test_storage_that_nobody_listens_at_is_down(moto: str) -> None:
    objects = S3Objects(
        "bucket", credentials=fixed(Credentials("k", "s")), region="eu-central-1", endpoint="http://127.0.0.1:9"
    )
    with pytest.raises(StorageDown, match="can't read a/b: no connection"):
        await objects.get("a/b")


async def test_an_error_never_shows_addresses_or_answers(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.extend([500] * ATTEMPTS)
    with pytest.raises(StorageDown) as caught:
        await distant.get("a/b")
    assert "127.0.0.1" not in caught.value.message
    assert "Injected" not in caught.value.message


async def test_a_missing_key_is_a_403_without_the_right_to_list_and_means_missing(
    distant: S3Objects, proxy: Any
) -> None:
    proxy.faults.append(403)
    assert await distant.get("a/b") is None


async def test_a_write_that_is_forbidden_is_a_fault_at_once(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.extend([403, 403])
    with pytest.raises(StorageDown, match="can't write a/b: status 403"):
        await distant.put_once("a/b", b"1", JSON)
    assert len(proxy.seen) == 1


async def test_a_409_is_tried_again(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.extend([409, 409])
    assert await distant.put_once("a/b", b"1", JSON)
    stored = await distant.get("a/b")
    assert stored is not None
    proxy.faults.append(409)
    await distant.swap("a/b", b"2", expected=stored.version)
    with pytest.raises(Conflict):
        await distant.swap("a/b", b"3", expected=stored.version)


async def test_a_409_that_does_not_end_is_a_fault(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.extend([409] * ATTEMPTS)
    with pytest.raises(StorageDown, match="can't write a/b: another write at the same moment"):
        await distant.put_once("a/b", b"1", JSON)


async def test_a_write_whose_answer_was_lost_counts_as_ours(distant: S3Objects, proxy: Any) -> None:
    proxy.faults.append("lost")
    assert await distant.put_once("a/b", b"1", JSON)
    stored = await distant.get("a/b")
    assert stored is not None
    proxy.faults.append("lost")
    version = await distant.swap("a/b", b"2", expected=stored.version)
    again = await distant.get("a/b")
    assert again is not None
    assert (again.data, again.version) == (b"2", version)


async def test_a_refusal_whose_answer_was_lost_stays_a_refusal(distant: S3Objects, proxy: Any) -> None:
    await distant.put_once("a/b", b"theirs", JSON)
    proxy.faults.append("lost")
    assert not await distant.put_once("a/b", b"ours", JSON)
    proxy.faults.append("lost")
    with pytest.raises(Conflict):
        await distant.swap("a/c", b"ours", expected='"nothing"')


@pytest.mark.usefixtures("two_a_page")
async def test_a_list_goes_on_where_a_page_failed(distant: S3Objects, hasty: S3Objects, proxy: Any) -> None:
    for number in range(5):
        await distant.put_once(f"l/{number}", b"1", JSON)
    proxy.faults.extend([None, 503, None, "hang"])
    assert await keys(hasty, "l/") == [f"l/{number}" for number in range(5)]


@pytest.mark.usefixtures("two_a_page")
async def test_erasure_removes_every_version_and_every_trace_of_a_deletion(
    distant: S3Objects, proxy: Any, bucket: Any
) -> None:
    for number in range(3):
        await distant.swap("t/acme/a", str(number).encode(), expected=ANY)
    await distant.put_once("t/acme/gone", b"1", JSON)
    await distant.delete("t/acme/gone")
    await distant.put_once("t/acme2/other", b"1", JSON)
    proxy.faults.append(500)
    await distant.delete("t/acme/", all_versions=True)
    found = bucket.list_object_versions(Prefix=distant._prefix)
    assert [entry["Key"] for entry in found["Versions"]] == [distant._prefix + "t/acme2/other"]
    assert "DeleteMarkers" not in found


async def test_versions_that_can_not_be_deleted_are_said_and_not_tried_for_ever(distant: S3Objects, proxy: Any) -> None:
    await distant.put_once("t/locked", b"1", JSON)
    proxy.faults.extend([None, 200, None])  # the delete is answered without being done
    with pytest.raises(StorageDown, match="its versions stay"):
        await distant.delete("t/locked", all_versions=True)


async def test_an_answer_that_is_not_http_is_a_fault(moto: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            for _ in range(ATTEMPTS):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"what?\r\n\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        objects = S3Objects(
            "bucket", credentials=fixed(Credentials("k", "s")), region="eu-central-1", endpoint=endpoint
        )
        with pytest.raises(StorageDown, match="can't list a/: BadStatusLine"):
            await objects.delete("a/", all_versions=True)
        thread.join()


async def test_secrets_are_encrypted_under_their_own_key(moto: str, bucket: Any) -> None:
    objects = S3Objects(
        "tenantry-tests",
        credentials=fixed(Credentials("k", "s")),
        region="eu-central-1",
        endpoint=moto,
        prefix="kms",
        kms_key="arn:aws:kms:eu-central-1:123456789012:key/secrets",
    )
    await objects.swap("secrets/x", b"1", expected=ANY)
    head = bucket.head_object(Key="kms/secrets/x")
    assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == (
        "aws:kms",
        "arn:aws:kms:eu-central-1:123456789012:key/secrets",
    )


async def test_headers_reach_s3_as_headers(moto: str, bucket: Any, distant: S3Objects) -> None:
    await distant.put_once("site/ü.css", b"a{}", Kind("text/css", "max-age=60", "br"))
    head = bucket.head_object(Key=distant._prefix + "site/ü.css")
    assert (head["ContentType"], head["CacheControl"], head["ContentEncoding"]) == ("text/css", "max-age=60", "br")


async def test_signed_requests_name_the_bucket_the_prefix_and_the_role() -> None:
    objects = S3Objects(
        "data",
        credentials=fixed(Credentials("AKID", "s", "session/token")),
        region="eu-west-2",
        prefix="/pre/fix/",
        now=lambda: datetime(2026, 1, 2, tzinfo=UTC),
    )
    download = (await objects.sign("a/b", Download(60))).url
    assert download.startswith("https://data.s3.eu-west-2.amazonaws.com/pre/fix/a/b?X-Amz-Algorithm=")
    assert "X-Amz-Security-Token=session%2Ftoken" in download
    upload = await objects.sign("a/b", Upload(60, 10, "text/csv"))
    assert upload.url == "https://data.s3.eu-west-2.amazonaws.com/"
    assert (upload.fields["key"], upload.fields["x-amz-security-token"]) == ("pre/fix/a/b", "session/token")


async def test_a_bucket_with_a_dot_is_reached_by_path() -> None:
    objects = S3Objects("my.data", credentials=fixed(Credentials("AKID", "s")), region="eu-west-2")
    assert (await objects.sign("a", Download(60))).url.startswith("https://s3.eu-west-2.amazonaws.com/my.data/a?")


async def test_a_signed_upload_and_a_signed_download_work_against_a_server(moto: str) -> None:
    objects = S3Objects(
        "tenantry-tests", credentials=fixed(Credentials("k", "s")), region="eu-central-1", endpoint=moto, prefix="up"
    )
    form = await objects.sign("files/ü 1.csv", Upload(60, 10, "text/csv"))
    async with httpx.AsyncClient() as client:
        sent = await client.post(form.url, data=dict(form.fields), files={"file": b"12345"})
        assert sent.status_code == 204
        got = await client.get((await objects.sign("files/ü 1.csv", Download(60, "Käse.csv", "text/plain"))).url)
    assert got.content == b"12345"
    assert got.headers["content-disposition"] == "attachment; filename=\"K_se.csv\"; filename*=UTF-8''K%C3%A4se.csv"
    assert got.headers["content-type"] == "text/plain"
    stored = await objects.get("files/ü 1.csv")
    assert stored is not None
    assert stored.kind.content_type == "text/csv"


# -- the end of a program ---------------------------------------------------------------------------------------


def foreign(then: Callable[[], object]) -> None:
    """Let a thread that Python knows nothing of, as obstore's are, be in the middle of Python."""
    begun = threading.Event()

    def run() -> None:
        begun.set()
        then()

    _thread.start_new_thread(run, ())
    begun.wait()


def test_obstores_threads_leave_python_before_it_ends_but_are_not_waited_for_for_long() -> None:
    left: list[bool] = []
    foreign(lambda: (time.sleep(0.05), left.append(True)))
    settle()
    assert left == [True]
    over = threading.Event()
    foreign(over.wait)
    settle(0.01)
    assert not over.is_set()
    over.set()


def test_every_program_that_uses_the_store_waits_so() -> None:
    program = (
        "import _thread, time, tenantry_registry.objects_s3\n"
        "_thread.start_new_thread(lambda: (time.sleep(0.2), print('left', flush=True)), ())\n"
        "time.sleep(0.05)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"left\n"
