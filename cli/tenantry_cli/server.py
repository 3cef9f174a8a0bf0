"""Serves an ASGI app on a socket until Ctrl-C or SIGTERM, and always cleans up."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

STOPPING_SECONDS = 2  # calls under way get so long to end


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise SIGTERM again before anybody cleaned up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(app: Any, listener: socket.socket) -> AsyncIterator[Server]:
    """The app answers while the block runs."""
    config = uvicorn.Config(
        app, lifespan="off", ws="none", log_level="error", access_log=False, server_header=False,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )  # fmt: skip
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.up.wait()
        yield server
    finally:
        server.should_exit = True
        await task


def stop_signal() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set. Call it inside the loop that waits for it."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
