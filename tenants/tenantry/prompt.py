"""Prompts: messages that a user picks by name. Arguments arrive as text and become what the parameters say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenantry import signature
from tenantry.content import Content, Icon, Role, block
from tenantry.context import Context
from tenantry.errors import PluginError
from tenantry.form import Form
from tenantry.loop import settle
from tenantry.schema import Json
from tenantry.signature import Signature

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt: `Message("Hello", "assistant")`."""

    content: Content | str
    role: Role = "user"

    def to_wire(self) -> Json:
        return {"role": self.role, "content": block(self.content)}


@dataclass(frozen=True, slots=True)
class Options:
    """What `@plugin.prompt(...)` was given."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    icons: Sequence[Icon] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A checked prompt; `arguments` is the schema of each by name."""

    name: str
    description: str
    options: Options
    signature: Signature
    arguments: Mapping[str, Json]

    def get(self, arguments: Mapping[str, Any], context: Context) -> Json:
        """The GetPromptResult. Raises: BadArguments, and what the author's code raises."""
        given = self.signature.bind(arguments)
        if self.signature.context:
            given[self.signature.context] = context
        value = settle(self.signature.function(**given))
        items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        messages = [item if isinstance(item, Message) else Message(item) for item in items]
        return {"description": self.description, "messages": [message.to_wire() for message in messages]}

    def describe(self) -> Json:
        arguments = [
            {
                "name": name,
                **({"description": schema["description"]} if "description" in schema else {}),
                "required": name in self.signature.required,
            }
            for name, schema in self.arguments.items()
        ]
        optional = {"title": self.options.title, "icons": [icon.to_wire() for icon in self.options.icons] or None}
        return {
            "name": self.name,
            "description": self.description,
            "arguments": arguments,
            **{key: value for key, value in optional.items() if value is not None},
            "source": self.signature.place.to_wire(),
        }


def define(function: Any, options: Options) -> Prompt:
    """Check a declaration and make the prompt. Raises: PluginError."""
    read = signature.read(function, kind="prompt")
    name = options.name or read.name
    if not NAME.fullmatch(name):
        raise read.fault(f"{name!r} can't name a prompt.", "Use up to 128 letters, digits, _, . and -.")
    try:
        fields: Mapping[str, Json] = Form(read.model).schema["properties"]
    except PluginError as error:
        raise read.fault(error.message, error.hint) from None
    for field, schema in fields.items():
        if schema["type"] == "array":
            raise read.fault(f"{field}: a prompt's arguments are text.", "Use str, int, float, bool or a Literal.")
    return Prompt(name, signature.description(options.description, read), options, read, fields)
