"""Rules of the plugin as a whole: its listing, instructions, examples and resources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenantry_registry import schemas
from tenantry_registry.config import FILE, Config
from tenantry_registry.description import Description, place
from tenantry_registry.dialects import MIME
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found

LENGTHS = {"display_name": 30, "short_description": 30, "long_description": 4_000}  # row P08
INSTRUCTIONS = 512  # characters that hosts are sure to read
ICONS = (".png", ".svg", ".jpg", ".jpeg", ".webp")
STRUCTURED_BYTES = 16 * 1024  # about 4,000 tokens in every turn that follows (row O02)


def check_plugin(
    config: Config, description: Description, files: Mapping[str, bytes], resources: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """The rules that look at plugin.toml and at what isn't a tool or a widget. `resources` as they are listed."""
    yield from _listing(config, files)
    if len(config.instructions) > INSTRUCTIONS:
        where = Place(FILE, config.line("instructions"))
        yield found("instructions.long", "", f"The instructions have {len(config.instructions)} characters.", where)
    yield from _examples(config, description)
    sources = {resource["uri"]: resource.get("source") for resource in description.resources}
    yield from check_resources([{**resource, "source": sources.get(resource["uri"])} for resource in resources])


def _listing(config: Config, files: Mapping[str, bytes]) -> Iterator[Finding]:
    for key, most in LENGTHS.items():
        text = str(getattr(config.listing, key))
        if len(text) > most:
            where = Place(FILE, config.line("listing", key))
            yield found("listing.length", "", f"{key} has {len(text)} characters, at most {most}.", where)
    icon = config.listing.icon
    if icon and (icon not in files or not icon.lower().endswith(ICONS)):
        where = Place(FILE, config.line("listing", "icon"))
        yield found("listing.icon", "", f"{icon!r} is not an image in the bundle.", where)


def _examples(config: Config, description: Description) -> Iterator[Finding]:
    tools = {str(tool["name"]): tool for tool in description.tools}
    for number, example in enumerate(config.examples):
        where = Place(FILE, config.line("examples", number, "tool"))
        tool = tools.get(example.tool)
        if tool is None:
            yield found("example.tool", example.tool, f"There is no tool {example.tool!r}.", where)
        elif reason := _unfit(tool["inputSchema"], example.arguments):
            yield found("example.arguments", example.tool, f"{reason}.", where)


def _unfit(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Why arguments don't fit; empty too where the schema itself is at fault, which is another rule's finding."""
    return "" if schemas.problem(schema) else schemas.mismatch(schema, arguments)


def check_resources(resources: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Resources that the author made himself; a ui:// one among them must be what hosts take for a widget."""
    seen: set[str] = set()
    for resource in resources:
        uri, where = str(resource.get("uri", "")), place(resource)
        if uri in seen:
            yield found("resource.duplicate", uri, f"There are two resources {uri}.", where)
        seen.add(uri)
        if not uri.partition(":")[0].replace("+", "").replace("-", "").replace(".", "").isalnum() or ":" not in uri:
            yield found("resource.uri", uri, f"{uri[:120]!r} has no scheme.", where)
        if uri.startswith("ui://") and resource.get("mimeType") != MIME:
            yield found("widget.mime", uri, f"Its type is {resource.get('mimeType')!r}.", where)


def check_challenges(hosts: Mapping[str, str]) -> Iterator[Finding]:
    """Plugins that ask for a challenge token, each with the host it is served at: one plugin a host (row P01)."""
    first: dict[str, str] = {}
    for plugin, host in hosts.items():
        other = first.setdefault(host.lower(), plugin)
        if other != plugin:
            yield found("challenge.shared-host", plugin, f"{host} answers for {other} already.")


def check_result(example: Mapping[str, Any], tool: Mapping[str, Any], reply: Mapping[str, Any]) -> Iterator[Finding]:
    """An example that was run: does its result keep what the tool's schema promises (rows S01, T01)?"""
    name = str(tool["name"])
    result = reply.get("result")
    if not isinstance(result, Mapping) or result.get("isError"):
        said = _said(reply)
        error = reply.get("error")
        trace = str(error.get("traceback") or "") if isinstance(error, Mapping) else ""
        cure = ""
        if trace and "\n" not in trace:  # the kit's sentence on what was returned, for the author alone
            said, trace, cure = trace, "", "Return what the annotation says, or annotate what is returned."
        words = f"{str(example.get('prompt', ''))[:80]!r} ended in an error: {said}"
        yield found("example.failed", name, f"{words}\n{trace}" if trace else words, cure=cure)
        return
    structured, schema = result.get("structuredContent"), tool.get("outputSchema")
    if schema is None:
        if structured is not None:
            yield found("result.mismatch", name, "It returns structured content without an output schema.")
    elif structured is None:
        yield found("result.mismatch", name, "It has an output schema but returns no structured content.")
    elif reason := schemas.mismatch(schema, structured):
        yield found("result.mismatch", name, f"{reason}.")
    size = len(json.dumps(structured, ensure_ascii=False).encode())
    if size > STRUCTURED_BYTES:
        yield found("result.large", name, f"Its structured content has {size // 1024} KB.")


def _said(reply: Mapping[str, Any]) -> str:
    """The words of a failed call."""
    result, error = reply.get("result"), reply.get("error") or reply.get("protocol_error")
    if isinstance(result, Mapping):
        texts = [str(block["text"]) for block in result.get("content") or () if block.get("type") == "text"]
        return " ".join(texts)[:300] or "no text."
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("code"))[:300]
    return "it asks the user something." if "input_required" in reply else "no result."
