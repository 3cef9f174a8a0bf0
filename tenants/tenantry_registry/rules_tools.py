"""Rules of tools: names, hints, schemas, templates, texts, sign-in, files, the profile.

They look at descriptors as they go on the wire, so that `platform check URL` applies them to any server; where the
author's own words differ from the wire (raw `meta`), those are looked at too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenantry_registry import schemas
from tenantry_registry.dialects import APP, BOTH, MODEL
from tenantry_registry.report import NOWHERE, Finding, Place
from tenantry_registry.rules import found

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
STATUS_LENGTH = 64  # rows T09, T10
DESCRIPTORS_BYTES = 128 * 1024  # of all tools together; about 30,000 tokens of a model's context
HINTS = {"readOnlyHint": "read_only", "destructiveHint": "destructive", "openWorldHint": "open_world"}
HINTED = {  # how each kind of server says them; a server elsewhere may be written in any language
    "kit": "Say read_only=, destructive= and open_world= on the tool; false is a value too.",
    "asgi": "Say annotations=ToolAnnotations(readOnlyHint=…, destructiveHint=…, openWorldHint=…) on the tool; "
    "False is a value too.",
    "": "Give the tool annotations with readOnlyHint, destructiveHint and openWorldHint; false is a value too.",
}
STATUS = ("openai/toolInvocation/invoking", "openai/toolInvocation/invoked")
# Settings of a widget that hosts ignore on a tool (field report R06)
ON_WIDGETS = ("openai/widgetCSP", "openai/widgetDomain", "openai/widgetPrefersBorder", "openai/widgetDescription")
UI_ON_WIDGETS = ("csp", "domain", "prefersBorder", "permissions")
KNOWN_META = frozenset(
    (
        *("openai/outputTemplate", "openai/profile", "openai/widgetAccessible", "openai/visibility"),
        *("openai/fileParams", *STATUS, *ON_WIDGETS),
    )
)
FILE_FIELDS = ("download_url", "file_id", "mime_type", "file_name")  # row F02
FILE_REQUIRED = {"download_url", "file_id"}
PROFILE_FIELDS = {"id", "name", "email", "nickname"}  # row P06


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool to check: its descriptor on the wire, the meta its author wrote by hand, and where."""

    entry: Mapping[str, Any]
    written: Mapping[str, Any] = field(default_factory=dict)
    place: Place = NOWHERE

    @property
    def name(self) -> str:
        return str(self.entry.get("name", ""))

    @property
    def meta(self) -> Mapping[str, Any]:
        return _mapping(self.entry.get("_meta"))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What tools are checked against: the URIs of templates, what plugin.toml says (None: unknown, a URL), and the
    `kind` of server that has them, of HINTED."""

    templates: frozenset[str]
    scopes: frozenset[str] | None = None
    signs_in: bool | None = None
    egress: str | None = None
    kind: str = ""


def check_tools(tools: Sequence[Tool], around: Surroundings) -> Iterator[Finding]:
    """Every rule of tools, over all of them."""
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            yield found("tool.duplicate", tool.name, f"There are two tools {tool.name!r}.", tool.place)
        names.add(tool.name)
        yield from _words(tool)
        yield from _hints(tool, around)
        yield from _schemas(tool)
        yield from _template(tool, around)
        yield from _meta(tool)
        yield from _security(tool, around)
        yield from _files(tool, around)
        if tool.meta.get("openai/profile"):
            yield from _profile(tool)
    profiles = [tool for tool in tools if tool.meta.get("openai/profile")]
    for tool in profiles[1:]:
        yield found("profile.count", tool.name, f"{profiles[0].name} is the profile tool already.", tool.place)
    size = len(json.dumps([tool.entry for tool in tools], ensure_ascii=False).encode())
    if size > DESCRIPTORS_BYTES:
        yield found("meta.size", "", f"The tools' descriptors have {size // 1024} KB.")


def _words(tool: Tool) -> Iterator[Finding]:
    if not NAME.fullmatch(tool.name):
        yield found("tool.name", tool.name, f"{tool.name[:80]!r} can't name a tool.", tool.place)
    if not str(tool.entry.get("description") or "").strip():
        yield found("tool.description", tool.name, "There is no description.", tool.place)
    for key in STATUS:
        text = tool.meta.get(key)
        if text is not None and (not isinstance(text, str) or len(text) > STATUS_LENGTH):
            words = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
            yield found("tool.status", tool.name, f"{key.rpartition('/')[2]} has {words}.", tool.place)


def _hints(tool: Tool, around: Surroundings) -> Iterator[Finding]:
    hints = _mapping(tool.entry.get("annotations"))
    wrong: dict[str, list[str]] = {}
    for hint, word in HINTS.items():
        if not isinstance(hints.get(hint), bool):
            said = "not set" if hints.get(hint) is None else "not true or false"
            wrong.setdefault(said, []).append(f"{word} ({hint})" if around.kind == "kit" else hint)
    if wrong:
        words = (f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {said}" for said, names in wrong.items())
        yield found("annotations_required", tool.name, f"{'; '.join(words)}.", tool.place, HINTED[around.kind])
    if hints.get("idempotentHint") is not None and not isinstance(hints["idempotentHint"], bool):
        yield found("hint.type", tool.name, "idempotentHint is not true or false.", tool.place)
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        yield found("hint.contradiction", tool.name, "It is read-only and destructive at once.", tool.place)
    if hints.get("openWorldHint") is True and around.egress == "none":
        yield found("hint.egress", tool.name, "open_world is true, but egress is none.", tool.place)


def _schemas(tool: Tool) -> Iterator[Finding]:
    taken = tool.entry.get("inputSchema")
    if reason := schemas.problem(taken) or (
        "" if _mapping(taken).get("type") == "object" else "its type is not object"
    ):
        yield found("tool.input-schema", tool.name, f"The input schema can't be used: {reason}.", tool.place)
    given = tool.entry.get("outputSchema")
    if given is None:
        if _uri(tool.meta):
            yield found("tool.output-schema-missing", tool.name, "It shows a widget without saying what.", tool.place)
        return
    if reason := schemas.problem(given):
        yield found("tool.output-schema", tool.name, f"The output schema can't be used: {reason}.", tool.place)
    elif given.get("type") == "object" and not _is_shaped(given):
        yield found("tool.output-open", tool.name, "The output schema names no property.", tool.place)


def _is_shaped(schema: Mapping[str, Any]) -> bool:
    shaping = ("properties", "$ref", "allOf", "anyOf", "oneOf", "additionalProperties", "patternProperties")
    return any(isinstance(schema.get(key), Mapping | list | str) and schema[key] for key in shaping)


def _template(tool: Tool, around: Surroundings) -> Iterator[Finding]:
    for meta in (tool.written, tool.meta):
        standard = _mapping(meta.get("ui")).get("resourceUri", meta.get("ui/resourceUri"))
        alias = meta.get("openai/outputTemplate")
        if standard is not None and alias is not None and standard != alias:
            yield found("tool.template-differs", tool.name, f"{alias} is not {standard}.", tool.place)
            return
    uri = _uri(tool.meta)
    if uri is None:
        return
    if not isinstance(uri, str) or not uri.startswith("ui://") or re.search(r"[{}\s]", uri):
        yield found("tool.template-uri", tool.name, f"{str(uri)[:120]!r} can't be a template's URI.", tool.place)
    elif uri not in around.templates:
        yield found("tool.widget-unknown", tool.name, f"There is no resource {uri}.", tool.place)


def _uri(meta: Mapping[str, Any]) -> Any:
    found_ = _mapping(meta.get("ui")).get("resourceUri")
    return meta.get("ui/resourceUri", meta.get("openai/outputTemplate")) if found_ is None else found_


def _meta(tool: Tool) -> Iterator[Finding]:
    ui = _mapping(tool.meta.get("ui"))
    misplaced = [key for key in ON_WIDGETS if key in tool.meta] + [f"ui.{key}" for key in UI_ON_WIDGETS if key in ui]
    if misplaced:
        yield found("tool.csp", tool.name, f"{', '.join(misplaced)} stands on the tool.", tool.place)
    visibility = ui.get("visibility")
    if visibility is not None:
        if not isinstance(visibility, list) or not visibility or any(who not in BOTH for who in visibility):
            yield found("tool.visibility", tool.name, f"visibility is {visibility!r}.", tool.place)
        else:
            yield from _aliases(tool, visibility)
    for key in tool.meta:
        if key.startswith("openai/") and key not in KNOWN_META:
            yield found("tool.meta-unknown", tool.name, f"{key!r} is not known.", tool.place)


def _aliases(tool: Tool, visibility: list[str]) -> Iterator[Finding]:
    derived = {
        "openai/widgetAccessible": APP in visibility,
        "openai/visibility": "public" if MODEL in visibility else "private",
    }
    for key, value in derived.items():
        for meta in (tool.written, tool.meta):
            if key in meta and meta[key] != value:
                yield found(
                    "tool.alias-differs",
                    tool.name,
                    f"{key} is {meta[key]!r}, but ui.visibility is {visibility!r}.",
                    tool.place,
                )
                break


def _security(tool: Tool, around: Surroundings) -> Iterator[Finding]:
    schemes = tool.entry.get("securitySchemes")
    for meta in (tool.written, tool.meta):
        mirror = meta.get("securitySchemes")
        if mirror is not None and mirror != (schemes if schemes is not None else mirror):
            yield found("tool.alias-differs", tool.name, "_meta.securitySchemes is not securitySchemes.", tool.place)
            break
    if schemes is None:
        schemes = tool.meta.get("securitySchemes") or []
    if not isinstance(schemes, list):
        yield found("security.scheme", tool.name, "securitySchemes is not a list.", tool.place)
        return
    for scheme in schemes:
        kind, scopes = _mapping(scheme).get("type"), _mapping(scheme).get("scopes", [])
        texts = isinstance(scopes, list) and all(isinstance(scope, str) for scope in scopes)
        if kind not in ("noauth", "oauth2") or not texts:
            yield found("security.scheme", tool.name, f"{scheme!r} is not a security scheme.", tool.place)
        elif kind == "oauth2" and around.signs_in is False:
            yield found("security.scopes", tool.name, "It wants sign-in, but there is no [auth].", tool.place)
        elif around.signs_in and around.scopes is not None and (missing := set(scopes) - around.scopes):
            yield found("security.scopes", tool.name, f"[auth] has no scope {min(missing)!r}.", tool.place)


def _files(tool: Tool, around: Surroundings) -> Iterator[Finding]:
    fields = tool.meta.get("openai/fileParams")
    if fields is None:
        return
    schema = _mapping(tool.entry.get("inputSchema"))
    properties = _mapping(schema.get("properties"))
    if not isinstance(fields, list):
        yield found("files.unknown", tool.name, "openai/fileParams is not a list of fields.", tool.place)
        return
    if fields and around.egress == "none":
        yield found("files.egress", tool.name, f"{fields[0]!r} can't be downloaded.", tool.place)
    for name in fields:
        if not isinstance(name, str) or name not in properties:
            yield found("files.unknown", tool.name, f"There is no input field {name!r}.", tool.place)
        elif reason := file_problem(schema, properties[name]):
            yield found("files.schema", tool.name, f"{name}: {reason}.", tool.place)


def file_problem(root: Mapping[str, Any], node: Any) -> str:
    """Why a field is not a legal file input (row F02), or empty. Arrays of file objects and `$ref` are legal."""
    node = schemas.resolve(root, node)
    if node.get("type") == "array":
        node = schemas.resolve(root, node.get("items"))
    if any(key in node for key in ("anyOf", "oneOf", "allOf")):
        return "it is a choice of schemas, which hosts refuse"
    if node.get("type") != "object":
        return "it is not an object"
    properties = _mapping(node.get("properties"))
    for name in FILE_FIELDS:
        if schemas.resolve(root, properties.get(name)).get("type") != "string":
            return f"{name} is not a text property"
    required = node.get("required")
    if not isinstance(required, list) or set(map(str, required)) != FILE_REQUIRED:
        return "required is not exactly download_url and file_id"
    return ""


def _profile(tool: Tool) -> Iterator[Finding]:
    taken, given = _mapping(tool.entry.get("inputSchema")), _mapping(tool.entry.get("outputSchema"))
    schemes = tool.entry.get("securitySchemes") or tool.meta.get("securitySchemes") or []
    problems = []
    if tool.meta["openai/profile"] is not True:
        problems.append("its key openai/profile is not true")
    if _mapping(tool.entry.get("annotations")).get("readOnlyHint") is not True:
        problems.append("it is not read-only")
    if not schemes or any(_mapping(scheme).get("type") != "oauth2" for scheme in schemes):
        problems.append("it may be called without signing in")
    if taken.get("properties") or taken.get("additionalProperties") is not False:
        problems.append("its input is not closed and empty")
    named = set(_mapping(given.get("properties")))
    if not {"id"} <= named <= PROFILE_FIELDS or given.get("additionalProperties") is not False:
        problems.append("its output is not exactly id, name, email, nickname")
    elif "id" not in (given.get("required") or ()):
        problems.append("its id is not required")
    for words in problems:
        yield found("profile.shape", tool.name, f"{words[0].upper()}{words[1:]}.", tool.place)


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
