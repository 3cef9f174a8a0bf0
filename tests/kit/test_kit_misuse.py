"""Declarations that can't be right: each is refused where it stands, by name, with its file and line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel
from tenantry import (
    CSP,
    Annotations,
    Context,
    File,
    Header,
    Icon,
    Image,
    OAuth2,
    Plugin,
    PluginError,
    Profile,
    Result,
    Widget,
)

READS = {"read_only": True, "destructive": False, "open_world": False}


def fine() -> str:
    """Fine."""
    return ""


def tool(function: Any = fine, **options: Any) -> Callable[[], Any]:
    return lambda: Plugin().tool(**{**READS, **options})(function)


def undescribed() -> str:
    return ""


def positional(a: int, /) -> str:
    """Positional."""
    return str(a)


def starred(*many: int) -> str:
    """Starred."""
    return ""


def keywords(**many: int) -> str:
    """Keywords."""
    return ""


def both(a: int, **many: int) -> str:
    """Both."""
    return ""


def untyped(a) -> str:
    """Untyped."""
    return ""


def unresolved(a: NoSuchType) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Unresolved."""
    return ""


def opaque(a: Plugin) -> str:
    """Opaque."""
    return ""


def second_opaque(a: int, b: list[Plugin]) -> str:
    """Opaque, too."""
    return ""


def callback(a: Callable[[], int]) -> str:
    """Callback."""
    return ""


def unsayable_default(a: object = fine) -> str:
    """Unsayable."""
    return ""


def half_sayable(a: int | Callable[[], int]) -> str:
    """Half."""
    return ""


def silent():
    """Silent."""


def anything() -> Any:
    """Anything."""


def raw_bytes() -> bytes:
    """Bytes."""
    return b""


def opaque_result() -> Plugin:
    """Opaque."""
    return Plugin()


def mixed() -> dict[str, int] | Image:
    """Mixed."""
    return {}


def wrapped_result() -> Result[str] | None:
    """Wrapped."""
    return None


def image_argument(a: Image) -> str:
    """Image."""
    return ""


def yields() -> str:  # type: ignore[misc]
    """Yields."""
    yield ""


async def yields_later() -> str:  # type: ignore[misc]
    """Yields."""
    yield ""


class Inner(BaseModel):
    region: Annotated[str, Header("Region")]


def nested_header(a: Inner) -> str:
    """Nested."""
    return ""


def float_header(a: Annotated[float, Header("A")]) -> str:
    """Float."""
    return ""


def optional_header(a: Annotated[str, Header("A")] | None = None) -> str:
    """Optional."""
    return ""


def twin_headers(a: Annotated[str, Header("A")], b: Annotated[str, Header("a")]) -> str:
    """Twins."""
    return ""


def profile_with_arguments(a: int) -> Profile:
    return Profile(id="x")


def profile_of_text() -> str:
    return ""


def unresolved_later(a: int, b: NoSuchType) -> str:  # type: ignore[name-defined]  # noqa: F821
    """x"""
    return ""


def no_type(species: str) -> str:
    """x"""
    return ""


no_type.__annotations__["species"] = object()


@pytest.mark.row("P04", "N01", "N02", "N03", "T09", "T10", "T04", "T06", "F02")
@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (tool(undescribed), "undescribed: it has no description\\.\\sWrite a docstring"),
        (tool(description=" "), "no description"),
        (tool(positional), "positional: a: int has no name to the caller|positional: a: 'int' has no name"),
        (tool(starred), "has no name to the caller"),
        (tool(keywords), "says nothing about its arguments"),
        (tool(both, input_schema={"type": "object"}), "stands alone"),
        (tool(untyped), "the parameter a has no type"),
        (tool(unresolved), "NoSuchType.*\\sDefine or import it above"),
        (tool(unresolved_later), "the annotation of b can't be evaluated"),
        # From Python 3.12 on it is pydantic that finds this out, which looks at all parameters together.
        (
            tool(no_type),
            "species is no type: <object.*\\sAnnotate it with a type|the parameter species, <object.*, can't be used",
        ),
        (tool(opaque), "opaque: the type of the parameter a, Plugin, can't be used\\.\\sAnnotate it with a type"),
        (tool(second_opaque), "the type of the parameter b, list.*Plugin.*, can't be used\\.\\sAnnotate"),
        (tool(callback), "the type of the parameter a, .*Callable.*, has no JSON Schema\\.\\sAnnotate"),
        (tool(unsayable_default), "the type of the parameter a, object, has no JSON Schema: Default value"),
        (tool(half_sayable), "the type of the parameter a, .*Callable.*, has no JSON Schema"),
        (tool(silent), "what it returns is not said"),
        (tool(anything), "what it returns is not said"),
        (tool(raw_bytes), "bytes are not a result"),
        (tool(opaque_result), "its return type, Plugin, has no JSON Schema\\.\\sAnnotate it with a type"),
        (tool(mixed), "Image is content, not data"),
        (tool(wrapped_result), "Result is all that a tool returns"),
        (tool(image_argument), "Image is content, not data"),
        (tool(meta={"a": object()}), "meta= is not JSON"),
        (tool(output_schema={"a": float("nan")}), "output_schema= is not JSON"),
        (tool(yields), "it yields"),
        (tool(yields_later), "it yields"),
        (tool(nested_header), "only a parameter itself"),
        (tool(float_header), "a header is str, int or bool"),
        (tool(optional_header), "a header is str, int or bool"),
        (tool(twin_headers), "the header 'a' is taken"),
        (tool("text"), "decorates functions"),
        (tool(name="a.b"), "can't name a tool"),
        (tool(name="x" * 65), "can't name a tool"),
        (tool(read_only="yes"), "read_only='yes' is not True or False"),
        (tool(idempotent=1), "idempotent=1"),
        (tool(destructive=True), "only reads destroys nothing"),
        (tool(invoking="x" * 65), "invoking is longer than 64"),
        (tool(invoked="x" * 65), "invoked is longer than 64"),
        (tool(widget="a.html"), "takes a Widget"),
        (tool(visibility="model"), "visibility='model' is not known"),
        (tool(visibility=[]), "visibility"),
        (tool(visibility=["app", "app"]), "visibility"),
        (tool(visibility=["host"]), "visibility"),
        (tool(auth="oauth2"), "takes a list of NoAuth"),
        (tool(auth=OAuth2("a")), "takes a list of NoAuth"),
        (tool(input_schema={"type": "string"}), "input_schema is not"),
        (tool(file_params=["a"]), "goes with input_schema="),
        (tool(meta={"openai/outputTemplate": "ui://x"}), "Its place is widget="),
        (tool(meta={"openai/widgetCSP": {}}), r"Its place is Widget\(csp=\)"),
        (tool(meta={"ui": {"csp": {}}}), r"'ui.csp'\.\sIts place is Widget\(csp=\)"),
        (tool(meta={"ui": {"domain": "x"}}), "its origin"),
        (lambda: Plugin().profile(profile_with_arguments), "takes no arguments"),
        (lambda: Plugin().profile(profile_of_text), "returns a Profile"),
        (lambda: Plugin().profile(zzz=1), "has no option zzz.\\sIt has scopes"),
        (lambda: Plugin().tool(**READS, tilte="x"), r"tool\(\) has no option tilte.\sDo you mean title\?"),
        (lambda: Plugin().tool(fine, **READS), r"tool\(\): too many positional"),
        (lambda: Plugin().resource(), "missing a required argument: 'uri'"),
        (lambda: OAuth2("a b"), "can't be a scope"),
        (lambda: Icon("http://a.example/x.png"), "can't be an icon"),
        (lambda: Annotations(priority=2), "not between 0 and 1"),
        (lambda: Header("no spaces"), "can't be part of a header"),
        (lambda: Widget("/etc/x.html"), "can't be a widget's file"),
        (lambda: Widget("../x.html"), "can't be a widget's file"),
        (lambda: Widget("a\\x.html"), "can't be a widget's file"),
        (lambda: Widget("x.js"), "can't be a widget's file"),
        (lambda: Widget("index.html"), "can't name a widget"),
        (lambda: Widget(html="<p>"), "can't name a widget"),
        (lambda: Widget("a.html", html="<p>"), "either a file or html"),
        (lambda: Widget(), "either a file or html"),
        (lambda: Widget("a.html", csp={"connect": []}), "csp= takes a CSP"),
        (lambda: Widget("a.html", display_modes=["modal"]), "Choose from inline, fullscreen, pip"),
        (lambda: Widget("a.html", display_modes="inline"), "as a list"),
        (lambda: Widget("a.html", permissions=["midi"]), "Choose from camera"),
        (lambda: CSP(connect="https://a.example"), "is a single string"),
        (lambda: CSP(connect=["http://a.example"]), "not an origin"),
        (lambda: CSP(connect=["https://a.example/path"]), "without a path"),
        (lambda: CSP(connect=["https://localhost:1"]), "not an origin"),
        (lambda: CSP(resource=["wss://a.example"]), "not an origin"),
        (lambda: CSP(resource=[3]), "not an origin"),
        (lambda: CSP(redirect=["*"]), "not an origin"),
        (lambda: CSP(frame=["https://a.example"]), "is not a mapping"),
        (lambda: CSP(frame={"https://a.example": " "}), "gives no reason"),
    ],
)
def test_misuse_is_refused_with_its_place_and_its_cure(declare, message):
    with pytest.raises(PluginError, match=message) as refused:
        declare()
    error = refused.value
    assert error.file.endswith("test_kit_misuse.py")
    assert error.line > 0
    assert str(error).startswith(f"{error.file}:{error.line}: {error.message}")
    assert isinstance(error, TypeError)
    assert isinstance(error, ValueError)


@pytest.mark.row("P04", "N01", "N02", "N03")
def test_a_forgotten_hint_is_named_with_the_tool_it_belongs_to():
    plugin = Plugin()
    with pytest.raises(PluginError) as refused:

        @plugin.tool(read_only=True, destructive=False)  # type: ignore[call-arg]
        def delete_recipe() -> str:
            """Deletes."""
            return ""

    assert refused.value.code == "annotations_required"
    assert refused.value.message == "delete_recipe: open_world is not set."
    assert refused.value.line == delete_recipe_line()
    with pytest.raises(PluginError, match="read_only, destructive, open_world are not set") as refused:
        plugin.tool(fine)
    assert refused.value.code == "annotations_required"
    with pytest.raises(PluginError, match="not set"):
        plugin.tool()("text")  # type: ignore[call-arg, type-var]
    with pytest.raises(PluginError, match="too many positional"):
        plugin.tool("text")


def delete_recipe_line() -> int:
    with open(__file__, encoding="utf-8") as text:
        return next(n for n, line in enumerate(text, 1) if "destructive=False)  # type: ignore" in line)


def test_two_of_a_kind_are_refused_and_the_first_is_named():
    plugin = Plugin()
    plugin.tool(**READS)(fine)
    with pytest.raises(PluginError, match=r"fine: a tool of this name is already at .*test_kit_misuse\.py:\d+"):
        plugin.tool(**READS)(fine)
    plugin.profile(profile_ok)
    with pytest.raises(PluginError, match="profile is already at"):
        plugin.profile(name="other")(profile_ok)
    plugin.widget(Widget("a/index.html"))
    with pytest.raises(PluginError, match="Two widgets are called 'a'"):
        plugin.tool(**READS, name="b", widget=Widget("b/a.html"))(fine)
    plugin.prompt(fine)
    with pytest.raises(PluginError, match="a prompt of this name"):
        plugin.prompt(name="fine")(fine)
    plugin.resource("zoo://a")(fine)
    with pytest.raises(PluginError, match="zoo://a is already at"):
        plugin.resource("zoo://a")(fine)


def profile_ok(ctx: Context) -> Profile:
    return Profile(id="x")


def one(id: str) -> str:
    """One."""
    return id


def page(page: int) -> str:
    """Page."""
    return ""


def listed(names: list[Literal["a", "b"]]) -> str:
    """Listed."""
    return ""


def filed(file: File) -> str:
    """Filed."""
    return ""


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Plugin().resource("zoo")(fine), "is not a URI"),
        (lambda: Plugin().resource("ui://widget/a.html")(fine), "Declare a Widget"),
        (lambda: Plugin().resource("zoo://{id}")(fine), "its parameters are none; the URI has id"),
        (lambda: Plugin().resource("zoo://a")(one), "its parameters are id; the URI has none"),
        (lambda: Plugin().resource("zoo://{#id}")(one), "is not {name}"),
        (lambda: Plugin().resource("zoo://{a,b}")(one), "is not {name}"),
        (lambda: Plugin().resource("zoo://{?id}{x}")(one), "is not {name}"),
        (lambda: Plugin().resource("zoo://{?id}/x")(one), "is not a URI template"),
        (lambda: Plugin().resource("zoo://{id}/{id}")(one), "is not a URI template"),
        (lambda: Plugin().resource("zoo://{id")(one), "is not a URI template"),
        (lambda: Plugin().resource("zoo://a{?page}")(page), "page may be absent"),
        (lambda: Plugin().resource("zoo://a", static=True)(profile_ok), "no description|takes no parameters"),
        (lambda: Plugin().resource("zoo://{id}", static=True)(one), "takes no parameters"),
        (lambda: Plugin().resource("zoo://a")(undescribed), "no description"),
        (lambda: Plugin().prompt(name="a b")(fine), "can't name a prompt"),
        (lambda: Plugin().prompt(listed), "arguments are text"),
        (lambda: Plugin().prompt(filed), "file: a form has no such field"),
        (lambda: Plugin().prompt(undescribed), "no description"),
        (lambda: Plugin().completion("nothing", "a"), "There is no prompt or template 'nothing' above"),
    ],
)
def test_misuse_of_resources_prompts_and_completion_is_refused_too(declare, message):
    with pytest.raises(PluginError, match=message) as refused:
        declare()
    assert refused.value.file.endswith("test_kit_misuse.py")


def test_a_completion_must_fit_what_it_completes():
    plugin = Plugin()
    plugin.prompt(one)
    plugin.prompt(fine)
    with pytest.raises(PluginError, match=r"'one' has no 'x'\.\sIt has id"):
        plugin.completion("one", "x")
    with pytest.raises(PluginError, match=r"'fine' has no 'x'\.\sIt has none"):
        plugin.completion("fine", "x")
    with pytest.raises(PluginError, match="a completion takes value"):
        plugin.completion("one", "id")(one)


def test_places_are_relative_to_the_path_entry_that_holds_them_or_whole(monkeypatch, tmp_path):
    (tmp_path / "author.py").write_text("from tenantry import CSP\nCSP(connect=['x'])\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with pytest.raises(PluginError) as refused:
        import author  # noqa: F401
    assert (refused.value.file, refused.value.line) == ("author.py", 2)
    with pytest.raises(PluginError) as refused:
        exec(compile("from tenantry import CSP\nCSP(connect=['x'])", "/nowhere/x.py", "exec"), {})
    assert refused.value.file == "/nowhere/x.py"
