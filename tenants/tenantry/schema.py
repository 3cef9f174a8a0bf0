"""JSON Schema 2020-12 from Python types, by pydantic, brought into the shape that hosts accept.

Three things are ours: a root is always an object with its own keys (2025-11-25 wants `type: object` there, pydantic
gives a bare `$ref` for recursive models); titles that only repeat a name are left out; and files are found and made
legal wherever pydantic would say `anyOf` or `null` (rows F01 and F02).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

from tenantry.file import MARK

Json = dict[str, Any]
Mode = Literal["validation", "serialization"]


class Misfit(Exception):
    """A type that can't be said in a legal schema; the declaration turns it into a PluginError with its place."""


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        # a model is always dumped whole: its defaults are there, and the schema says so
        if self.mode == "serialization" and field["type"] in {"model-field", "dataclass-field"}:
            return "serialization_exclude_if" not in field
        return super().field_is_required(field, total)

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        # a default that is not JSON, or one type of several that has no schema: pydantic would leave it out
        raise Misfit(detail)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        # pydantic says `const` for a single value; `enum` beside it is what forms and older validators look for
        value = super().literal_schema(schema)
        return {**value, "enum": [value["const"]]} if "const" in value and len(schema["expected"]) == 1 else value


def generate(adapter: TypeAdapter[Any], mode: Mode) -> Json:
    """The schema of `adapter`'s type with its references resolved at the root, titles trimmed, files inlined but
    still marked.

    Raises: Misfit and pydantic's own errors.
    """
    schema = adapter.json_schema(mode=mode, schema_generator=_Generator)
    definitions: Json = schema.pop("$defs", {})
    for name, definition in definitions.items():
        if definition.get("title") == name:
            del definition["title"]
    reference = schema.get("$ref", "")
    if reference:
        target = definitions[reference.rpartition("/")[2]]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    if definitions:
        schema["$defs"] = definitions
    return schema


def _nodes(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from _nodes(child)
    elif isinstance(value, list):
        for child in value:
            yield from _nodes(child)


def settle_files(schema: Json) -> tuple[str, ...]:
    """Make every file of an input schema legal, in place, and return the parameters that are files (row F01).

    Raises: Misfit where a file is not a top-level parameter, a list of them, or either of these made optional.
    """
    names = []
    for name, given in schema["properties"].items():
        if not _marked(given):
            continue
        settled = _settled(given)
        if settled is None:
            raise Misfit(f"{name}: a file is File, list[File], or one of these | None, as a parameter of its own.")
        schema["properties"][name] = settled
        names.append(name)
    if any(MARK in node for node in _nodes(schema)):
        raise Misfit("A file inside another type would not reach the tool: make it a parameter of its own.")
    return tuple(names)


def unmark_files(schema: Json) -> Json:
    """Take the marks out of an output schema, in place: there a file may stand anywhere."""
    for node in _nodes(schema):
        node.pop(MARK, None)
    return schema


def _marked(schema: Json) -> bool:
    return any(MARK in node for node in _nodes(schema))


def _settled(given: Json) -> Json | None:
    schema = {key: value for key, value in given.items() if key != "default"}
    while "anyOf" in schema:
        real = [option for option in schema.pop("anyOf") if option != {"type": "null"}]
        if len(real) != 1:
            return None
        schema = {**real[0], **schema}
    if MARK in schema:
        del schema[MARK]
        return schema
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, dict) and MARK in items and "prefixItems" not in schema:
        schema["items"] = {key: value for key, value in items.items() if key != MARK}
        return schema
    return None


def is_object(schema: Json) -> bool:
    return schema.get("type") == "object"
