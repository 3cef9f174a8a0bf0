"""Questions to the user's side in the middle of a call: elicitation, sampling, roots.

Nothing waits. A question without an answer raises `InputRequired`; the platform asks the client and runs the tool
again from its beginning with the answers so far. So what stands before a question runs again: ask first, act after.
An answer is found by its key, made of the question itself unless the author gives one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from tenantry.content import Content, Role, block
from tenantry.errors import Declined, ToolError
from tenantry.faults import faults
from tenantry.form import Form

T = TypeVar("T")


class InputRequired(BaseException):
    """Leaves the tool so that the client can be asked. Not an Exception: `except Exception` is not meant."""

    def __init__(self, requests: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(", ".join(requests))
        self.requests = requests


class MissingCapability(BaseException):
    """The client can't be asked this (2026-07-28: error -32021). `needed` is a ClientCapabilities object."""

    def __init__(self, needed: Mapping[str, Any]) -> None:
        super().__init__(json.dumps(needed))
        self.needed = needed


@dataclass(frozen=True, slots=True)
class Elicit(Generic[T]):
    """A form for the user. `model` is a pydantic model, dataclass or TypedDict of plain fields."""

    message: str
    model: type[T]

    method = "elicitation/create"

    @property
    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}}}

    def params(self, revision: str) -> dict[str, Any]:
        form = {"message": self.message, "requestedSchema": Form(self.model).schema}
        return form if revision < "2025-11-25" else {"mode": "form", **form}

    def read(self, answer: Mapping[str, Any]) -> T:
        _accepted(answer)
        try:
            value: T = TypeAdapter(self.model).validate_python(answer.get("content") or {})
        except ValidationError as error:
            raise ToolError("The answer does not fit the question. " + "; ".join(faults(error))) from None
        return value


@dataclass(frozen=True, slots=True)
class Visit:
    """A page for the user to visit: sign-in elsewhere, payment, keys. What happens there stays there."""

    message: str
    url: str

    method = "elicitation/create"

    @property
    def needs(self) -> dict[str, Any]:
        return {"elicitation": {"url": {}}}

    def params(self, revision: str) -> dict[str, Any]:
        params = {"mode": "url", "message": self.message, "url": self.url}
        if revision < "2026-07-28":  # required there, gone afterwards
            params["elicitationId"] = _digest(params)
        return params

    def read(self, answer: Mapping[str, Any]) -> bool:
        _accepted(answer)
        return True


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the client's model said: `content` as MCP blocks, `text` the texts of them."""

    text: str
    content: tuple[Mapping[str, Any], ...]
    model: str
    stop_reason: str | None
    role: str = "assistant"


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt for the client's own model. `messages`: texts and content blocks, or (role, content) pairs."""

    messages: str | Content | Sequence[str | Content | tuple[Role, str | Content]]
    max_tokens: int = 1000
    system: str | None = None
    temperature: float | None = None
    stop: Sequence[str] = ()
    preferences: Mapping[str, Any] | None = None

    method = "sampling/createMessage"

    @property
    def needs(self) -> dict[str, Any]:
        return {"sampling": {}}

    def params(self, revision: str) -> dict[str, Any]:
        given = [self.messages] if isinstance(self.messages, str | Content) else self.messages
        pairs = [item if isinstance(item, tuple) else ("user", item) for item in given]
        optional = {
            "systemPrompt": self.system,
            "temperature": self.temperature,
            "stopSequences": list(self.stop) or None,
            "modelPreferences": dict(self.preferences) if self.preferences else None,
        }
        return {
            "messages": [{"role": role, "content": block(content)} for role, content in pairs],
            "maxTokens": self.max_tokens,
            **{key: value for key, value in optional.items() if value is not None},
        }

    def read(self, answer: Mapping[str, Any]) -> Sampled:
        given = answer.get("content") or []
        content = tuple(given) if isinstance(given, list) else (given,)
        text = "\n".join(str(part["text"]) for part in content if part.get("type") == "text")
        stop_reason = answer.get("stopReason")
        return Sampled(text, content, str(answer.get("model", "")), stop_reason, str(answer.get("role", "assistant")))


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that the client offers."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that the client offers."""

    method = "roots/list"

    @property
    def needs(self) -> dict[str, Any]:
        return {"roots": {}}

    def params(self, revision: str) -> dict[str, Any]:
        return {}

    def read(self, answer: Mapping[str, Any]) -> list[Root]:
        return [Root(str(root["uri"]), root.get("name")) for root in answer.get("roots") or []]


Question = Elicit[Any] | Visit | Sample | Roots


def offers(capabilities: Mapping[str, Any], needs: Mapping[str, Any]) -> bool:
    """Whether the client declared what a question needs. An `elicitation` that names no mode means forms."""
    for name, parts in needs.items():
        declared = capabilities.get(name)
        if declared is None:
            return False
        modes = set(declared) & {"form", "url"} or {"form"}
        if any(part not in modes for part in parts):
            return False
    return True


def key_of(question: Question, revision: str) -> str:
    """A key that a changed question does not share, so that no answer is taken for another's."""
    return f"{question.method.partition('/')[0]}-{_digest(question.params(revision))}"


def _digest(params: Mapping[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:10]


def _accepted(answer: Mapping[str, Any]) -> None:
    action = answer.get("action")
    if action != "accept":
        raise Declined("decline" if action == "decline" else "cancel")
