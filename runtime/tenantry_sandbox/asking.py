"""MCP spoken to a hosted server in process, in either era: asked for its lists at publish, called afterwards.

The eras are "2025" (initialize, then requests; here without a session wherever the server allows it) and "2026"
(every request says its revision and what the client can do).
"""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from tenantry_sandbox.asgi import App, Response
from tenantry_sandbox.asks import CALL_ID, Client, Conversation, Line
from tenantry_sandbox.direct import Direct
from tenantry_sandbox.events import STREAM, Events, read
from tenantry_sandbox.faults import LoadError
from tenantry_sandbox.sessions import Sessions

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
REVISIONS = {"2025": HANDSHAKE, "2026": STATELESS}  # what each era is asked in when describing
CLIENT = {"name": "tenantry", "version": "1"}
UI = "io.modelcontextprotocol/ui"
CAPABILITIES = {"extensions": {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}}}
PLAIN = (("accept", "application/json, text/event-stream"), ("content-type", "application/json"))
LEAST_SECONDS = 0.05  # of a request: a session ends even when its call took all the time there was
PAGES = 100  # of one list; a server that never ends its list is not described
# list method -> (its key in the result, the capability that announces it)
LISTS = {
    "tools/list": ("tools", "tools"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("resourceTemplates", "resources"),
    "prompts/list": ("prompts", "prompts"),
}
DYNAMIC = {
    "tools/call": "tools",
    "prompts/get": "prompts",
    "resources/read": "resources",
    "completion/complete": "completions",
}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
META = "io.modelcontextprotocol/"

Params = Mapping[str, Any]
NOTHING: Mapping[str, str] = {}


class Speaker:
    """Speaks MCP with one app; with the server object itself where the app was `made` of one that can be asked so.
    Finds its endpoint at once. Raises: LoadError `plugin.no-mcp`."""

    def __init__(
        self, app: App, line: Line, sessions: Sessions, paths: tuple[str, ...], seconds: float, made: Any
    ) -> None:
        self._app = app
        self._line = line
        self._sessions = sessions
        self._asks = False  # whether it once asked somebody who can't be asked: from then on it gets sessions for that
        self._seconds = seconds
        self._until: float | None = None
        self.path = ""
        self.greeting: dict[str, Any] = {}
        self.keeps_sessions = False
        self.path = self._find(paths)
        self._direct = Direct.find(app, made, self.path) if sessions.possible else None

    def describe(self) -> dict[str, Any]:
        """Ask everything that can be known before a call, in both eras."""
        self._until = None
        answers: dict[str, dict[str, Any]] = {"2025": {"initialize": self.greeting}}
        discovered, _ = self.ask("server/discover", {}, STATELESS, CLIENT, CAPABILITIES)
        if "result" in discovered:
            answers["2026"] = {"server/discover": discovered}
        dynamic: set[str] = set()
        for era, said in answers.items():
            capabilities = next(iter(said.values()))["result"].get("capabilities", {})
            for method, (key, capability) in LISTS.items():
                if capability in capabilities:
                    said[method] = self._whole_list(method, key, era)
            said["resources/read"] = {
                uri: self.ask("resources/read", {"uri": uri}, REVISIONS[era], CLIENT, CAPABILITIES)[0]
                for uri in _templates(said)
            }
            dynamic |= {method for method, capability in DYNAMIC.items() if capability in capabilities}
        return {"kind": "asgi", "protocol": 1, "answers": answers, "dynamic": sorted(dynamic)}

    def ask(
        self,
        method: str,
        params: Params,
        revision: str,
        client: Params,
        capabilities: Params,
        repeated: Mapping[str, str] = NOTHING,
        answers: Mapping[str, Any] = NOTHING,
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """One request of ours: `{"result"}` or `{"error"}`, and the notifications that came before it; what else it may
        be, and `answers`, as `converse` has it.

        `repeated`: arguments that the client repeated in headers (Mcp-Param-*), as 2026-07-28 has it.
        """
        if revision < STATELESS:
            return self.converse(method, params, revision, client, capabilities)
        meta = {
            **params.get("_meta", {}),
            f"{META}protocolVersion": revision,
            f"{META}clientCapabilities": capabilities,
            f"{META}clientInfo": client,
        }
        params = {**params, "_meta": meta}
        headers = [("mcp-protocol-version", revision), ("mcp-method", method), *repeated.items()]
        if method in NAMED:
            headers.append(("mcp-name", encoded(str(params.get(NAMED[method], "")))))
        if (direct := self._direct_for(method, revision)) is not None:
            speaks = Client(answers, capabilities, client)
            answer, notifications = direct.ask(method, params, revision, speaks, [*PLAIN, *headers], self._left())
            return _stopped(speaks) or answer, notifications
        return self._rpc(method, params, headers)

    def converse(
        self,
        method: str,
        params: Params,
        revision: str,
        client: Params,
        capabilities: Params,
        answers: Mapping[str, Any] = NOTHING,
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The same at a revision where a server asks back by requests of its own: also `{"input_required"}`, with the
        questions by key, or, where no more may be asked, `{"refusal"}`. `answers` as in asks.py."""
        speaks = Client(answers, capabilities, client)
        if (direct := self._direct_for(method, revision)) is not None:
            headers = [*PLAIN, ("mcp-protocol-version", revision)]
            answer, notifications = direct.ask(method, params, revision, speaks, headers, self._left())
            return _stopped(speaks) or answer, notifications
        opened = self._sessions.possible and (self._asks or speaks.can_be_asked)
        talk = Conversation(speaks, lands=opened or not self._sessions.possible)
        with self._sessions.open() if opened else nullcontext():
            headers = [("mcp-protocol-version", revision)]
            if opened or self.keeps_sessions:
                headers += self._shake_hands(revision, client, capabilities)
            # A call that takes too long may have asked where nobody could hear it, as mcp 1.x does without a session.
            asks, self._asks = self._asks, True
            try:
                self._line.conversation = talk
                answer, notifications = self._rpc(method, params, headers)
                self._asks = asks or talk.astray
            finally:
                self._line.conversation = None  # where the call's time was over before it began
                if len(headers) > 1:
                    self.send("DELETE", headers, b"")
        if talk.astray:
            return self.converse(method, params, revision, client, capabilities, answers)
        return _stopped(speaks) or answer, [*notifications, *talk.notifications]

    def send(self, method: str, headers: list[tuple[str, str]], body: bytes) -> Response:
        """One HTTP request to the MCP endpoint, whatever it holds."""
        return self._app.request(method, self.path, headers, body, self._left())

    def within(self, seconds: float) -> "Speaker":
        """The same, with this many seconds for all requests from now on."""
        self._until = time.monotonic() + seconds
        return self

    def pass_on(self, method: str, headers: list[tuple[str, str]], body: bytes, revision: str) -> Response:
        """A client's own request; a server that keeps sessions gets one made for it."""
        if revision < STATELESS and self.keeps_sessions and method == "POST":
            session = self._shake_hands(revision or HANDSHAKE, CLIENT, CAPABILITIES)
            try:
                return self.send(method, [*headers, *session], body)
            finally:
                self.send("DELETE", session, b"")
        return self.send(method, headers, body)

    def _left(self) -> float:
        return self._seconds if self._until is None else max(self._until - time.monotonic(), LEAST_SECONDS)

    def _direct_for(self, method: str, revision: str) -> Direct | None:
        return self._direct if self._direct and method in DYNAMIC and self._direct.speaks(revision) else None

    def _find(self, paths: tuple[str, ...]) -> str:
        heard = []
        for path in paths:
            self.path = path
            response = self._post(_initialize(HANDSHAKE, CLIENT, CAPABILITIES), [])
            if response.status in (307, 308):  # /mcp -> /mcp/ of a mounted app
                self.path = f"{path}/"
                response = self._post(_initialize(HANDSHAKE, CLIENT, CAPABILITIES), [])
            answer, _ = _parse(response)
            if "result" in answer:
                self.greeting = answer
                self.keeps_sessions = "mcp-session-id" in dict(response.headers)
                return self.path
            heard.append(f"{path}: {response.status}")
            if response.status == 421:
                raise LoadError(
                    "plugin.no-mcp",
                    "The server refuses the platform's Host header (421).",
                    "Let its allowed_hosts include 127.0.0.1:*; the platform checks the public host itself.",
                )
            if response.status == 401:
                raise LoadError(
                    "plugin.no-mcp",
                    "The server wants a token before it says what it offers (401).",
                    "Leave the tokens to the gateway: name the authorization server in [auth] of plugin.toml instead.",
                )
        raise LoadError(
            "plugin.no-mcp",
            f"No MCP endpoint answers initialize ({', '.join(heard)}).",
            "Serve Streamable HTTP at /mcp, or name the server object itself as the entrypoint.",
        )

    def _shake_hands(self, revision: str, client: Params, capabilities: Params) -> list[tuple[str, str]]:
        response = self._post(_initialize(revision, client, capabilities), [])
        session = [(name, value) for name, value in response.headers if name == "mcp-session-id"]
        headers = [("mcp-protocol-version", revision), *session]
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        return session

    def _rpc(
        self, method: str, params: Mapping[str, Any], headers: list[tuple[str, str]]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return _parse(self._post({"jsonrpc": "2.0", "id": CALL_ID, "method": method, "params": params}, headers))

    def _post(self, message: Mapping[str, Any], headers: list[tuple[str, str]]) -> Response:
        return self.send("POST", [*PLAIN, *headers], json.dumps(message).encode())

    def _whole_list(self, method: str, key: str, era: str) -> dict[str, Any]:
        answer, _ = self.ask(method, {}, REVISIONS[era], CLIENT, CAPABILITIES)
        entries = answer.get("result", {}).get(key, [])
        for _page in range(PAGES):
            cursor = answer.get("result", {}).pop("nextCursor", None)
            if cursor is None:
                break
            more, _ = self.ask(method, {"cursor": cursor}, REVISIONS[era], CLIENT, CAPABILITIES)
            if "result" not in more:
                return more
            entries += more["result"][key]
            answer["result"]["nextCursor"] = more["result"].get("nextCursor")
        return answer


def encoded(value: str) -> str:
    """A header's value as the 2026 revision wants it: base64 where it is not plain."""
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _stopped(client: Client) -> dict[str, Any]:
    """What ended the call before it was answered, if anything did."""
    if client.refusal:
        return {"refusal": client.refusal}
    return {"input_required": {"inputRequests": client.asked}} if client.asked else {}


def _initialize(revision: str, client: Params, capabilities: Params) -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def _templates(said: Mapping[str, Any]) -> Iterator[str]:
    """The URIs of everything a host would show as a widget."""
    listed = said.get("resources/list", {}).get("result", {}).get("resources", [])
    for resource in listed:
        if resource["uri"].startswith("ui://") or resource.get("mimeType", "").startswith("text/html"):
            yield resource["uri"]


def _parse(response: Response) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer in a body of JSON or of events, and the notifications before it."""
    messages = list(_messages(response))
    notifications = [
        {"method": m["method"], "params": m.get("params", {})} for m in messages if "method" in m and "id" not in m
    ]
    for message in messages:
        if "result" in message or "error" in message:
            return {key: message[key] for key in ("result", "error") if key in message}, notifications
    return {"error": {"code": -32603, "message": f"The server answered with HTTP {response.status}."}}, notifications


def _messages(response: Response) -> Iterator[dict[str, Any]]:
    if dict(response.headers).get("content-type", "").startswith(STREAM):
        yield from Events().feed(response.body + b"\n\n")
    elif (message := read(response.body)) is not None:
        yield message
