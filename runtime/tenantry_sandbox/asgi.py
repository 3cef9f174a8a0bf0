"""An ASGI app, called in process: its lifespan is entered once, its loop runs only while a request is answered.

Between requests the loop stands still, as everything does in a frozen Lambda environment, so a server behaves the same
on one machine.

One task lives as long as the app: the root of the loop, as a web server's own task is. AnyIO ties the threads that it
runs synchronous tools in to that task: they wait for the next call as long as it lives, and end with it. A root of
every request's own would cost a new thread for each, a third of a warm call; one that never ends would leave threads
that Python waits for at exit.
"""

import asyncio
import time
from asyncio.base_events import _run_until_complete_cb  # type: ignore[attr-defined]  # by which AnyIO knows a root
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from tenantry_sandbox.faults import LoadError, TooSlow

FAILED = "lifespan.startup.failed"
SPEC = {"version": "3.0", "spec_version": "2.3"}
STARTUP_SECONDS = 20.0
STOP_SECONDS = 0.1  # for a request that took too long to clean up
LEAVE_SECONDS = 4.0  # for a lifespan to end; the runner ends a worker that has not left after 5
# Not the app's to say (RFC 9110, section 7.6.1), or not for a plugin's host to set.
DROPPED = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade", "set-cookie", "content-length", "date", "server"),
    )
)

T = TypeVar("T")


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
    """Enters the app's lifespan at once. Raises: LoadError `plugin.startup` when the app says that it can't start.

    `spent`: whether a request tried to end the process, which leaves what the lifespan holds broken."""

    def __init__(self, app: Any, host: str) -> None:
        self.spent = False
        self._app = app
        self._host = host
        self._state: dict[str, Any] = {}
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._stop = asyncio.Event()
        self._started: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._root = self._loop.create_task(self._live())
        self._root.add_done_callback(_run_until_complete_cb)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def request(
        self, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes, seconds: float
    ) -> Response:
        """One request, answered whole. Raises: TooSlow after `seconds`, and whatever the app raises."""
        sent = [(name.lower(), value) for name, value in headers if name.lower() not in {*DROPPED, "host", "origin"}]
        exchange = _Exchange(body)
        scope = self.scope(method, path, [("content-length", str(len(body))), *sent])
        self.run(self._app(scope, exchange.receive, exchange.send), seconds)
        return exchange.response()

    def scope(self, method: str, path: str, headers: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """The connection scope of a request with these headers (lower-case names)."""
        return {
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
                for name, value in [("host", self._host), *headers]
            ],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 8000),
            "state": self._state.copy(),
        }

    def run(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run it to its end in a task of its own. Raises: TooSlow after `seconds`, and whatever it raises."""
        running = self._loop.create_task(coroutine)
        try:
            if not self._run(running, seconds):
                running.cancel()
                self._run(running, STOP_SECONDS)
                raise TooSlow(f"no answer after {seconds:.1f} seconds")
            return running.result()
        except (SystemExit, KeyboardInterrupt):
            self.spent = True
            raise

    def close(self) -> None:
        """Leave the lifespan, and with it the threads that were kept."""
        self._stop.set()
        self._run(self._root, LEAVE_SECONDS + STOP_SECONDS)
        self._loop.close()

    def _start(self) -> None:
        slow = {"type": FAILED, "message": f"it took more than {STARTUP_SECONDS:.0f} seconds"}
        message = self._started.result() if self._run(self._started, STARTUP_SECONDS) else slow
        if message["type"] == FAILED:
            raise LoadError("plugin.startup", f"The server did not start: {message.get('message', '')}".rstrip(": "))

    def _run(self, until: asyncio.Future[Any], seconds: float) -> bool:
        """Let the loop run until the future is done, at most `seconds`; whether it is done.

        Not by run_until_complete, which would make a root of each."""
        end = time.monotonic() + seconds
        until.add_done_callback(_halt)
        while not until.done() and (left := end - time.monotonic()) > 0:  # again where the app itself stopped the loop
            timer = self._loop.call_later(left, self._loop.stop)
            try:
                self._loop.run_forever()
            finally:
                timer.cancel()
        until.remove_done_callback(_halt)
        return until.done()

    async def _live(self) -> None:
        """The root: from before the app starts until after it has stopped."""
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "lifespan.startup"}
            await self._stop.wait()
            return {"type": "lifespan.shutdown"}

        async def send(message: dict[str, Any]) -> None:
            if not self._started.done():
                self._started.set_result(message)

        async def live() -> None:
            scope = {"type": "lifespan", "asgi": SPEC, "state": self._state}
            try:
                await self._app(scope, receive, send)
            except Exception:
                if self._started.done():
                    raise
            if not self._started.done():  # an app without a lifespan raises or returns at once (ASGI, lifespan)
                self._started.set_result({"type": "lifespan.startup.complete"})

        lifespan = self._loop.create_task(live())
        await self._stop.wait()
        await asyncio.wait({lifespan}, timeout=LEAVE_SECONDS)


def _halt(done: asyncio.Future[Any]) -> None:
    done.get_loop().stop()


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
