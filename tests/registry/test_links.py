"""Links to tools' files: they say who may have what until when, and nothing else passes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import files, links
from tenantry_registry.errors import PlatformError
from tenantry_registry.links import EAGER_SECONDS, FRESH_SECONDS, Links
from tenantry_registry.names import Name
from tenantry_registry.objects import JSON, Objects, check_key
from tenantry_registry.objects_file import FileObjects

ZOO = Name("acme", "zoo")
HERE = "https://zoo-acme.plugins.example.com"
WEEK = 7 * 24 * 3600
FILE = "file_" + "0" * 32


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def refused(awaitable: Any) -> str:
    with pytest.raises(PlatformError) as caught:
        await awaitable
    return caught.value.code


async def test_a_link_leads_to_its_file_until_it_expires(objects: Objects, clock: Clock) -> None:
    await links.ensure(objects)
    made = Links(objects, now=clock)
    token = await made.make(HERE, FILE, "Käse 1.csv", 600)
    other_process = Links(objects, now=clock)
    assert await other_process.open(HERE, ZOO, token, "Käse 1.csv") == f"files/acme/zoo/{FILE}/Käse 1.csv"
    clock.now += 599
    await made.open(HERE, ZOO, token, "Käse 1.csv")
    clock.now += 1
    assert await refused(made.open(HERE, ZOO, token, "Käse 1.csv")) == "link.expired"


async def test_a_link_lives_seven_days_at_most(files: FileObjects, clock: Clock) -> None:
    await links.ensure(files)
    made = Links(files, now=clock)
    token = await made.make(HERE, FILE, "a", 10**9)
    clock.now += WEEK - 1
    await made.open(HERE, ZOO, token, "a")
    clock.now += 1
    assert await refused(made.open(HERE, ZOO, token, "a")) == "link.expired"


async def test_a_link_is_bound_to_its_host_its_file_and_its_name(files: FileObjects, clock: Clock) -> None:
    await links.ensure(files)
    made = Links(files, now=clock)
    token = await made.make(HERE, FILE, "a.csv", 600)
    kid, file_id, until, mac = token.split(".")
    tries = [
        ("https://zoo-evil.plugins.example.com", token, "a.csv"),
        ("https://d111.cloudfront.net/t/acme/zoo", token, "a.csv"),
        (HERE, token, "b.csv"),
        (HERE, token, "a.csv\ud800"),
        (HERE, f"{kid}.{FILE[:-1]}1.{until}.{mac}", "a.csv"),
        (HERE, f"{kid}.{file_id}.{int(until) + 1}.{mac}", "a.csv"),
        (HERE, f"ffffffff.{file_id}.{until}.{mac}", "a.csv"),
        (HERE, f"{kid}.{file_id}.{until}.{'A' * 43}", "a.csv"),
        (HERE, f"{kid}.{file_id}.{until}", "a.csv"),
        (HERE, f"{kid}.../x.{until}.{mac}", "a.csv"),
        (HERE, "", "a.csv"),
    ]
    for base, text, name in tries:
        assert await refused(made.open(base, ZOO, text, name)) == "link.invalid"


@given(st.text(max_size=80))
async def test_no_text_that_we_did_not_make_is_a_link(text: str) -> None:
    assert await refused(Links(NoObjects()).open(HERE, ZOO, text, "a")) == "link.invalid"


class NoObjects(FileObjects):
    def __init__(self) -> None: ...

    async def get(self, key: str) -> None:
        return None


async def test_an_old_key_verifies_until_its_last_link_has_expired(objects: Objects, clock: Clock) -> None:
    await links.rotate(objects, now=clock)
    made = Links(objects, now=clock)
    old = await made.make(HERE, FILE, "a", WEEK)
    await links.rotate(objects, now=clock)
    clock.now += FRESH_SECONDS + 1
    new = await made.make(HERE, FILE, "a", WEEK)
    assert new.split(".")[0] != old.split(".")[0]
    await made.open(HERE, ZOO, old, "a")
    clock.now += WEEK
    await links.rotate(objects, now=clock)
    assert await refused(Links(objects, now=clock).open(HERE, ZOO, old, "a")) == "link.invalid"
    assert await refused(Links(objects, now=clock).open(HERE, ZOO, new, "a")) == "link.expired"


async def test_a_key_made_a_moment_ago_by_another_process_is_found(files: FileObjects, clock: Clock) -> None:
    await links.rotate(files, now=clock)
    reader = Links(files, now=clock)
    await reader.make(HERE, FILE, "a", 60)
    await links.rotate(files, now=clock)
    token = await Links(files, now=clock).make(HERE, FILE, "a", 60)
    assert await refused(reader.open(HERE, ZOO, token, "a")) == "link.invalid"  # looked for a moment ago
    clock.now += EAGER_SECONDS + 0.1
    await reader.open(HERE, ZOO, token, "a")


async def test_made_up_kids_do_not_cost_a_read_each(files: FileObjects, clock: Clock) -> None:
    class Counting(FileObjects):
        reads = 0

        async def get(self, key: str) -> Any:
            self.reads += 1
            return await super().get(key)

    counting = Counting(files.folder)
    await links.ensure(counting)
    reader, before = Links(counting, now=clock), counting.reads
    for number in range(50):
        token = f"{number:08x}.{FILE}.1900000000.{'A' * 43}"
        assert await refused(reader.open(HERE, ZOO, token, "a")) == "link.invalid"
    assert counting.reads == before + 1


async def test_without_keys_nothing_is_signed(files: FileObjects) -> None:
    assert await refused(Links(files).make(HERE, FILE, "a", 60)) == "link.no-keys"


async def test_processes_that_start_at_once_agree_on_one_key(objects: Objects) -> None:
    await asyncio.gather(*(links.ensure(objects) for _ in range(6)))
    tokens = [await Links(objects).make(HERE, FILE, "a", 60) for _ in range(3)]
    assert len({token.split(".")[0] for token in tokens}) == 1


# -- the files themselves -------------------------------------------------------------------------------------

ANNA = {"iss": "https://auth.example", "sub": "anna"}
BERT = {"iss": "https://auth.example", "sub": "bert"}


async def save(objects: Objects, file_id: str, name: str = "a.csv") -> str:
    key = files.file_key(ZOO, file_id, name)
    await objects.put_once(key, b"12345", JSON)
    return key


async def test_a_file_is_found_by_its_id(objects: Objects) -> None:
    file_id = files.new_id(None)
    key = await save(objects, file_id, "Käse 1.csv")
    saved = await files.find(objects, ZOO, file_id, None)
    assert (saved.file_id, saved.name, saved.key, saved.size) == (file_id, "Käse 1.csv", key, 5)
    assert (await files.find(objects, ZOO, file_id, ANNA)).key == key  # made by nobody known: the id is enough


async def test_a_users_file_is_that_users_only(objects: Objects) -> None:
    file_id = files.new_id(ANNA)
    await save(objects, file_id)
    assert (await files.find(objects, ZOO, file_id, ANNA)).file_id == file_id
    for user in (None, {}, BERT, {"sub": "anna"}, {"iss": "https://evil.example", "sub": "anna"}):
        assert await refused(files.find(objects, ZOO, file_id, user)) == "file.unknown"


async def test_cutting_the_mark_off_an_id_does_not_open_it(objects: Objects) -> None:
    file_id = files.new_id(ANNA)
    await save(objects, file_id)
    assert await refused(files.find(objects, ZOO, file_id.partition("u")[0], None)) == "file.unknown"


@pytest.mark.parametrize(
    "file_id", ["", "file_", "file_" + "0" * 31, "../x", FILE + "/", FILE + "u12", "file_" + "G" * 32]
)
async def test_an_id_that_is_none_is_unknown(objects: Objects, file_id: str) -> None:
    assert await refused(files.find(objects, ZOO, file_id, None)) == "file.unknown"
    assert await refused(files.revoke(objects, ZOO, file_id)) == "file.unknown"
    with pytest.raises(PlatformError):
        files.file_key(ZOO, file_id, "a")


async def test_another_plugins_file_is_unknown_here(objects: Objects) -> None:
    file_id = files.new_id(None)
    await save(objects, file_id)
    assert await refused(files.find(objects, Name("evil", "zoo"), file_id, None)) == "file.unknown"
    assert await refused(files.revoke(objects, Name("evil", "zoo"), file_id)) == "file.unknown"


async def test_a_revoked_file_is_gone_and_the_others_are_not(objects: Objects) -> None:
    one, two = files.new_id(None), files.new_id(ANNA)
    await save(objects, one)
    await save(objects, two)
    await files.revoke(objects, ZOO, one)
    assert [saved.file_id async for saved in files.all_files(objects, ZOO)] == [two]
    assert await refused(files.revoke(objects, ZOO, one)) == "file.unknown"


async def test_old_files_are_removed_and_young_ones_stay(objects: Objects) -> None:
    await save(objects, files.new_id(None))
    (saved,) = [saved async for saved in files.all_files(objects, ZOO)]
    made = saved.made
    assert await files.expire(objects, ZOO, 60, now=lambda: made + 59) == []
    gone = await files.expire(objects, ZOO, 60, now=lambda: made + 61)
    assert len(gone) == 1
    assert [saved async for saved in files.all_files(objects, ZOO)] == []


def test_ids_are_never_the_same() -> None:
    assert len({files.new_id(ANNA) for _ in range(1000)} | {files.new_id(None) for _ in range(1000)}) == 2000


NAMES = [
    ("report.csv", "report.csv"),
    ('  Käse "1".csv ', 'Käse "1".csv'),
    ("a/b\\c.txt", "a_b_c.txt"),
    ("a\r\nSet-Cookie: x.txt", "a  Set-Cookie: x.txt"),
    ("..", "file"),
    (".", "file"),
    ("", "file"),
    ("\x00\x7f\x9f", "file"),
    ("\ud800.txt", "?.txt"),
    ("x" * 300 + ".csv", "x" * 236 + ".csv"),
    ("日" * 300 + ".csv", "日" * 78 + ".csv"),
    ("x" * 300, "x" * 240),
]


@pytest.mark.parametrize(("name", "clean"), NAMES)
def test_a_files_name_is_kept_as_close_as_can_be(name: str, clean: str) -> None:
    assert files.clean_name(name) == clean


@given(st.text(max_size=400))
def test_every_clean_name_can_be_stored_and_is_clean_already(name: str) -> None:
    clean = files.clean_name(name)
    assert check_key(files.file_key(ZOO, FILE, clean)).endswith("/" + clean)
    assert files.clean_name(clean) == clean


@pytest.mark.parametrize("said", ["text/csv", "text/plain; charset=utf-8", 'a/b+json;x="y"', "image/svg+xml"])
def test_a_media_type_is_kept(said: str) -> None:
    assert files.clean_type(said) == said


@pytest.mark.parametrize("said", ["", None, 7, "text", "a/b\r\nX: y", "a/b; c", "\xe9/b", "a/" + "b" * 200, "a/b\n"])
def test_what_is_no_media_type_is_one_that_says_nothing(said: object) -> None:
    assert files.clean_type(said) == "application/octet-stream"
