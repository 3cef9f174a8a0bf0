"""A tool's return annotation: does it return text, content blocks or data, and what is the data's schema?"""

from __future__ import annotations

import inspect
import json
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tenantry.content import BLOCKS, Content, block, blocks
from tenantry.errors import WrongReturn
from tenantry.faults import faults
from tenantry.file import File
from tenantry.result import Result
from tenantry.schema import Json, generate, is_object, unmark_files
from tenantry.signature import ODD, UNSAYABLE, Signature, spelled, why

SHOWN = reprlib.Repr()  # of a value in the log: enough to know it by
SHOWN.maxstring = SHOWN.maxother = 60
WRAP = "result"  # the key that data take which are no object: structuredContent is one before 2026-07-28


@dataclass(frozen=True, slots=True)
class Output:
    """`adapter` and `schema` are None where a tool returns no data; `wrapped` data go out as {"result": ...}.

    `loose` means a raw output_schema: the data are passed on as they are.
    """

    adapter: TypeAdapter[Any] | None = None
    schema: Json | None = None
    wrapped: bool = False
    loose: bool = False

    def to_wire(self, value: Any) -> Json:
        """The MCP result (CallToolResult) of what the tool returned.

        Raises: WrongReturn, and what the author's own validators and serializers raise.
        """
        result = value if isinstance(value, Result) else self._sorted(value)
        wire: Json = {"content": blocks(result.content)}
        if result.structured is not None or self.schema is not None:
            structured = self._structured(result.structured)
            try:
                text = json.dumps(structured, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            except ValueError as error:
                raise WrongReturn(f"which is not JSON: {error}") from error
            if result.content is None:
                wire["content"] = [block(text)]
            wire["structuredContent"] = structured
        if result.meta is not None:
            wire["_meta"] = dict(result.meta)
        return wire

    def _sorted(self, value: Any) -> Result[Any]:
        if self.schema is not None:
            return Result(value)
        if value is None or isinstance(value, str | Content):
            return Result(content=value)
        if isinstance(value, Sequence) and all(isinstance(item, str | Content) for item in value):
            return Result(content=list(value))
        raise WrongReturn

    def _structured(self, value: Any) -> Any:
        try:
            if self.loose:
                if value is None:
                    raise WrongReturn("but output_schema= promises structured data")
                return to_jsonable_python(value)
            if self.adapter is None:
                raise WrongReturn("which has structured data without a type: annotate it -> Result[YourModel]")
            checked = self.adapter.validate_python(value)
            data = self.adapter.dump_python(checked, mode="json", by_alias=True, warnings="error")
        except ValidationError as error:
            told = f": {'; '.join(faults(error))}" if _tells(error) else ""
            raise WrongReturn(f"{WrongReturn.SAYS}{told}") from error
        except PydanticSerializationError as error:
            if error.__cause__ is not None:  # of a serializer that the author wrote
                raise
            raise WrongReturn(f"which is not JSON: {error}") from error
        return {WRAP: data} if self.wrapped else data


def _tells(error: ValidationError) -> bool:
    """Whether it says more than that the whole is of another type: a place in it, or words of the author's own."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return any(fault["loc"] or fault["type"] in ("value_error", "assertion_error") for fault in found)


def shown(value: Any) -> str:
    """What a tool returned, shortened, for its author alone."""
    if isinstance(value, Result):
        return f"Result({SHOWN.repr(value.structured)})"
    return SHOWN.repr(value)


def read(signature: Signature, raw: Mapping[str, Any] | None) -> Output:
    """What `signature` returns; `raw` replaces its schema. Raises: PluginError."""
    if raw is not None:
        return Output(schema=dict(raw), loose=True)
    annotation = _bare(signature.returns)
    if annotation is inspect.Signature.empty or annotation is Any:
        raise signature.fault("what it returns is not said.", "Annotate it: -> str for text, -> YourModel for data.")
    if annotation is Result:
        return Output()
    if get_origin(annotation) is Result:
        (annotation,) = get_args(annotation)
        if annotation is NoneType or isinstance(annotation, TypeVar):
            return Output()
    elif _is_content(annotation):
        return Output()
    if _has_result(annotation):
        raise signature.fault("Result is all that a tool returns.", "Write -> Result[...] with nothing around it.")
    if annotation is bytes:
        raise signature.fault("bytes are not a result.", "Return an Image or Audio, or ctx.files.save(...).")
    return _data(signature, annotation)


def _data(signature: Signature, annotation: Any) -> Output:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        schema = unmark_files(generate(adapter, "serialization"))
    except (TypeError, *UNSAYABLE) as error:
        raise signature.fault(f"its return type, {spelled(annotation)}, has no JSON Schema{why(error)}", ODD) from error
    if is_object(schema):
        if schema.get("title") == getattr(annotation, "__name__", None):
            schema.pop("title", None)
        return Output(adapter, schema)
    definitions = schema.pop("$defs", None)
    wrapped: Json = {"type": "object", "properties": {WRAP: schema}, "required": [WRAP]}
    if definitions:
        wrapped["$defs"] = definitions
    return Output(adapter, wrapped, wrapped=True)


def _is_content(annotation: Any, *, within: bool = False) -> bool:
    annotation = _bare(annotation)
    if annotation in {str, None, NoneType}:
        return True
    if annotation is File:
        return within  # alone it is data: the reference that a widget reads
    if annotation in BLOCKS:
        return True
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        return all(_is_content(option, within=within) for option in get_args(annotation))
    if not within and origin in {list, tuple, Sequence}:
        items = [item for item in get_args(annotation) if item is not Ellipsis]
        return (
            bool(items)
            and any(_has_block(item) for item in items)
            and all(_is_content(item, within=True) for item in items)
        )
    return False


def _has_result(annotation: Any) -> bool:
    return annotation is Result or get_origin(annotation) is Result or any(map(_has_result, get_args(annotation)))


def _has_block(annotation: Any) -> bool:
    annotation = _bare(annotation)
    options = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    return any(option in BLOCKS and option is not File for option in options)


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation
