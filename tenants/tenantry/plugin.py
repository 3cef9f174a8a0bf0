"""The plugin: what an author's module defines and the platform loads. Name, version and the like are in plugin.toml.

Declarations are checked where they stand; the functions themselves come back unchanged, to be called in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tenantry import tool as tools
from tenantry.auth import Auth, NoAuth
from tenantry.content import Icon
from tenantry.errors import PluginError
from tenantry.session import Session
from tenantry.tool import Options, Tool, Visibility
from tenantry.version import PROTOCOL, VERSION
from tenantry.widget import Widget

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])

REQUIRED = ("read_only", "destructive", "open_world")


class Plugin:
    """An MCP server in the making: `plugin = Plugin()`, then its decorators."""

    __tenantry_protocol__ = PROTOCOL

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.widgets: dict[str, Widget] = {}

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
        options = Options(
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
        return {
            "kind": "kit",
            "kit": VERSION,
            "protocol": PROTOCOL,
            "tools": [tool.describe() for tool in self.tools.values()],
            "widgets": [widget.describe() for widget in self.widgets.values()],
            "resources": [],
            "templates": [],
            "prompts": [],
            "completion": False,
            "subscribe": False,
        }

    def __tenantry_call__(self, call: Mapping[str, Any], session: Session) -> dict[str, Any]:
        """One call's part of the reply, JSON: see tenantry_registry/runners.py."""
        from tenantry.calls import answer

        return answer(self, call, session)
