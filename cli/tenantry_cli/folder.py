"""A plugin's folder, as its author keeps it: plugin.toml, code, widgets, .env, perhaps a .venv."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from tenantry_registry import names
from tenantry_registry.errors import PlatformError
from tenantry_registry.vendor import declares

MANUAL = "plugin.toml"


class Surroundings(TypedDict):
    env: dict[str, str]
    secrets: dict[str, str]


@dataclass(frozen=True, slots=True)
class PluginFolder:
    """One folder with a plugin.toml. `config` is the file as written; publishing validates it."""

    path: Path
    config: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> PluginFolder:
        """Read a folder. Raises: PlatformError `folder.missing`, `folder.no-config`, `config.syntax`."""
        if not path.is_dir():
            raise PlatformError("folder.missing", f"{path} is not a folder.", f"Make one with: platform init {path}")
        try:
            config = tomllib.loads((path / MANUAL).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise PlatformError(
                "folder.no-config",
                f"{path} has no {MANUAL}.",
                "A new plugin: platform init FOLDER. A server you have: platform init --from server.py FOLDER",
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PlatformError(
                "config.syntax", f"{path / MANUAL} is not TOML: {error}", "Correct the line it names."
            ) from None
        return cls(path.resolve(), config)

    @property
    def plugin(self) -> str:
        """The plugin's slug. Raises: PlatformError `name.plugin`."""
        return names.plugin(str(self.config.get("name") or self.path.name))

    def required_secrets(self) -> frozenset[str]:
        secrets = self.config.get("secrets")
        required = secrets.get("required") if isinstance(secrets, dict) else None
        return frozenset(map(str, required)) if isinstance(required, list) else frozenset()

    def dotenv(self) -> dict[str, str]:
        """What the folder's .env says, or nothing where there is none."""
        path = self.path / ".env"
        if not path.is_file():
            return {}
        from dotenv import dotenv_values

        return {name: value for name, value in dotenv_values(path).items() if value is not None}

    def surroundings(self) -> Surroundings:
        """What publishing from here hands to the code in place of placeholders: .env, and the secrets in it."""
        dotenv, required = self.dotenv(), self.required_secrets()
        return {"env": dotenv, "secrets": {name: value for name, value in dotenv.items() if name in required}}

    def own_interpreter(self) -> str | None:
        """The author's own Python: the folder's .venv, else $VIRTUAL_ENV, or None where they have neither.

        An active environment that is the platform's own has the platform's packages, whatever the plugin requires: it
        counts only for a plugin that requires nothing.
        """
        active = Path(os.environ.get("VIRTUAL_ENV") or os.devnull)
        if self._is_platforms(active) and declares(self.path, str(self.config.get("entrypoint", ""))):
            active = Path(os.devnull)
        for venv in (self.path / ".venv", active):
            python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
            if python.is_file():
                return str(python)
        return None

    def _is_platforms(self, venv: Path) -> bool:
        """Whether it is the environment that this command runs in, and none that the plugin keeps in its folder."""
        return venv.resolve() == Path(sys.prefix).resolve() and not venv.resolve().is_relative_to(self.path)

    def interpreter(self) -> str:
        """What runs this plugin under development: its author's own Python, or the one that runs this."""
        return self.own_interpreter() or sys.executable


def find(paths: Iterable[Path]) -> list[PluginFolder]:
    """The plugins at `paths`: each is a plugin's folder, or a folder of such folders.

    Raises: PlatformError of `PluginFolder.open`, and `folder.same-name` where two claim one name.
    """
    folders: list[PluginFolder] = []
    for path in paths:
        inside = sorted(p.parent for p in path.glob(f"*/{MANUAL}")) if not (path / MANUAL).exists() else []
        folders += [PluginFolder.open(p) for p in inside or [path]]
    taken: dict[str, Path] = {}
    for folder in folders:
        if folder.plugin in taken and taken[folder.plugin] != folder.path:
            raise PlatformError(
                "folder.same-name",
                f"{taken[folder.plugin]} and {folder.path} are both called {folder.plugin!r}.",
                f"Give one another name in its {MANUAL}.",
            )
        taken[folder.plugin] = folder.path
    return list({f.path: f for f in folders}.values())
