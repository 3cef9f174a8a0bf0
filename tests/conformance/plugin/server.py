"""The fixture that the official conformance suite asks for, written with the kit like any plugin.

Names, texts and shapes are the suite's own (its scenarios' descriptions).
"""

import base64
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from tenantry import (
    Audio,
    Contents,
    Context,
    Elicit,
    EmbeddedResource,
    Header,
    Image,
    Message,
    Plugin,
    Roots,
    Sample,
    ToolError,
)

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SILENCE = (
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
)

plugin = Plugin()
tool = plugin.tool(read_only=True, destructive=False, open_world=False)


class Name(BaseModel):
    name: str


class Confirmation(BaseModel):
    ok: bool


class Colour(BaseModel):
    color: str


@tool
def test_simple_text() -> str:
    """Returns one text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Image:
    """Returns one image."""
    return Image(PIXEL, "image/png")


@tool
def test_audio_content() -> Audio:
    """Returns one sound."""
    return Audio(SILENCE, "audio/wav")


@tool
def test_embedded_resource() -> EmbeddedResource:
    """Returns one embedded resource."""
    return EmbeddedResource(Contents("test://embedded-resource", "This is an embedded resource content.", "text/plain"))


@tool
def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Returns a text, an image and a resource."""
    inner = EmbeddedResource(
        Contents("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    )
    return ["Multiple content types test:", Image(PIXEL, "image/png"), inner]


@tool
def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    ctx.log.info("Tool execution started")
    time.sleep(0.05)
    ctx.log.info("Tool processing data")
    time.sleep(0.05)
    ctx.log.info("Tool execution completed")
    return "Logged three times."


@tool
def test_logging_tool(ctx: Context) -> str:
    """Logs once, for whoever asked for it."""
    ctx.log.info("A log message")
    return "Logged."


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for done in (0, 50, 100):
        ctx.progress(done, 100, f"Completed step {done} of 100")
        time.sleep(0.05)
    return "Done."


@tool
def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    return f"LLM response: {ctx.sample(prompt, max_tokens=100).text}"


class Reply(BaseModel):
    username: Annotated[str, Field(description="User's response")]
    email: Annotated[str, Field(description="User's email address")]


@tool
def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the user."""
    reply = ctx.elicit(message, Reply)
    return f"User response: {reply.model_dump_json()}"


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@tool
def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with defaults."""
    reply = ctx.elicit("Please review and update the form fields with defaults", Defaults)
    return f"Elicitation completed: action=accept, content={reply.model_dump_json()}"


def titled(**titles: str) -> dict[str, Any]:
    return {"type": "string", "oneOf": [{"const": const, "title": title} for const, title in titles.items()]}


def legacy(schema: dict[str, Any]) -> None:
    schema["enumNames"] = ["Option One", "Option Two", "Option Three"]


def several(schema: dict[str, Any]) -> None:
    choices = (("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))
    schema["items"] = {"anyOf": [{"const": const, "title": title} for const, title in choices]}


def one_titled(schema: dict[str, Any]) -> None:
    del schema["enum"]
    schema.update(titled(value1="First Option", value2="Second Option", value3="Third Option"))


class Enums(BaseModel):
    model_config = ConfigDict(extra="forbid")

    untitledSingle: Literal["option1", "option2", "option3"]
    titledSingle: Annotated[Literal["value1", "value2", "value3"], Field(json_schema_extra=one_titled)]
    legacyEnum: Annotated[Literal["opt1", "opt2", "opt3"], Field(json_schema_extra=legacy)]
    untitledMulti: list[Literal["option1", "option2", "option3"]]
    titledMulti: Annotated[list[Literal["value1", "value2", "value3"]], Field(json_schema_extra=several)]


@tool
def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with all five kinds of choice."""
    reply = ctx.elicit("Please select options from the enum fields", Enums)
    return f"Elicitation completed: action=accept, content={reply.model_dump_json()}"


ADDRESS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@plugin.tool(read_only=True, destructive=False, open_world=False, input_schema=ADDRESS_SCHEMA)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Takes what JSON Schema 2020-12 can say."""
    return f"Got {sorted(arguments)}"


@tool
def test_reconnection(ctx: Context) -> str:
    """Answers; on a 2025 wire after its stream was closed once."""
    return "Reconnection test completed successfully."


@tool
def test_missing_capability(ctx: Context) -> str:
    """Needs a client that lends its model."""
    return ctx.sample("Hello", max_tokens=10).text


@tool
def test_streaming_elicitation(ctx: Context) -> str:
    """Asks the user, by a stream or a result, as the revision has it."""
    return f"Hello, {ctx.elicit('What is your name?', Name, key='user_name').name}!"


@tool
def test_x_mcp_header(region: Annotated[str, Header("Region")]) -> str:
    """Takes an argument that is also a header."""
    return f"Region {region}"


@tool
def test_input_required_result_elicitation(ctx: Context) -> str:
    """Asks for a name."""
    return f"Hello, {ctx.elicit('What is your name?', Name, key='user_name').name}!"


@tool
def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the client's model for a capital."""
    return ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question").text


@tool
def test_input_required_result_list_roots(ctx: Context) -> str:
    """Asks for the client's folders."""
    roots = ctx.roots(key="client_roots")
    return "Roots: " + ", ".join(root.uri for root in roots)


@tool
def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks to confirm."""
    ctx.elicit("Please confirm", Confirmation, key="confirm")
    return "state-ok"


@tool
def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks three things at once."""
    answers = ctx.ask(
        user_name=Elicit("What is your name?", Name),
        greeting=Sample("Generate a greeting", max_tokens=50),
        client_roots=Roots(),
    )
    return f"{answers['greeting'].text} {answers['user_name'].name} ({len(answers['client_roots'])} roots)"


@tool
def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks twice, one after the other."""
    name = ctx.elicit("Step 1: What is your name?", Name, key="step1").name
    color = ctx.elicit("Step 2: What is your favorite color?", Colour, key="step2").color
    return f"{name} likes {color}."


@tool
def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks to confirm; a changed state is refused."""
    ctx.elicit("Please confirm", Confirmation, key="confirm")
    return "state-ok"


@tool
def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks only what the client declared that it answers."""
    questions: dict[str, Any] = {}
    if ctx.can_elicit:
        questions["user_name"] = Elicit("What is your name?", Name)
    if ctx.can_sample:
        questions["greeting"] = Sample("Generate a greeting", max_tokens=50)
    if ctx.can_list_roots:
        questions["client_roots"] = Roots()
    return f"Asked {len(ctx.ask(**questions))} things."


@plugin.resource("test://static-text", name="static-text", description="A text.", mime_type="text/plain", static=True)
def static_text() -> str:
    return "This is the content of the static text resource."


@plugin.resource(
    "test://static-binary", name="static-binary", description="An image.", mime_type="image/png", static=True
)
def static_binary() -> bytes:
    return PIXEL


@plugin.resource(
    "test://watched-resource",
    name="watched",
    description="One to subscribe to.",
    mime_type="text/plain",
    subscribe=True,
)
def watched() -> str:
    return "Watched content."


@plugin.resource("test://template/{id}/data", name="template", description="Data by id.", mime_type="application/json")
def template(id: str) -> dict[str, Any]:
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@plugin.prompt
def test_simple_prompt() -> str:
    """A simple prompt."""
    return "This is a simple prompt for testing."


@plugin.prompt
def test_prompt_with_arguments(
    arg1: Annotated[str, Field(description="First test argument")],
    arg2: Annotated[str, Field(description="Second test argument")],
) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@plugin.completion("test_prompt_with_arguments", "arg1")
def complete_arg1(value: str) -> list[str]:
    return [word for word in ("paris", "park", "party", "test") if word.startswith(value)]


@plugin.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
    """A prompt with a resource inside."""
    inside = EmbeddedResource(Contents(resourceUri, "Embedded resource content for testing.", "text/plain"))
    return [Message(inside), Message("Please process the embedded resource above.")]


@plugin.prompt
def test_prompt_with_image() -> list[Any]:
    """A prompt with an image inside."""
    return [Message(Image(PIXEL, "image/png")), Message("Please analyze the image above.")]


class Setting(BaseModel):
    context: str


@plugin.prompt
def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks first."""
    return f"Context: {ctx.elicit('What context should the prompt use?', Setting, key='user_context').context}"
