"""Resources: data under a URI, static (compiled into the release), read on demand, or a template of many URIs."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from tenantry import signature
from tenantry.content import Annotations, Contents, Icon
from tenantry.context import Context
from tenantry.loop import settle
from tenantry.schema import Json
from tenantry.signature import Signature
from tenantry.uri_template import UriTemplate

SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:\S+")
TEXT, BYTES, JSON = "text/plain", "application/octet-stream", "application/json"


@dataclass(frozen=True, slots=True)
class Options:
    """What `@plugin.resource(...)` was given."""

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] | None = None
    static: bool = False
    subscribe: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """A checked resource; `template` is None where `uri` is one URI."""

    uri: str
    name: str
    description: str
    mime_type: str
    options: Options
    signature: Signature
    template: UriTemplate | None

    def read(self, uri: str, values: Mapping[str, str], context: Context) -> Json | None:
        """The ReadResourceResult, or None where the function says there is no such resource.

        Raises: BadArguments for values that don't fit the parameters, and what the author's code raises.
        """
        given = self.signature.bind(values)
        if self.signature.context:
            given[self.signature.context] = context
        value = self._value(given)
        if value is None:
            return None
        items = value if isinstance(value, list) and value and isinstance(value[0], Contents) else [value]
        return {"contents": [self._contents(uri, item).to_wire() for item in items]}

    def describe(self) -> Json:
        """An entry of the list, with its content where it is static."""
        options = self.options
        optional = {
            "title": options.title,
            "annotations": options.annotations.to_wire() if options.annotations else None,
            "icons": [icon.to_wire() for icon in options.icons] or None,
            "meta": dict(options.meta) if options.meta else None,
        }
        entry: Json = {
            "uriTemplate" if self.template else "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
            **{key: value for key, value in optional.items() if value is not None},
        }
        entry["source"] = self.signature.place.to_wire()
        return {**entry, **self._static()} if options.static else entry

    def _static(self) -> Json:
        contents = self._contents(self.uri, self._value({}))
        if isinstance(contents.body, str):
            return {"text": contents.body}
        return {"blob": b64encode(contents.body).decode()}

    def _value(self, given: Mapping[str, Any]) -> Any:
        return settle(self.signature.function(**given))

    def _contents(self, uri: str, value: Any) -> Contents:
        if isinstance(value, Contents):
            return value
        return Contents(uri, value if isinstance(value, str | bytes) else to_json(value).decode(), self.mime_type)


def define(function: Any, options: Options) -> Resource:
    """Check a declaration and make the resource. Raises: PluginError."""
    read = signature.read(function, kind="resource")
    uri = options.uri
    if not SCHEME.fullmatch(uri):
        raise read.fault(f"{uri!r} is not a URI.", 'Write one like "zoo://animals/{id}".')
    if uri.lower().startswith("ui:"):
        raise read.fault("ui: is for widgets.", "Declare a Widget.")
    try:
        template = UriTemplate.parse(uri)
    except ValueError as error:
        raise read.fault(str(error)) from None
    if set(read.names) != set(template.names):
        raise read.fault(
            f"its parameters are {', '.join(read.names) or 'none'}; the URI has {', '.join(template.names) or 'none'}.",
            "Name them alike.",
        )
    if needed := read.required & set(template.query):
        raise read.fault(f"{', '.join(sorted(needed))} may be absent from the URI.", "Give it a default.")
    if options.static and (read.names or read.context):
        raise read.fault("a static resource takes no parameters.", "It is read once, when the plugin is published.")
    return Resource(
        uri,
        options.name or read.name,
        signature.description(options.description, read),
        options.mime_type or _mime_type(read.returns),
        options,
        read,
        template if template.names else None,
    )


def _mime_type(returns: Any) -> str:
    text = str(getattr(returns, "__name__", returns)).removesuffix(" | None")
    return {"str": TEXT, "bytes": BYTES}.get(text, JSON)
