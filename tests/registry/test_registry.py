"""Publishing, pointing and pruning: whatever happens, what is served is whole."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry import bundle as bundles
from tenantry_registry.errors import Conflict, PlatformError, StorageDown
from tenantry_registry.manifest import Manifest, WidgetEntry
from tenantry_registry.names import Name
from tenantry_registry.objects import JSON, ROUNDS, AnyVersion, Download, Kind, Listed, Objects, Signed, Stored, Upload
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.pointer import HISTORY, PREVIEWS, Pointer
from tenantry_registry.prune import LEFTOVER_SECONDS, prune
from tenantry_registry.registry import (
    PREVIEW_SECONDS,
    PRUNE_SECONDS,
    Blob,
    Registry,
    bundle_key,
    release_key,
)

ZOO = Name("acme", "zoo")
DAY = 86400.0


class Clock:
    """Real seconds, moved on by hand: storage stamps what it stores with the real time."""

    def __init__(self) -> None:
        import time

        self._now, self.ahead = time.time, 0.0

    def __call__(self) -> float:
        return self._now() + self.ahead


class Release:
    """A release of the zoo with one widget whose tree is made of `style`."""

    def __init__(self, folder: Path, text: str, style: str = "a{}", name: Name = ZOO) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.py").write_text(text)
        self.bundle = bundles.pack(folder)
        self.digest = bundles.digest(self.bundle)
        self.tree = hashlib.sha256(style.encode()).hexdigest()[:16]
        base = f"site/{name.tenant}/{name.plugin}/{self.tree}"
        self.blobs: list[Blob] = [
            (f"{base}/style.css", style.encode(), Kind("text/css")),
            (f"{base}/index.html", f"<link href={self.tree}>".encode(), Kind("text/html")),
        ]
        self.uri = f"ui://widget/animals.{self.tree[:10]}.html"
        widget = WidgetEntry("animals", self.uri, f"{base}/index.html", self.tree, {"ui": {}}, 1)
        self.manifest = Manifest(name.tenant, name.plugin, self.digest, 0.0, "server:plugin", {}, widgets=(widget,))

    async def publish(self, registry: Registry, **more: Any) -> Any:
        return await registry.publish(self.manifest, bundle=self.bundle, blobs=self.blobs, **more)

    async def is_whole(self, registry: Registry) -> bool:
        """Everything that serving it needs is there, byte for byte."""
        name = Name(self.manifest.tenant, self.manifest.plugin)
        wanted: Iterable[Blob] = [
            *self.blobs,
            (bundle_key(name, self.digest), self.bundle, JSON),
            (release_key(name, self.digest), self.manifest.to_json(), JSON),
        ]
        for key, data, _ in wanted:
            stored = await registry.objects.get(key)
            if stored is None or stored.data != data:
                return False
        return await registry.widget(name, self.uri) == self.manifest.widgets[0]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(objects: Objects, clock: Clock) -> Registry:
    return Registry(objects, now=clock)


@pytest.fixture
def one(tmp_path: Path) -> Release:
    return Release(tmp_path / "one", "x = 1", "a{}")


@pytest.fixture
def two(tmp_path: Path) -> Release:
    return Release(tmp_path / "two", "x = 2", "b{}")


async def pointer(registry: Registry, name: Name = ZOO) -> Pointer:
    found = await registry.current(name)
    assert found is not None
    return found


async def code(awaitable: Any) -> str:
    with pytest.raises(PlatformError) as caught:
        await awaitable
    return caught.value.code


# -- publishing -----------------------------------------------------------------------------------------------


async def test_a_published_release_is_current_and_whole(registry: Registry, one: Release) -> None:
    published = await one.publish(registry)
    assert (published.digest, published.previous, published.changed) == (one.digest, None, True)
    assert (await pointer(registry)).current == one.digest
    assert await registry.manifest(ZOO, one.digest) == one.manifest
    assert await one.is_whole(registry)


async def test_a_second_release_replaces_the_first_and_keeps_it(registry: Registry, one: Release, two: Release) -> None:
    await one.publish(registry)
    published = await two.publish(registry)
    assert (published.previous, published.changed) == (one.digest, True)
    assert [past.digest for past in await registry.history(ZOO)] == [two.digest, one.digest]
    assert await one.is_whole(registry)


async def test_the_same_bytes_again_change_nothing(registry: Registry, one: Release) -> None:
    await one.publish(registry)
    before = await pointer(registry)
    published = await one.publish(registry)
    assert (published.previous, published.changed) == (one.digest, False)
    assert await pointer(registry) == before


async def test_a_bundle_that_is_stored_already_need_not_be_given(registry: Registry, one: Release) -> None:
    await registry.objects.put_once(bundle_key(ZOO, one.digest), one.bundle, JSON)
    await registry.publish(one.manifest, bundle=None, blobs=one.blobs)
    assert await one.is_whole(registry)


async def test_a_bundle_that_is_not_what_its_digest_names_is_refused(
    registry: Registry, one: Release, two: Release
) -> None:
    for bundle in (two.bundle, None):
        assert await code(registry.publish(one.manifest, bundle=bundle)) == "registry.digest"
    assert await registry.current(ZOO) is None


@pytest.mark.parametrize(
    "key", ["site/acme/other/x/a.css", "site/evil/zoo/x/a.css", "bundles/acme/zoo/x", "site/acme/zoo"]
)
async def test_a_release_writes_below_its_own_name_only(registry: Registry, one: Release, key: str) -> None:
    blobs = [(key, b"1", JSON)]
    assert await code(registry.publish(one.manifest, bundle=one.bundle, blobs=blobs)) == "registry.key"
    assert await registry.objects.get(key) is None if not key.endswith("zoo") else True


async def test_a_published_uri_never_gets_other_content(registry: Registry, one: Release, two: Release) -> None:
    await one.publish(registry)
    changed = replace(two.manifest, widgets=(replace(two.manifest.widgets[0], uri=one.uri),))
    refused = await code(registry.publish(changed, bundle=two.bundle, blobs=two.blobs))
    assert refused == "registry.widget-changed"
    assert (await pointer(registry)).current == one.digest


async def test_a_widget_of_a_release_long_gone_is_still_found_by_its_uri(
    registry: Registry, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await two.publish(registry)
    assert await registry.widget(ZOO, one.uri) == one.manifest.widgets[0]
    assert await registry.widget(ZOO, "ui://widget/never.html") is None


async def test_two_tenants_with_the_same_plugin_name_never_meet(
    registry: Registry, one: Release, tmp_path: Path
) -> None:
    other = Release(tmp_path / "other", "x = 1", "other{}", Name("evil", "zoo"))
    await one.publish(registry)
    await other.publish(registry)
    assert [name async for name in registry.plugins("acme")] == [ZOO]
    assert await registry.widget(ZOO, other.uri) is None
    await registry.set_state(Name("evil", "zoo"), "deleted")
    assert (await pointer(registry)).state == "active"


async def test_a_name_too_long_for_its_domain_is_refused_before_anything_is_written(
    objects: Objects, one: Release
) -> None:
    registry = Registry(objects, base="a-very-long-domain-for-plugins-of-everybody.plugins.example.com")
    assert await code(one.publish(registry)) == "name.too-long"
    assert await registry.objects.get(bundle_key(ZOO, one.digest)) is None
    short = Registry(objects, base="plugins.example.com")
    assert (await one.publish(short)).changed


# -- dying and racing -----------------------------------------------------------------------------------------


class Died(BaseException):
    """The process is gone."""


class DyingObjects:
    """Dies at the verb number `last`: before it is done, or (`after`) when it is done and nobody is told."""

    def __init__(self, objects: Objects, last: int, *, after: bool) -> None:
        self._objects, self.left, self._after = objects, last, after

    async def _step(self, verb: Any) -> Any:
        self.left -= 1
        if self.left < 0 and not self._after:
            verb.close()
            raise Died
        result = await verb
        if self.left < 0:
            raise Died
        return result

    async def get(self, key: str) -> Stored | None:
        return await self._step(self._objects.get(key))  # type: ignore[no-any-return]

    async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
        return await self._step(self._objects.put_once(key, data, kind))  # type: ignore[no-any-return]

    async def swap(self, key: str, data: bytes, *, expected: str | AnyVersion | None, kind: Kind = JSON) -> str:
        return await self._step(self._objects.swap(key, data, expected=expected, kind=kind))  # type: ignore[no-any-return]

    async def delete(self, key: str, *, all_versions: bool = False) -> None:
        await self._step(self._objects.delete(key, all_versions=all_versions))

    async def list(self, prefix: str) -> AsyncIterator[Listed]:
        async for listed in self._objects.list(prefix):
            yield listed

    async def sign(self, key: str, access: Download | Upload) -> Signed:
        return await self._objects.sign(key, access)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_publish_that_dies_at_any_verb_leaves_the_old_or_the_new_release_whole(
    tmp_path: Path, one: Release, two: Release, after: bool
) -> None:
    deaths = 0
    for last in range(50):
        objects = FileObjects(tmp_path / f"store{last}")
        registry = Registry(objects)
        await one.publish(registry)
        try:
            await two.publish(Registry(DyingObjects(objects, last, after=after)))
        except (Died, BaseExceptionGroup):
            deaths += 1
            now = await pointer(registry)
            assert now.current in {one.digest, two.digest}
            current = one if now.current == one.digest else two
            assert await current.is_whole(registry)
            assert await one.is_whole(registry)
            again = await two.publish(registry)  # and what began is simply done again
            assert again.digest == two.digest
        assert (await pointer(registry)).current == two.digest
        assert await two.is_whole(registry)
        if deaths == last:
            break
    assert deaths >= 8


async def test_a_storage_fault_while_blobs_are_written_is_raised_as_it_is(tmp_path: Path, one: Release) -> None:
    class Failing(DyingObjects):
        async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
            if key.startswith("site/"):
                raise StorageDown(f"Storage can't write {key}.")
            return await super().put_once(key, data, kind)

    objects = FileObjects(tmp_path / "store")
    with pytest.raises(StorageDown, match="can't write site/"):
        await one.publish(Registry(Failing(objects, 100, after=False)))
    assert await Registry(objects).current(ZOO) is None


async def test_publishes_that_race_all_get_their_turn(registry: Registry, tmp_path: Path) -> None:
    releases = [Release(tmp_path / f"r{n}", f"x = {n}", f"r{n}{{}}") for n in range(6)]
    published = await asyncio.gather(*(release.publish(registry) for release in releases))
    now = await pointer(registry)
    assert now.current == now.history[0].digest
    assert {past.digest for past in now.history} == {release.digest for release in releases}
    order = [past.digest for past in reversed(now.history)]
    for result in published:  # each saw exactly the one before it
        place = order.index(result.digest)
        assert result.previous == (order[place - 1] if place else None)


async def test_a_plugin_that_is_erased_while_it_is_published_stays_erased(objects: Objects, one: Release) -> None:
    class Erasing(DyingObjects):
        """The tenant is erased when everything but the pointer is written."""

        async def put_once(self, key: str, data: bytes, kind: Kind) -> bool:
            if key.startswith("releases/"):
                await objects.delete("plugins/acme/zoo.json", all_versions=True)
            return await super().put_once(key, data, kind)

    await Registry(objects).reserve(ZOO)
    assert await code(one.publish(Registry(Erasing(objects, 10_000, after=False)))) == "registry.unknown"
    assert await Registry(objects).current(ZOO) is None


async def test_a_reserved_name_serves_nothing_and_is_published_as_a_new_one(objects: Objects, one: Release) -> None:
    registry = Registry(objects, base="plugins.example.com")
    await registry.reserve(ZOO)
    first = await pointer(registry)
    await registry.reserve(ZOO)
    assert (await pointer(registry)).version == first.version
    assert first.current is None
    published = await one.publish(registry)
    assert (published.previous, published.changed) == (None, True)
    with pytest.raises(PlatformError, match="long"):
        await registry.reserve(Name("acme", "z" * 50))


async def test_whoever_loses_every_race_gives_up_with_a_conflict(objects: Objects, one: Release) -> None:
    class Busy(DyingObjects):
        swaps = 0

        async def swap(self, key: str, data: bytes, *, expected: Any, kind: Kind = JSON) -> str:
            self.swaps += 1
            raise Conflict(f"{key} was changed by somebody else.")

    busy = Busy(objects, 10_000, after=False)
    assert await code(one.publish(Registry(busy))) == "objects.conflict"
    assert busy.swaps == ROUNDS


# -- moving the pointer ---------------------------------------------------------------------------------------


async def test_rolling_back_and_forward_keeps_one_entry_a_release(
    registry: Registry, clock: Clock, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await two.publish(registry)
    moved = await registry.point(ZOO, one.digest)
    assert moved.current == one.digest
    assert [past.digest for past in moved.history] == [one.digest, two.digest]
    assert (await registry.point(ZOO, two.digest)).current == two.digest
    assert len(await registry.history(ZOO)) == 2


def rolled(pointer: Pointer) -> Pointer:
    assert pointer.before
    return Pointer.from_json(pointer.returned(pointer.before, 9.0).to_json(), "")


def test_rollbacks_lead_back_through_what_was_served_and_never_to_what_was_left() -> None:
    pointer = Pointer()
    for digest in "abc":
        pointer = pointer.pointed(digest, 1.0)
    assert b'"left"' not in pointer.to_json()  # a gateway of before reads it
    back = rolled(rolled(pointer))
    assert (back.current, back.before, set(back.left)) == ("a", None, {"b", "c"})
    assert rolled(pointer).returned("c", 9.0).served == ["c", "b", "a"]  # undone
    assert pointer.returned("a", 9.0).left == ("c", "b")  # all that was served since
    again = rolled(pointer).pointed("d", 9.0)
    assert (again.served, again.before) == (["d", "b", "a"], "b")
    assert pointer.pointed("a", 9.0).before == "c"  # published again, it is no rollback


async def test_a_yanked_release_is_not_gone_back_to(registry: Registry, one: Release, two: Release) -> None:
    await one.publish(registry)
    await two.publish(registry)
    await registry.yank(ZOO, one.digest)
    known = await registry.known(ZOO)
    assert known.before is None
    assert known.known == [two.digest, one.digest]
    assert await registry.versions(ZOO, [two.digest, "0" * 64]) == {two.digest: ""}  # it was given none


async def test_publishing_an_old_release_again_makes_it_current(registry: Registry, one: Release, two: Release) -> None:
    await one.publish(registry)
    await two.publish(registry)
    published = await one.publish(registry)
    assert (published.previous, published.changed) == (two.digest, True)


async def test_a_plugin_can_be_withdrawn_and_brought_back(registry: Registry, one: Release) -> None:
    await one.publish(registry)
    assert (await registry.point(ZOO, None)).current is None
    assert (await registry.point(ZOO, one.digest)).current == one.digest


async def test_what_is_not_there_is_said(registry: Registry, one: Release) -> None:
    assert await registry.current(ZOO) is None
    for awaitable in (
        registry.history(ZOO),
        registry.point(ZOO, None),
        registry.yank(ZOO, "0" * 64),
        registry.set_state(ZOO, "suspended"),
        prune(registry, ZOO),
    ):
        assert await code(awaitable) == "registry.unknown"
    await one.publish(registry)
    for awaitable in (
        registry.point(ZOO, "0" * 64),
        registry.preview(ZOO, "0" * 64, 0.0),
        registry.yank(ZOO, "0" * 64),
        registry.manifest(ZOO, "0" * 64),
    ):
        assert await code(awaitable) == "registry.no-release"


def test_history_holds_the_last_twenty() -> None:
    pointer = Pointer()
    for number in range(30):
        pointer = pointer.pointed(f"{number:064}", float(number))
    assert [past.at for past in pointer.history] == [float(n) for n in range(29, 29 - HISTORY, -1)]
    assert pointer.current == pointer.history[0].digest


async def test_a_preview_is_served_until_it_expires_and_changes_nothing_else(
    registry: Registry, clock: Clock, one: Release, two: Release
) -> None:
    await one.publish(registry)
    published = await two.publish(registry, set_current=False, preview_until=clock() + 60)
    assert (published.previous, published.changed) == (one.digest, False)
    now = await pointer(registry)
    assert now.current == one.digest
    assert now.preview(two.digest[:12], clock()) == two.digest
    assert now.preview(two.digest[:12]) == two.digest
    assert now.preview(one.digest[:12], clock()) is None
    assert now.preview(two.digest[:12], clock() + 61) is None
    assert (await registry.point(ZOO, two.digest)).current == two.digest


async def test_a_release_that_is_not_made_current_is_a_preview_for_a_week(
    registry: Registry, clock: Clock, one: Release
) -> None:
    await one.publish(registry, set_current=False)
    now = await pointer(registry)
    assert now.current is None
    assert now.preview(one.digest[:12], clock() + PREVIEW_SECONDS - 60) == one.digest


async def test_a_preview_can_be_made_of_an_old_release_and_prolonged(
    registry: Registry, clock: Clock, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await two.publish(registry)
    await registry.preview(ZOO, one.digest, clock() + 60)
    await registry.preview(ZOO, one.digest, clock() + 600)
    assert (await pointer(registry)).previews == {one.digest: pytest.approx(clock() + 600, abs=5)}


def test_expired_previews_go_and_of_too_many_the_first_to_expire() -> None:
    pointer = Pointer()
    for number in range(PREVIEWS + 5):
        pointer = pointer.previewing(f"{number:064}", 1000.0 + number, 10.0)
    assert sorted(pointer.previews.values()) == [1000.0 + n for n in range(5, PREVIEWS + 5)]
    assert list(pointer.previewing("f" * 64, 9999.0, 5000.0).previews) == ["f" * 64]


async def test_a_yanked_release_is_served_nowhere_ever_again(
    registry: Registry, clock: Clock, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await two.publish(registry)
    await registry.preview(ZOO, two.digest, clock() + 60)
    await registry.yank(ZOO, two.digest)
    await registry.yank(ZOO, two.digest)
    now = await pointer(registry)
    assert now.current is None
    assert now.preview(two.digest[:12], clock()) is None
    assert await code(registry.point(ZOO, two.digest)) == "registry.yanked"
    assert await code(registry.preview(ZOO, two.digest, clock() + 60)) == "registry.yanked"
    assert await code(two.publish(registry)) == "registry.yanked"
    await registry.point(ZOO, one.digest)
    await registry.yank(ZOO, one.digest)
    assert (await pointer(registry)).current is None


async def test_yanking_another_release_leaves_the_current_one(registry: Registry, one: Release, two: Release) -> None:
    await one.publish(registry)
    await two.publish(registry)
    await registry.yank(ZOO, one.digest)
    assert (await pointer(registry)).current == two.digest


@pytest.mark.row("P01")
async def test_the_challenge_token_is_kept_before_and_after_the_first_release(registry: Registry, one: Release) -> None:
    await registry.challenge(ZOO, "token-1_ABC=")
    await one.publish(registry)
    now = await pointer(registry)
    assert (now.challenge, now.current) == ("token-1_ABC=", one.digest)
    await registry.challenge(ZOO, "")
    assert (await pointer(registry)).challenge == ""
    for bad in ("with space", "line\nbreak", "ü", "x" * 513):
        assert await code(registry.challenge(ZOO, bad)) == "registry.challenge"


async def test_a_suspended_plugin_takes_no_release_and_comes_back_as_it_was(
    registry: Registry, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await registry.set_state(ZOO, "suspended")
    assert (await pointer(registry)).state == "suspended"
    assert await code(two.publish(registry)) == "registry.suspended"
    assert await code(registry.point(ZOO, one.digest)) == "registry.suspended"
    await registry.set_state(ZOO, "active")
    now = await pointer(registry)
    assert (now.state, now.current) == ("active", one.digest)


async def test_a_tenants_state_holds_whatever_the_plugins_own_is(registry: Registry, one: Release) -> None:
    await one.publish(registry)
    await registry.set_state(ZOO, "suspended", tenant=True)
    assert (await pointer(registry)).state == "suspended"
    await registry.set_state(ZOO, "suspended")
    await registry.set_state(ZOO, "active", tenant=True)
    assert (await pointer(registry)).state == "suspended"
    await registry.set_state(ZOO, "active")
    assert (await pointer(registry)).state == "active"


async def test_a_deleted_plugin_stays_deleted_and_its_name_is_not_given_again(
    registry: Registry, one: Release, two: Release
) -> None:
    await one.publish(registry)
    await registry.set_state(ZOO, "deleted")
    for awaitable in (
        two.publish(registry),
        registry.point(ZOO, one.digest),
        registry.set_state(ZOO, "active"),
        registry.challenge(ZOO, "x"),
    ):
        assert await code(awaitable) == "registry.deleted"
    assert (await pointer(registry)).state == "deleted"
    assert [name async for name in registry.plugins("acme")] == [ZOO]


async def test_a_pointer_of_another_format_is_refused(registry: Registry, one: Release) -> None:
    await registry.objects.swap("plugins/acme/zoo.json", b'{"format": 2}', expected=None)
    assert await code(registry.current(ZOO)) == "registry.format"


# -- pruning --------------------------------------------------------------------------------------------------


async def published_often(registry: Registry, tmp_path: Path, count: int) -> list[Release]:
    releases = [Release(tmp_path / f"p{n}", f"x = {n}", f"p{n}{{}}") for n in range(count)]
    for release in releases:
        await release.publish(registry)
    return releases


async def test_pruning_removes_what_history_forgot_and_keeps_every_published_uri(tmp_path: Path, clock: Clock) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    releases = await published_often(registry, tmp_path, HISTORY + 2)
    assert await prune(registry, ZOO, now=clock) == []  # all of it is young
    clock.ahead = LEFTOVER_SECONDS + 60
    removed = await prune(registry, ZOO, now=clock)
    gone = {key(ZOO, release.digest) for release in releases[:2] for key in (bundle_key, release_key)}
    assert set(removed) == gone
    for release in releases:
        assert await registry.widget(ZOO, release.uri) is not None
        for key, data, _ in release.blobs:
            stored = await registry.objects.get(key)
            assert stored is not None
            assert stored.data == data
    for release in releases[2:]:
        assert await release.is_whole(registry)
    assert await prune(registry, ZOO, now=clock) == []


async def test_left_overs_of_a_failed_publish_are_pruned_and_what_a_kept_manifest_names_is_not(
    tmp_path: Path, clock: Clock, one: Release
) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    icon = ("site/acme/zoo/0123456789abcdef/icon.png", b"png", Kind("image/png"))
    manifest = replace(one.manifest, server={"icons": [{"src": "/assets/0123456789abcdef/icon.png"}]})
    await registry.publish(manifest, bundle=one.bundle, blobs=[*one.blobs, icon])
    await registry.objects.put_once("site/acme/zoo/feedfeedfeedfeed/left.css", b"", JSON)
    clock.ahead = LEFTOVER_SECONDS + 60
    assert await prune(registry, ZOO, now=clock) == ["site/acme/zoo/feedfeedfeedfeed/left.css"]
    assert await registry.objects.get(icon[0]) is not None


async def test_a_preview_keeps_its_release(tmp_path: Path, clock: Clock, one: Release, two: Release) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    await one.publish(registry)
    await two.publish(registry, set_current=False, preview_until=clock() + 30 * DAY)
    clock.ahead = 2 * DAY
    assert await prune(registry, ZOO, now=clock) == []
    assert await two.is_whole(registry)


async def test_what_a_preview_kept_goes_when_it_is_over(
    tmp_path: Path, clock: Clock, one: Release, two: Release
) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    await one.publish(registry)
    await two.publish(registry, set_current=False, preview_until=clock() + 2 * DAY)
    kept = [f"state/acme/zoo/previews/{two.digest}/_shared.json", "state/acme/zoo/_shared.json"]
    for key in kept:
        await registry.objects.put_once(key, b"{}", JSON)
    assert await prune(registry, ZOO, now=clock) == []
    clock.ahead = DAY + 60
    assert await prune(registry, ZOO, now=clock) == []  # old, and not over
    clock.ahead = 2 * DAY
    assert await prune(registry, ZOO, now=clock) == kept[:1]
    assert await registry.objects.get(kept[1])


async def test_the_submitted_release_is_kept_however_old(tmp_path: Path, clock: Clock) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    first = Release(tmp_path / "first", "x = 'first'", "first{}")
    await first.publish(registry)
    await registry.submit(ZOO, first.digest)
    assert await code(registry.submit(ZOO, "0" * 64)) == "registry.no-release"
    await published_often(registry, tmp_path, HISTORY + 1)
    clock.ahead = LEFTOVER_SECONDS + 60
    await prune(registry, ZOO, now=clock)
    assert (await pointer(registry)).submitted == first.digest
    assert await first.is_whole(registry)


async def test_a_publish_of_what_is_being_pruned_waits_and_then_is_whole(tmp_path: Path, clock: Clock) -> None:
    registry = Registry(FileObjects(tmp_path / "store"), now=clock)
    releases = await published_often(registry, tmp_path, HISTORY + 1)
    clock.ahead = LEFTOVER_SECONDS + 60
    assert await prune(registry, ZOO, now=clock)
    assert await code(releases[0].publish(registry)) == "registry.pruning"
    clock.ahead += PRUNE_SECONDS + 5
    assert (await releases[0].publish(registry)).changed
    assert await releases[0].is_whole(registry)


class Interrupted(DyingObjects):
    """Does `act` before the verb `verb` on a key that begins so; then goes on."""

    def __init__(self, objects: Objects, verb: str, begins: str, act: Any) -> None:
        super().__init__(objects, 10**9, after=False)
        self.verb, self.begins, self.act = verb, begins, act

    async def _meet(self, verb: str, key: str) -> None:
        if self.act is not None and verb == self.verb and key.startswith(self.begins):
            act, self.act = self.act, None
            await act()

    async def swap(self, key: str, data: bytes, *, expected: Any, kind: Kind = JSON) -> str:
        await self._meet("swap", key)
        return await super().swap(key, data, expected=expected, kind=kind)

    async def delete(self, key: str, *, all_versions: bool = False) -> None:
        await self._meet("delete", key)
        await super().delete(key, all_versions=all_versions)


async def test_a_prune_in_the_middle_of_a_publish_is_noticed_at_the_swap(tmp_path: Path, clock: Clock) -> None:
    objects = FileObjects(tmp_path / "store")
    registry = Registry(objects, now=clock)
    releases = await published_often(registry, tmp_path, HISTORY + 1)
    clock.ahead = LEFTOVER_SECONDS + 60
    current = (await pointer(registry)).current
    racing = Interrupted(objects, "swap", "plugins/", lambda: prune(registry, ZOO, now=clock))
    assert await code(releases[0].publish(Registry(racing, now=clock))) == "registry.pruning"
    assert (await pointer(registry)).current == current


async def test_a_publish_that_wins_the_race_keeps_what_the_prune_had_found(tmp_path: Path, clock: Clock) -> None:
    objects = FileObjects(tmp_path / "store")
    registry = Registry(objects, now=clock)
    releases = await published_often(registry, tmp_path, HISTORY + 1)
    clock.ahead = LEFTOVER_SECONDS + 60
    racing = Interrupted(objects, "swap", "plugins/", lambda: releases[0].publish(registry))
    removed = await prune(Registry(racing, now=clock), ZOO, now=clock)
    assert bundle_key(ZOO, releases[0].digest) not in removed
    assert await releases[0].is_whole(registry)
    assert (await pointer(registry)).current == releases[0].digest


async def test_a_prune_that_takes_too_long_stops_where_it_is(tmp_path: Path, clock: Clock) -> None:
    objects = FileObjects(tmp_path / "store")
    registry = Registry(objects, now=clock)
    await published_often(registry, tmp_path, HISTORY + 2)
    clock.ahead = LEFTOVER_SECONDS + 60

    async def long_delete() -> None:
        clock.ahead += PRUNE_SECONDS + 5

    slow = Registry(Interrupted(objects, "delete", "releases/", long_delete), now=clock)
    assert len(await prune(slow, ZOO, now=clock)) == 1
    assert len(await prune(registry, ZOO, now=clock)) == 3
