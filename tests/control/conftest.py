"""The control plane in process, over a store in a folder, with a runner that says what a test gives it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
import pytest_asyncio
from tenantry_control.app import create_app
from tenantry_control.logs import FileLogs
from tenantry_control.publishing import LocalPublisher
from tenantry_control.settings import ControlSettings
from tenantry_publisher.work import work
from tenantry_registry.bundle import pack
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects_file import Disk, FileObjects
from tenantry_registry.runners import Call, Release
from tenantry_registry.secrets import Drawer, KeyFileCipher
from tenantry_registry.tokens import Tokens
from tenantry_registry.usage_sqlite import SqliteUsage

OPERATOR = "tno_" + "o" * 43
NOW = 1_800_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class QuickDisk(Disk):
    """A disk that may lose what was written when the power fails: no test pulls the plug here."""

    def sync(self, file: IO[bytes]) -> None:
        file.flush()

    def sync_folder(self, path: Path) -> None:
        return None


class SaidRunner:
    """A Runner whose every plugin offers one tool that breaks no rule."""

    def __init__(self) -> None:
        self.tool: dict[str, Any] = {
            "name": "animals",
            "description": "Use this when the user wants animals.",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
            "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
            "source": {"file": "server.py", "line": 10},
        }
        self.fault: Exception | None = None

    async def describe(self, release: Release) -> dict[str, Any]:
        if self.fault is not None:
            raise self.fault
        return {
            "protocol": 1,
            "description": {"kind": "kit", "kit": "0.1.0", "protocol": 1, "tools": [self.tool], "widgets": []},
        }

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        raise AssertionError("publishing without examples calls no tool")

    async def aclose(self) -> None:
        return None


async def no_web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    raise PlatformError("fetch.failed", "There is no internet in this test.")


@dataclass
class Books:
    """What stands beside the store."""

    usage: SqliteUsage
    logs: FileLogs


@dataclass
class House:
    """Everything that a test may look at behind the API's back."""

    objects: FileObjects
    client: httpx.AsyncClient
    publisher: LocalPublisher
    runner: SaidRunner
    clock: Clock
    folder: Path
    books: Books

    @property
    def usage(self) -> SqliteUsage:
        return self.books.usage

    @property
    def logs(self) -> FileLogs:
        return self.books.logs

    async def call(self, method: str, path: str, *, token: str = OPERATOR, status: int = 200, json: Any = None) -> Any:
        """One request; fails unless it answers `status`."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = await self.client.request(method, path, headers=headers, json=json)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        return answer.json() if answer.content else None

    def bundle(self, text: str = "plugin = 1\n", plugin: str = "zoo") -> bytes:
        source = self.folder / hashlib.sha256((plugin + text).encode()).hexdigest()[:8]
        source.mkdir(exist_ok=True)
        (source / "plugin.toml").write_text(f'name = "{plugin}"\nentrypoint = "server:plugin"\ntitle = "Zoo"\n')
        (source / "server.py").write_text(text)
        return pack(source)

    async def upload(self, upload: Mapping[str, Any], data: bytes) -> None:
        """What storage does with a browser's or the CLI's POST."""

        async def chunks() -> AsyncIterator[bytes]:
            yield data

        grant = self.objects.signer.verify("POST", upload["url"], upload["fields"])
        await self.objects.receive(grant, chunks())

    async def publish(self, data: bytes, *, token: str = OPERATOR, name: str = "acme/zoo", **body: Any) -> Any:
        """A whole publish; returns it as it ended."""
        base = f"/v1/plugins/{name}/publishes"
        digest = hashlib.sha256(data).hexdigest()
        started = await self.call(
            "POST", base, token=token, status=201, json={"digest": digest, "size": len(data), **body}
        )
        if started["upload"]:
            await self.upload(started["upload"], data)
        await self.call("POST", f"{base}/{started['id']}/finish", token=token, status=202)
        await self.publisher.aclose()
        return await self.call("GET", f"{base}/{started['id']}", token=token)

    async def token(self, tenant: str, *scopes: str) -> str:
        issued = await self.call("POST", f"/v1/tenants/{tenant}/tokens", status=201, json={"scopes": list(scopes)})
        return str(issued["token"])


def composed(folder: Path, runner: SaidRunner, clock: Clock) -> tuple[Any, FileObjects, LocalPublisher, Books]:
    """The app over a store in `folder`, what it keeps, and what publishes for it."""
    objects = FileObjects(folder, disk=QuickDisk())

    async def carry_out(name: Name, job_id: str) -> object:
        return await work(objects=objects, runner=runner, name=name, job_id=job_id, now=clock)

    publisher = LocalPublisher(carry_out)
    settings = ControlSettings(
        mode="development",
        base="plugins.example.com",
        api_url="https://api.example.com",
        origin_secret="only CloudFront knows",
    )
    books = Books(SqliteUsage(folder / "usage.db", now=clock), FileLogs(folder / "log", now=clock))
    app = create_app(
        objects=objects,
        publisher=publisher,
        fetch=no_web,
        usage=books.usage,
        logs=books.logs,
        drawer=Drawer(objects, KeyFileCipher(folder / "secrets.key")),
        settings=settings,
        now=clock,
    )
    return app, objects, publisher, books


@pytest.fixture(scope="module")
def platform_app() -> Callable[[Path], tuple[Any, FileObjects]]:
    """Makes an app over a store in a folder, for tests that are not asynchronous themselves."""

    def make(folder: Path) -> tuple[Any, FileObjects]:
        app, objects, _, _ = composed(folder, SaidRunner(), Clock())
        return app, objects

    return make


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A platform with one tenant, acme."""
    runner, clock = SaidRunner(), Clock()
    app, objects, publisher, books = composed(tmp_path / "store", runner, clock)
    await Tokens(objects).adopt(OPERATOR)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("192.0.2.7", 1))
    async with httpx.AsyncClient(transport=transport, base_url="https://api.example.com") as client:
        house = House(objects, client, publisher, runner, clock, tmp_path, books)
        await house.call("POST", "/v1/tenants", status=201, json={"slug": "acme"})
        yield house
        await publisher.aclose()
        books.usage.close()
