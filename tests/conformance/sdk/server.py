"""The fixture that the official conformance suite asks for, written with the SDK's MCPServer; alone under uvicorn by
`python server.py`.

Names, texts and shapes are the suite's own (its scenarios' descriptions).
"""

import base64
import os
from typing import Annotated

import anyio
import mcp_types as types
from mcp.server.mcpserver import (
    AssistantMessage,
    Audio,
    Context,
    Elicit,
    Image,
    ListRoots,
    MCPServer,
    Resolve,
    Sample,
    UserMessage,
)
from pydantic import BaseModel, Field

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SILENCE = (
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
)
HINTS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)

mcp = MCPServer("sdk", version="1.0.0", instructions="What the official conformance suite expects of a server.")
tool = mcp.tool(annotations=HINTS, structured_output=False)


class Name(BaseModel):
    name: str


class Confirmation(BaseModel):
    ok: bool


class Reply(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    verified: bool = True


def text(said: str) -> types.TextContent:
    return types.TextContent(type="text", text=said)


def embedded(uri: str, said: str, mime: str) -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri=uri, mime_type=mime, text=said)
    return types.EmbeddedResource(type="resource", resource=inside)


@tool
def test_simple_text() -> str:
    """Returns one text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> Image:
    """Returns one image."""
    return Image(data=PIXEL, format="png")


@tool
def test_audio_content() -> Audio:
    """Returns one sound."""
    return Audio(data=SILENCE, format="wav")


@tool
def test_embedded_resource() -> list[types.EmbeddedResource]:
    """Returns one embedded resource."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain")]


@tool
def test_multiple_content_types() -> list:
    """Returns a text, an image and a resource."""
    inner = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return ["Multiple content types test:", Image(data=PIXEL, format="png"), inner]


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three times."""
    for said in ("started", "processing data", "execution completed"):
        await ctx.info(f"Tool {said}")
        await anyio.sleep(0.05)
    return "Logged three times."


@tool
async def test_logging_tool(ctx: Context) -> str:
    """Logs once, for whoever asked for it."""
    await ctx.info("A log message")
    return "Logged."


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Reports progress three times."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await anyio.sleep(0.05)
    return "Done."


@tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    asked = types.SamplingMessage(role="user", content=text(prompt))
    reply = await ctx.session.create_message([asked], max_tokens=100)
    return f"LLM response: {reply.content.text}"


@tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the user."""
    reply = await ctx.elicit(message, Reply)
    return f"User response: {reply.action}"


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with defaults."""
    reply = await ctx.elicit("Please review and update the form fields with defaults", Defaults)
    return f"Elicitation completed: action={reply.action}"


@tool
def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Takes an argument that is also a header."""
    return f"Region {region}"


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_confirmation() -> Elicit[Confirmation]:
    return Elicit("Please confirm", Confirmation)


def ask_capital() -> Sample:
    asked = types.SamplingMessage(role="user", content=text("What is the capital of France?"))
    return Sample([asked], max_tokens=100)


def ask_roots() -> ListRoots:
    return ListRoots()


@tool
def test_input_required_result_elicitation(name: Annotated[Name, Resolve(ask_name)]) -> str:
    """Asks for a name."""
    return f"Hello, {name.name}!"


@tool
def test_input_required_result_sampling(capital: Annotated[types.CreateMessageResult, Resolve(ask_capital)]) -> str:
    """Asks the client's model for a capital."""
    return str(capital.content)


@tool
def test_input_required_result_list_roots(roots: Annotated[types.ListRootsResult, Resolve(ask_roots)]) -> str:
    """Asks for the client's folders."""
    return "Roots: " + ", ".join(str(root.uri) for root in roots.roots)


@tool
def test_input_required_result_request_state(ok: Annotated[Confirmation, Resolve(ask_confirmation)]) -> str:
    """Asks to confirm."""
    return "state-ok"


@tool
def test_input_required_result_tampered_state(ok: Annotated[Confirmation, Resolve(ask_confirmation)]) -> str:
    """Asks to confirm; a changed state is refused."""
    return "state-ok"


@tool
def test_missing_capability(capital: Annotated[types.CreateMessageResult, Resolve(ask_capital)]) -> str:
    """Needs a client that lends its model."""
    return str(capital.content)


@mcp.resource("test://static-text", name="static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@mcp.resource("test://static-binary", name="static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    return PIXEL


@mcp.resource("test://watched-resource", name="watched", mime_type="text/plain")
def watched() -> str:
    """One to watch."""
    return "Watched content."


@mcp.resource("test://template/{id}/data", name="template", mime_type="application/json")
def template(id: str) -> dict:
    """Data by id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@mcp.prompt()
def test_simple_prompt() -> str:
    """A simple prompt."""
    return "This is a simple prompt for testing."


@mcp.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@mcp.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list:
    """A prompt with a resource inside."""
    inside = embedded(resourceUri, "Embedded resource content for testing.", "text/plain")
    return [UserMessage(inside), UserMessage("Please process the embedded resource above.")]


@mcp.prompt()
def test_prompt_with_image() -> list:
    """A prompt with an image inside."""
    picture = types.ImageContent(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")
    return [UserMessage(picture), AssistantMessage("Please analyze the image above.")]


@mcp.completion()
async def complete(ref, argument, context) -> types.Completion:
    words = ("paris", "park", "party", "test")
    return types.Completion(values=[word for word in words if word.startswith(argument.value)])


if __name__ == "__main__":
    mcp.run("streamable-http", port=int(os.environ["PORT"]))
