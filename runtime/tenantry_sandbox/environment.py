"""One environment, one release: the bundle is loaded for the first event and every later event must be of the same.

Identity is the release and the environment variables and secrets it was loaded with: code reads those when it is
imported, so other values need another environment.
"""

import gc
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tenantry_sandbox import PROTOCOL, entrypoint, masks, reply, servers
from tenantry_sandbox.faults import LoadError, TooSlow
from tenantry_sandbox.guest import Guest
from tenantry_sandbox.kit import Kit
from tenantry_sandbox.session import Deliver, Session

IDENTITY = ("tenant", "plugin", "digest", "entrypoint", "env", "secrets")


class Catcher(Protocol):
    """What catches stdout and stderr: `output.Output`, or `output.Passed` while debugging."""

    def begin(self) -> None: ...

    def end(self, secrets: Mapping[str, str]) -> dict[str, Any]: ...


class Environment:
    """Answers events.

    `locate` gives the folder of an event's unpacked bundle, `deliver` fills an upload, `kit` are the folders in which
    the platform's kit and pydantic lie.
    """

    def __init__(
        self, *, output: Catcher, locate: Callable[[dict[str, Any]], str], deliver: Deliver, kit: list[str]
    ) -> None:
        self._output = output
        self._locate = locate
        self._deliver = deliver
        self._kit = kit
        self._identity: list[Any] = []
        self._folder = ""
        self._server: Kit | Guest | None = None

    def answer(self, event: dict[str, Any]) -> bytes:
        """The reply to one event, encoded, within the cap. Never raises what the tenant's code raises."""
        if event.get("protocol") != PROTOCOL:
            return _refuse(event, f"This environment speaks protocol {PROTOCOL}, not {event.get('protocol')!r}.")
        identity = [event.get(key) for key in IDENTITY]
        if self._identity not in ([], identity):
            return _refuse(event, "This environment already runs another release, or this one with other secrets.")
        self._identity = identity
        secrets = event.get("secrets") or {}
        session = Session(
            secrets=secrets, uploads=event.get("uploads") or [], timeout=event["timeout"], deliver=self._deliver
        )
        self._output.begin()
        cold = self._server is None
        answered = self._run(event, session)
        answered |= {"protocol": PROTOCOL, "cold": cold, **self._output.end(secrets)}
        if session.notifications:
            answered["notifications"] = [*session.notifications, *answered.get("notifications", [])]
        if "seq" in event:
            answered["seq"] = event["seq"]
        try:
            return reply.fit(answered, session)
        except (TypeError, ValueError, RecursionError) as error:
            said = {key: answered[key] for key in reply.BESIDE_OVERFLOW if key in answered}
            text = "The tool returned something that JSON cannot say."
            return reply.encode(
                {"protocol": PROTOCOL, "error": masks.failure("tool.not-json", text, error, secrets), **said}
            )
        finally:
            session.close()

    @property
    def spent(self) -> bool:
        """Whether a hosted server ended itself, as it would its process alone: this environment is of no more use."""
        return isinstance(self._server, Guest) and self._server.spent

    def close(self) -> None:
        """Let a hosted server leave its lifespan."""
        if isinstance(self._server, Guest):
            self._server.close()

    def _run(self, event: dict[str, Any], session: Session) -> dict[str, Any]:
        describing = event["verb"] == "describe"
        started = time.perf_counter()
        try:
            if self._server is None:
                self._server = self._load(event, session)
                gc.freeze()  # what was imported stays: looking through it for garbage would cost calls milliseconds
                started = time.perf_counter()
            if describing:
                part = {"description": self._server.describe()}
            else:
                part = dict(self._server.call(event["call"], session))
        except LoadError as error:
            # Only whoever publishes may read why: it is the text of an exception, masked for everyone else.
            told = masks.blank(str(error), session.secrets) if describing else "The plugin could not be loaded."
            hint = error.hint if describing else ""
            part = {"error": masks.failure(error.code, told, error, session.secrets, hint)}
        except TooSlow as error:
            part = {
                "error": masks.failure("sandbox.timeout", "The tool did not answer in time.", error, session.secrets)
            }
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a tool end its call, not the environment
            told = "The plugin could not be described." if describing else "The tool failed."
            if describing:
                told = masks.blank(f"{told} {type(error).__name__}: {error}", session.secrets)
            part = {"error": masks.failure("tool.failed", told, error, session.secrets)}
        return part | {"ms": round((time.perf_counter() - started) * 1000, 3)}

    def _load(self, event: dict[str, Any], session: Session) -> Kit | Guest:
        if not self._folder:  # once: a compiled module cannot be imported a second time
            os.environ.update(event.get("env") or {})
            os.environ.update(session.secrets)
            folder = self._locate(event)
            entrypoint.prepare(folder, self._kit)
            self._folder = folder
        loaded = entrypoint.load(self._folder, event["entrypoint"])
        if servers.is_kit(loaded):
            return Kit(loaded)
        hosted = servers.host(loaded)
        if hosted is None:
            raise LoadError(
                "plugin.entrypoint",
                f"{event['entrypoint']} is a {type(loaded).__name__}, which is no server.",
                "Name a Plugin, an MCPServer, a FastMCP, a low-level Server or an ASGI app.",
            )
        return Guest(hosted, event["timeout"])


def _refuse(event: dict[str, Any], message: str) -> bytes:
    error = {"code": "sandbox.refused", "message": message, "hint": "Use an environment of its own for each release."}
    return reply.encode({"protocol": PROTOCOL, "error": error, "seq": event.get("seq", 0)})
