"""The manifest: the compiled description of one release, from which every static answer is made.

Written once at `releases/{tenant}/{plugin}/{digest}.json`. `tools`, `resources`, `templates` and `prompts` are the
entries of the wire's lists, complete but for what is only known when serving: the origin placeholder `ORIGIN` in
`_meta` and HTML, and `ui.domain`, which depends on the client's kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tenantry_registry.errors import PlatformError

FORMAT = 1
ORIGIN = "https://origin.tenantry.invalid"  # stands for the plugin's own origin and path prefix, see placeholders.py
STORAGE = "https://storage.tenantry.invalid"  # stands for the origin that signed downloads come from


@dataclass(frozen=True, slots=True)
class WidgetEntry:
    """One published widget: `key` is the Objects key of its compiled HTML, `meta` the `_meta` of the resource
    (without domain, which depends on the client), `tree` the hash its assets stand under, `size` the HTML's bytes."""

    name: str
    uri: str
    key: str
    tree: str
    meta: Mapping[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One release. `kind` is "kit" (static lists, structured calls) or "asgi" (requests are passed through).

    `answers` holds what an asgi server said by itself at publish, by (era, method); `contents` the static
    resources' contents by URI ({"text"| "blob", "mimeType"}). `dynamic` names the methods that go to the sandbox.
    """

    tenant: str
    plugin: str
    digest: str
    created: float
    entrypoint: str
    server: Mapping[str, Any]  # serverInfo: name, title, version, icons, websiteUrl
    kind: str = "kit"
    instructions: str = ""
    target: str = ""
    kit: str = ""
    protocol: int = 1
    egress: str = "none"
    timeout: float = 25.0
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    auth: Mapping[str, Any] | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    resources: tuple[Mapping[str, Any], ...] = ()
    templates: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    widgets: tuple[WidgetEntry, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    dynamic: tuple[str, ...] = ()
    listing: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)  # the author's own, below those of the tenant's plan
    examples: tuple[Mapping[str, Any], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()  # the warnings it was published with
    uses_files: bool = False
    plain: tuple[str, ...] = ()  # tools that take no context: a call of one needs neither document
    format: int = FORMAT

    def to_json(self) -> bytes:
        """Its bytes, no white space, UTF-8. Keys stay in the author's order: hosts and models read schemas in it."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read what `to_json` wrote; unknown keys of newer formats are refused.

        Raises: PlatformError `manifest.format`."""
        raw: dict[str, Any] = json.loads(data)
        if raw.get("format") != FORMAT:
            raise PlatformError(
                "manifest.format", f"This release's manifest has format {raw.get('format')!r}.", "Publish it again."
            )
        known = {f.name for f in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items() if k in known}
        values["widgets"] = tuple(WidgetEntry(**w) for w in raw["widgets"])
        return cls(**values)
