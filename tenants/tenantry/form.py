"""The restricted schema of a form: flat, plain fields, nothing nested (MCP, elicitation)."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from tenantry.errors import PluginError
from tenantry.schema import Json, generate

PLAIN = {"string", "number", "integer", "boolean"}
_KEYS = {
    "type", "title", "description", "default", "enum", "enumNames", "oneOf", "format", "minLength", "maxLength",
    "minimum", "maximum", "items", "minItems", "maxItems",
}  # fmt: skip


class Form:
    """The form of a model; `schema` is what the client gets.

    Enumerations become `enum`, optional fields may be left out, a list of choices becomes a multiple choice.
    Raises: PluginError for a field that no form has.
    """

    def __init__(self, model: Any) -> None:
        given = generate(TypeAdapter(model), "validation")
        definitions = given.get("$defs", {})
        if given.get("type") != "object" or "properties" not in given:
            raise PluginError(f"{model!r} is not a form.", "Ask with a model, dataclass or TypedDict of plain fields.")
        fields = {name: _plain(name, field, definitions) for name, field in given["properties"].items()}
        self.schema: Json = {"type": "object", "properties": fields}
        if given.get("required"):
            self.schema["required"] = list(given["required"])


def _plain(name: str, given: Json, definitions: Json) -> Json:
    field = _resolved(given, definitions)
    if "anyOf" in field and field.get("type") != "array":
        real = [option for option in field.pop("anyOf") if option != {"type": "null"}]
        if len(real) == 1:
            field = {**_resolved(real[0], definitions), **field}
            if field.get("default", 0) is None:
                del field["default"]
    kind = field.get("type")
    if kind == "array":
        items = _resolved(field.get("items", {}), definitions)
        if "enum" not in items and "anyOf" not in items:
            raise PluginError(f"{name}: a form's list is a choice.", "Use list[Literal[...]] or list[an Enum].")
        field["items"] = {key: items[key] for key in ("type", "enum", "anyOf") if key in items}
    elif kind not in PLAIN:
        raise PluginError(f"{name}: a form has no such field.", "Use str, int, float, bool, a Literal or an Enum.")
    return {key: value for key, value in field.items() if key in _KEYS}


def _resolved(schema: Json, definitions: Json) -> Json:
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**definitions[reference.rpartition("/")[2]], **rest}
