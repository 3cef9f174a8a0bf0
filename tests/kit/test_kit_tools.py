"""Tools: from a function to its descriptor and to its answer."""

from __future__ import annotations

import asyncio
import functools
import sys
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, Field
from tenantry import (
    Header,
    Icon,
    NoAuth,
    OAuth2,
    Plugin,
    ToolError,
    Widget,
)
from tenantry.testing import Client, Crashed, Refused

READS = {"read_only": True, "destructive": False, "open_world": False}


class Animal(BaseModel):
    """An animal of the zoo."""

    id: str
    name: str = "nameless"
    children: list[Animal] = []


def described(plugin: Plugin, name: str) -> dict[str, Any]:
    return next(tool for tool in Client(plugin).describe()["tools"] if tool["name"] == name)


@pytest.mark.row("N01", "N02", "N03", "N04", "T04", "T09", "T10", "T03", "T02")
def test_a_descriptor_carries_everything_that_was_declared():
    plugin = Plugin()
    cards = Widget("widgets/animals/index.html")

    @plugin.tool(
        read_only=False,
        destructive=True,
        open_world=True,
        idempotent=True,
        name="feed-animal",
        title="Feed",
        description="Use this to feed one.",
        widget=cards,
        visibility=["app"],
        invoking="Feeding…",
        invoked="Fed",
        auth=[NoAuth, OAuth2("zoo.read", "zoo.feed")],
        icons=[Icon("https://zoo.example/i.png", "image/png", ["48x48"], "dark")],
        meta={"example.com/rank": 1, "ui": {"example": True}},
    )
    def feed(count: Annotated[int, Field(ge=1, le=20, description="How many")] = 10) -> str:
        return "fed"

    tool = described(plugin, "feed-animal")
    source = tool.pop("source")
    assert source["file"].endswith("test_kit_tools.py")
    assert source["line"] == feed.__code__.co_firstlineno
    assert tool == {
        "name": "feed-animal",
        "title": "Feed",
        "description": "Use this to feed one.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 20, "default": 10, "description": "How many"}
            },
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True, "idempotentHint": True},
        "icons": [{"src": "https://zoo.example/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}],
        "securitySchemes": [{"type": "noauth"}, {"type": "oauth2", "scopes": ["zoo.read", "zoo.feed"]}],
        "widget": "animals",
        "visibility": ["app"],
        "invoking": "Feeding…",
        "invoked": "Fed",
        "plain": True,
        "meta": {"example.com/rank": 1, "ui": {"example": True}},
    }
    assert [widget["name"] for widget in Client(plugin).describe()["widgets"]] == ["animals"]


def test_the_decorated_function_stays_itself_and_its_docstring_is_the_description():
    plugin = Plugin()

    @plugin.tool(**READS)
    def add(a: int, b: int) -> str:
        """Use this to add.

        Both may be negative.
        """
        return str(a + b)

    assert add(1, 2) == "3"
    assert described(plugin, "add")["description"] == "Use this to add.\n\nBoth may be negative."


def test_arguments_are_coerced_to_their_types_and_have_defaults():
    plugin = Plugin()

    @plugin.tool(**READS)
    def echo(animal: Animal, schema: str = "s", _hidden: int = Field(3, le=9), tags: list[str] | None = None) -> str:
        """Echoes."""
        return f"{type(animal).__name__} {animal.id} {schema} {_hidden} {tags}"

    assert Client(plugin).call("echo", animal={"id": "a"}).text == "Animal a s 3 None"
    assert Client(plugin).call("echo", animal=Animal(id="b"), schema="x", _hidden=4, tags=["t"]).text == (
        "Animal b x 4 ['t']"
    )


def test_bad_arguments_are_an_error_result_that_names_each_field():
    plugin = Plugin()

    @plugin.tool(**READS)
    def echo(animal: Animal, count: Annotated[int, Field(le=20)] = 1) -> str:
        """Echoes."""
        return ""

    called = Client(plugin).call("echo", animal={"id": 1}, count=21, other=1)
    assert called.is_error
    assert "animal.id: Input should be a valid string" in called.text
    assert "count: Input should be less than or equal to 20" in called.text
    assert "other: Extra inputs are not permitted" in called.text
    many = Client(plugin).call("echo", **{f"x{n}": n for n in range(30)})
    assert many.text.endswith("and 21 more")


def test_arguments_that_are_no_object_and_unknown_tools_are_protocol_errors():
    plugin = Plugin()
    plugin.tool(**READS)(nothing)
    for params in ({"name": "nothing", "arguments": [1]}, {"name": "no-such-tool"}, {}):
        with pytest.raises(Refused) as refused:
            Client(plugin).request("tools/call", params)
        assert refused.value.error["code"] == -32602
    with pytest.raises(Refused) as refused:
        Client(plugin).request("tools/list", {})
    assert refused.value.error["code"] == -32601


def nothing() -> None:
    """Does nothing."""


def test_the_text_of_a_tool_error_reaches_the_model_and_any_other_is_masked():
    plugin = Plugin()

    @plugin.tool(**READS)
    def fail(kind: str) -> str:
        """Fails."""
        if kind == "tool":
            raise ToolError("No such animal.", content=["Try the list."], meta={"near": ["ape"]})
        if kind == "exit":
            sys.exit(3)
        if kind == "return":
            return cast(str, {"key": "sk-123"})
        raise RuntimeError("key=sk-123 in /var/task")

    called = Client(plugin).call("fail", kind="tool")
    assert called.is_error
    assert called.text == "No such animal.\nTry the list."
    assert called.meta == {"near": ["ape"]}
    for kind in ("other", "exit", "return"):
        call = {"method": "tools/call", "params": {"name": "fail", "arguments": {"kind": kind}}}
        reply = plugin.__tenantry_call__(call, _Bare())
        error = reply["error"]
        assert error["code"] == "tool.failed"
        assert "sk-123" not in error["message"] + error["hint"] + error["error_id"]
        assert len(error["error_id"]) == 12
        assert kind == "exit" or "sk-123" in error["traceback"]


def test_an_interrupt_from_the_keyboard_is_not_an_answer():
    plugin = Plugin()

    @plugin.tool(**READS)
    def stop() -> str:
        """Stops."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Client(plugin).call("stop")


def test_an_async_tool_keeps_its_loop_between_calls_and_leaves_no_task_behind():
    plugin = Plugin()
    loops: list[Any] = []
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    @plugin.tool(**READS)
    async def think() -> str:
        """Thinks."""
        loops.append((asyncio.get_running_loop(), asyncio.ensure_future(linger())))
        await asyncio.sleep(0)
        return "thought"

    client = Client(plugin)
    assert client.call("think").text == "thought"
    assert ended == ["cancelled"]
    assert client.call("think").text == "thought"
    assert loops[0][0] is loops[1][0]
    loops[0][0].close()
    assert client.call("think").text == "thought"


def test_a_wrapped_async_function_is_awaited_and_found_where_it_is_written():
    plugin = Plugin()

    def timed(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> Any:
            return function(*args, **given)

        return wrapper

    @plugin.tool(**READS)
    @timed
    async def think(text: str) -> str:
        """Thinks."""
        return text.upper()

    assert Client(plugin).call("think", text="a").text == "A"
    assert described(plugin, "think")["source"]["line"] == think.__wrapped__.__code__.co_firstlineno


async def test_an_async_tool_can_be_called_from_a_running_loop_too():
    plugin = Plugin()

    @plugin.tool(**READS)
    async def think() -> str:
        """Thinks."""
        return "thought"

    assert Client(plugin).call("think").text == "thought"


def test_a_method_can_be_a_tool():
    plugin = Plugin()

    class Zoo:
        def count(self, kind: str) -> int:
            """Counts."""
            return len(kind)

    plugin.tool(**READS)(Zoo().count)
    assert Client(plugin).call("count", kind="ape").structured == {"result": 3}


def test_raw_schemas_are_published_as_they_are_and_pass_raw_arguments():
    plugin = Plugin()
    given = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "anyOf": [{"required": []}]}
    gives = {"type": "object", "properties": {"sum": {"type": "integer"}}}

    @plugin.tool(**READS, input_schema=given, output_schema=gives, file_params=["doc"])
    def raw(**arguments: Any) -> Any:
        """Raw."""
        return {"sum": sum(arguments.values())} if arguments else None

    tool = described(plugin, "raw")
    assert (tool["inputSchema"], tool["outputSchema"], tool["fileParams"]) == (given, gives, ["doc"])
    assert Client(plugin).call("raw", a=1, b=2).structured == {"sum": 3}
    with pytest.raises(Crashed, match="promises"):
        Client(plugin).call("raw")


def test_a_raw_input_schema_may_stand_over_ordinary_parameters():
    plugin = Plugin()

    @plugin.tool(**READS, input_schema={"type": "object"})
    def raw(a: int = 1) -> str:
        """Raw."""
        return str(a)

    assert Client(plugin).call("raw", a=2).text == "2"


def test_a_parameter_can_travel_as_a_header():
    plugin = Plugin()

    @plugin.tool(**READS)
    def where(region: Annotated[str, Header("Region"), Field(description="Where")], size: int = 1) -> str:
        """Where."""
        return region

    assert described(plugin, "where")["inputSchema"]["properties"]["region"] == {
        "type": "string",
        "description": "Where",
        "x-mcp-header": "Region",
    }
    assert Client(plugin).call("where", region="eu").text == "eu"


class _Bare:
    """The least that a runner gives."""

    secrets: dict[str, str] = {}
    folder = "."
    deadline = 0.0

    def __init__(self) -> None:
        self.uploads: list[dict[str, Any]] = []

    def notify(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(method)

    def put(self, upload: dict[str, Any], data: bytes, content_type: str) -> None:
        raise AssertionError(upload)
