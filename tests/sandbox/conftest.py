"""A store, a folder, and a way to run small bundles in real worker processes."""

from __future__ import annotations

import os
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from tenantry_registry import bundle
from tenantry_registry.credentials import fixed
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP, Objects
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner
from tenantry_registry.runners import Release
from tenantry_registry.sigv4 import Credentials

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
BUCKET, REGION = "tenantry-sandbox-tests", "eu-central-1"
KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


class Publisher:
    """Packs a few files, stores the bundle and gives its release; `server.py` may use `from fake import Plugin`."""

    def __init__(self, objects: Objects, folder: Path) -> None:
        self._objects = objects
        self._folder = folder
        self._made = 0

    async def __call__(
        self,
        files: Mapping[str, str | bytes] | str,
        name: Name = ZOO,
        entrypoint: str = "server:plugin",
        **release: Any,
    ) -> Release:
        self._made += 1
        if isinstance(files, str):
            files = {"server.py": "from fake import Plugin\n" + textwrap.dedent(files), "fake.py": FAKE_KIT}
        folder = self._folder / f"bundle{self._made}"
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
        await self._objects.put_once(key, packed, ZIP)
        return Release(name, digest, entrypoint, key, **release)


@pytest.fixture
def objects(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path / "store")


@pytest.fixture
def publish(objects: FileObjects, tmp_path: Path) -> Publisher:
    return Publisher(objects, tmp_path)


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of an S3 with one bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name=REGION,
        aws_access_key_id=KEYS.access_key,
        aws_secret_access_key=KEYS.secret_key,
    )
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    client.close()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(moto: str) -> S3Objects:
    return S3Objects(BUCKET, credentials=fixed(KEYS), region=REGION, endpoint=moto)


@pytest.fixture
def publish_to_s3(s3: S3Objects, tmp_path: Path) -> Publisher:
    return Publisher(s3, tmp_path)


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


@pytest.fixture
def fake_kit() -> str:
    return FAKE_KIT
