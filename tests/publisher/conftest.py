"""A store in a folder and a runner that says what a test gives it: the pipeline without a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_publisher.publish import Published, Step, examine, publish
from tenantry_registry.bundle import pack
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.report import Report
from tenantry_registry.runners import Call, Release

NAME = Name("acme", "zoo")
TOML = 'name = "zoo"\nentrypoint = "server:plugin"\ntitle = "Zoo"\n'


def a_tool(name: str = "animals", **more: Any) -> dict[str, Any]:
    """A tool as the kit describes one that breaks no rule."""
    return {
        "name": name,
        "description": "Use this when the user wants animals.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        "source": {"file": "server.py", "line": 10},
        **more,
    }


def a_widget(name: str = "animals", file: str = "widgets/animals/index.html", **more: Any) -> dict[str, Any]:
    return {"name": name, "file": file, "csp": None, "source": {"file": "server.py", "line": 3}, **more}


def a_description(*tools: dict[str, Any], widgets: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    return {"kind": "kit", "kit": "0.1.0", "protocol": 1, "tools": list(tools), "widgets": list(widgets), **more}


class SaidRunner:
    """A Runner whose every plugin says `description` of itself; it keeps what it was asked."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.reply: dict[str, Any] = {"protocol": 1, "description": description}
        self.calls: dict[str, dict[str, Any]] = {}
        self.described: list[Release] = []

    async def describe(self, release: Release) -> dict[str, Any]:
        self.described.append(release)
        return self.reply

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        return self.calls[call.params["name"]]

    async def aclose(self) -> None:
        return None


class Workshop:
    """Publishes folders of given files into one store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = FileObjects(folder / "store")
        self.steps: list[Step] = []
        self._made = 0

    def bundle(self, files: Mapping[str, str | bytes]) -> bytes:
        self._made += 1
        source = self.folder / f"source{self._made}"
        for path, content in {"plugin.toml": TOML, "server.py": "plugin = 1\n", **files}.items():
            target = source / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        return pack(source)

    async def examine(
        self, description: Mapping[str, Any], files: Mapping[str, str | bytes] | None = None, **more: Any
    ) -> Report:
        """The report on a folder of these files whose code says this of itself."""
        examined = await examine(
            objects=self.objects, runner=SaidRunner(description), name=NAME, bundle=self.bundle(files or {}), **more
        )
        return examined.report

    async def publish(
        self, description: Mapping[str, Any], files: Mapping[str, str | bytes] | None = None, **more: Any
    ) -> Published:
        return await publish(
            objects=self.objects,
            runner=SaidRunner(description),
            name=NAME,
            bundle=self.bundle(files or {}),
            progress=self.steps.append,
            **more,
        )


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
def make() -> SimpleNamespace:
    """What the kit would say: `make.tool()`, `make.widget()`, `make.description()`."""
    return SimpleNamespace(tool=a_tool, widget=a_widget, description=a_description, runner=SaidRunner, name=NAME)
