"""A server that was not written with the kit, behind the same two verbs as one that was."""

import time
from typing import Any

from tenantry_sandbox.asgi import App
from tenantry_sandbox.asking import CLIENT, STATELESS, Speaker
from tenantry_sandbox.asks import Line
from tenantry_sandbox.servers import Hosted
from tenantry_sandbox.session import Session
from tenantry_sandbox.sessions import Sessions

MARGIN_SECONDS = 0.3  # before a call's time is over: to stop one request and keep the server that it was for


class Guest:
    """Hosts the app in this process. Raises: LoadError when it does not start or has no MCP endpoint."""

    def __init__(self, hosted: Hosted, seconds: float) -> None:
        line = Line(hosted.app)
        self._app = App(line, hosted.host)
        try:
            made = hosted.app if hosted.made else None
            self._speaker = Speaker(self._app, line, Sessions(made), hosted.paths, seconds, made)
        except BaseException:
            self._app.close()
            raise

    def describe(self) -> dict[str, Any]:
        """What the server says of itself in both eras."""
        return self._speaker.describe()

    def call(self, call: dict[str, Any], session: Session) -> dict[str, Any]:
        """Pass on a whole HTTP request (method "http"), or ask one MCP method for its result."""
        speaker = self._speaker.within(session.deadline - time.monotonic() - MARGIN_SECONDS)
        params = call["params"]
        if call["method"] == "http":
            return {"result": _http(speaker, params)}
        client = call.get("client") or {}
        revision = call.get("revision") or STATELESS
        who = client.get("info") or CLIENT, client.get("capabilities") or {}
        answers = call.get("answers") or {}
        if revision < STATELESS:
            answer, notifications = speaker.converse(call["method"], params, revision, *who, answers)
        else:
            repeated = call.get("headers") or {}
            answer, notifications = speaker.ask(call["method"], params, revision, *who, repeated, answers)
        for notification in notifications:
            session.notify(notification["method"], notification["params"])
        if "error" in answer:
            return {"protocol_error": answer["error"]}
        if "refusal" in answer:
            return {"error": answer["refusal"]}
        return answer

    @property
    def spent(self) -> bool:
        """Whether it ended itself, and can answer nothing more."""
        return self._app.spent

    def close(self) -> None:
        """Leave the app's lifespan."""
        self._app.close()


def _http(speaker: Speaker, request: dict[str, Any]) -> dict[str, Any]:
    headers = request.get("headers", {})
    pairs = [(name, value) for name, value in (headers.items() if isinstance(headers, dict) else headers)]
    revision = next((value for name, value in pairs if name.lower() == "mcp-protocol-version"), "")
    response = speaker.pass_on(request.get("method", "POST"), pairs, request.get("body", "").encode(), revision)
    return {"status": response.status, "headers": [list(pair) for pair in response.headers], "body": response.text}
