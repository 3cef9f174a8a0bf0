"""Which release is served right now: pointers for a moment, editions while there is room, and bad weather."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from gateway.house import NAME, House, manifest
from tenantry_gateway.route import Site, Sites
from tenantry_gateway.shelf import EDITIONS, GRACE, POINTERS, Shelf
from tenantry_registry.domains import Domains
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.pointer import Pointer


class Releases:
    """A registry that counts, waits and fails as it is told."""

    def __init__(self) -> None:
        self.pointer: Pointer | None = Pointer(current="d" * 64)
        self.down = False
        self.reads: list[Any] = []
        self.gate: asyncio.Event | None = None

    async def current(self, name: Name) -> Pointer | None:
        self.reads.append(name)
        if self.gate is not None:
            await self.gate.wait()
        if self.down:
            raise StorageDown("Storage does not answer.")
        return self.pointer

    async def manifest(self, name: Name, digest: str) -> Manifest:
        self.reads.append(digest)
        return manifest(digest=digest)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


SITE = Sites(Domains("https://x.example", base="plugins.example.com")).find("zoo-acme.plugins.example.com", "/mcp")
assert SITE is not None
site: Site = SITE


@pytest.fixture
def releases() -> Releases:
    return Releases()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shelf(releases: Releases, clock: Clock) -> Shelf:
    return Shelf(releases, pointer_seconds=2.0, now=clock)


async def test_a_pointer_is_believed_for_a_moment_and_a_release_for_good(
    shelf: Shelf, releases: Releases, clock: Clock
) -> None:
    for _ in range(3):
        await shelf.edition(site)
    assert releases.reads == [NAME, "d" * 64]
    clock.now += 2.0
    await shelf.edition(site)
    assert releases.reads == [NAME, "d" * 64, NAME]


async def test_unknown_names_are_believed_too(shelf: Shelf, releases: Releases) -> None:
    releases.pointer = None
    for _ in range(3):
        with pytest.raises(PlatformError, match="no plugin"):
            await shelf.edition(site)
    assert releases.reads == [NAME]


async def test_the_last_good_pointer_serves_for_ten_minutes(shelf: Shelf, releases: Releases, clock: Clock) -> None:
    await shelf.edition(site)
    releases.down = True
    clock.now += 2.0 + GRACE - 1
    assert (await shelf.edition(site)).digest == "d" * 64
    clock.now += 1
    with pytest.raises(StorageDown):
        await shelf.edition(site)
    releases.down = False
    assert (await shelf.edition(site)).digest == "d" * 64


async def test_without_a_last_good_one_the_fault_is_told(shelf: Shelf, releases: Releases, clock: Clock) -> None:
    releases.down = True
    with pytest.raises(StorageDown):
        await shelf.edition(site)
    releases.down, releases.pointer = False, None
    with pytest.raises(PlatformError, match="no plugin"):
        await shelf.edition(site)
    releases.down, clock.now = True, clock.now + 5
    with pytest.raises(StorageDown):
        await shelf.edition(site)


async def test_a_suspended_plugin_stays_so_in_bad_weather(shelf: Shelf, releases: Releases, clock: Clock) -> None:
    releases.pointer = Pointer(current="d" * 64, hold="suspended")
    with pytest.raises(PlatformError, match="suspended"):
        await shelf.edition(site)
    releases.down, clock.now = True, clock.now + 60
    with pytest.raises(PlatformError, match="suspended"):
        await shelf.edition(site)


async def test_everybody_waits_for_one_reading(shelf: Shelf, releases: Releases) -> None:
    releases.gate = asyncio.Event()
    tasks = [asyncio.create_task(shelf.edition(site)) for _ in range(20)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.sleep(0)
    releases.gate.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 1
    assert releases.reads == [NAME, "d" * 64]


async def test_there_is_a_bound_on_everything_that_is_kept(shelf: Shelf, releases: Releases) -> None:
    for number in range(EDITIONS + 1):
        await shelf.resumed(NAME, f"{number:064}")
    await shelf.resumed(NAME, "0" * 64)
    assert len(shelf._editions) == EDITIONS
    for number in range(POINTERS + 1):
        await shelf.pointer(Name("acme", f"p{number}"))
    assert len(shelf._pointers) == POINTERS


async def test_points_of_view_and_addresses_are_bounded(house: House) -> None:
    from tenantry_gateway.edition import FACES, Edition
    from tenantry_gateway.route import KEPT

    edition = Edition(manifest())
    for number in range(FACES + 3):
        edition.face(site, f"kind{number}")
    assert len(edition._faces) == FACES
    sites = Sites(Domains("https://x.example"))
    for number in range(KEPT + 3):
        sites.find("x.example", f"/t/acme/p{number}/mcp")
    assert len(sites._found) == KEPT


async def test_prepared_widgets_are_bounded() -> None:
    from tenantry_gateway.reads import ANSWERS, Answers

    answers = Answers()
    for number in range(ANSWERS + 3):
        answers.put((str(number),), b"x")
    assert answers.get(("0",)) is None
    assert answers.get((str(ANSWERS),)) == b"x"
