"""One suite for both kinds of store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.objects import ANY, JSON, Kind, Objects, check_key, move
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.objects_open import open_objects
from tenantry_registry.objects_s3 import S3Objects

PAGE = Kind("text/css; charset=utf-8", "public, max-age=31536000, immutable", "br")


async def keys(objects: Objects, prefix: str) -> list[str]:
    return [listed.key async for listed in objects.list(prefix)]


async def test_what_was_put_is_read_back_with_its_headers(objects: Objects) -> None:
    assert await objects.put_once("site/a.css", b"a{}", PAGE)
    stored = await objects.get("site/a.css")
    assert stored is not None
    assert (stored.data, stored.kind) == (b"a{}", PAGE)


async def test_headers_that_were_not_given_stay_absent(objects: Objects) -> None:
    await objects.put_once("a/b.bin", b"\0", Kind())
    stored = await objects.get("a/b.bin")
    assert stored is not None
    assert stored.kind == Kind("application/octet-stream", "", "")


async def test_a_missing_object_is_none(objects: Objects) -> None:
    assert await objects.get("nothing/here") is None


async def test_an_empty_object_and_a_large_one_are_objects(objects: Objects) -> None:
    large = bytes(range(256)) * 8192
    await objects.put_once("a/empty", b"", JSON)
    await objects.put_once("a/large", large, JSON)
    empty, found = await objects.get("a/empty"), await objects.get("a/large")
    assert empty is not None
    assert empty.data == b""
    assert found is not None
    assert found.data == large


async def test_the_first_put_once_wins_and_the_second_changes_nothing(objects: Objects) -> None:
    assert await objects.put_once("a/b", b"first", JSON)
    assert not await objects.put_once("a/b", b"second", PAGE)
    stored = await objects.get("a/b")
    assert stored is not None
    assert (stored.data, stored.kind) == (b"first", JSON)


async def test_of_many_put_once_at_once_exactly_one_wins(objects: Objects) -> None:
    won = await asyncio.gather(*(objects.put_once("race/b", str(i).encode(), JSON) for i in range(12)))
    assert won.count(True) == 1
    stored = await objects.get("race/b")
    assert stored is not None
    assert stored.data == str(won.index(True)).encode()


async def test_a_swap_of_the_version_that_was_read_replaces_it(objects: Objects) -> None:
    await objects.put_once("p/x", b"1", JSON)
    stored = await objects.get("p/x")
    assert stored is not None
    version = await objects.swap("p/x", b"2", expected=stored.version, kind=PAGE)
    again = await objects.get("p/x")
    assert again is not None
    assert (again.data, again.version, again.kind) == (b"2", version, PAGE)
    assert version != stored.version


async def test_a_stale_swap_is_refused(objects: Objects) -> None:
    version = await objects.swap("p/x", b"1", expected=None)
    await objects.swap("p/x", b"2", expected=version)
    with pytest.raises(Conflict) as caught:
        await objects.swap("p/x", b"3", expected=version)
    assert caught.value.code == "objects.conflict"
    stored = await objects.get("p/x")
    assert stored is not None
    assert stored.data == b"2"


async def test_a_swap_that_expects_nothing_is_refused_where_something_stands(objects: Objects) -> None:
    await objects.swap("p/x", b"1", expected=None)
    with pytest.raises(Conflict):
        await objects.swap("p/x", b"2", expected=None)


async def test_a_swap_that_expects_something_is_refused_where_nothing_stands(objects: Objects) -> None:
    version = await objects.swap("p/x", b"1", expected=None)
    await objects.delete("p/x")
    with pytest.raises(Conflict):
        await objects.swap("p/x", b"2", expected=version)
    assert await objects.get("p/x") is None


async def test_a_swap_of_any_version_replaces_whatever_stands_there(objects: Objects) -> None:
    await objects.swap("p/x", b"1", expected=ANY)
    await objects.swap("p/x", b"2", expected=ANY)
    stored = await objects.get("p/x")
    assert stored is not None
    assert stored.data == b"2"


async def test_of_many_swaps_of_one_version_exactly_one_wins(objects: Objects) -> None:
    version = await objects.swap("p/x", b"begin", expected=None)
    tried = await asyncio.gather(
        *(objects.swap("p/x", str(i).encode(), expected=version) for i in range(12)), return_exceptions=True
    )
    assert sum(isinstance(result, str) for result in tried) == 1
    assert sum(isinstance(result, Conflict) for result in tried) == 11


def counting(step: int = 1) -> dict[str, Any]:
    """A number that is kept as its digits, and how it moves."""
    return {
        "read": lambda stored: int(stored.data) if stored else 0,
        "decide": lambda count: count + step,
        "write": lambda count: str(count).encode(),
        "what": "The count",
    }


async def test_counting_by_moves_loses_nothing(objects: Objects) -> None:
    moved = await asyncio.gather(*(move(objects, "p/n", **counting()) for _ in range(8)))
    assert sorted((one.before, one.after) for one in moved) == [(n, n + 1) for n in range(8)]
    stored = await objects.get("p/n")
    assert stored is not None
    assert (stored.data, stored.version) == (b"8", max(moved, key=lambda one: one.after).version)


async def test_a_move_that_changes_nothing_writes_nothing_but_the_first_value(objects: Objects) -> None:
    first = await move(objects, "p/n", **counting(0))
    assert await move(objects, "p/n", **counting(0)) == first == (0, 0, first.version)
    with pytest.raises(Conflict):
        await move(objects, "p/n", **counting(0), known=(0, "old"), prove=True, rounds=1)


async def test_a_move_from_a_value_that_is_known_reads_it_only_when_it_was_stale(objects: Objects) -> None:
    first = await move(objects, "p/n", **counting(), known=(0, None))
    assert (await move(objects, "p/n", **counting(5), known=(first.after, first.version)))[:2] == (1, 6)
    assert (await move(objects, "p/n", **counting(5), known=(first.after, first.version)))[:2] == (6, 11)


async def test_a_move_that_loses_every_race_says_what_it_was_about(objects: Objects) -> None:
    class Contested:
        """Somebody else always writes just before."""

        rounds = 0

        def __getattr__(self, verb: str) -> Any:
            return getattr(objects, verb)

        async def swap(self, key: str, data: bytes, **more: Any) -> str:
            self.rounds += 1
            await objects.swap(key, str(100 * self.rounds).encode(), expected=ANY)
            return await objects.swap(key, data, **more)

    contested: Any = Contested()
    with pytest.raises(Conflict, match="The count is being changed by too many others"):
        await move(contested, "p/n", **counting(), rounds=4)
    assert contested.rounds == 4
    stored = await objects.get("p/n")
    assert stored is not None
    assert stored.data == b"400"


async def test_deleting_is_done_once_and_harmless_twice(objects: Objects) -> None:
    await objects.put_once("a/b", b"1", JSON)
    await objects.delete("a/b")
    await objects.delete("a/b")
    assert await objects.get("a/b") is None
    assert await objects.put_once("a/b", b"2", JSON)


async def test_deleting_all_versions_of_one_object_leaves_its_neighbours(objects: Objects) -> None:
    await objects.put_once("a/b", b"1", JSON)
    await objects.put_once("a/b2", b"2", JSON)
    await objects.put_once("a/b/c", b"3", JSON)
    await objects.delete("a/b", all_versions=True)
    assert await keys(objects, "a/") == ["a/b/c", "a/b2"]


async def test_deleting_all_versions_of_a_folder_leaves_nothing_below_it(objects: Objects) -> None:
    for key in ("t/acme/1", "t/acme/x/2", "t/acme2/3"):
        await objects.put_once(key, b"1", JSON)
    await objects.delete("t/acme/", all_versions=True)
    assert await keys(objects, "t/") == ["t/acme2/3"]


async def test_a_list_is_in_key_order_with_sizes_and_times(objects: Objects) -> None:
    for key in ("l/b", "l/a/z", "l/a-", "l/a", "l/a0", "l/B", "m/x"):
        await objects.put_once(key, b"12345", JSON)
    listed = [entry async for entry in objects.list("l/")]
    assert [entry.key for entry in listed] == ["l/B", "l/a", "l/a-", "l/a/z", "l/a0", "l/b"]
    assert {entry.size for entry in listed} == {5}
    assert all(entry.modified > 1_700_000_000 for entry in listed)


async def test_a_list_of_nothing_is_empty(objects: Objects) -> None:
    assert await keys(objects, "none/") == []
    await objects.put_once("none", b"1", JSON)
    assert await keys(objects, "none/") == []


NAMES = [
    "ü ~#%?*.txt",
    "x%20y",
    "e\u0301.txt",
    "\u00e9.txt",
    "q\"'<>|{}^`[]\\.txt",
    "..hidden",
    "a+b",
    "@",
    "日本語" * 25,
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_files_own_name_may_hold_any_character(objects: Objects, name: str) -> None:
    assert await objects.put_once(f"files/{name}", name.encode(), JSON)
    stored = await objects.get(f"files/{name}")
    assert stored is not None
    assert stored.data == name.encode()
    assert await keys(objects, "files/") == [f"files/{name}"]


async def test_names_that_differ_by_case_or_unicode_form_are_different_objects(objects: Objects) -> None:
    names = ["f/A", "f/a", "f/e\u0301", "f/\u00e9"]
    for name in names:
        await objects.put_once(name, name.encode(), JSON)
    assert sorted(await keys(objects, "f/")) == sorted(names)


BAD = ["", "/a", "a/", "a//b", "a/../b", ".", "a/.", "a\nb", "a\x7fb", "a\ud800", "x" * 1025]


@pytest.mark.parametrize("key", BAD)
async def test_a_key_that_is_not_a_plain_path_is_refused(objects: Objects, key: str) -> None:
    verbs: list[Any] = [
        objects.get(key),
        objects.put_once(key, b"", JSON),
        objects.swap(key, b"", expected=None),
        objects.delete(key),
    ]
    for verb in verbs:
        with pytest.raises(PlatformError) as caught:
            await verb
        assert caught.value.code == "objects.key"


@pytest.mark.parametrize("prefix", ["", "/", "a", "a//", "../"])
async def test_a_prefix_that_is_not_a_folder_is_refused(objects: Objects, prefix: str) -> None:
    with pytest.raises(PlatformError) as caught:
        await keys(objects, prefix)
    assert caught.value.code == "objects.key"


@given(st.text(max_size=40))
def test_every_accepted_key_stays_below_the_store(key: str) -> None:
    try:
        check_key(key)
    except PlatformError:
        return
    assert key
    assert not {"", ".", ".."} & set(key.split("/"))


def test_a_setting_opens_the_store_it_names(tmp_path: Any, moto: str) -> None:
    environment = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": moto}
    assert isinstance(open_objects(str(tmp_path / "new"), environment={}), FileObjects)
    assert isinstance(open_objects("s3://bucket/prefix", environment=environment), S3Objects)


def test_opening_s3_without_credentials_says_so() -> None:
    with pytest.raises(PlatformError) as caught:
        open_objects("s3://bucket", environment={})
    assert caught.value.code == "objects.credentials"
