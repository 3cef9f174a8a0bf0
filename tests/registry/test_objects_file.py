"""What only the folder store does: it survives any death, says what failed, and serves its own signed addresses."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, urlsplit

import pytest
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.objects import ANY, JSON, Download, Upload
from tenantry_registry.objects_file import STALE_SECONDS, Disk, FileObjects
from tenantry_registry.objects_grant import Signer, key_file

DYING = Path(__file__).with_name("dying_store.py")


def test_a_death_at_any_step_leaves_the_old_or_the_new_object_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, DYING, "steps", tmp_path], capture_output=True, text=True, check=True, timeout=120
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["verb"] for line in lines if line["died"]} == {"put_once", "swap", "receive", "delete"}
    for line in lines:
        allowed = {"put_once": {None, "new"}, "delete": {"old", None}}.get(line["verb"], {"old", "new"})
        assert line["found"] in allowed, line
        assert line["next"], line
        assert line["listed"] == {None: [], "old": [3], "new": [100_000]}[line["found"]], line
        if not line["died"]:  # it returned: then it is so
            assert line["found"] == (None if line["verb"] == "delete" else "new")
    assert sum(line["died"] for line in lines) > 20


def kill_rounds(folder: Path, rounds: int) -> None:
    before = 0
    for number in range(rounds):
        child = subprocess.Popen([sys.executable, DYING, "forever", folder], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        kept = 0
        for _ in range(random.randrange(1, 40)):
            kept = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        kept = max([kept, *(int(line) for line in child.stdout if line.endswith("\n"))])
        child.wait()
        child.stdout.close()
        objects = FileObjects(folder)
        last = number == rounds - 1
        asyncio.run(look(objects, kept, since=0 if last else before))  # in the end at everything once more
        before = kept


async def look(objects: FileObjects, kept: int, *, since: int) -> None:
    """That what was said to be kept is there, whole: the count, and everything kept after `since`."""
    stored = await objects.get("count")
    assert stored is not None
    assert int(stored.data) in {kept, kept + 1}
    for number in range(since + 1, kept + 1):
        found = await objects.get(f"kept/{number}")
        assert found is not None
        assert found.data == str(number).encode() * 1000
    if since == 0:
        listed = {int(one.key.rpartition("/")[2]): one.size async for one in objects.list("kept/")}
        assert listed.keys() - {kept + 1, kept + 2} == set(range(1, kept + 1))  # one may be kept and not counted yet
        assert all(size == len(str(number)) * 1000 for number, size in listed.items())


def test_what_was_kept_is_there_after_kill_9(tmp_path: Path) -> None:
    kill_rounds(tmp_path / "store", 8)


@pytest.mark.soak
def test_what_was_kept_is_there_after_a_thousand_kills(tmp_path: Path) -> None:
    kill_rounds(tmp_path / "store", 1000)


def test_a_store_written_by_many_processes_at_once_loses_nothing(tmp_path: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, DYING, "forever", tmp_path], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    numbers = []
    for child in children:
        assert child.stdout is not None
        numbers += [int(child.stdout.readline()) for _ in range(10)]
    for child in children:
        child.kill()
        assert child.stdout is not None
        numbers += [int(line) for line in child.stdout if line.endswith("\n")]
        child.stdout.close()
        child.wait()
    assert len(numbers) == len(set(numbers))  # each number was counted by one process only


async def test_left_over_drafts_are_swept_at_the_next_start(tmp_path: Path) -> None:
    FileObjects(tmp_path)
    old, new = tmp_path / ".tmp" / "1-old", tmp_path / ".tmp" / "1-new"
    old.touch()
    new.touch()
    os.utime(old, (0, os.stat(old).st_mtime - STALE_SECONDS - 1))
    FileObjects(tmp_path)
    assert not old.exists()
    assert new.exists()


class BrokenDisk(Disk):
    """Fails the step that is named, with EIO."""

    def __init__(self, step: str) -> None:
        self.broken = step

    def fail(self, step: str) -> None:
        if step == self.broken:
            raise OSError(5, "Input/output error")

    def create(self, path: Path) -> IO[bytes]:
        self.fail("create")
        return super().create(path)

    def sync(self, file: IO[bytes]) -> None:
        self.fail("sync")
        super().sync(file)

    def rename(self, source: Path, target: Path) -> None:
        self.fail("rename")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self.fail("remove")
        super().remove(path)


@pytest.mark.parametrize("step", ["create", "sync", "rename"])
async def test_a_disk_that_fails_a_write_is_said_and_nothing_is_half_written(tmp_path: Path, step: str) -> None:
    await FileObjects(tmp_path).put_once("a/b", b"old", JSON)
    broken = FileObjects(tmp_path, disk=BrokenDisk(step))
    with pytest.raises(StorageDown, match="can't write a/b: Input/output error"):
        await broken.swap("a/b", b"new", expected=ANY)
    grant = broken.signer.verify("POST", "/_objects/", (await broken.sign("a/b", Upload(60, 9, "a/b"))).fields)
    with pytest.raises(StorageDown, match="can't write a/b: Input/output error"):
        await broken.receive(grant, pieces(b"new"))
    stored = await broken.get("a/b")
    assert stored is not None
    assert stored.data == b"old"
    assert list((tmp_path / ".tmp").iterdir()) == []


async def test_a_disk_that_fails_a_delete_is_said(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path, disk=BrokenDisk("remove"))
    await objects.put_once("a/b", b"1", JSON)
    with pytest.raises(StorageDown, match="can't delete a/b"):
        await objects.delete("a/b")


async def test_an_object_that_is_not_ours_is_said_to_be_unreadable(files: FileObjects) -> None:
    await files.put_once("a/b", b"1", JSON)
    place = files.folder / "objects" / "a" / "b@"
    for junk in (b"", b"TNO1", b"TNO1\0\0\0\5{{{{{", b"something else"):
        place.write_bytes(junk)
        with pytest.raises(StorageDown, match="a/b"):
            await files.get("a/b")


async def test_an_object_that_can_not_be_opened_is_said(files: FileObjects) -> None:
    (files.folder / "objects" / "a@").mkdir(parents=True)
    with pytest.raises(StorageDown, match="can't read a: "):
        await files.get("a")


async def test_a_file_where_a_folder_is_wanted_is_nothing(files: FileObjects) -> None:
    (files.folder / "objects" / "a").write_bytes(b"")
    assert await files.get("a/b") is None
    await files.delete("a/b")
    assert [listed async for listed in files.list("a/")] == []


def test_a_folder_that_can_not_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageDown, match="can't be used"):
        FileObjects(tmp_path / "file")


class RacingDisk(Disk):
    """Removes the folder that a rename goes to, once, as a delete of its last object would; or the draft itself."""

    def __init__(self, victim: str) -> None:
        self.victim = victim

    def rename(self, source: Path, target: Path) -> None:
        if self.victim == "folder":
            target.parent.rmdir()
        elif self.victim == "draft":
            source.unlink()
        self.victim = ""
        super().rename(source, target)


async def test_a_folder_that_vanishes_before_the_rename_is_made_again(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path, disk=RacingDisk("folder"))
    assert await objects.put_once("a/b", b"1", JSON)
    assert await objects.get("a/b") is not None


async def test_a_draft_that_vanishes_is_a_fault(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path, disk=RacingDisk("draft"))
    with pytest.raises(StorageDown):
        await objects.put_once("a/b", b"1", JSON)
    assert await objects.get("a/b") is None


class MeddlingDisk(Disk):
    """Lets somebody else write the object after the draft is written and before the lock is taken."""

    def __init__(self, other: FileObjects) -> None:
        self.other = other

    def sync(self, file: IO[bytes]) -> None:
        super().sync(file)
        thread = threading.Thread(target=lambda: asyncio.run(self.other.swap("a/b", b"theirs", expected=ANY)))
        thread.start()
        thread.join()


async def test_a_version_that_changes_between_look_and_lock_is_noticed(tmp_path: Path) -> None:
    objects = FileObjects(tmp_path, disk=MeddlingDisk(FileObjects(tmp_path)))
    assert not await objects.put_once("a/b", b"ours", JSON)
    stored = await objects.get("a/b")
    assert stored is not None
    assert stored.data == b"theirs"


async def test_making_and_emptying_one_folder_at_once_loses_no_object(files: FileObjects) -> None:
    async def put_and_delete(number: int) -> None:
        for _ in range(10):
            assert await files.put_once(f"x/y/{number}", b"1", JSON)
            assert await files.get(f"x/y/{number}") is not None
            await files.delete(f"x/y/{number}")

    await asyncio.gather(*(put_and_delete(number) for number in range(6)))
    assert not (files.folder / "objects" / "x").exists()


# -- signed addresses ------------------------------------------------------------------------------------------


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_signed_download_is_verified_and_names_its_object(files: FileObjects) -> None:
    signed = await files.sign("files/ü x.txt", Download(60, "name.txt", "text/plain"))
    assert signed.url.startswith("http://localhost:8787/_objects/files/%C3%BC%20x.txt?")
    grant = files.signer.verify("GET", signed.url)
    assert (grant.method, grant.key, grant.name, grant.content_type) == (
        "GET",
        "files/ü x.txt",
        "name.txt",
        "text/plain",
    )


async def test_a_signed_upload_stores_what_was_allowed(files: FileObjects) -> None:
    signed = await files.sign("up/load.csv", Upload(60, 10, "text/csv", min_bytes=2))
    grant = files.signer.verify("POST", signed.url, signed.fields)
    version = await files.receive(grant, pieces(b"12345", b"67890"))
    stored = await files.get("up/load.csv")
    assert stored is not None
    assert (stored.data, stored.version, stored.kind.content_type) == (b"1234567890", version, "text/csv")
    assert version == await files.swap("up/load.csv", b"1234567890", expected=version)


@pytest.mark.parametrize(("parts", "code"), [([b"1" * 6, b"1" * 5], "upload.too-large"), ([b"1"], "upload.too-small")])
async def test_an_upload_of_the_wrong_size_stores_nothing(files: FileObjects, parts: list[bytes], code: str) -> None:
    signed = await files.sign("up/load", Upload(60, 10, "text/csv", min_bytes=2))
    grant = files.signer.verify("POST", signed.url, signed.fields)
    with pytest.raises(PlatformError) as caught:
        await files.receive(grant, pieces(*parts))
    assert caught.value.code == code
    assert await files.get("up/load") is None
    assert list((files.folder / ".tmp").iterdir()) == []


async def test_an_opened_object_is_read_from_its_first_byte(files: FileObjects) -> None:
    await files.put_once("a/b", b"0123456789", JSON)
    opened = files.open("a/b")
    assert opened is not None
    with opened.file as file:
        start = file.tell()
        file.seek(start + 4)
        assert file.read(3) == b"456"
    assert (opened.size, opened.kind) == (10, JSON)


async def test_nothing_but_the_signed_request_passes(files: FileObjects) -> None:
    download = (await files.sign("a/b", Download(60))).url
    upload = await files.sign("a/b", Upload(60, 10, "text/csv"))
    head = (await files.sign("a/b", Download(60, method="HEAD"))).url
    swapped = "/_objects/a/c?" + urlsplit(download).query
    grant = parse_qs(urlsplit(download).query)["grant"][0]
    tries: list[tuple[str, str, dict[str, str] | None]] = [
        ("HEAD", download, None),
        ("GET", head, None),
        ("POST", download, None),
        ("GET", swapped, None),
        ("GET", "/_objects/a/b", None),
        ("GET", download[:-1] + ("0" if download[-1] != "0" else "1"), None),
        ("GET", download.replace(grant, grant[:-4] + "AAAA"), None),
        ("GET", "/_objects/a/b?grant=ü&signature=ü", None),
        ("POST", upload.url, {**upload.fields, "key": "a/c"}),
        ("POST", upload.url, {**upload.fields, "Content-Type": "text/html"}),
        ("POST", upload.url, {}),
        ("PUT", upload.url, dict(upload.fields)),
    ]
    for method, url, fields in tries:
        with pytest.raises(PlatformError) as caught:
            files.signer.verify(method, url, fields)
        assert caught.value.code == "link.invalid", (method, url)


def test_a_signed_address_expires_and_lives_seven_days_at_most(tmp_path: Path) -> None:
    clock = [1000.0]
    signer = Signer("http://localhost", tmp_path / "key", now=lambda: clock[0])
    url = signer.sign("a", Download(10**9)).url
    clock[0] += 7 * 24 * 3600 - 1
    assert signer.verify("GET", url).key == "a"
    clock[0] += 1
    with pytest.raises(PlatformError) as caught:
        signer.verify("GET", url)
    assert caught.value.code == "link.expired"


def test_a_store_opened_again_knows_its_own_signatures_and_another_does_not(tmp_path: Path) -> None:
    url = FileObjects(tmp_path / "one").signer.sign("a", Download(60)).url
    assert FileObjects(tmp_path / "one").signer.verify("GET", url)
    with pytest.raises(PlatformError):
        FileObjects(tmp_path / "two").signer.verify("GET", url)


def test_a_key_file_is_private_and_made_once_however_many_ask(tmp_path: Path) -> None:
    made: list[bytes] = []
    threads = [threading.Thread(target=lambda: made.append(key_file(tmp_path / "key"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1
    assert len(made[0]) == 32
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["key"]
