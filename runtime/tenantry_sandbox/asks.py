"""What a hosted server asks its client in the middle of a call by requests of its own.

Alone, a server keeps the call open until the client has answered. Here nothing waits: a question without an answer ends
the call, which is cancelled as a client would cancel it, and the reply says what to ask. Once the client has answered
the call runs again from its beginning, and what it asks then is answered on the spot. An answer is found by its
question: the method and the params, and which of several equal ones it is. So a server may ask in any order, even at
once, and code before a question runs again; a question that differs from run to run is asked anew, a few times.

`Client` answers in place of a call's client, however its server is asked. Over HTTP `Line` stands between the app and
whoever sends it requests, and a `Conversation` is one call over it. Nothing of an SDK is known here, only the protocol.
"""

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from tenantry_sandbox.events import STREAM, Events

QUESTIONS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
VOLATILE = ("_meta", "elicitationId")  # of a question's params: made anew by each run, and no part of what is asked
ASKED = 32  # questions of one call; a form has fewer, and a loop has more
CHANGED = 3  # answers that found no question again, before a call is told that it will never get on
METHOD_NOT_FOUND = -32601
CALL_ID = 1  # of the call's own request
LISTEN_SECONDS = 0.5  # for an app to begin the stream of what belongs to no request; one that takes longer has none
GRACE_SECONDS = 0.2  # for a cancelled call to clean up, which its own `finally` does
DISCONNECT: dict[str, Any] = {"type": "http.disconnect"}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Line:
    """An ASGI app that is the other one; `conversation` is what its next request begins."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.conversation: Conversation | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        conversation, self.conversation = self.conversation, None
        if conversation is None:
            await self._app(scope, receive, send)
        else:
            await conversation.hold(self._app, scope, receive, send)


class Client:
    """Speaks for a call's client: answers what was answered before, and keeps what was not.

    `answers` by key, each {"result"} or {"error"}; `capabilities` are the client's: what it did not declare it refuses,
    as it would itself; `info` is its name and version. Afterwards `asked` has the open questions by key; `refusal` says
    why no more may be asked.
    """

    def __init__(
        self, answers: Mapping[str, Any], capabilities: Mapping[str, Any], info: Mapping[str, Any] | None = None
    ) -> None:
        self.capabilities = capabilities
        self.info = info
        self.asked: dict[str, dict[str, Any]] = {}
        self.refusal: dict[str, str] = {}
        self._answers = answers
        self._times: Counter[str] = Counter()
        self._found: set[str] = set()

    @property
    def can_be_asked(self) -> bool:
        """Whether there is anything that it can be asked."""
        return any(capability in self.capabilities for capability in QUESTIONS.values())

    def answer(self, method: str, params: dict[str, Any]) -> Mapping[str, Any] | None:
        """What the client answers to a request of the server, or None where the call has to stop for it."""
        if method == "ping":
            return {"result": {}}
        if QUESTIONS.get(method) not in self.capabilities:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"The client does not support {method}."}}
        key = self._key(method, params)
        if key in self._answers:
            self._found.add(key)
            answer: Mapping[str, Any] = self._answers[key]
            return answer
        if len(self._answers) + len(self.asked) >= ASKED:
            self.refusal = {
                "code": "asks.too-many",
                "message": f"The tool asked more than {ASKED} questions in one call.",
                "hint": "Ask for several things in one form, or over several calls.",
            }
        elif len(self._answers.keys() - self._found) >= CHANGED:
            self.refusal = {
                "code": "asks.changed",
                "message": "The tool asks something else each time it runs, so its answers find no question.",
                "hint": "Ask the same question in the same words: a call runs again when it is answered.",
            }
        else:
            self.asked[key] = {"method": method, "params": params}
        return None

    def _key(self, method: str, params: Mapping[str, Any]) -> str:
        asked = {name: value for name, value in params.items() if name not in VOLATILE}
        digest = hashlib.sha256(json.dumps([method, asked], sort_keys=True).encode()).hexdigest()[:32]
        self._times[digest] += 1
        return f"{digest}.{self._times[digest]}"


class Conversation:
    """One call over HTTP, with `client` to answer what it asks. `lands`: whether an answer reaches the server; where it
    does not, the first question of any kind stops the call and sets `astray`. `notifications`: what came beside the
    call's own stream."""

    def __init__(self, client: Client, *, lands: bool = True) -> None:
        self._client = client
        self._lands = lands
        self._heard: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.astray = False
        self.notifications: list[dict[str, Any]] = []

    async def hold(self, app: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and speak for the client until it is answered or asks something new."""
        beside = _Beside(app, scope)
        ended = False
        stream = _Stream(self._hear)

        async def forward(message: dict[str, Any]) -> None:
            if ended:
                return
            stream.take(message)
            await send(message)

        async with contextlib.AsyncExitStack() as stack:
            if _in_session(scope):
                await stack.enter_async_context(beside.stream(self._hear_beside))
            call = asyncio.ensure_future(app(scope, receive, forward))
            stack.push_async_callback(_end, call)
            call.add_done_callback(lambda _: self._heard.put_nowait(None))
            while (request := await self._heard.get()) is not None:
                answer = self._answer(request)
                if answer is None:
                    break
                await beside.post({"jsonrpc": "2.0", "id": request["id"], **answer})
            if request is None:
                call.result()
                return
            cancel = {"requestId": CALL_ID, "reason": "It runs again when its question is answered."}
            await beside.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
            await asyncio.wait({call}, timeout=GRACE_SECONDS)
            ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})  # the app finds nobody there
            await asyncio.wait({call}, timeout=GRACE_SECONDS)
            while not self._heard.empty():  # what it asked at the same time
                if (request := self._heard.get_nowait()) is not None:
                    self._answer(request)

    def _hear(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._heard.put_nowait(message)

    def _hear_beside(self, message: dict[str, Any]) -> None:
        # A question that is cancelled is one that the client was never asked, under a number that it does not know.
        if "method" in message and "id" not in message and message["method"] != "notifications/cancelled":
            self.notifications.append({"method": message["method"], "params": message.get("params", {})})
        self._hear(message)

    def _answer(self, request: dict[str, Any]) -> Mapping[str, Any] | None:
        if not self._lands:
            self.astray = True
            return None
        return self._client.answer(request["method"], request.get("params") or {})


class _Stream:
    """Hands on the messages of an answer, as its parts come, where that is a stream of events."""

    def __init__(self, hear: Callable[[dict[str, Any]], None]) -> None:
        self._hear = hear
        self._events: Events | None = None

    def take(self, part: dict[str, Any]) -> None:
        if part["type"] == "http.response.start":
            content_type = bytes(dict(part.get("headers", ())).get(b"content-type", b""))
            self._events = Events() if content_type.startswith(STREAM.encode()) else None
        elif self._events is not None:
            for said in self._events.feed(part.get("body", b"")):
                self._hear(said)


class _Beside:
    """Requests of the same client beside the one of `scope`, in its session."""

    def __init__(self, app: Any, scope: Scope) -> None:
        self._app = app
        self._scope = {**scope, "state": dict(scope["state"])}  # as it is before the app writes into it

    async def post(self, message: Mapping[str, Any]) -> None:
        """Send the server one message that it does not answer."""
        body = json.dumps(message).encode()
        parts: list[dict[str, Any]] = [_whole(body)]

        async def receive() -> dict[str, Any]:
            return parts.pop() if parts else DISCONNECT

        async def send(message: dict[str, Any]) -> None:
            """An accepted message has no body (202)."""

        await self._app(self._like("POST", len(body)), receive, send)

    @contextlib.asynccontextmanager
    async def stream(self, hear: Callable[[dict[str, Any]], None]) -> AsyncIterator[None]:
        """Listen to what belongs to no request (GET), where the server offers that."""
        begun = asyncio.get_running_loop().create_future()
        gone = asyncio.Event()
        parts = [_whole(b"")]
        stream = _Stream(hear)

        def begin(_: Any = None) -> None:
            if not begun.done():
                begun.set_result(None)

        async def receive() -> dict[str, Any]:
            if parts:
                return parts.pop()
            await gone.wait()
            return DISCONNECT

        async def send(message: dict[str, Any]) -> None:
            stream.take(message)
            begin()

        listening = asyncio.ensure_future(self._app(self._like("GET", 0), receive, send))
        listening.add_done_callback(begin)
        try:
            await asyncio.wait({begun}, timeout=LISTEN_SECONDS)
            yield
        finally:
            gone.set()
            await asyncio.wait({listening}, timeout=GRACE_SECONDS)
            await _end(listening)

    def _like(self, method: str, length: int) -> Scope:
        headers = [(name, value) for name, value in self._scope["headers"] if name != b"content-length"]
        return {
            **self._scope,
            "method": method,
            "headers": [*headers, (b"content-length", str(length).encode())],
            "state": dict(self._scope["state"]),
        }


async def _end(task: asyncio.Future[Any]) -> None:
    """End it if it has not ended by itself; what it raises by then concerns nobody."""
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    if task.done() and not task.cancelled():
        task.exception()


def _whole(body: bytes) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": False}


def _in_session(scope: Scope) -> bool:
    return any(name == b"mcp-session-id" for name, _ in scope["headers"])
