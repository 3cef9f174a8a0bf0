"""A plugin folder published and served over real HTTP for tests: by uvicorn itself, or behind the AWS simulator."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from simulators.aws_edge import AwsEdge
from tenantry_gateway.app import create_app
from tenantry_gateway.on_lambda import bridge
from tenantry_gateway.settings import GatewaySettings
from tenantry_publisher.publish import publish
from tenantry_registry import bundle, links
from tenantry_registry import config as configs
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import ProcessRunner

Closing = Callable[[], Awaitable[None]]
KEY = "k1:QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def publish_folder(objects: FileObjects, folder: Path, name: Name, work: Path) -> None:
    """Publish a folder as `platform publish` does."""
    await links.ensure(objects)
    runner = ProcessRunner(objects, folder=work, workers=1)
    try:
        await publish(objects=objects, runner=runner, name=name, bundle=bundle.pack(folder), progress=lambda step: None)
    finally:
        await runner.aclose()


class Server(uvicorn.Server):
    """uvicorn, with something to do on its own event loop when it ends."""

    def __init__(self, config: uvicorn.Config, closing: Closing | None) -> None:
        super().__init__(config)
        self._closing = closing

    async def shutdown(self, sockets: Any = None) -> None:
        await super().shutdown(sockets)
        if self._closing is not None:
            await self._closing()


@contextmanager
def listening(app: Any, port: int, closing: Closing | None = None) -> Iterator[None]:
    """Serve an ASGI app on 127.0.0.1 from a thread of its own."""
    server = Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", lifespan="off"), closing)
    thread = threading.Thread(target=server.run, name="serving")
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "it did not start: is somebody else at its port?"
            time.sleep(0.005)
        yield
    finally:
        server.should_exit = True
        thread.join()


def standing(objects: FileObjects, runner: Any, port: int, **more: Any) -> Any:
    """The gateway's app as it stands on this machine at a port, silent; `more` settings."""
    settings = GatewaySettings(
        mode="development",
        origin=f"http://localhost:{port}",
        hosts=(f"127.0.0.1:{port}",),
        base=f"localhost:{port}",
        scheme="http",
        seal_keys=KEY,
        **more,
    )
    return create_app(objects=objects, runner=runner, settings=settings, log=lambda event, **fields: None)


@contextmanager
def served(folder: Path, work: Path, *, tenant: str = "acme", edge: bool = False, runner: Any = None) -> Iterator[str]:
    """The MCP address of a published plugin. `edge`: every request as a Lambda event, behind AWS's front doors."""
    port = free_port()
    name = Name(tenant, configs.load((folder / "plugin.toml").read_bytes()).name)
    objects = FileObjects(work / "store", origin=f"http://localhost:{port}")
    asyncio.run(publish_folder(objects, folder, name, work / "publish"))
    workers = runner or ProcessRunner(objects, folder=work / "run", workers=3)

    def app() -> Any:
        return standing(objects, workers, port, origin_secret="the-origin-secret")

    url = f"http://localhost:{port}/t/{name.tenant}/{name.plugin}/mcp"
    if not edge:
        with listening(app(), port, workers.aclose):
            yield url
        return
    simulator = AwsEdge(lambda: bridge(app()), secret="the-origin-secret")
    try:
        with listening(simulator, port):
            yield url
    finally:
        simulator.close(workers.aclose)
