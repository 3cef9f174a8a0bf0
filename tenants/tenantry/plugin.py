"""The plugin: what an author's module defines and the platform loads. Name, version and the like are in plugin.toml.

Declarations are checked where they stand; the functions themselves come back unchanged, to be called in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tenantry import tool as tools
from tenantry.auth import Auth, NoAuth, OAuth2
from tenantry.content import Annotations, Icon
from tenantry.errors import PluginError
from tenantry.misuse import explained
from tenantry.session import Session
from tenantry.tool import Tool, Visibility
from tenantry.version import PROTOCOL, VERSION
from tenantry.widget import Widget

if TYPE_CHECKING:
    from tenantry.completion import Completion
    from tenantry.prompt import Prompt
    from tenantry.resource import Resource

F = TypeVar("F", bound=Callable[..., Any])


class Plugin:
    """An MCP server in the making: `plugin = Plugin()`, then its decorators."""

    __tenantry_protocol__ = PROTOCOL

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.widgets: dict[str, Widget] = {}
        self.resources: dict[str, Resource] = {}
        self.prompts: dict[str, Prompt] = {}
        self.completions: dict[tuple[str, str], Completion] = {}

    @explained
    def tool(
        self,
        *,
        read_only: bool,
        destructive: bool,
        open_world: bool,
        idempotent: bool | None = None,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        widget: Widget | None = None,
        visibility: Sequence[Visibility] | None = None,
        invoking: str | None = None,
        invoked: str | None = None,
        auth: Sequence[Auth | type[NoAuth]] = (),
        icons: Sequence[Icon] = (),
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        file_params: Sequence[str] = (),
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Make a function a tool. Its parameters become the input schema, its return type the output schema.

        The three hints are required because a host refuses a plugin that leaves one out (rows N01 to N03, P04):
        `read_only` - it changes nothing outside the conversation; `destructive` - it may delete or overwrite what is
        the user's, so the host asks first; `open_world` - it reaches the public internet or outside parties.
        `idempotent` - doing it twice changes nothing more (N04).

        `description` replaces the docstring. `widget` shows the result, `visibility` says who may call it (T04),
        `invoking` and `invoked` are status texts of at most 64 characters (T09, T10), `auth` are alternatives (T02).
        `input_schema`, `output_schema`, `file_params` and `meta` are escape hatches for what types can't say: a raw
        input schema allows `**arguments`.

        Raises: PluginError.
        """
        options = tools.Options(
            read_only=read_only,
            destructive=destructive,
            open_world=open_world,
            idempotent=idempotent,
            name=name,
            title=title,
            description=description,
            widget=widget,
            visibility=visibility,
            invoking=invoking,
            invoked=invoked,
            auth=auth,
            icons=icons,
            input_schema=input_schema,
            output_schema=output_schema,
            file_params=file_params,
            meta=meta,
        )

        def declare(function: F) -> F:
            self._add_tool(tools.define(function, options))
            return function

        return declare

    @overload
    def profile(self, function: F, /) -> F: ...
    @overload
    def profile(
        self,
        *,
        scopes: Sequence[str] = (),
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
    ) -> Callable[[F], F]: ...
    @explained
    def profile(
        self,
        function: Callable[..., Any] | None = None,
        *,
        scopes: Sequence[str] = (),
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
    ) -> Any:
        """Make a function the tool that says who is signed in (T06, P06): one a plugin, no arguments, -> Profile.

        Raises: PluginError.
        """
        options = tools.Options(
            read_only=True,
            destructive=False,
            open_world=False,
            idempotent=True,
            name=name,
            title=title,
            description=description or "Says who is signed in.",
            auth=[OAuth2(*scopes)],
            icons=icons,
            profile=True,
        )

        def declare(function: F) -> F:
            tool = tools.define(function, options)
            if known := next((tool for tool in self.tools.values() if tool.options.profile), None):
                raise tool.signature.fault(f"the plugin's profile is already at {known.signature.place}.")
            self._add_tool(tool)
            return function

        return declare if function is None else declare(function)

    @explained
    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        static: bool = False,
        subscribe: bool = False,
    ) -> Callable[[F], F]:
        """Make a function the content behind `uri`, or behind every URI of a template like "zoo://animals/{id}".

        It returns text, bytes, anything that is JSON, `Contents`, or None where there is no such resource. A template's
        variables are its parameters: {id} is one segment, {+path} may hold slashes, {?page} is optional. `static`:
        called once, when the plugin is published, and served from the release. `subscribe`: subscriptions are
        accepted from clients that insist on them, though nothing runs between calls that could notify.

        Raises: PluginError.
        """
        from tenantry import resource as resources

        options = resources.Options(
            uri, name, title, description, mime_type, annotations, icons, meta, static, subscribe
        )

        def declare(function: F) -> F:
            resource = resources.define(function, options)
            if known := self.resources.get(uri):
                raise resource.signature.fault(f"{uri} is already at {known.signature.place}.")
            self.resources[uri] = resource
            return function

        return declare

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
    ) -> Callable[[F], F]: ...
    @explained
    def prompt(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
    ) -> Any:
        """Make a function a prompt. It returns text, content, a `Message`, or a list of these.

        Raises: PluginError.
        """
        from tenantry import prompt as prompts

        options = prompts.Options(name, title, description, icons)

        def declare(function: F) -> F:
            prompt = prompts.define(function, options)
            if known := self.prompts.get(prompt.name):
                raise prompt.signature.fault(f"a prompt of this name is already at {known.signature.place}.")
            self.prompts[prompt.name] = prompt
            return function

        return declare if function is None else declare(function)

    @explained
    def completion(self, target: str, argument: str) -> Callable[[F], F]:
        """Make a function complete `argument` of a prompt (by name) or of a resource template (by URI).

        It takes `value: str`, and if it likes `arguments: dict[str, str]` and a Context, and returns texts, the best
        first. Declare the prompt or template above it.

        Raises: PluginError.
        """
        from tenantry import completion as completions

        prompt, template = self.prompts.get(target), self.resources.get(target)
        known = prompt.arguments if prompt else template.signature.names if template else None
        if known is None:
            raise PluginError(f"There is no prompt or template {target!r} above.", "Declare it first.")
        if argument not in known:
            raise PluginError(f"{target!r} has no {argument!r}.", f"It has {', '.join(known) or 'none'}.")

        def declare(function: F) -> F:
            self.completions[target, argument] = completions.define(function)
            return function

        return declare

    def widget(self, widget: Widget) -> Widget:
        """Publish a widget that no tool names: a template for requestModal, say. Returns it.

        Raises: PluginError when another widget has its name.
        """
        known = self.widgets.setdefault(widget.name, widget)
        if known is not widget:
            raise PluginError(
                f"Two widgets are called {widget.name!r}: the other is at {known.source}.", "Give one name=..."
            )
        return widget

    def _add_tool(self, tool: Tool) -> None:
        if known := self.tools.get(tool.name):
            raise tool.signature.fault(f"a tool of this name is already at {known.signature.place}.")
        if tool.options.widget is not None:
            self.widget(tool.options.widget)
        self.tools[tool.name] = tool

    def __tenantry_describe__(self) -> dict[str, Any]:
        """The description that a release is compiled from, JSON."""
        listed = [resource for resource in self.resources.values() if resource.template is None]
        templates = [resource for resource in self.resources.values() if resource.template is not None]
        fields = [field for prompt in self.prompts.values() for field in prompt.arguments.values()]
        chosen = any("enum" in field or field["type"] == "boolean" for field in fields)
        return {
            "kind": "kit",
            "kit": VERSION,
            "protocol": PROTOCOL,
            "tools": [tool.describe() for tool in self.tools.values()],
            "widgets": [widget.describe() for widget in self.widgets.values()],
            "resources": [resource.describe() for resource in listed],
            "templates": [resource.describe() for resource in templates],
            "prompts": [prompt.describe() for prompt in self.prompts.values()],
            "completion": chosen or bool(self.completions),
            "subscribe": any(resource.options.subscribe for resource in listed),
        }

    def __tenantry_call__(self, call: Mapping[str, Any], session: Session) -> dict[str, Any]:
        """One call's part of the reply, JSON: see tenantry_registry/runners.py."""
        from tenantry.calls import answer

        return answer(self, call, session)
