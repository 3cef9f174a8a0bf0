"""An ASGI app, called in process: its lifespan is entered once, its loop runs only while a request is answered.

Between requests the loop stands still, as everything does in a frozen Lambda environment, so a server behaves the same
on one machine.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tenantry_sandbox.faults import LoadError, TooSlow

SPEC = {"version": "3.0", "spec_version": "2.3"}
STARTUP_SECONDS = 20.0
STOP_SECONDS = 0.1  # for a request that took too long to clean up
# Not the app's to say (RFC 9110, section 7.6.1), or not for a plugin's host to set.
DROPPED = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade", "set-cookie", "content-length", "date", "server"),
    )
)


@dataclass(frozen=True)
class Response:
    """Status, headers in order (lower-case names), body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8, which JSON and event streams are."""
        return self.body.decode("utf-8", "replace")


class App:
    """Enters the app's lifespan at once. Raises: LoadError `plugin.startup` when the app says that it can't start."""

    def __init__(self, app: Any, host: str) -> None:
        self._app = app
        self._host = host
        self._state: dict[str, Any] = {}
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())

    def request(
        self, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes, seconds: float
    ) -> Response:
        """One request, answered whole. Raises: TooSlow after `seconds`, and whatever the app raises."""
        sent = [(name.lower(), value) for name, value in headers if name.lower() not in {*DROPPED, "host", "origin"}]
        scope = {
            "type": "http",
            "asgi": SPEC,
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [
                (name.encode("latin-1"), value.encode("latin-1", "replace"))
                for name, value in [("host", self._host), ("content-length", str(len(body))), *sent]
            ],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 8000),
            "state": self._state.copy(),
        }
        exchange = _Exchange(body)
        running = self._loop.create_task(self._app(scope, exchange.receive, exchange.send))
        self._loop.run_until_complete(asyncio.wait({running}, timeout=max(seconds, 0)))
        if not running.done():
            running.cancel()
            self._loop.run_until_complete(asyncio.wait({running}, timeout=STOP_SECONDS))
            raise TooSlow(f"no answer after {seconds:.1f} seconds")
        running.result()
        return exchange.response()

    def close(self) -> None:
        """Leave the lifespan."""
        if not self._lifespan.done():
            self._stop.set()
            self._loop.run_until_complete(asyncio.wait({self._lifespan}, timeout=STARTUP_SECONDS))
        self._loop.close()

    async def _start(self) -> None:
        self._stop = asyncio.Event()
        started = self._loop.create_future()
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "lifespan.startup"}
            await self._stop.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: dict[str, Any]) -> None:
            if not started.done():
                started.set_result(message)

        async def live() -> None:
            scope = {"type": "lifespan", "asgi": SPEC, "state": self._state}
            try:
                await self._app(scope, receive, send)
            except Exception:
                if started.done():
                    raise
            if not started.done():  # an app without a lifespan raises or returns at once (ASGI, lifespan protocol)
                started.set_result({"type": "lifespan.startup.complete"})

        self._lifespan = self._loop.create_task(live())
        message = await asyncio.wait_for(started, STARTUP_SECONDS)
        if message["type"] == "lifespan.startup.failed":
            raise LoadError("plugin.startup", f"The server did not start: {message.get('message', '')}".rstrip(": "))


class _Exchange:
    """One request's `receive` and `send`."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._done = asyncio.Event()
        self._status = 0
        self._headers: list[tuple[str, str]] = []
        self._chunks: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._done.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [
                (bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1"))
                for name, value in message.get("headers", ())
            ]
        elif message["type"] == "http.response.body":
            self._chunks.append(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                self._done.set()

    def response(self) -> Response:
        kept = [(name, value) for name, value in self._headers if name not in DROPPED]
        return Response(self._status, kept, b"".join(self._chunks))
