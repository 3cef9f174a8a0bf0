"""Runs each plugin under development as its author would: with their interpreter and what their .env says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tenantry_registry.names import Name
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.runners import Call, Release, Runner

from tenantry_cli.folder import PluginFolder

DEVELOPMENT = "TENANTRY_DEV_FILES"  # tenantry.download's; to import the kit for it takes a tenth of a second
# What a tool logs is shown in whole lines and plain: rich, by which the SDKs log, would wrap them to 80 columns
PLAIN = {"COLUMNS": "240", "NO_COLOR": "1"}


class AuthorsRunner:
    """A runner for each interpreter, made by `make(python)` when the first plugin needs it.

    A folder's .env is read when it is adopted: what [secrets] requires becomes ctx.secrets, all of it the environment.
    """

    def __init__(self, make: Callable[[str], ProcessRunner]) -> None:
        self._make = make
        self._runners: dict[str, ProcessRunner] = {}
        self._plugins: dict[Name, tuple[str, dict[str, str], frozenset[str]]] = {}

    def adopt(self, name: Name, folder: PluginFolder) -> None:
        """Run `name` as its folder says from now on."""
        self._plugins[name] = folder.interpreter(), folder.dotenv(), folder.required_secrets()

    def warm(self) -> None:
        """Start a worker for each interpreter that adopted plugins need. Call it in the loop that runs them."""
        for python, _, _ in self._plugins.values():
            self._of(python).warm()

    async def describe(self, release: Release) -> dict[str, Any]:
        return await self._runner(release).describe(self._as_here(release))

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        return await self._runner(release).call(self._as_here(release), call)

    async def aclose(self) -> None:
        for runner in self._runners.values():
            await runner.aclose()

    def _runner(self, release: Release) -> Runner:
        return self._of(self._plugins[release.name][0] if release.name in self._plugins else "")

    def _of(self, python: str) -> ProcessRunner:
        if python not in self._runners:
            self._runners[python] = self._make(python)
        return self._runners[python]

    def _as_here(self, release: Release) -> Release:
        # Files of the local page are opened, too.
        release = replace(release, env={**PLAIN, **release.env, DEVELOPMENT: "1"})
        if release.name not in self._plugins:
            return release
        _, dotenv, required = self._plugins[release.name]
        secrets = {name: value for name, value in dotenv.items() if name in required}
        return replace(release, env={**release.env, **dotenv}, secrets={**release.secrets, **secrets})
