"""A client for the tests of a plugin's author: calls in process, no server, no network.

    client = Client(load(__file__), user={"sub": "u1"})
    assert client.call("get_zoo_animals", count=3).structured["animals"]

Arguments and results pass through JSON as they do when hosted; documents live on between the calls of one client.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic_core import to_jsonable_python

from tenantry.content import block
from tenantry.download import OPENER, Download
from tenantry.errors import FileError
from tenantry.file import File
from tenantry.plugin import Plugin
from tenantry.saved import LINK

DECLINE, CANCEL = object(), object()
ROUNDS = 20  # of questions in one call
SLOTS = 8  # files that a call can make
ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


class Crashed(AssertionError):
    """The tool raised what the platform would have masked; the text is its traceback."""


class Refused(AssertionError):
    """The request was wrong: an unknown name, a missing argument. `error` is the JSON-RPC error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


def load(beside: str | Path = ".") -> Plugin:
    """The plugin whose plugin.toml stands in this folder or above it: what its entrypoint names, with its [env] set.

    `load(__file__)` finds it from the plugin's folder and from a folder of tests in it, however pytest is started.

    Raises: FileNotFoundError without a plugin.toml; TypeError when the entrypoint is not a plugin of the kit.
    """
    start = Path(beside).resolve()
    for folder in (start, *start.parents):
        if (folder / "plugin.toml").is_file():
            break
    else:
        raise FileNotFoundError(f"There is no plugin.toml in {start} or above it.")
    config = tomllib.loads((folder / "plugin.toml").read_text("utf-8"))
    module, _, path = config["entrypoint"].partition(":")
    for name, value in config.get("env", {}).items():
        os.environ.setdefault(name, value)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    found = reduce(getattr, path.split("."), import_module(module)) if path else None
    if not isinstance(found, Plugin):
        raise TypeError(f"{config['entrypoint']} is not a plugin that is written with the kit.")
    return found


@dataclass(frozen=True, slots=True)
class Called:
    """What a tool answered. `text` joins the text blocks of `content`; `meta` is what only the widget sees."""

    structured: Any
    content: list[dict[str, Any]]
    meta: dict[str, Any]
    is_error: bool

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self.content if part["type"] == "text")


@dataclass
class Client:
    """One user of a plugin.

    `user` are verified claims or None, `capabilities` what the client can be asked (by default everything), `meta`
    goes with every request ("openai/locale" and the like). `answers` are given to questions in their order: a dict
    or model fills a form, True visits a page, a text is what the model says, a list of URIs are roots; DECLINE and
    CANCEL. `state`, `shared`, `saved` (bytes by name), `notifications` and `asked` can be looked at afterwards.
    """

    plugin: Plugin
    user: Mapping[str, Any] | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=lambda: ALL)
    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: Iterable[Any] = ()
    state: dict[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)
    revision: str = "2026-07-28"
    timeout: float = 25.0
    saved: dict[str, bytes] = field(default_factory=dict)
    notifications: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    _files: dict[str, bytes] = field(default_factory=dict)

    def call(self, tool: str, /, **arguments: Any) -> Called:
        """Call a tool. Raises: Crashed, Refused, AssertionError for a question without an answer."""
        result = self.request("tools/call", {"name": tool, "arguments": _json(arguments)})
        content, meta = result["content"], result.get("_meta", {})
        return Called(result.get("structuredContent"), content, meta, result.get("isError", False))

    def prompt(self, name: str, /, **arguments: str) -> list[dict[str, Any]]:
        """The messages of a prompt. Raises: as `call`."""
        messages: list[dict[str, Any]] = self.request("prompts/get", {"name": name, "arguments": arguments})["messages"]
        return messages

    def read(self, uri: str) -> list[dict[str, Any]]:
        """The contents of a resource. Raises: as `call`."""
        contents: list[dict[str, Any]] = self.request("resources/read", {"uri": uri})["contents"]
        return contents

    def complete(self, target: str, argument: str, value: str = "", **others: str) -> list[str]:
        """What completes `argument` of a prompt or resource template. Raises: as `call`."""
        kind = {"type": "ref/resource", "uri": target} if ":" in target else {"type": "ref/prompt", "name": target}
        params = {"ref": kind, "argument": {"name": argument, "value": value}, "context": {"arguments": others}}
        values: list[str] = self.request("completion/complete", params)["completion"]["values"]
        return values

    def file(self, data: bytes, name: str = "file", mime_type: str | None = None) -> File:
        """A file as ChatGPT would hand it to a tool; it opens without any network."""
        number = f"file_{len(self._files)}"
        url = f"https://files.test/{number}/{quote(name, safe='')}"
        self._files[url] = data
        return File(url, number, mime_type, name)

    def describe(self) -> dict[str, Any]:
        """The description that a release would be compiled from."""
        description: dict[str, Any] = json.loads(json.dumps(self.plugin.__tenantry_describe__()))
        return description

    def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Any MCP method of the plugin; the result as it goes on the wire. Raises: as `call`."""
        given: dict[str, Any] = {}
        token = OPENER.set(self._open)
        try:
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as folder:
                    session = _Session(self, folder)
                    reply = self.plugin.__tenantry_call__(self._call(method, params, given), session)
                    reply = json.loads(json.dumps(reply))
                if "input_required" not in reply:
                    return self._settle(reply, session)
                for key, request in reply["input_required"]["inputRequests"].items():
                    self.asked.append(request)
                    given[key] = self._answer(request)
            raise AssertionError(f"The tool asked {ROUNDS} times; give a key to a question whose message changes.")
        finally:
            OPENER.reset(token)

    def _call(self, method: str, params: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
        call: dict[str, Any] = {
            "method": method,
            "params": {**params, "_meta": dict(self.meta)},
            "revision": self.revision,
            "client": {"info": {"name": "tenantry.testing"}, "capabilities": self.capabilities},
            "user": self.user,
            "answers": answers,
            "state": self.state,
            "shared": self.shared,
        }
        copied: dict[str, Any] = json.loads(json.dumps(call))
        return copied

    def _settle(self, reply: Mapping[str, Any], session: _Session) -> dict[str, Any]:
        if "error" in reply:
            raise Crashed(reply["error"]["traceback"])
        if "protocol_error" in reply:
            raise Refused(reply["protocol_error"])
        for document, patch in ((self.state, reply.get("state", {})), (self.shared, reply.get("shared", {}))):
            document.update(patch.get("set", {}))
            for key in patch.get("delete", ()):
                document.pop(key, None)
        for made in reply.get("files", ()):
            data = session.data[made["id"]]
            self.saved[made["name"]] = data
            self._files[LINK.format(id=made["id"], name=quote(made["name"], safe=""))] = data
        result: dict[str, Any] = reply["result"]
        return result

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        waiting = self.answers = list(self.answers)
        if not waiting:
            raise AssertionError(f"The tool asked and there is no answer: {json.dumps(request)}")
        answer = waiting.pop(0)
        if answer is DECLINE or answer is CANCEL:
            return {"action": "decline" if answer is DECLINE else "cancel"}
        if request["method"] == "roots/list":
            return {"roots": [{"uri": str(uri)} for uri in answer]}
        if request["method"] == "sampling/createMessage":
            return {"role": "assistant", "content": block(answer), "model": "test", "stopReason": "endTurn"}
        if request["params"].get("mode") == "url":
            return {"action": "accept"}
        return {"action": "accept", "content": to_jsonable_python(answer)}

    def _open(self, url: str, *, max_bytes: int, deadline: float) -> Download:
        if url not in self._files:
            raise FileError("The file's server can't be reached.")
        return Download(io.BytesIO(self._files[url]), max_bytes=max_bytes, deadline=deadline, close=lambda: None)


class _Session:
    def __init__(self, client: Client, folder: str) -> None:
        self.secrets = client.secrets
        first = len(client.saved)
        self.uploads: list[dict[str, Any]] = [{"id": f"made_{first + number}"} for number in range(SLOTS)]
        self.folder = folder
        self.deadline = time.monotonic() + client.timeout
        self.data: dict[str, bytes] = {}
        self._client = client

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._client.notifications.append((method, params))

    def put(self, upload: dict[str, Any], data: bytes, content_type: str) -> None:
        self.data[upload["id"]] = data


def _json(value: Any) -> Any:
    if isinstance(value, File):
        return value.to_wire()
    if isinstance(value, dict):
        return {key: _json(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_json(child) for child in value]
    return to_jsonable_python(value)
