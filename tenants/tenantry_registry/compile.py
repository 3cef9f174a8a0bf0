"""From a description (what the code says of itself), plugin.toml and the bundle's files to a manifest.

The description comes from the sandbox and is distrusted like any upload: its shape is checked here, its sense by the
rules. Nothing is decided at serving time that can be decided now.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenantry_registry import guests
from tenantry_registry.config import Config
from tenantry_registry.description import Description, place
from tenantry_registry.dialects import MIME, tool_meta
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.media import IMMUTABLE, encode, media
from tenantry_registry.names import Name
from tenantry_registry.objects import Kind
from tenantry_registry.report import Finding
from tenantry_registry.rules import found
from tenantry_registry.widgets import Compiled, asset_key, compile_widget, html_key, split_uri

HTML = Kind("text/html; charset=utf-8", IMMUTABLE)
VENDOR = "_vendor/"
NOAUTH: Mapping[str, Any] = {"type": "noauth"}

# what a list entry carries on to the wire as it is declared
TOOL_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons")
RESOURCE_KEYS = ("uri", "name", "title", "description", "mimeType", "annotations", "icons", "size")
TEMPLATE_KEYS = ("uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons")
PROMPT_KEYS = ("name", "title", "description", "arguments", "icons")


@dataclass(frozen=True, slots=True)
class CompiledRelease:
    """A release ready to be put: its manifest, its widgets, and what kept other widgets from being compiled."""

    manifest: Manifest
    widgets: tuple[Compiled, ...]
    findings: tuple[Finding, ...] = ()


def compile_release(
    *,
    name: Name,
    digest: str,
    config: Config,
    description: Description,
    files: Mapping[str, bytes],
    created: float,
    target: str = "",
) -> CompiledRelease:
    """Compile one release. `files` is the author's part of the bundle, by path.

    A widget that can't be compiled is left out, with a finding that refuses the release.
    """
    uses_files = needs_files(config, description, files)
    if description.kind == "kit":
        declared = description.widgets
        widgets, findings = _widgets(declared, files, uses_files)
        tools = [_tool(tool, config, widgets) for tool in description.tools]
        resources = [_resource(widget) for widget in widgets]
        resources += [_entry(resource, RESOURCE_KEYS) for resource in description.resources]
        templates = [_entry(template, TEMPLATE_KEYS) for template in description.templates]
        prompts = [_entry(prompt, PROMPT_KEYS) for prompt in description.prompts]
        answers, capabilities = description.answers, _capabilities(description, widgets)
    else:
        widgets, findings = _widgets(guests.widgets(description.answers, files), files, uses_files)
        answers = guests.upgraded(description.answers, widgets)
        tools = [_guest_tool(tool, config) for tool in guests.listed(answers, "tools/list", "tools")]
        resources = guests.listed(answers, "resources/list", "resources")
        templates = guests.listed(answers, "resources/templates/list", "resourceTemplates")
        prompts = description.prompts
        capabilities = guests.capabilities(answers)
    manifest = Manifest(
        tenant=name.tenant,
        plugin=name.plugin,
        digest=digest,
        created=created,
        entrypoint=config.entrypoint,
        server=_server(config),
        kind=description.kind,
        instructions=config.instructions or guests.instructions(answers),
        target=target,
        kit=description.kit,
        protocol=description.protocol,
        egress=config.egress,
        timeout=config.timeout,
        env=dict(config.env),
        secrets=config.secrets.required,
        auth=config.auth.model_dump(mode="json") if config.auth else None,
        capabilities=capabilities,
        tools=tuple(tools),
        resources=tuple(resources),
        templates=tuple(templates),
        prompts=tuple(prompts),
        contents=_contents(description.resources),
        widgets=tuple(widget.entry(name) for widget in widgets),
        answers=answers,
        dynamic=_dynamic(description),
        listing=config.listing.model_dump(mode="json"),
        limits=config.limits.model_dump(mode="json"),
        examples=tuple(example.model_dump(mode="json") for example in config.examples),
        uses_files=uses_files,
        plain=tuple(tool["name"] for tool in description.tools if tool.get("plain")),
    )
    return CompiledRelease(manifest, widgets, findings)


def _widgets(
    declared: Sequence[Mapping[str, Any]], files: Mapping[str, bytes], uses_files: bool
) -> tuple[tuple[Compiled, ...], tuple[Finding, ...]]:
    compiled, findings = [], []
    for widget in declared:
        try:
            compiled.append(compile_widget(widget, files, uses_files=uses_files))
        except PlatformError as error:
            findings.append(found(error.code, str(widget["name"]), error.message, place(widget), error.hint))
    return tuple(compiled), tuple(findings)


def blobs(name: Name, widgets: Sequence[Compiled], present: frozenset[str]) -> list[tuple[str, bytes, Kind]]:
    """What storage must hold for these widgets, but for the keys that are `present` already. Each file is encoded
    as its type says; two widgets of one folder share a tree."""
    found: dict[str, tuple[str, bytes, Kind]] = {}
    for widget in widgets:
        key = html_key(name, widget.hash)
        if key not in present:
            found[key] = (key, widget.html, HTML)
        for path, data in widget.tree.files.items() if widget.folder else ():
            key = asset_key(name, widget.tree.hash, path)
            if key not in present and key not in found:
                kind = media(path)
                stored, encoding = encode(data, kind)
                found[key] = (key, stored, Kind(kind.type, IMMUTABLE, encoding))
    return list(found.values())


def needs_files(config: Config, description: Description, files: Mapping[str, bytes]) -> bool:
    """Whether the plugin handles files, so that its widgets may load them: plugin.toml says so, a tool takes one, or
    the author's code calls `….files.save(`."""
    if config.files is not None:
        return config.files
    return any(tool.get("fileParams") for tool in description.tools) or any(
        _saves(data) for path, data in files.items() if path.endswith(".py") and b"files.save" in data
    )


def _saves(source: bytes) -> bool:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "save"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "files"
        for node in ast.walk(tree)
    )


def _server(config: Config) -> dict[str, Any]:
    server = {"name": config.name, "version": config.version or "0"}
    for key, value in (("title", config.title), ("description", config.description), ("websiteUrl", config.website)):
        if value:
            server[key] = value
    return server


def _tool(tool: Mapping[str, Any], config: Config, widgets: Sequence[Compiled]) -> dict[str, Any]:
    """One descriptor, complete (rows T01 to T11, N01 to N05)."""
    entry = _entry(tool, TOOL_KEYS, meta=False)
    schemes = security_schemes(tool, config)
    entry["securitySchemes"] = schemes
    by_name = {widget.name: widget.uri for widget in widgets}
    uri = by_name.get(str(tool["widget"])) if tool.get("widget") else _raw_uri(tool, by_name)
    entry["_meta"] = tool_meta(tool, uri=uri, schemes=schemes, widgets=bool(widgets))
    return entry


def _guest_tool(tool: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """A guest's descriptor; where plugin.toml has [auth] and the guest says nothing of sign-in, it is said for it."""
    if config.auth is None or tool.get("securitySchemes") is not None:
        return dict(tool)
    schemes = security_schemes(tool, config)
    return {**tool, "securitySchemes": schemes, "_meta": {**(tool.get("_meta") or {}), "securitySchemes": schemes}}


def _raw_uri(tool: Mapping[str, Any], by_name: Mapping[str, str]) -> str | None:
    """A template that the author's raw meta names by its bare URI, as it is published."""
    meta = tool.get("meta") or {}
    ui = meta.get("ui") if isinstance(meta.get("ui"), Mapping) else {}
    written = (ui or {}).get("resourceUri") or meta.get("openai/outputTemplate")
    parts = split_uri(written) if isinstance(written, str) else None
    return by_name.get(parts[0], written) if parts else written if isinstance(written, str) else None


def security_schemes(tool: Mapping[str, Any], config: Config) -> list[dict[str, Any]]:
    """What the tool declares; else sign-in with every scope where the plugin has [auth], else none (row T02)."""
    if declared := tool.get("securitySchemes"):
        return [dict(scheme) for scheme in declared]
    if config.auth is not None:
        return [{"type": "oauth2", "scopes": list(config.auth.scopes)}]
    return [dict(NOAUTH)]


def _resource(widget: Compiled) -> dict[str, Any]:
    entry: dict[str, Any] = {"uri": widget.uri, "name": widget.name}
    for key in ("title", "description"):
        if widget.declared.get(key):
            entry[key] = widget.declared[key]
    return {**entry, "mimeType": MIME, "_meta": dict(widget.meta)}


def _entry(declared: Mapping[str, Any], keys: Sequence[str], meta: bool = True) -> dict[str, Any]:
    entry = {key: declared[key] for key in keys if declared.get(key) is not None}
    if meta and declared.get("meta"):
        entry["_meta"] = dict(declared["meta"])
    return entry


def _contents(resources: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The contents of static resources, as resources/read gives them."""
    found: dict[str, dict[str, Any]] = {}
    for resource in resources:
        for kind in ("text", "blob"):
            if kind in resource:
                content = {"uri": resource["uri"], kind: resource[kind]}
                if resource.get("mimeType"):
                    content["mimeType"] = resource["mimeType"]
                if resource.get("meta"):
                    content["_meta"] = dict(resource["meta"])
                found[str(resource["uri"])] = content
    return found


def _capabilities(description: Description, widgets: Sequence[Compiled]) -> dict[str, Any]:
    found: dict[str, Any] = {"logging": {}}
    if description.tools:
        found["tools"] = {"listChanged": False}
    if widgets or description.resources or description.templates:
        found["resources"] = {"subscribe": description.subscribe, "listChanged": False}
    if description.prompts:
        found["prompts"] = {"listChanged": False}
    if description.completion:
        found["completions"] = {}
    if widgets:
        found["extensions"] = {"io.modelcontextprotocol/ui": {"mimeTypes": [MIME]}}
    return found


def _dynamic(description: Description) -> tuple[str, ...]:
    """The methods that need the sandbox."""
    if description.kind != "kit":
        return tuple(description.dynamic)
    found = []
    if description.tools:
        found.append("tools/call")
    if description.templates or any("text" not in r and "blob" not in r for r in description.resources):
        found.append("resources/read")
    if description.prompts:
        found.append("prompts/get")
    if description.completion:
        found.append("completion/complete")
    return tuple(found)
