"""Runs each plugin under development as its author would: with their interpreter and what their .env says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tenantry_registry.names import Name
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.runners import Call, Release, Runner

from tenantry_cli.folder import PluginFolder

DEVELOPMENT = "TENANTRY_DEV_FILES"  # tenantry.download's; to import the kit for it takes a tenth of a second
# What a tool logs is shown in whole lines and plain: rich, by which the SDKs log, would wrap them to 80 columns
PLAIN = {"COLUMNS": "240", "NO_COLOR": "1"}


class Home(NamedTuple):
    """What runs a plugin: an interpreter, and a folder of packages beside those that it has itself."""

    python: str
    packages: Path | None = None


class AuthorsRunner:
    """A runner for each home, made by `make(python, environ)` when the first plugin needs it.

    A folder's .env is read when it is adopted: what [secrets] requires becomes ctx.secrets, all of it the environment.
    """

    def __init__(self, make: Callable[[str, Mapping[str, str]], ProcessRunner]) -> None:
        self._make = make
        self._runners: dict[Home, ProcessRunner] = {}
        self._plugins: dict[Name, tuple[Home, dict[str, str], frozenset[str]]] = {}

    def adopt(self, name: Name, folder: PluginFolder, packages: Path | None = None) -> None:
        """Run `name` as its folder says from now on, with the dependencies in the folder `packages`, if any."""
        home = Home(folder.interpreter(), packages)
        self._plugins[name] = home, folder.dotenv(), folder.required_secrets()

    def warm(self) -> None:
        """Start a worker for each home that adopted plugins need. Call it in the loop that runs them."""
        for home, _, _ in self._plugins.values():
            self._of(home).warm()

    async def describe(self, release: Release) -> dict[str, Any]:
        return await self._runner(release).describe(self._as_here(release))

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        return await self._runner(release).call(self._as_here(release), call)

    async def aclose(self) -> None:
        for runner in self._runners.values():
            await runner.aclose()

    def _runner(self, release: Release) -> Runner:
        return self._of(self._plugins[release.name][0] if release.name in self._plugins else Home(""))

    def _of(self, home: Home) -> ProcessRunner:
        if home not in self._runners:
            # First on sys.path, as `_vendor` of a bundle is: what a plugin pins wins over what the platform has
            paths = [*([str(home.packages)] if home.packages else []), os.environ.get("PYTHONPATH", "")]
            environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
            self._runners[home] = self._make(home.python, environ)
        return self._runners[home]

    def _as_here(self, release: Release) -> Release:
        # Files of the local page are opened, too.
        release = replace(release, env={**PLAIN, **release.env, DEVELOPMENT: "1"})
        if release.name not in self._plugins:
            return release
        _, dotenv, required = self._plugins[release.name]
        secrets = {name: value for name, value in dotenv.items() if name in required}
        return replace(release, env={**release.env, **dotenv}, secrets={**release.secrets, **secrets})
