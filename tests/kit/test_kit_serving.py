"""Prompts, resources, templates and completion."""

from __future__ import annotations

from base64 import b64encode
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tenantry import (
    Annotations,
    AuthRequired,
    Contents,
    Context,
    EmbeddedResource,
    Icon,
    Image,
    Message,
    Plugin,
    Text,
    ToolError,
)
from tenantry.testing import Client, Crashed, Refused
from tenantry.uri_template import UriTemplate


class Confirm(BaseModel):
    yes: bool


class Mood(Enum):
    calm = "calm"
    wild = "wild"


def zoo() -> Plugin:
    plugin = Plugin()

    @plugin.prompt(title="Greet", icons=[Icon("data:image/png;base64,xx")])
    def greet(
        name: Annotated[str, Field(description="Whom")],
        style: Literal["warm", "Wry"] = "warm",
        mood: Mood = Mood.calm,
        times: int = 1,
        loud: bool = False,
        also: str | None = None,
    ) -> list[Message]:
        """Greets somebody."""
        text = f"Greet {name} {times} times, {style}, {mood.value}, {loud}, {also}."
        return [Message(text), Message(Image(b"GIF89a"), "assistant")]

    @plugin.prompt
    async def plain() -> str:
        """Plain."""
        return "plain"

    @plugin.prompt(name="blocks", description="Blocks.")
    def several(ctx: Context) -> list[Text | EmbeddedResource | str]:
        note = Text("noted", Annotations(["user"], 0.5, "2026-01-01T00:00:00Z"), {"a": 1})
        inside = EmbeddedResource(Contents("zoo://a", b"\x00", meta={"b": 2}), Annotations(priority=0))
        return [note, inside, ctx.name]

    @plugin.prompt
    def asks(ctx: Context) -> str:
        """Asks."""
        return str(ctx.elicit("Sure?", Confirm).yes)

    @plugin.prompt
    def fails(how: str) -> str:
        """Fails."""
        if how == "sign-in":
            raise AuthRequired("a")
        if how == "tool":
            raise ToolError("Not today.")
        raise RuntimeError("secret")

    @plugin.resource("zoo://readme", static=True, title="Read me", annotations=Annotations(["assistant"]))
    def readme() -> str:
        """About the zoo."""
        return "A zoo."

    @plugin.resource("zoo://logo", static=True, mime_type="image/png", icons=[Icon("https://a.example/i.png")])
    async def logo() -> bytes:
        """The logo."""
        return b"\x89PNG\r\n\x1a\n"

    @plugin.resource("zoo://now", name="clock", subscribe=True, meta={"x": 1})
    def now(ctx: Context) -> dict[str, str]:
        """What time it is."""
        return {"who": ctx.user.sub if ctx.signed_in else "nobody"}

    @plugin.resource("zoo://animals/{id}{?page,size}")
    async def animal(id: int, page: int = 1, size: int | None = None) -> str | None:
        """One animal."""
        return None if id == 404 else f"{id} {page} {size}"

    @plugin.resource("zoo://files/{+path}", description="Any file.")
    def files(path: str) -> list[Contents]:
        return [Contents(f"zoo://files/{path}", "text"), Contents("zoo://b", b"%PDF-", "application/pdf")]

    @plugin.completion("greet", "name")
    def names(value: str, arguments: dict[str, str]) -> list[str]:
        return [f"{value}{number}-{arguments.get('style')}" for number in range(120)]

    @plugin.completion("zoo://animals/{id}{?page,size}", "id")
    async def ids(value: str, ctx: Context) -> list[int]:
        return [1, 2]

    return plugin


def test_prompts_resources_and_templates_are_described():
    description = Client(zoo()).describe()
    for entry in (*description["prompts"], *description["resources"], *description["templates"]):
        assert entry.pop("source")["file"].endswith("test_kit_serving.py")
    assert description["prompts"][0] == {
        "name": "greet",
        "title": "Greet",
        "description": "Greets somebody.",
        "arguments": [
            {"name": "name", "description": "Whom", "required": True},
            *({"name": name, "required": False} for name in ("style", "mood", "times", "loud", "also")),
        ],
        "icons": [{"src": "data:image/png;base64,xx"}],
    }
    assert description["prompts"][2]["arguments"] == []
    assert description["resources"] == [
        {
            "uri": "zoo://readme",
            "name": "readme",
            "title": "Read me",
            "description": "About the zoo.",
            "mimeType": "text/plain",
            "annotations": {"audience": ["assistant"]},
            "text": "A zoo.",
        },
        {
            "uri": "zoo://logo",
            "name": "logo",
            "description": "The logo.",
            "mimeType": "image/png",
            "icons": [{"src": "https://a.example/i.png"}],
            "blob": b64encode(b"\x89PNG\r\n\x1a\n").decode(),
        },
        {
            "uri": "zoo://now",
            "name": "clock",
            "description": "What time it is.",
            "mimeType": "application/json",
            "meta": {"x": 1},
        },
    ]
    assert [(t["uriTemplate"], t["mimeType"]) for t in description["templates"]] == [
        ("zoo://animals/{id}{?page,size}", "text/plain"),
        ("zoo://files/{+path}", "application/json"),
    ]
    assert (description["completion"], description["subscribe"]) == (True, True)
    empty = Client(Plugin()).describe()
    assert (empty["completion"], empty["subscribe"]) == (False, False)


@pytest.mark.parametrize(("annotation", "completes"), [(str, False), (bool, True), (Literal["a"], True)])
def test_completion_is_offered_where_there_is_something_to_complete(annotation, completes):
    plugin = Plugin()

    def ask(a):
        """Asks."""
        return str(a)

    ask.__annotations__ |= {"a": annotation, "return": str}
    plugin.prompt(ask)
    assert Client(plugin).describe()["completion"] is completes


def test_a_prompt_gets_its_arguments_as_what_they_are():
    messages = Client(zoo()).prompt("greet", name="Ada", times="3", loud="true", mood="wild", style="Wry")
    assert messages[0] == {
        "role": "user",
        "content": {"type": "text", "text": "Greet Ada 3 times, Wry, wild, True, None."},
    }
    assert messages[1]["role"] == "assistant"
    assert messages[1]["content"]["type"] == "image"
    assert Client(zoo()).prompt("plain")[0]["content"]["text"] == "plain"
    blocks = [message["content"] for message in Client(zoo()).prompt("blocks")]
    assert blocks[0] == {
        "type": "text",
        "text": "noted",
        "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
        "_meta": {"a": 1},
    }
    assert blocks[1] == {
        "type": "resource",
        "resource": {"uri": "zoo://a", "mimeType": "application/octet-stream", "blob": "AA==", "_meta": {"b": 2}},
        "annotations": {"priority": 0},
    }
    assert blocks[2]["text"] == "blocks"


def test_a_prompt_may_ask_too():
    assert Client(zoo(), answers=[{"yes": True}]).prompt("asks")[0]["content"]["text"] == "True"


@pytest.mark.parametrize(
    ("name", "arguments", "code", "message"),
    [
        ("nobody", {}, -32602, "Unknown prompt: nobody"),
        ("greet", {}, -32602, "name: Field required"),
        ("greet", {"name": "a", "times": "x"}, -32602, "times: "),
        ("fails", {"how": "tool"}, -32603, "Not today."),
        ("fails", {"how": "sign-in"}, -32603, "Sign in to continue."),
    ],
)
def test_what_is_wrong_with_a_prompt_is_a_protocol_error(name, arguments, code, message):
    with pytest.raises(Refused, match=message) as refused:
        Client(zoo()).prompt(name, **arguments)
    assert refused.value.error["code"] == code
    assert ("data" in refused.value.error) is (arguments.get("how") == "sign-in")


def test_other_exceptions_of_prompts_are_masked_too():
    with pytest.raises(Crashed, match="secret"):
        Client(zoo()).prompt("fails", how="other")


@pytest.mark.parametrize(
    ("uri", "contents"),
    [
        ("zoo://readme", [{"uri": "zoo://readme", "mimeType": "text/plain", "text": "A zoo."}]),
        ("zoo://now", [{"uri": "zoo://now", "mimeType": "application/json", "text": '{"who":"nobody"}'}]),
        ("zoo://animals/7", [{"uri": "zoo://animals/7", "mimeType": "text/plain", "text": "7 1 None"}]),
        (
            "zoo://animals/7?size=3&page=2&x=1",
            [{"uri": "zoo://animals/7?size=3&page=2&x=1", "mimeType": "text/plain", "text": "7 2 3"}],
        ),
        (
            "zoo://files/a/b%20c",
            [
                {"uri": "zoo://files/a/b c", "mimeType": "text/plain", "text": "text"},
                {"uri": "zoo://b", "mimeType": "application/pdf", "blob": b64encode(b"%PDF-").decode()},
            ],
        ),
    ],
)
def test_resources_are_read(uri, contents):
    assert Client(zoo()).read(uri) == contents


@pytest.mark.parametrize("uri", ["zoo://nothing", "zoo://animals/404", "zoo://files/../a", "zoo://files/{+path}"])
@pytest.mark.parametrize(("revision", "code"), [("2026-07-28", -32602), ("2025-11-25", -32002)])
def test_a_resource_that_is_not_there_is_an_error_with_its_uri(uri, revision, code):
    if uri == "zoo://files/{+path}":  # a URI like any other
        assert Client(zoo(), revision=revision).read(uri)
        return
    with pytest.raises(Refused) as refused:
        Client(zoo(), revision=revision).read(uri)
    assert refused.value.error["code"] == code
    assert refused.value.error["data"] == {"uri": uri}


def test_a_variable_that_does_not_fit_is_named():
    with pytest.raises(Refused, match="id: Input should be a valid integer"):
        Client(zoo()).read("zoo://animals/seven")


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("zoo://{a}/{b}", "zoo://1/2", {"a": "1", "b": "2"}),
        ("zoo://{a}", "zoo://1/2", None),
        ("zoo://{a}", "zoo://", None),
        ("zoo://{a}", "zoo://a%2Fb", None),
        ("zoo://{a}", "zoo://a%5Cb", None),
        ("zoo://{a}", "zoo://%2e%2e", None),
        ("zoo://{a}", "zoo://.", None),
        ("zoo://{a}", "zoo://a%00", None),
        ("zoo://{a}", "zoo://a?b", None),
        ("zoo://{+a}", "zoo://x/y", {"a": "x/y"}),
        ("zoo://{+a}", "zoo://x/%2e%2e/y", None),
        ("zoo://{+a}", "zoo://x\\..\\y", None),
        ("zoo://a.b/{x}", "zoo://aXb/1", None),
        ("zoo://a{?x,y}", "zoo://a", {}),
        ("zoo://a{?x,y}", "zoo://a?y=1&z=2", {"y": "1"}),
        ("zoo://a{?x,y}", "zoo://a?x=", {"x": ""}),
    ],
)
def test_a_template_matches_strictly(template, uri, values):
    assert UriTemplate.parse(template).match(uri) == values


@pytest.mark.parametrize(
    ("target", "argument", "value", "values"),
    [
        ("greet", "style", "w", ["warm", "Wry"]),
        ("greet", "style", "wa", ["warm"]),
        ("greet", "mood", "", ["calm", "wild"]),
        ("greet", "loud", "t", ["true"]),
        ("greet", "times", "", []),
        ("greet", "no-such", "", []),
        ("zoo://animals/{id}{?page,size}", "id", "", ["1", "2"]),
        ("zoo://animals/{id}{?page,size}", "page", "", []),
    ],
)
def test_completion_knows_choices_and_asks_functions(target, argument, value, values):
    assert Client(zoo()).complete(target, argument, value) == values


def test_a_completion_can_not_ask():
    plugin = zoo()

    @plugin.completion("greet", "also")
    def also(value: str, ctx: Context) -> list[str]:
        return [str(ctx.elicit("Sure?", Confirm).yes)]

    with pytest.raises(Crashed, match="InputRequired"):
        Client(plugin, answers=[{"yes": True}]).complete("greet", "also")


def test_completion_gives_at_most_a_hundred_and_knows_the_other_arguments():
    params: dict[str, Any] = {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "A"},
        "context": {"arguments": {"style": "warm"}},
    }
    completion = Client(zoo()).request("completion/complete", params)["completion"]
    assert (completion["total"], completion["hasMore"], len(completion["values"])) == (120, True, 100)
    assert completion["values"][0] == "A0-warm"
    with pytest.raises(Refused, match="Unknown prompt or resource template"):
        Client(zoo()).complete("nobody", "a")
