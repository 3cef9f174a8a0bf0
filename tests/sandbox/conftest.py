"""A store, a folder, and a way to run small bundles in real worker processes."""

from __future__ import annotations

import os
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry import bundle
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner
from tenantry_registry.runners import Release

# What a worker needs so that its lines are counted too; nothing where coverage is not running.
MEASURED = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
# A server with the kit's two methods and nothing else: what the runner sees of the kit.
FAKE_KIT = '''
class Plugin:
    """Answers each tool by the function of that name."""
    __tenantry_protocol__ = 1
    def __init__(self, **tools):
        self.tools = tools
    def __tenantry_describe__(self):
        return {"kind": "kit", "protocol": 1, "tools": [{"name": name} for name in self.tools]}
    def __tenantry_call__(self, call, session):
        answer = self.tools[call["params"]["name"]](call, session)
        return answer if isinstance(answer, dict) else {"result": answer and {"said": answer} or {}}
'''

ZOO = Name("acme", "zoo")
Publish = Callable[..., Awaitable[Release]]


@pytest.fixture
def objects(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path / "store")


@pytest.fixture
def publish(objects: FileObjects, tmp_path: Path) -> Publish:
    """Store a bundle of these files and give its release; `server.py` may use `from fake import Plugin`."""
    made = 0

    async def publish(
        files: Mapping[str, str | bytes] | str,
        name: Name = ZOO,
        entrypoint: str = "server:plugin",
        **release: Any,
    ) -> Release:
        nonlocal made
        made += 1
        if isinstance(files, str):
            files = {"server.py": "from fake import Plugin\n" + textwrap.dedent(files), "fake.py": FAKE_KIT}
        folder = tmp_path / f"bundle{made}"
        vendored = {}
        for path, content in files.items():
            data = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
            if path.startswith("_vendor/"):
                vendored[path] = data
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        packed = bundle.pack(folder, vendored)
        digest = bundle.digest(packed)
        key = f"bundles/{name}/{digest}.zip"
        await objects.put_once(key, packed, ZIP)
        return Release(name, digest, entrypoint, key, **release)

    return publish


@pytest.fixture
async def make_runner(objects: FileObjects, tmp_path: Path) -> AsyncIterator[Callable[..., ProcessRunner]]:
    """Make runners that end with the test; without walls unless the test asks, so that their workers are measured."""
    made: list[ProcessRunner] = []

    def make(**settings: Any) -> ProcessRunner:
        settings = {"isolate": "none", "environ": {**PLAIN_ENVIRON, **MEASURED}, **settings}
        runner = ProcessRunner(objects, folder=tmp_path / "run", **settings)
        made.append(runner)
        return runner

    yield make
    for runner in made:
        await runner.aclose()


@pytest.fixture
def runner(make_runner: Callable[..., ProcessRunner]) -> ProcessRunner:
    return make_runner()
