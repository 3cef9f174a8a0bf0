"""A plugin's folder: its name, its .env, the interpreter of its author."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tenantry_cli import folder
from tenantry_cli.folder import PluginFolder
from tenantry_registry.errors import PlatformError


def plugin(path: Path, text: str = 'name = "zoo"\nentrypoint = "server:plugin"\n') -> Path:
    path.mkdir(parents=True)
    (path / "plugin.toml").write_text(text)
    return path


def test_the_environment_and_the_secrets_of_a_dotenv_are_told_apart(here: Path) -> None:
    path = plugin(here / "zoo", 'name = "zoo"\n[secrets]\nrequired = ["KEY"]\n')
    (path / ".env").write_text('# a comment\nKEY="se cret"\nLEVEL=debug\nEMPTY\n')
    opened = PluginFolder.open(path)
    assert opened.surroundings() == {"env": {"KEY": "se cret", "LEVEL": "debug"}, "secrets": {"KEY": "se cret"}}


def test_without_a_dotenv_there_is_nothing_to_tell(here: Path) -> None:
    opened = PluginFolder.open(plugin(here / "zoo", 'name = "zoo"\nsecrets = "wrong"\n'))
    assert opened.surroundings() == {"env": {}, "secrets": {}}


def test_the_folders_own_venv_comes_before_the_active_one(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = plugin(here / "zoo")
    assert PluginFolder.open(path).interpreter() == sys.executable
    active = here / "active"
    (active / "bin").mkdir(parents=True)
    (active / "bin" / "python").touch()
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert PluginFolder.open(path).interpreter() == str(active / "bin" / "python")
    (path / ".venv" / "bin").mkdir(parents=True)
    (path / ".venv" / "bin" / "python").touch()
    assert PluginFolder.open(path).interpreter() == str(path / ".venv" / "bin" / "python")


def test_the_platforms_own_environment_is_not_taken_for_that_of_a_plugin_with_requirements(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = plugin(here / "zoo")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert PluginFolder.open(path).own_interpreter() == f"{sys.prefix}/bin/python"
    (path / "requirements.txt").write_text("mcp<2\n")
    assert PluginFolder.open(path).own_interpreter() is None
    monkeypatch.setattr(sys, "prefix", str(path / "env"))
    (path / "env" / "bin").mkdir(parents=True)
    (path / "env" / "bin" / "python").touch()
    monkeypatch.setenv("VIRTUAL_ENV", str(path / "env"))
    assert PluginFolder.open(path).own_interpreter() == str(path / "env" / "bin" / "python")


def test_a_folder_of_folders_is_every_plugin_in_it(here: Path) -> None:
    plugin(here / "all" / "b", 'name = "bee"\n')
    plugin(here / "all" / "a", 'name = "ant"\n')
    (here / "all" / "notes").mkdir()
    assert [f.plugin for f in folder.find([here / "all"])] == ["ant", "bee"]
    assert [f.plugin for f in folder.find([here / "all" / "a", here / "all"])] == ["ant", "bee"]


def test_two_folders_can_not_claim_one_name(here: Path) -> None:
    with pytest.raises(PlatformError) as error:
        folder.find([plugin(here / "one"), plugin(here / "two")])
    assert error.value.code == "folder.same-name"


@pytest.mark.parametrize(
    ("text", "code"),
    [("name = \n", "config.syntax"), ('name = "No Good"\n', "name.plugin"), (None, "folder.no-config")],
)
def test_what_is_wrong_with_a_folder_has_a_code(text: str | None, code: str, here: Path) -> None:
    path = here / "zoo"
    path.mkdir()
    if text is not None:
        (path / "plugin.toml").write_text(text)
    with pytest.raises(PlatformError) as error:
        folder.find([path])
    assert error.value.code == code
