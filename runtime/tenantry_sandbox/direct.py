"""A server object of the SDK, version 2, asked in this process: no HTTP, no JSON between its handlers and the worker.

`serve_one` is the SDK's own way to serve one request on whatever brought it; its HTTP transport is built on the same.
What that transport does around it has been done by then: hosts, headers and envelopes are the gateway's to check. It
costs less than half of a request over HTTP (tests/bench/guest.py). Only an app that is the SDK's own, with neither
sign-in nor middleware around it and without settings that change what a tool can do, is passed by, and only in a
version of the SDK that this is tested with; every other server is asked over HTTP.

One thing is better than alone. At 2026-07-28 the SDK's transport has no way back to the client, so `ctx.elicit` and its
like fail; here a question is answered as at the revisions before, and what has no answer yet becomes the call's result.
"""

import asyncio
import contextlib
import importlib
import json
import logging
from collections.abc import Coroutine, Mapping
from types import SimpleNamespace
from typing import Any

from tenantry_sandbox.asgi import App
from tenantry_sandbox.asks import CALL_ID, GRACE_SECONDS, Client

VERSIONS = ("2.3.",)  # of the distribution mcp; a newer one is asked over HTTP until its `serve_one` was looked at
INTERNAL_ERROR = -32603
NAMES = {
    "anyio": ("Event",),
    "mcp.server.connection": ("Connection",),
    "mcp.server.runner": ("serve_one",),
    "mcp.shared.exceptions": ("MCPError", "NoBackChannelError"),
    "mcp.shared.jsonrpc_dispatcher": ("handler_exception_to_error_data", "progress_token_from_params"),
    "mcp.shared.message": ("ServerMessageMetadata",),
    "mcp.shared.transport_context": ("TransportContext",),
    "mcp_types": ("JSONRPCError", "JSONRPCNotification", "JSONRPCRequest", "JSONRPCResponse", "ErrorData"),
    "mcp_types.version": ("HANDSHAKE_PROTOCOL_VERSIONS", "MODERN_PROTOCOL_VERSIONS"),
    "starlette.requests": ("Request",),
}

Answered = tuple[dict[str, Any], list[dict[str, Any]]]
logger = logging.getLogger("mcp.server")  # where an author looks for what the SDK says of a handler that failed


class Direct:
    """Asks the server of `manager`, the SDK's session manager of an app that has started. `beside`: what the app's
    router adds to the scope of a request for it."""

    def __init__(self, app: App, manager: Any, path: str, beside: Mapping[str, Any]) -> None:
        self._app = app
        self._server = manager.app
        self._state = manager._lifespan_state
        self._path = path
        self._beside = beside
        self._sdk = SimpleNamespace(
            **{
                name: getattr(importlib.import_module(module), name)
                for module, names in NAMES.items()
                for name in names
            }
        )
        self._modern = frozenset(self._sdk.MODERN_PROTOCOL_VERSIONS)
        self._spoken = self._modern | {*self._sdk.HANDSHAKE_PROTOCOL_VERSIONS}

    @classmethod
    def find(cls, app: App, made: Any, path: str) -> "Direct | None":
        """A way to the server that `made`, its app, serves at `path`, or None where it has to be asked over HTTP."""
        if type(made).__module__ != "starlette.applications" or made.user_middleware:
            return None
        beside = {"app": made, "router": made.router}
        for route in made.routes:
            match, more = route.matches({"type": "http", "method": "POST", "path": path, **beside})
            if match.name == "FULL":  # the one that the router takes
                manager = getattr(getattr(route, "endpoint", None), "session_manager", None)
                if manager is None or route.app is not route.endpoint or not _is_sdks(route.endpoint, manager):
                    return None
                return cls(app, manager, path, {**beside, **more, "route": route})
        return None

    def speaks(self, revision: str) -> bool:
        """Whether the server's SDK knows this revision."""
        return revision in self._spoken

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        revision: str,
        client: Client,
        headers: list[tuple[str, str]],
        seconds: float,
    ) -> Answered:
        """One request: `{"result"}` or `{"error"}`, and the notifications that came before it. `{}` where the client
        has to be asked first: it knows what. Raises: TooSlow, and whatever the server can't put into an answer."""
        channel = _Channel(self._sdk, client, params)
        serving = self._serve(method, params, revision, channel, headers)
        try:
            answer = self._app.run(_stopping(serving, channel) if channel.stops else serving, seconds)
        finally:
            channel.close()
        if channel.exit is not None:
            raise channel.exit
        return answer, channel.notifications

    async def _serve(
        self,
        method: str,
        params: Mapping[str, Any],
        revision: str,
        channel: "_Channel",
        headers: list[tuple[str, str]],
    ) -> dict[str, Any]:
        sdk, client = self._sdk, channel.client
        body = b""

        async def receive() -> dict[str, Any]:
            nonlocal body
            body = body or json.dumps({"jsonrpc": "2.0", "id": CALL_ID, "method": method, "params": params}).encode()
            return {"type": "http.request", "body": body, "more_body": False}

        request = sdk.Request({**self._app.scope("POST", self._path, headers), **self._beside}, receive)
        channel.came_with(request)
        outbound = _Unheard(channel) if revision in self._modern else channel
        connection = sdk.Connection.from_envelope(revision, client.info, client.capabilities, outbound=outbound)
        try:
            result = await sdk.serve_one(
                self._server, channel, method, params, connection=connection, lifespan_state=self._state
            )
        except (SystemExit, KeyboardInterrupt) as error:
            channel.exit = error  # out of a task it would stop the loop, and once more in the next call
            return {}
        except Exception as error:
            told = sdk.handler_exception_to_error_data(error) or self._unexpected(method, error, revision)
            return _wire(sdk.JSONRPCError(jsonrpc="2.0", id=CALL_ID, error=told), "error")
        return _wire(sdk.JSONRPCResponse(jsonrpc="2.0", id=CALL_ID, result=result), "result")

    def _unexpected(self, method: str, error: Exception, revision: str) -> Any:
        """In the words of the SDK's own transports, which differ by era."""
        logger.error("handler for %r raised", method, exc_info=error)
        if revision in self._modern:
            return self._sdk.ErrorData(code=INTERNAL_ERROR, message="Internal server error")
        return self._sdk.ErrorData(code=0, message=str(error))


class _Channel:
    """The way back to the client: the SDK's `DispatchContext` of one request, and its `Outbound` for what belongs to
    none, since a client with a session listens to that, too. `exit`: what a tool raised to end the process, which ends
    its call alone."""

    def __init__(self, sdk: Any, client: Client, params: Mapping[str, Any]) -> None:
        self.client = client
        self.stops = client.can_be_asked
        self.exit: BaseException | None = None
        self.stopped = asyncio.Event()
        self.notifications: list[dict[str, Any]] = []
        self.request_id = CALL_ID
        self.can_send_request = True
        self.cancel_requested = sdk.Event()
        self.message_metadata: Any = None
        self.transport: Any = None
        self._closed = asyncio.Event()
        self._sdk = sdk
        self._token = sdk.progress_token_from_params(params)

    def came_with(self, request: Any) -> None:
        """The HTTP request that a tool may look at."""
        self.message_metadata = self._sdk.ServerMessageMetadata(request_context=request)
        self.transport = self._sdk.TransportContext(
            kind="streamable-http", can_send_request=self.can_send_request, headers=request.headers
        )

    def close(self) -> None:
        """The request is over, and so is what a thread or a task of its own still waits for."""
        self.can_send_request = False
        self._closed.set()

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> dict[str, Any]:
        """Ask the client, who has answered already or does so before the call runs again."""
        if not self.can_send_request:
            raise self._sdk.NoBackChannelError(method)
        message = self._sdk.JSONRPCRequest(jsonrpc="2.0", id=CALL_ID, method=method, params=dict(params or {}))
        asked = _wire(message, "params")["params"]
        answer = None if self.cancel_requested.is_set() else self.client.answer(method, asked)
        if answer is None:
            self.stopped.set()
            await self._closed.wait()  # the call is about to be cancelled, but not a thread of it that asks
            raise asyncio.CancelledError
        if "error" in answer:
            error = answer["error"]
            raise self._sdk.MCPError(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = answer["result"]
        return result

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Send a notification along with the result, as it is now and as JSON has it."""
        message = self._sdk.JSONRPCNotification(jsonrpc="2.0", method=method, params=dict(params or {}))
        self.notifications.append({"method": method, **_wire(message, "params")})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the request is, where the client wants to know."""
        if self._token is not None:
            said = {"total": total, "message": message}
            told = {key: value for key, value in said.items() if value is not None}
            await self.notify("notifications/progress", {"progressToken": self._token, "progress": progress, **told})


class _Unheard:
    """What belongs to no request at 2026-07-28: questions like all others, and notifications that no client hears."""

    def __init__(self, channel: _Channel) -> None:
        self.send_raw_request = channel.send_raw_request

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Drop it, as the SDK does where no stream is open."""


async def _stopping(serving: Coroutine[Any, Any, dict[str, Any]], channel: _Channel) -> dict[str, Any]:
    """Serve the request, or cancel it as its client would once it asks what has no answer yet."""
    call = asyncio.ensure_future(serving)
    stopped = asyncio.ensure_future(channel.stopped.wait())
    try:
        await asyncio.wait({call, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not channel.stopped.is_set():
            return call.result()
        channel.cancel_requested.set()
        return {}
    finally:
        stopped.cancel()
        if not call.done():
            call.cancel()
            channel.close()
            await asyncio.wait({call}, timeout=GRACE_SECONDS)
        with contextlib.suppress(BaseException):
            call.exception()  # what it raises by then concerns nobody


def _is_sdks(endpoint: Any, manager: Any) -> bool:
    """Whether both are the SDK's own classes with nothing put around them, in a version that is known."""
    if {type(endpoint).__module__, type(manager).__module__} != {"mcp.server.streamable_http_manager"}:
        return False
    if manager.json_response or type(manager.asgi_app).__module__ != "mcp.server.transport_security":
        return False
    from importlib import metadata  # only now: a worker imports this file before it knows whose plugin it gets

    try:
        return metadata.version("mcp").startswith(VERSIONS)
    except metadata.PackageNotFoundError:
        return False


def _wire(message: Any, key: str) -> dict[str, Any]:
    """A JSON-RPC message's `key` as the SDK writes it."""
    return {key: message.model_dump(mode="json", by_alias=True, exclude_none=True)[key]}
