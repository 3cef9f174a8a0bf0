"""The folders of unpacked bundles on one machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tenantry_registry import kit_folder
from tenantry_registry.unpacked import Unpacked


async def test_the_oldest_folders_go_but_none_that_is_used(objects, publish, tmp_path: Path) -> None:
    unpacked = Unpacked(objects, tmp_path / "bundles", kept=2)
    releases = [await publish({"server.py": f"# {number}"}) for number in range(5)]
    for age, release in enumerate(releases):
        place = await unpacked.get(release)
        os.utime(place, (age, age))
    unpacked.sweep({releases[0].digest})
    left = {path.name for path in (tmp_path / "bundles").iterdir()}
    assert left == {releases[number].digest for number in (0, 3, 4)}
    assert (await unpacked.get(releases[1])).is_dir(), "it is unpacked again when it is wanted"


def test_the_kits_folder_follows_an_installation_that_moved(tmp_path: Path) -> None:
    (tmp_path / "pydantic").symlink_to("/elsewhere")
    made = kit_folder.make(kit_folder.make(tmp_path))
    assert (made / "pydantic" / "__init__.py").exists()
    assert {path.name for path in made.iterdir()} == {*kit_folder.sources()}
    with pytest.raises(ModuleNotFoundError):
        kit_folder.place("nothing_of_that_name")
