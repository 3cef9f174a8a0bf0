"""Content blocks: what the model and the widget get to read (row S02). Text is a plain `str`; these are the others."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tenantry import sniff
from tenantry.errors import PluginError
from tenantry.file import File

Role = Literal["user", "assistant"]
ICON = re.compile(r"https://\S+|data:image/\S+")


@dataclass(frozen=True, slots=True)
class Annotations:
    """For whom a block or resource is, how much it matters (0 to 1), and when it changed (ISO 8601)."""

    audience: Sequence[Role] = ()
    priority: float | None = None
    last_modified: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None and not 0 <= self.priority <= 1:
            raise PluginError(f"priority={self.priority!r} is not between 0 and 1.")

    def to_wire(self) -> dict[str, Any]:
        values = {
            "audience": list(self.audience) or None,
            "priority": self.priority,
            "lastModified": self.last_modified,
        }
        return _present(values)


@dataclass(frozen=True, slots=True)
class Icon:
    """A picture of a tool, prompt or resource: an https or data: URL; `sizes` like "48x48" or "any"."""

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] = ()
    theme: Literal["light", "dark"] | None = None

    def __post_init__(self) -> None:
        if not ICON.fullmatch(self.src):
            raise PluginError(f"{self.src[:80]!r} can't be an icon.", "Use an https: or data:image/ URL.")

    def to_wire(self) -> dict[str, Any]:
        values = {"src": self.src, "mimeType": self.mime_type, "sizes": list(self.sizes) or None, "theme": self.theme}
        return _present(values)


class Block:
    """What is content is no data: pydantic would take these dataclasses apart if it were let."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from tenantry.schema import Misfit

        raise Misfit(f"{cls.__name__} is content, not data: return it by itself, in a list, or as Result(content=...).")


@dataclass(frozen=True, slots=True)
class Text(Block):
    """A text with annotations or `_meta`; without them a `str` does."""

    text: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text, **_extras(self.annotations, self.meta)}


@dataclass(frozen=True, slots=True)
class Image(Block):
    """A picture: bytes, or `Image.open(path)`. The media type is read from the bytes when not given."""

    data: bytes
    mime_type: str | None = None
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    @classmethod
    def open(cls, path: str | Path) -> Image:
        return cls(Path(path).read_bytes())

    def to_wire(self) -> dict[str, Any]:
        return {"type": "image", **_binary(self.data, self.mime_type), **_extras(self.annotations, self.meta)}


@dataclass(frozen=True, slots=True)
class Audio(Block):
    """A sound: bytes, or `Audio.open(path)`. The media type is read from the bytes when not given."""

    data: bytes
    mime_type: str | None = None
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    @classmethod
    def open(cls, path: str | Path) -> Audio:
        return cls(Path(path).read_bytes())

    def to_wire(self) -> dict[str, Any]:
        return {"type": "audio", **_binary(self.data, self.mime_type), **_extras(self.annotations, self.meta)}


@dataclass(frozen=True, slots=True)
class ResourceLink(Block):
    """A resource to be fetched by its URI, or a file by its address; `size` in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: Sequence[Icon] = ()
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        values = {
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
            "icons": [icon.to_wire() for icon in self.icons] or None,
        }
        extras = _extras(self.annotations, self.meta)
        return {"type": "resource_link", "uri": self.uri, "name": self.name, **_present(values), **extras}


@dataclass(frozen=True, slots=True)
class Contents:
    """What is inside a resource: text or bytes, under a URI."""

    uri: str
    body: str | bytes
    mime_type: str | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        body: dict[str, Any]
        if isinstance(self.body, str):
            body = {"mimeType": self.mime_type or "text/plain", "text": self.body}
        else:
            mime_type = self.mime_type or sniff.media_type(self.body)
            body = {"mimeType": mime_type, "blob": b64encode(self.body).decode()}
        return {"uri": self.uri, **body, **_extras(None, self.meta)}


@dataclass(frozen=True, slots=True)
class EmbeddedResource(Block):
    """A resource carried along inside the result."""

    resource: Contents
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        return {"type": "resource", "resource": self.resource.to_wire(), **_extras(self.annotations, self.meta)}


Content = Text | Image | Audio | ResourceLink | EmbeddedResource | File
BLOCKS: tuple[type, ...] = (Text, Image, Audio, ResourceLink, EmbeddedResource, File)


def block(value: Content | str) -> dict[str, Any]:
    """One block as it goes on the wire; a File becomes a link. Raises: TypeError for anything else."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, File):
        link = ResourceLink(value.download_url, value.file_name or value.file_id, mime_type=value.mime_type)
        return link.to_wire()
    if isinstance(value, BLOCKS):
        return value.to_wire()
    raise TypeError(f"{type(value).__name__} is not content: use a str, Image, Audio, ResourceLink, EmbeddedResource.")


def blocks(value: Content | str | Sequence[Content | str] | None) -> list[dict[str, Any]]:
    """Content as an author may write it, as the list that the wire always carries (row S02)."""
    if value is None:
        return []
    if isinstance(value, str | Content):
        return [block(value)]
    return [block(item) for item in value]


def _binary(data: bytes, mime_type: str | None) -> dict[str, Any]:
    return {"data": b64encode(data).decode(), "mimeType": mime_type or sniff.media_type(data)}


def _extras(annotations: Annotations | None, meta: Mapping[str, Any] | None) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if annotations is not None:
        extras["annotations"] = annotations.to_wire()
    if meta is not None:
        extras["_meta"] = dict(meta)
    return extras


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
