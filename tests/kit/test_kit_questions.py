"""Questions in the middle of a call: they read as one call and run as several."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tenantry import Context, Declined, Elicit, Image, Plugin, Root, Roots, Sample, Visit
from tenantry.testing import CANCEL, DECLINE, Client, Crashed, Refused
from typing_extensions import TypedDict

WRITES = {"read_only": False, "destructive": True, "open_world": False}


class Confirm(BaseModel):
    yes: bool


class Size(Enum):
    small = "S"
    large = "L"


class Order(BaseModel):
    """An order."""

    name: Annotated[str, Field(title="Name", description="Who", min_length=1, max_length=9)] = "Ada"
    mail: Annotated[str, Field(json_schema_extra={"format": "email"})]
    count: int = Field(1, ge=1, le=5)
    price: float | None = None
    tip: float | None = 2.0
    kind: Literal["a", "b"] = "a"
    only: Literal["x"] = "x"
    size: Size = Size.small
    extras: list[Literal["milk", "sugar"]] = []
    titled: Annotated[
        str, Field(json_schema_extra={"oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]})
    ] = "r"
    many: Annotated[
        list[str], Field(json_schema_extra={"items": {"anyOf": [{"const": "1", "title": "One"}]}}, max_length=2)
    ] = []
    sizes: list[Size] | None = None


@dataclass
class Name:
    name: str


class Place(TypedDict):
    city: str


def calling(use: Any, **options: Any) -> Client:
    plugin = Plugin()

    @plugin.tool(**WRITES)
    def go(ctx: Context) -> str:
        """Goes."""
        return str(use(ctx))

    return Client(plugin, **options)


def test_a_tool_asks_acts_after_the_answer_and_runs_what_stands_before_again():
    runs: list[int] = []

    def use(ctx: Context) -> str:
        runs.append(1)
        ctx.shared["tries"] = ctx.shared.get("tries", 0) + 1
        try:
            sure = ctx.elicit("Delete it for good?", Confirm).yes
        except Exception:  # an author's net for everything is not meant
            return "eaten"
        return f"deleted: {sure}"

    client = calling(use, answers=[Confirm(yes=True)])
    assert client.call("go").text == "deleted: True"
    assert len(runs) == 2
    assert client.shared == {"tries": 1}, "the first run wrote nothing"
    assert client.asked == [
        {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Delete it for good?",
                "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]},
            },
        }
    ]


def test_what_an_author_swallows_is_asked_all_the_same():
    def use(ctx: Context) -> str:
        try:
            return str(ctx.elicit("Sure?", Confirm).yes)
        except BaseException:
            return "eaten"

    assert calling(use, answers=[{"yes": False}]).call("go").text == "False"


def test_questions_work_in_async_tools_and_several_at_a_time():
    plugin = Plugin()

    @plugin.tool(**WRITES)
    async def go(ctx: Context) -> str:
        """Goes."""

        async def ask(text: str) -> str:
            return ctx.elicit(text, Name).name

        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(ask("First?")), group.create_task(ask("Second?"))
        return f"{first.result()} {second.result()}"

    assert Client(plugin, answers=[{"name": "a"}, {"name": "b"}]).call("go").text in {"a b", "b a"}


def test_several_questions_go_out_together_by_their_keys():
    def use(ctx: Context) -> str:
        given = ctx.ask(user=Elicit("Who?", Name), hello=Sample("Greet."), folders=Roots())
        return f"{given['user'].name} {given['hello'].text} {given['folders']}"

    client = calling(use, answers=[{"name": "Ada"}, "Hi!", ["file:///a"]])
    assert client.call("go").text == f"Ada Hi! {[Root('file:///a')]}"
    assert [request["method"] for request in client.asked] == [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
    ]


def test_a_form_is_flat_with_defaults_choices_and_titles():
    def use(ctx: Context) -> str:
        order = ctx.elicit("Order?", Order, key="order")
        return f"{order.size} {order.extras} {order.name}"

    client = calling(use, answers=[{"mail": "a@b.example", "size": "L", "extras": ["milk"]}])
    assert client.call("go").text == "Size.large ['milk'] Ada"
    assert client.asked[0]["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "title": "Name",
                "description": "Who",
                "minLength": 1,
                "maxLength": 9,
                "default": "Ada",
            },
            "mail": {"type": "string", "format": "email"},
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 1},
            "price": {"type": "number"},
            "tip": {"type": "number", "default": 2.0},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "only": {"type": "string", "enum": ["x"], "default": "x"},
            "size": {"type": "string", "enum": ["S", "L"], "default": "S"},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar"]}, "default": []},
            "titled": {
                "type": "string",
                "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}],
                "default": "r",
            },
            "many": {
                "type": "array",
                "items": {"anyOf": [{"const": "1", "title": "One"}]},
                "maxItems": 2,
                "default": [],
            },
            "sizes": {"type": "array", "items": {"type": "string", "enum": ["S", "L"]}},
        },
        "required": ["mail"],
    }


class Nested(BaseModel):
    inner: Confirm


class Several(BaseModel):
    value: int | str


class Words(BaseModel):
    words: list[str]


@pytest.mark.parametrize("model", [Nested, Several, Words, int, dict[str, int]])
def test_what_no_form_can_show_is_the_authors_error(model):
    with pytest.raises(Crashed, match="PluginError"):
        calling(lambda ctx: ctx.elicit("?", model), answers=[{}]).call("go")


def test_elicit_takes_a_model_or_a_page():
    for options in ({}, {"model": Confirm, "url": "https://a.example"}):
        with pytest.raises(Crashed, match="takes a model or a url"):
            calling(lambda ctx, options=options: ctx.elicit("?", **options)).call("go")


def test_typed_dicts_can_be_asked_for_and_an_unfit_answer_names_its_field():
    assert calling(lambda ctx: ctx.elicit("?", Place)["city"], answers=[{"city": "Wien"}]).call("go").text == "Wien"
    called = calling(lambda ctx: ctx.elicit("?", Place), answers=[{"city": 3}]).call("go")
    assert called.is_error
    assert "city: Input should be a valid string" in called.text


@pytest.mark.parametrize(("answer", "action"), [(DECLINE, "decline"), (CANCEL, "cancel")])
def test_a_user_who_says_no_raises_declined_or_an_error_result(answer, action):
    assert calling(lambda ctx: ctx.elicit("?", Confirm), answers=[answer]).call("go").is_error

    def use(ctx: Context) -> str:
        try:
            ctx.elicit("?", Confirm)
        except Declined as no:
            return no.action
        return ""

    assert calling(use, answers=[answer]).call("go").text == action


def test_a_page_is_visited():
    client = calling(lambda ctx: ctx.elicit("Pay here.", url="https://pay.example/1"), answers=[True])
    assert client.call("go").text == "True"
    assert client.asked[0]["params"] == {"mode": "url", "message": "Pay here.", "url": "https://pay.example/1"}
    older = calling(lambda ctx: ctx.elicit("Pay here.", url="https://pay.example/1"), answers=[True])
    older.revision = "2025-11-25"
    older.call("go")
    assert len(older.asked[0]["params"]["elicitationId"]) == 10
    with_form = calling(lambda ctx: ctx.elicit("?", Confirm), answers=[{"yes": True}], revision="2025-06-18")
    with_form.call("go")
    assert "mode" not in with_form.asked[0]["params"]


def test_the_clients_model_is_asked_with_everything_it_can_be_told():
    def use(ctx: Context) -> str:
        said = ctx.sample(
            ["Look:", Image(b"\xff\xd8\xff"), ("assistant", "A cat?")],
            max_tokens=5,
            system="Be short.",
            temperature=0.5,
            stop=["."],
            preferences={"speedPriority": 1},
            key="cat",
        )
        return f"{said.text} {said.model} {said.stop_reason} {said.role} {len(said.content)}"

    client = calling(use, answers=["Yes"])
    assert client.call("go").text == "Yes test endTurn assistant 1"
    params = client.asked[0]["params"]
    assert [message["role"] for message in params["messages"]] == ["user", "user", "assistant"]
    assert params["messages"][1]["content"]["mimeType"] == "image/jpeg"
    rest = {key: value for key, value in params.items() if key != "messages"}
    assert rest == {
        "maxTokens": 5,
        "systemPrompt": "Be short.",
        "temperature": 0.5,
        "stopSequences": ["."],
        "modelPreferences": {"speedPriority": 1},
    }
    assert Sample("x").read({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}).text == "a"
    assert Sample("x").read({}).content == ()


def test_roots_are_folders_with_or_without_a_name():
    assert calling(lambda ctx: ctx.roots(), answers=[["file:///a"]]).call("go").text == str([Root("file:///a")])
    assert Roots().read({"roots": [{"uri": "file:///a", "name": "A"}]}) == [Root("file:///a", "A")]
    assert Roots().read({}) == []


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({}, "False False False False"),
        ({"elicitation": {}}, "True False False False"),
        ({"elicitation": {"url": {}}, "sampling": {}}, "False True True False"),
        ({"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}}, "True True False True"),
    ],
)
def test_a_tool_can_look_before_it_asks(capabilities, can):
    use = lambda ctx: f"{ctx.can_elicit} {ctx.can_elicit_url} {ctx.can_sample} {ctx.can_list_roots}"  # noqa: E731
    assert calling(use, capabilities=capabilities).call("go").text == can


@pytest.mark.parametrize(
    ("ask", "needed"),
    [
        (lambda ctx: ctx.elicit("?", Confirm), {"elicitation": {"form": {}}}),
        (lambda ctx: ctx.elicit("?", url="https://a.example"), {"elicitation": {"url": {}}}),
        (lambda ctx: ctx.sample("?"), {"sampling": {}}),
        (lambda ctx: ctx.roots(), {"roots": {}}),
        (lambda ctx: ctx.ask(a=Visit("?", "https://a.example")), {"elicitation": {"url": {}}}),
    ],
)
def test_a_client_that_cant_be_asked_is_told_what_it_lacks(ask, needed):
    with pytest.raises(Refused) as refused:
        calling(ask, capabilities={}).call("go")
    assert refused.value.error["code"] == -32021
    assert refused.value.error["data"] == {"requiredCapabilities": needed}
    older = calling(ask, capabilities={}, revision="2025-11-25").call("go")
    assert older.is_error
    assert "can't be asked" in older.text


def test_an_answer_belongs_to_its_question_and_nonsense_is_asked_again():
    plugin = Plugin()

    @plugin.tool(**WRITES)
    def go(ctx: Context, text: str) -> str:
        """Goes."""
        return str(ctx.elicit(text, Confirm).yes)

    client = Client(plugin)

    def keys(text: str, answers: dict[str, Any]) -> list[str]:
        call = client._call("tools/call", {"name": "go", "arguments": {"text": text}}, answers)
        return list(plugin.__tenantry_call__(call, _Quiet())["input_required"]["inputRequests"])

    (first,), (second,) = keys("A?", {}), keys("B?", {})
    assert first != second
    assert keys("A?", {second: {"action": "accept", "content": {"yes": True}}}) == [first]
    assert keys("A?", {first: "yes"}) == [first]


def test_a_question_that_changes_with_every_run_is_found_out_in_tests():
    count = iter(range(1000))
    client = calling(lambda ctx: ctx.elicit(f"{next(count)}?", Confirm), answers=[{"yes": True}] * 50)
    with pytest.raises(AssertionError, match="give a key"):
        client.call("go")
    with pytest.raises(AssertionError, match="there is no answer"):
        calling(lambda ctx: ctx.elicit("?", Confirm)).call("go")


class _Quiet:
    secrets: dict[str, str] = {}
    uploads: list[dict[str, Any]] = []
    folder = "."
    deadline = 0.0

    def notify(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(method)

    def put(self, upload: dict[str, Any], data: bytes, content_type: str) -> None:
        raise AssertionError(upload)
