"""`load`: the plugin of the folder that a test stands in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tenantry.testing import Client, load

SERVER = """
from __future__ import annotations

import os

from tenantry import Plugin


class Held:
    plugin = Plugin()


@Held.plugin.tool(read_only=True, destructive=False, open_world=False)
def stable() -> str:
    \"\"\"Use this to hear which stable it is.\"\"\"
    return os.environ["STABLE"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"stable_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SERVER)
    toml = f'name = "stable"\nentrypoint = "{name}:Held.plugin"\n[env]\nSTABLE = "north"\n'
    (tmp_path / "plugin.toml").write_text(toml)
    (tmp_path / "tests").mkdir()
    yield tmp_path
    os.environ.pop("STABLE", None)


@pytest.mark.parametrize("place", ["test_server.py", "tests/test_server.py", "tests"])
def test_a_test_finds_its_plugin_in_its_folder_or_above(folder: Path, place: str) -> None:
    assert Client(load(folder / place)).call("stable").text == "north"
    assert load(folder) is load(folder / "tests")


def test_without_a_plugin_toml_there_is_nothing_to_load(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no plugin\.toml in .* or above it"):
        load(tmp_path)


@pytest.mark.parametrize("entrypoint", ["server.py", "os:path"])
def test_what_is_not_written_with_the_kit_is_not_loaded(folder: Path, entrypoint: str) -> None:
    (folder / "plugin.toml").write_text(f'name = "other"\nentrypoint = "{entrypoint}"\n')
    with pytest.raises(TypeError, match="is not a plugin that is written with the kit"):
        load(folder)
