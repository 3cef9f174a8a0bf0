"""One tool: its declaration checked, its descriptor, and its call. Rows T01 to T11, N01 to N05, F01, F02."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenantry import auth, header, output, signature
from tenantry.auth import Auth, NoAuth, OAuth2
from tenantry.content import Icon
from tenantry.context import Context
from tenantry.errors import WrongReturn
from tenantry.loop import settle
from tenantry.output import Output
from tenantry.profile import SCHEMA as PROFILE_SCHEMA
from tenantry.profile import Profile
from tenantry.schema import Json, Misfit, settle_files
from tenantry.signature import Signature
from tenantry.widget import Widget

Visibility = Literal["model", "app"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # P08: one other name loses the whole list in some clients (R33)
STATUS_LENGTH = 64  # characters, rows T09 and T10
# keys of a tool's _meta that have a typed place, and where it is
TYPED_META = {
    "securitySchemes": "auth=",
    "ui/resourceUri": "widget=",
    "openai/outputTemplate": "widget=",
    "openai/profile": "@plugin.profile",
    "openai/widgetAccessible": "visibility=",
    "openai/visibility": "visibility=",
    "openai/toolInvocation/invoking": "invoking=",
    "openai/toolInvocation/invoked": "invoked=",
    "openai/fileParams": "a File parameter, or file_params= beside input_schema=",
    "openai/widgetCSP": "Widget(csp=)",
    "openai/widgetDomain": "nothing: the platform gives every plugin its origin",
    "openai/widgetDescription": "Widget(description=)",
    "openai/widgetPrefersBorder": "Widget(border=)",
    "openai/ui": "Widget(display_modes=)",
}
TYPED_UI = {
    "resourceUri": "widget=",
    "visibility": "visibility=",
    "csp": "Widget(csp=)",
    "domain": "nothing: the platform gives every plugin its origin",
    "permissions": "Widget(permissions=)",
    "prefersBorder": "Widget(border=)",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What `@plugin.tool(...)` was given."""

    read_only: bool
    destructive: bool
    open_world: bool
    idempotent: bool | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    widget: Widget | None = None
    visibility: Sequence[Visibility] | None = None
    invoking: str | None = None
    invoked: str | None = None
    auth: Sequence[Auth | type[NoAuth]] = ()
    icons: Sequence[Icon] = ()
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    file_params: Sequence[str] = ()
    meta: Mapping[str, Any] | None = None
    profile: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A checked tool. `file_params` are the names of the parameters that are files."""

    name: str
    description: str
    options: Options
    signature: Signature
    schemes: tuple[Auth, ...]
    input_schema: Json
    output: Output
    file_params: tuple[str, ...]

    def call(self, arguments: Mapping[str, Any], context: Context) -> Json:
        """The MCP result. Raises: BadArguments, ToolError, WrongReturn, and what the author's code raises."""
        auth.check(self.schemes, context.user if context.signed_in else None)
        given = self.signature.bind(arguments)
        if self.signature.context:
            given[self.signature.context] = context
        value = settle(self.signature.function(**given))
        try:
            if self.options.profile and not isinstance(value, Profile):
                raise WrongReturn
            return self.output.to_wire(value.to_wire() if self.options.profile else value)
        except WrongReturn as error:
            read = self.signature
            reason = str(error).replace("{type}", signature.spelled(read.returns))
            told = f"{read.name} ({read.place}) returned {output.shown(value)}, {reason}."
            raise WrongReturn(" ".join(told.split())) from error  # one line, whatever the value looks like

    def describe(self) -> Json:
        options = self.options
        hints = {
            "readOnlyHint": options.read_only,
            "destructiveHint": options.destructive,
            "openWorldHint": options.open_world,
            "idempotentHint": options.idempotent,
        }
        optional = {
            "title": options.title,
            "outputSchema": self.output.schema,
            "icons": [icon.to_wire() for icon in options.icons] or None,
            "securitySchemes": [scheme.describe() for scheme in self.schemes] or None,
            "widget": options.widget.name if options.widget else None,
            "visibility": list(options.visibility) if options.visibility is not None else None,
            "invoking": options.invoking,
            "invoked": options.invoked,
            "fileParams": list(self.file_params) or None,
            "profile": options.profile or None,
            "plain": True if self.signature.context is None else None,  # it can't touch ctx.state and ctx.shared
            "meta": dict(options.meta) if options.meta else None,
        }
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {key: value for key, value in hints.items() if value is not None},
            **{key: value for key, value in optional.items() if value is not None},
            "source": self.signature.place.to_wire(),
        }


def define(function: Any, options: Options) -> Tool:
    """Check a declaration and make the tool. Raises: PluginError."""
    kind = "profile" if options.profile else "tool"
    read = signature.read(function, kind=kind, raw=options.input_schema is not None)
    name = options.name or read.name
    if not NAME.fullmatch(name):
        raise read.fault(f"{name!r} can't name a tool.", "Use up to 64 letters, digits, _ and -.")
    for hint in ("read_only", "destructive", "open_world", "idempotent"):
        value = getattr(options, hint)
        if not (isinstance(value, bool) or (hint == "idempotent" and value is None)):
            raise read.fault(f"{hint}={value!r} is not True or False.")
    if options.read_only and options.destructive:
        raise read.fault("a tool that only reads destroys nothing.", "Set one of read_only and destructive to False.")
    for key in ("invoking", "invoked"):
        if len(getattr(options, key) or "") > STATUS_LENGTH:
            raise read.fault(f"{key} is longer than {STATUS_LENGTH} characters.")
    if options.widget is not None and not isinstance(options.widget, Widget):
        raise read.fault("widget= takes a Widget.", 'Write widget=Widget("widgets/x/index.html").')
    _check_visibility(read, options.visibility)
    _check_meta(read, options.meta)
    for key in ("meta", "input_schema", "output_schema"):
        _check_json(read, key, getattr(options, key))
    schema, file_params = _input(read, options)
    return Tool(
        name,
        signature.description(options.description, read),
        options,
        read,
        _schemes(read, options.auth),
        schema,
        _output(read, options),
        file_params,
    )


def _input(read: Signature, options: Options) -> tuple[Json, tuple[str, ...]]:
    if options.input_schema is not None:
        if options.input_schema.get("type") != "object":
            raise read.fault('input_schema is not {"type": "object", ...}.')
        return dict(options.input_schema), tuple(options.file_params)
    if options.file_params:
        raise read.fault("file_params= goes with input_schema=.", "Annotate a parameter File instead.")
    schema = read.schema()
    try:
        file_params = settle_files(schema)
    except Misfit as error:
        raise read.fault(str(error)) from None
    if problem := header.fault(schema):
        raise read.fault(problem + ".")
    return schema, file_params


def _output(read: Signature, options: Options) -> Output:
    if not options.profile:
        return output.read(read, options.output_schema)
    if read.returns is not Profile or read.names:
        raise read.fault("a profile takes no arguments and returns a Profile.", "Write def whoami(ctx) -> Profile.")
    return Output(schema=PROFILE_SCHEMA, loose=True)


def _schemes(read: Signature, given: Sequence[Auth | type[NoAuth]]) -> tuple[Auth, ...]:
    if not isinstance(given, Sequence) or any(
        not (isinstance(scheme, NoAuth | OAuth2) or scheme is NoAuth) for scheme in given
    ):
        raise read.fault("auth= takes a list of NoAuth() and OAuth2(...).", 'Write auth=[OAuth2("scope")].')
    return tuple(NoAuth() if isinstance(scheme, type) else scheme for scheme in given)


def _check_visibility(read: Signature, given: Sequence[Visibility] | None) -> None:
    if given is None:
        return
    if isinstance(given, str) or not given or len(set(given)) != len(given) or set(given) - {"model", "app"}:
        raise read.fault(f"visibility={given!r} is not known.", 'Choose from "model" and "app", as a list.')


def _check_json(read: Signature, key: str, value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise read.fault(f"{key}= is not JSON: {error}.") from None


def _check_meta(read: Signature, meta: Mapping[str, Any] | None) -> None:
    ui = (meta or {}).get("ui")
    places = [(key, TYPED_META[key]) for key in meta or {} if key in TYPED_META]
    places += [(f"ui.{key}", TYPED_UI[key]) for key in (ui if isinstance(ui, Mapping) else {}) if key in TYPED_UI]
    for key, place in places:
        raise read.fault(f"meta can't carry {key!r}.", f"Its place is {place}.")
