"""A function's parameters, read once at its definition: which is the context, which are arguments, and their schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType, NoneType, UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic_core import PydanticSerializationError

from tenantry import source
from tenantry.context import Context
from tenantry.errors import PluginError
from tenantry.faults import faults
from tenantry.file import File
from tenantry.schema import Json, Misfit, generate

ODD = "Annotate it with a type, such as str, int, list[str] or a pydantic model."
UNSAYABLE = (PydanticUserError, PydanticInvalidForJsonSchema, PydanticSerializationError, Misfit)


class BadArguments(Exception):
    """Arguments that don't fit; `faults` are "field: what is wrong", to be shown to the model."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Signature:
    """`names` are the parameters that the caller fills, `model` validates them (None when there is `**rest`),
    `context` is the name of the parameter annotated `Context`, `hints` the evaluated annotations."""

    function: Callable[..., Any]
    name: str
    names: tuple[str, ...]
    required: frozenset[str]
    model: type[BaseModel] | None
    context: str | None
    hints: Mapping[str, Any]
    place: source.Source

    @property
    def returns(self) -> Any:
        """The return annotation, `inspect.Signature.empty` where there is none."""
        return self.hints.get("return", inspect.Signature.empty)

    def fault(self, message: str, hint: str = "", *, code: str = "plugin.definition") -> PluginError:
        """A PluginError that names this function and its place."""
        return PluginError(f"{self.name}: {message}", hint, code=code, source=self.place)

    def schema(self) -> Json:
        """The input schema, files still marked. Raises: PluginError for what can't be said in JSON Schema."""
        assert self.model is not None
        try:
            schema = generate(TypeAdapter(self.model), "validation")
        except UNSAYABLE as error:
            fields = {name: self.model.model_fields[_field(index)] for index, name in enumerate(self.names)}
            odd = _odd(self.hints, fields, lambda one: generate(_adapter(one), "validation"))
            raise self.fault(f"the type of {odd} has no JSON Schema{why(error)}", ODD) from error
        schema.pop("title", None)
        schema.setdefault("properties", {})
        return schema

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function, coerced and with defaults. Raises: BadArguments."""
        if self.model is None:
            return dict(arguments)
        try:
            values = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise BadArguments(faults(error)) from None
        return {name: getattr(values, _field(index)) for index, name in enumerate(self.names)}


def read(function: Callable[..., Any], *, kind: str, raw: bool = False) -> Signature:
    """Read the signature of a function that is being declared as a `kind`. With `raw` it may have only `**rest`.

    Raises: PluginError.
    """
    if not is_function(function):
        raise PluginError(f"@plugin.{kind} decorates functions, not {function!r}.", "Put it on a def or async def.")
    place = source.of(inspect.unwrap(function))
    name = function.__name__

    def fault(message: str, hint: str = "") -> PluginError:
        return PluginError(f"{name}: {message}", hint, source=place)

    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise fault("it yields.", "Return one result; say how far it is by ctx.progress().")
    around = dict(source.caller_names())
    try:
        hints = get_type_hints(function, localns=around, include_extras=True)
    except Exception as error:
        odd = next(name for name in function.__annotations__ if not _evaluates(function, name, around))
        raise fault(f"the annotation of {odd} can't be evaluated: {error}", "Define or import it above.") from error
    fields: dict[str, Any] = {}
    names: list[str] = []
    required: set[str] = set()
    context: str | None = None
    rest = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise fault(f"{parameter} has no name to the caller.", "Use ordinary parameters.")
        if parameter.kind is parameter.VAR_KEYWORD:
            if not raw:
                raise fault(f"{parameter} says nothing about its arguments.", "Name them, or give input_schema=.")
            rest = True
            continue
        if parameter.name not in hints:
            raise fault(f"the parameter {parameter.name} has no type.", "Annotate it: it becomes the input schema.")
        annotation = hints[parameter.name]
        if annotation is Context:
            context = parameter.name
            continue
        if parameter.default is parameter.empty:
            required.add(parameter.name)
        try:
            fields[_field(len(names))] = _model_field(parameter, annotation)
        except Exception as error:  # typing looks into it before pydantic can say what is wrong
            raise fault(f"the type of the parameter {parameter.name} is no type: {annotation!r}.", ODD) from error
        names.append(parameter.name)
    if rest and names:
        raise fault("**arguments stands alone.", "Take all arguments in it, or none.")
    try:
        model = None if rest else create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except (*UNSAYABLE, TypeError, ValueError) as error:
        each = dict(zip(names, fields.values(), strict=True))
        odd = _odd(hints, each, lambda one: create_model("One", p0=one))
        raise fault(f"the type of {odd} can't be used{why(error)}", ODD) from error
    return Signature(function, name, tuple(names), frozenset(required), model, context, hints, place)


def description(given: str | None, signature: Signature) -> str:
    """The given description or the docstring. Raises: PluginError when there is neither."""
    text = given if given is not None else inspect.getdoc(signature.function)
    if not text or not text.strip():
        raise signature.fault("it has no description.", "Write a docstring: it is what the model chooses by.")
    return text.strip()


def is_function(value: Any) -> TypeGuard[FunctionType | MethodType]:
    return isinstance(value, FunctionType | MethodType)


def _evaluates(function: Callable[..., Any], name: str, around: Mapping[str, Any]) -> bool:
    def probe() -> None: ...

    probe.__annotations__ = {name: function.__annotations__[name]}
    try:
        get_type_hints(probe, inspect.unwrap(function).__globals__, dict(around), include_extras=True)
    except Exception:
        return False
    return True


def _field(index: int) -> str:
    # parameters may be called `schema` or `_x`, which pydantic's fields may not; the real name is the alias
    return f"p{index}"


def _model_field(parameter: inspect.Parameter, annotation: Any) -> Any:
    annotated = Annotated[annotation, Field(alias=parameter.name)]
    if parameter.default is parameter.empty:
        # `File | None` may be left out, for null is not legal (row F02)
        return (annotated, None) if _is_optional_file(annotation) else annotated
    return (annotated, parameter.default)


def _is_optional_file(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_optional_file(get_args(annotation)[0])
    options = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else ()
    return NoneType in options and any(_names_file(option) for option in options)


def _names_file(annotation: Any) -> bool:
    return annotation is File or any(_names_file(argument) for argument in get_args(annotation))


def _odd(hints: Mapping[str, Any], fields: Mapping[str, Any], attempt: Callable[[Any], Any]) -> str:
    """Which parameter it is that can't be: the one with whose field alone `attempt` fails, and its type."""

    def fails(name: str) -> bool:
        try:
            attempt(fields[name])
        except (*UNSAYABLE, TypeError, ValueError):
            return True
        return False

    odd = [f"the parameter {name}, {spelled(hints[name])}," for name in fields if fails(name)]
    return odd[0] if odd else "a parameter"


def _adapter(field: Any) -> TypeAdapter[Any]:
    return TypeAdapter(create_model("One", p0=(field.annotation, field)))  # a bare Annotated warns of the alias


def spelled(annotation: Any) -> str:
    """A type as its author wrote it, nearly."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def why(error: BaseException) -> str:
    """What is wrong, where that is no advice of pydantic's to the author of a model."""
    return f": {error}" if isinstance(error, Misfit) else "."
