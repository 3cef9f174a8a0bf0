"""A server of no SDK that asks its client by requests of its own: each tool is one way to do so."""

import asyncio
import json

done: list[str] = []  # what became of tools that were stopped


class Client:
    """The client, as a tool of one call sees it."""

    def __init__(self, server, stream) -> None:
        self.server, self.stream = server, stream

    async def ask(self, method="elicitation/create", *, beside=False, **params):
        """The response to a request of ours."""
        self.server.last += 1
        id = f"mine-{self.server.last}"
        waiting = self.server.waiting[id] = asyncio.get_running_loop().create_future()
        stream = self.server.beside if beside else self.stream
        await stream({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return await waiting

    async def tell(self, text, *, beside=False):
        note = {"method": "notifications/message", "params": {"level": "info", "data": text}}
        await (self.server.beside if beside else self.stream)({"jsonrpc": "2.0", **note})


async def one(client):
    await client.tell("before")
    return await client.ask(message="name?")


async def same(client):
    return [await client.ask(message="again?") for _ in range(2)]


async def together(client):
    return await asyncio.gather(*(client.ask(message=text) for text in ("a?", "b?")))


async def beside(client):
    await client.tell("by the way", beside=True)
    return await client.ask("roots/list", beside=True)


async def changing(client):
    client.server.last += 7
    return await client.ask(message=f"number {client.server.last}?")


async def link(client):
    client.server.last += 7
    return await client.ask(mode="url", message="go", url="https://x.example", elicitationId=str(client.server.last))


async def many(client):
    return [await client.ask(message=f"{number}?") for number in range(40)]


async def either(client):
    """Manages without an answer."""
    said = await client.ask(message="name?")
    return "alone" if "error" in said else said


async def odd(client):
    return [await client.ask("ping"), await client.ask("no/such"), await client.ask("sampling/createMessage")]


async def slow(client):
    await client.ask("ping")
    await asyncio.sleep(60)


async def stopped(client):
    try:
        await client.ask(message="name?")
    finally:
        done.append("stopped")


async def deaf(client):
    """Does not listen when it is cancelled, nor when its client is gone."""
    ended = asyncio.create_task(client.ask(message="name?"))
    while True:
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            done.append("deaf")
            await client.tell("still here")
            if len(done) > 1:
                raise


async def breaks(client):
    await client.ask("ping")
    raise RuntimeError("broken")


async def ended(client):
    return done


TOOLS = {
    tool.__name__: tool
    for tool in (one, same, together, beside, changing, link, many, either, odd, slow, stopped, ended)
}
TOOLS |= {"deaf": deaf, "breaks": breaks}


class Server:
    """`polite`: a call that is cancelled ends by itself, with what it makes of no answer."""

    def __init__(self, *, sessions=True, listens="stream", polite=False) -> None:
        self.sessions, self.listens, self.polite = sessions, listens, polite
        self.beside = nowhere
        self.last = 0
        self.waiting = {}
        self.calls = {}
        self.open = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["method"] == "GET":
            await self.get(receive, send)
            return
        body = (await receive())["body"]
        if scope["method"] == "DELETE":
            self.open -= 1
            await answer(send, 200)
            return
        message = json.loads(body)
        method = message.get("method")
        if method == "initialize":
            session = [(b"mcp-session-id", b"s1")] if self.sessions else []
            self.open += len(session)
            said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "asker"}}
            await answer(send, 200, {"jsonrpc": "2.0", "id": message["id"], "result": said}, session)
        elif method == "notifications/cancelled":
            running = self.calls[message["params"]["requestId"]]
            if self.polite:
                self.drop()
            else:
                running.cancel()
            await answer(send, 202)
        elif method == "tools/call":
            await self.call(message, receive, send)
        elif method is None:
            self.waiting.pop(message["id"]).set_result({key: message[key] for key in message if key in ANSWERS})
            await answer(send, 202)
        elif method == "tools/list":
            await answer(send, 200, {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}})
        else:
            await answer(send, 404)

    def drop(self):
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_result({"error": {"code": -1, "message": "cancelled"}})
        self.waiting.clear()

    @property
    def stateless(self):
        return not self.sessions

    @stateless.setter
    def stateless(self, value):
        self.sessions = not value

    async def get(self, receive, send):
        if self.listens == "breaks":
            raise RuntimeError("no stream")
        if self.listens == "nothing":
            await answer(send, 405)
            return
        if self.listens == "late":
            await asyncio.sleep(60)
        await receive()
        await begin(send)
        self.beside = pieces(send)
        while (await receive())["type"] != "http.disconnect":
            pass
        self.beside = nowhere

    async def call(self, message, receive, send):
        params = message["params"]
        if params["name"] == "plain":
            result = {"content": [], "open": self.open}
            await answer(send, 200, {"jsonrpc": "2.0", "id": message["id"], "result": result})
            return
        await begin(send)
        say = pieces(send)
        running = asyncio.create_task(TOOLS[params["name"]](Client(self, say)))
        self.calls[message["id"]] = running
        try:
            said = await asyncio.shield(running)
        except asyncio.CancelledError:
            if not running.cancelled():
                running.cancel()
                raise
            await say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": "cancelled"}})
        else:
            result = {"content": [{"type": "text", "text": json.dumps(said)}]}
            await say({"jsonrpc": "2.0", "id": message["id"], "result": result})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class Object:
    """A server object, which an SDK makes an app of: with sessions, as long as its manager says so."""

    def __init__(self) -> None:
        self.app = Server(polite=True)

    def streamable_http_app(self):
        self.app.session_manager = self.app
        return self.app


Object.__module__, Object.__qualname__ = "mcp.server.lowlevel.server", "Server"
ANSWERS = ("result", "error")


async def nowhere(message):
    """Where nobody listens."""


def pieces(send):
    """Sends messages the way a network would cut them, between lines that are no messages."""

    async def say(message):
        data = b": hello\r\n\r\nevent: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\ndata: [1]\r\n\r\n"
        for start in range(0, len(data), 9):
            await send({"type": "http.response.body", "body": data[start : start + 9], "more_body": True})

    return say


async def begin(send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})


async def answer(send, status, message=None, headers=()):
    kind = [(b"content-type", b"application/json")] if message else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *headers]})
    body = json.dumps(message).encode() if message else b""
    await send({"type": "http.response.body", "body": body, "more_body": False})


app = Server()
polite = Server(polite=True)
silent = Server(listens="nothing")
late = Server(listens="late")
broken = Server(listens="breaks")
free = Server(sessions=False)
made = Object()
