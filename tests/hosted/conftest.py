"""Each server of this folder twice: alone, as its author runs it, and published and served by the gateway."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from simulators.serving import KEY, free_port, listening, standing
from tenantry_gateway.app import create_app
from tenantry_gateway.settings import GatewaySettings
from tenantry_publisher.publish import publish
from tenantry_registry import bundle, links, vendor
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".build" / "vendored"
LOCKS = HERE.parent / "clients"  # its environments' locks: one pins mcp 1.x, one fastmcp 4
VENDORED = {"first": "mcp1.txt", "asks1": "mcp1.txt", "fast": "fastmcp.txt", "asks4": "fastmcp.txt"}
PATHS = {"fast": "/api/mcp"}  # where each serves on its own; /mcp by default
HOST = "plugins.example.com"
PATIENCE = 30.0  # seconds for a server of its own to listen
UI = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
META = "io.modelcontextprotocol/"
CLIENT = {"name": "side by side", "version": "1"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Talk:
    """A client of one server over HTTP that keeps the session where it is given one. `headers`: the last answer's."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._session: dict[str, dict[str, str]] = {}
        self.headers = httpx.Headers()

    async def greet(self, revision: str) -> dict[str, Any]:
        """The handshake of a 2025 revision; what initialize answered."""
        params = {"protocolVersion": revision, "capabilities": UI, "clientInfo": CLIENT}
        response = await self._post({"id": 1, "method": "initialize", "params": params}, {})
        session = response.headers.get("mcp-session-id")
        self._session[revision] = {"mcp-session-id": session} if session else {}
        told = await self._post({"method": "notifications/initialized"}, self._headers(revision))
        assert told.status_code == 202
        return messages(response)[-1]

    async def ask(self, revision: str, method: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Every message of the answer to one request; the last is the result or the error."""
        sent = dict(params or {})
        if revision >= "2026":
            headers = {"mcp-protocol-version": revision, "mcp-method": method}
            if method in NAMED:
                headers["mcp-name"] = str(sent.get(NAMED[method], ""))
            own = {f"{META}protocolVersion": revision, f"{META}clientCapabilities": UI, f"{META}clientInfo": CLIENT}
            sent["_meta"] = {**own, **sent.get("_meta", {})}
        else:
            if revision not in self._session:
                await self.greet(revision)
            headers = self._headers(revision)
        response = await self._post({"id": 7, "method": method, "params": sent}, headers)
        self.headers = response.headers
        return messages(response)

    async def result(self, revision: str, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = (await self.ask(revision, method, params))[-1]
        assert "result" in answer, answer
        return answer["result"]

    def _headers(self, revision: str) -> dict[str, str]:
        return {"mcp-protocol-version": revision, **self._session[revision]}

    async def _post(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        body = json.dumps({"jsonrpc": "2.0", **message})
        return await self._http.post(self._url, content=body, headers={**accept, **headers})


def messages(response: httpx.Response) -> list[dict[str, Any]]:
    """The JSON-RPC messages of a body of JSON or of events."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        return [response.json()]
    lines = [line.removeprefix("data:").strip() for line in response.text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line]


@dataclass
class Pair:
    """One server: `alone` and `hosted`, and its release."""

    name: str
    alone: Talk
    hosted: Talk
    manifest: Manifest


def vendored(name: str) -> tuple[dict[str, bytes], Path | None]:
    """What a server's own environment adds to its bundle, and the folder that it lies in."""
    if name not in VENDORED:
        return {}, None
    folder = CACHE / "asked" / name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(LOCKS / VENDORED[name], folder / "requirements.txt")
    wanted = vendor.requirements(folder, "server:app")
    assert wanted is not None
    made = vendor.vendor(folder, wanted, vendor.HOST, CACHE)
    return made.files(), made.folder


def runs_alone(name: str, packages: Path | None, port: int) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PORT": str(port), "PYTHONDONTWRITEBYTECODE": "1"}
    if packages is not None:
        environ["PYTHONPATH"] = str(packages)
    return subprocess.Popen(
        [sys.executable, "server.py"],
        cwd=HERE / name,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def alone(name: str) -> Iterator[str]:
    """The address of a server of this folder that runs by itself."""
    port = free_port()
    process = runs_alone(name, vendored(name)[1], port)
    try:
        wait_for(process, port)
        yield f"http://localhost:{port}{PATHS.get(name, '/mcp')}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def hosted(name: str, release: Release, folder: Path) -> Iterator[str]:
    """The address of a published server, from a gateway at a port of its own."""
    port = free_port()
    runner = runner_of(name, release.objects, folder)
    with listening(standing(release.objects, runner, port), port, runner.aclose):
        yield f"http://localhost:{port}/t/acme/{name}/mcp"


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "it ended at once"
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, int]]:
    """The port of every server that was started on its own; they end with the tests."""
    ports: dict[str, int] = {}
    running: list[subprocess.Popen[bytes]] = []
    for name in ("mcpserver", "raw", "first", "fast"):
        ports[name] = free_port()
        running.append(runs_alone(name, vendored(name)[1], ports[name]))
    for process, port in zip(running, ports.values(), strict=True):
        wait_for(process, port)
    yield ports
    for process in running:
        process.terminate()
        process.wait()


@dataclass(frozen=True)
class Release:
    """A server that is published: where, and as what."""

    objects: FileObjects
    folder: Path
    manifest: Manifest


def runner_of(name: str, objects: FileObjects, folder: Path) -> ProcessRunner:
    """With the packages that it brings along, or with those of this environment."""
    settings: dict[str, Any] = {"environ": PLAIN_ENVIRON} if name in VENDORED else {"python": sys.executable}
    return ProcessRunner(objects, folder=folder / "run", workers=2, **settings)


async def published(name: str, source: Path, folder: Path) -> Release:
    """Publish a folder as `platform publish` does."""
    objects = FileObjects(folder / "store", origin=f"https://{HOST}")
    await links.ensure(objects)
    packed = bundle.pack(source, vendored(name)[0])
    runner = runner_of(name, objects, folder)
    try:
        made = await publish(objects=objects, runner=runner, name=Name("acme", name), bundle=packed, development=True)
    finally:
        await runner.aclose()
    return Release(objects, folder, made.manifest)


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Release]:
    """Publishes a server of this folder, once."""

    @cache
    def release(name: str) -> Release:
        return asyncio.run(published(name, HERE / name, tmp_path_factory.mktemp(name)))

    return release


@pytest.fixture
async def pair(
    request: pytest.FixtureRequest, servers: dict[str, int], releases: Callable[[str], Release]
) -> AsyncIterator[Pair]:
    """The server that the test names, alone and hosted."""
    name = request.param
    release = await asyncio.to_thread(releases, name)
    runner = runner_of(name, release.objects, release.folder)
    alone = httpx.AsyncClient(timeout=PATIENCE)
    hosted = httpx.AsyncClient(transport=httpx.ASGITransport(gateway(release.objects, runner)), timeout=PATIENCE)
    try:
        async with alone, hosted:
            yield Pair(
                name,
                Talk(alone, f"http://127.0.0.1:{servers[name]}{PATHS.get(name, '/mcp')}"),
                Talk(hosted, f"https://{HOST}/t/acme/{name}/mcp"),
                release.manifest,
            )
    finally:
        await runner.aclose()


def gateway(objects: FileObjects, runner: Any) -> Any:
    """A gateway that has seen nothing yet."""
    settings = GatewaySettings(origin=f"https://{HOST}", seal_keys=KEY)
    return create_app(objects=objects, runner=runner, settings=settings, log=lambda event, **fields: None)
