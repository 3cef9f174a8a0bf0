"""The description: what a plugin's code says of itself when the sandbox asks, read with distrust.

Tenant code made it, so its shape is checked before anything looks inside: lists of objects with names, strings where
strings belong, nothing absurdly long. What the values mean is the rules' business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tenantry_registry import guests
from tenantry_registry.errors import PlatformError
from tenantry_registry.report import Place

MAX_ENTRIES = 1_000  # of each list: a host reads them all into a model's context
PROTOCOLS = (1,)  # that this platform understands

Text = Annotated[str, Field(max_length=100_000)]
Named = Annotated[str, Field(min_length=1, max_length=2_000)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Source(Part):
    file: Text = ""
    line: int = 0


class Tool(Part):
    name: Named
    title: Text | None = None
    description: Text | None = None
    inputSchema: dict[str, Any]
    outputSchema: dict[str, Any] | None = None
    annotations: dict[str, Any] = {}
    icons: list[dict[str, Any]] | None = None
    securitySchemes: list[dict[str, Any]] | None = None
    widget: Text | None = None
    visibility: list[Text] | None = None
    invoking: Text | None = None
    invoked: Text | None = None
    fileParams: list[Text] | None = None
    profile: bool | None = None
    plain: bool = False
    meta: dict[str, Any] | None = None
    source: Source = Source()


class Csp(Part):
    connect: list[Text] = []
    resource: list[Text] = []
    frame: dict[Text, Text] = {}
    redirect: list[Text] = []


class Widget(Part):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    file: Text | None = None
    html: Annotated[str, Field(max_length=4_000_000)] | None = None
    title: Text | None = None
    description: Text | None = None
    csp: Csp | None = None
    border: bool | None = None
    display_modes: list[Text] | None = None
    permissions: list[Text] | None = None
    meta: dict[str, Any] | None = None
    source: Source = Source()


class Resource(Part):
    uri: Named
    name: Named
    title: Text | None = None
    description: Text | None = None
    mimeType: Text | None = None
    annotations: dict[str, Any] | None = None
    icons: list[dict[str, Any]] | None = None
    size: int | None = None
    meta: dict[str, Any] | None = None
    text: str | None = None
    blob: str | None = None
    source: Source = Source()


class Template(Part):
    uriTemplate: Named
    name: Named
    title: Text | None = None
    description: Text | None = None
    mimeType: Text | None = None
    annotations: dict[str, Any] | None = None
    icons: list[dict[str, Any]] | None = None
    meta: dict[str, Any] | None = None
    source: Source = Source()


class Prompt(Part):
    name: Named
    title: Text | None = None
    description: Text | None = None
    arguments: list[dict[str, Any]] | None = None
    icons: list[dict[str, Any]] | None = None
    meta: dict[str, Any] | None = None
    source: Source = Source()


class _Described(BaseModel):
    model_config = ConfigDict(extra="ignore")  # a newer kit may say more

    kind: Literal["kit", "asgi"]
    kit: Text = ""
    protocol: int = 1
    tools: Annotated[list[Tool], Field(max_length=MAX_ENTRIES)] = []
    widgets: Annotated[list[Widget], Field(max_length=MAX_ENTRIES)] = []
    resources: Annotated[list[Resource], Field(max_length=MAX_ENTRIES)] = []
    templates: Annotated[list[Template], Field(max_length=MAX_ENTRIES)] = []
    prompts: Annotated[list[Prompt], Field(max_length=MAX_ENTRIES)] = []
    completion: bool = False
    subscribe: bool = False
    answers: dict[str, dict[str, Any]] = {}
    dynamic: list[Text] = []


class Description:
    """A description whose shape is in order. Its entries are plain mappings, absent keys left out."""

    def __init__(self, described: _Described) -> None:
        self.kind: str = described.kind
        self.kit = described.kit
        self.protocol = described.protocol
        self.tools: list[dict[str, Any]] = [_plain(entry) for entry in described.tools]
        self.widgets = [_plain(entry) for entry in described.widgets]
        self.resources = [_plain(entry) for entry in described.resources]
        self.templates = [_plain(entry) for entry in described.templates]
        self.prompts = [_plain(entry) for entry in described.prompts]
        self.completion = described.completion
        self.subscribe = described.subscribe
        self.answers = described.answers
        self.dynamic = described.dynamic
        if self.kind == "asgi":
            self.tools = [entry for entry in guests.listed(self.answers, "tools/list", "tools") if "name" in entry]
            self.prompts = guests.listed(self.answers, "prompts/list", "prompts")
            self.templates = guests.listed(self.answers, "resources/templates/list", "resourceTemplates")


def read(raw: Mapping[str, Any]) -> Description:
    """Check the shape of what the sandbox answered.

    Raises: PlatformError `describe.invalid`, `describe.protocol`.
    """
    try:
        described = _Described.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PlatformError(
            "describe.invalid",
            f"What the code says of itself can't be read: {where}: {first['msg']}.",
            "Use the kit's own classes, or report this as a fault of the kit.",
        ) from None
    if described.protocol not in PROTOCOLS:
        raise PlatformError(
            "describe.protocol",
            f"The bundle's kit speaks protocol {described.protocol}; this platform speaks {PROTOCOLS[-1]}.",
            "Depend on a version of the kit that this platform knows.",
        )
    return Description(described)


def place(entry: Mapping[str, Any]) -> Place:
    """Where the author wrote an entry."""
    source = entry.get("source") or {}
    return Place(str(source.get("file", "")), int(source.get("line", 0)))


def _plain(entry: BaseModel) -> dict[str, Any]:
    return entry.model_dump(exclude_none=True, exclude_unset=True)
