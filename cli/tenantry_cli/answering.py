"""What a tool asks its user, answered from the command line: by `--answer`, in turn, then by whoever sits there.

A form is asked field by field as its schema has it (the primitive schemas of MCP elicitation, 2025-11-25); the model's
words and the folders of a client are a line each.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import click
from rich.text import Text
from tenantry_registry.errors import PlatformError

from tenantry_cli.output import Terminal, shown

if TYPE_CHECKING:
    import mcp_types as types

REJECTED = -1  # of sampling, by the user (MCP, Sampling, Error handling)
REFUSED = -32603  # of a question that nobody answered; the tool hears it, the caller reads why
MODEL = "a person at platform call"  # what is told of the model, where its words were typed
KINDS: Final[Mapping[str, tuple[type, ...]]] = {  # of a field's keys
    **dict.fromkeys(("type", "title", "description"), (str,)),
    **dict.fromkeys(("minimum", "maximum"), (int, float)),
    **dict.fromkeys(("enum", "enumNames", "oneOf", "anyOf"), (list,)),
    "items": (dict,),
}
T = TypeVar("T")
Action = Literal["accept", "decline", "cancel"]  # what a user does with a form (MCP, Elicitation)
ACTIONS: Final[tuple[Action, ...]] = ("accept", "decline", "cancel")


class Answers:
    """Answers the questions of one call, which is the task that makes this. `given`: what the command line says; `ask`:
    whether somebody can be asked.

    `lacking` is what nobody answered, once a question was left so.
    """

    def __init__(self, given: Sequence[str], *, ask: bool) -> None:
        self.lacking: PlatformError | None = None
        self._given = [*given]
        self._ask = ask
        self._call = asyncio.current_task()
        self._terminal = Terminal.for_errors()

    def callbacks(self) -> dict[str, Callable[..., Any]]:
        """For the official client: what it has none of, it does not declare."""
        if not self._given and not self._ask:
            return {}
        return {
            "elicitation_callback": self.elicited,
            "sampling_callback": self.sampled,
            "list_roots_callback": self.rooted,
        }

    async def elicited(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """A form's fields, or whether the user went to a page."""
        import mcp_types as types

        address = params.url if params.mode == "url" else ""
        fields = {} if params.mode == "url" else params.requested_schema
        given = self._next(f"{params.message} {address}".strip())
        if given is not None:
            try:
                action, content = read(given, params.message)
            except PlatformError as error:
                return self._unanswered(params.message, error)
        elif self._ask:
            ask = at_page if address else partial(at_form, fields)
            action, content = await self._asked(params.message, ask, address)
        else:
            return self._unanswered(params.message)
        return types.ElicitResult(action=action, content=content if action == "accept" and not address else None)

    async def sampled(
        self, context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """The model's words, typed by a person."""
        import mcp_types as types

        last = params.messages[-1].content if params.messages else []
        blocks = last if isinstance(last, list) else [last]
        prompt = " ".join(block.text for block in blocks if block.type == "text") or "(no words)"
        said = self._next(prompt)
        if said is None:
            if not self._ask:
                return self._unanswered(prompt)
            said = await self._asked(f"the model: {prompt}", partial(at_line, "model (or nothing, to refuse)"))
        if not said:
            return types.ErrorData(code=REJECTED, message="The user did not let the model answer.")
        content = types.TextContent(type="text", text=said)
        return types.CreateMessageResult(role="assistant", content=content, model=MODEL, stop_reason="endTurn")

    async def rooted(self, context: Any) -> types.ListRootsResult | types.ErrorData:
        """Folders of this machine, as file URIs."""
        import mcp_types as types
        from pydantic import FileUrl

        message = "Which folders are open?"
        said = self._next(message)
        if said is None:
            if not self._ask:
                return self._unanswered(message)
            said = await self._asked(message, partial(at_line, "folders, by commas"))
        folders = [Path(part.strip()).expanduser().resolve() for part in said.split(",") if part.strip()]
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(f.as_uri()), name=f.name or "/") for f in folders])

    def tell_rest(self) -> None:
        """Say which answers of the command line no question wanted."""
        for answer in self._given:
            self._terminal.step("note", f"The tool did not ask for the answer {answer!r}.")

    def _next(self, message: str) -> str | None:
        """The next answer of the command line, told beside its question."""
        if not self._given:
            return None
        answer = self._given.pop(0)
        self._terminal.step("asks", message, answer)
        return answer

    def _unanswered(self, message: str, why: PlatformError | None = None) -> types.ErrorData:
        import mcp_types as types

        hint = "Answer it with one more --answer, or call from a terminal."
        self.lacking = why or PlatformError("call.unanswered", f"The tool asks: {message}", hint)
        return types.ErrorData(code=REFUSED, message="Nobody answered.")

    async def _asked(self, message: str, prompt: Callable[[], T], aside: str = "") -> T:
        """What somebody types at `prompt`. Ctrl-C ends the command, where click would take it for the end of the input
        and asyncio would let the read go on."""
        self._terminal.step("asks", message, aside)
        interrupted = False

        def interrupt(number: int, frame: Any) -> None:
            nonlocal interrupted
            interrupted = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            answer = prompt()
        finally:
            signal.signal(signal.SIGINT, before)
        if interrupted and self._call:
            self._call.cancel()
            await asyncio.get_running_loop().create_future()  # until that reaches us
        return answer


def can_ask() -> bool:
    """Whether somebody reads and types."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def read(given: str, message: str) -> tuple[Action, dict[str, Any]]:
    """The action and the fields of an answer of the command line. Raises: PlatformError `call.answer`."""
    for action in ACTIONS:
        if given.strip() == action:
            return action, {}
    try:
        content = json.loads(given)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PlatformError(
            "call.answer",
            f"{given[:80]!r} is no answer to: {message}",
            """Write a form's fields like '{"sure": true}', or accept, decline, cancel.""",
        )
    return "accept", content


def at_page() -> tuple[Action, dict[str, Any]]:
    """Whether the user has been at a page, which opens nowhere by itself."""
    try:
        return click.prompt("  open it, then", type=click.Choice(ACTIONS), default="accept", err=True), {}
    except click.Abort:
        return "cancel", {}


def at_line(what: str) -> str:
    """A line, which may be empty."""
    try:
        return str(click.prompt(f"  {what}", default="", show_default=False, err=True, prompt_suffix=" > "))
    except click.Abort:
        click.echo(err=True)
        return ""


def at_form(schema: Mapping[str, Any]) -> tuple[Action, dict[str, Any]]:
    """A form's fields, one after the other; Ctrl-D leaves the form."""
    Terminal.for_errors().line(Text("              Ctrl-D cancels", style="dim"))
    content: dict[str, Any] = {}
    try:
        fields, required = schema.get("properties"), schema.get("required")
        for name, field in fields.items() if isinstance(fields, dict) else ():
            value = at_field(name, known(field), required=isinstance(required, list) and name in required)
            if value is not None:
                content[name] = value
        if not content and not click.confirm("  accept?", default=True, err=True):
            return "decline", {}
    except click.Abort:
        click.echo(err=True)
        return "cancel", {}
    return "accept", content


def known(given: Any) -> dict[str, Any]:
    """A field's schema without what is not as the protocol has it, and an optional one (of pydantic) without its null:
    a server may write anything, and what is typed is the server's to judge."""
    field: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    types = field.get("type")
    members = [{"type": one} for one in types] if isinstance(types, list) else field.get("anyOf")
    some = [one for one in members if one != {"type": "null"}] if isinstance(members, list) else []
    if len(some) == 1 and isinstance(some[0], dict):
        field = {**{key: value for key, value in field.items() if key not in ("type", "anyOf")}, **some[0]}
    for key, kinds in KINDS.items():
        if key in field and (not isinstance(field[key], kinds) or field[key] is True):
            del field[key]
    for key in ("oneOf", "anyOf"):
        field[key] = [one for one in field.get(key, ()) if isinstance(one, dict) and "const" in one]
    if field.get("type") == "boolean" and not isinstance(field.get("default"), bool):
        field.pop("default", None)
    if "items" in field:
        field["items"] = known(field["items"])
    return field


def at_field(name: str, field: Mapping[str, Any], *, required: bool) -> Any:
    """One field's value, or None where it was left out."""
    choices = [title or str(value) for value, title in titled(field | field.get("items", {}))]
    several = "several by commas" if field.get("type") == "array" else ""
    about = "; ".join(filter(None, (field.get("description"), " | ".join(choices), within(field), several)))
    label = shown(f"  {field.get('title') or name}" + (f" ({about})" if about else ""))
    default = field.get("default")
    if field.get("type") == "boolean":
        return click.confirm(label, default=default if default is not None or required else False, err=True)
    if isinstance(default, list):
        default = ",".join(map(str, default))
    if shown(str(default)) != str(default):
        default = None  # nobody can see what it would be
    optional = default == "" or (default is None and not required)
    return click.prompt(
        label + (", or nothing" if optional else ""),
        default="" if optional else default,
        show_default=not optional,
        value_proc=lambda text: None if optional and not text else taken(text, field),
        err=True,
    )


def taken(text: Any, field: Mapping[str, Any]) -> Any:
    """What was typed, as the field's type. Raises: click.UsageError, after which it is asked again."""
    if field.get("type") == "array":
        return [one_of(part.strip(), field.get("items", {})) for part in str(text).split(",") if part.strip()]
    if field.get("type") not in ("integer", "number"):
        return one_of(str(text), field)
    whole = field["type"] == "integer"
    kind = click.IntRange if whole else click.FloatRange
    try:
        number = kind(field.get("minimum"), field.get("maximum")).convert(text, None, None)
        if not math.isfinite(number):
            raise click.UsageError("JSON has no such number.")
        return number
    except click.UsageError:
        what = "a whole number" if whole else "a number"
        raise click.UsageError(f"{text!r} is not {' '.join(filter(None, (what, within(field))))}.") from None


def within(field: Mapping[str, Any]) -> str:
    """A number's bounds in words."""
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        return f"{least} to {most}"
    return f"at least {least}" if least is not None else f"at most {most}" if most is not None else ""


def one_of(text: str, field: Mapping[str, Any]) -> Any:
    """A choice by its value or by the title that a form would show; any text where there is no choice."""
    choices = titled(field)
    if not choices:
        return text
    by_value = [value for value, _ in choices if text == str(value)]
    by_title = [value for value, title in choices if text.casefold() == title.casefold()]
    if not by_value and not by_title:
        raise click.UsageError(shown(f"{text!r} is none of {', '.join(str(value) for value, _ in choices)}."))
    return [*by_value, *by_title][0]


def titled(field: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """The choices of a field with their titles, "" where one has none."""
    found = [(one["const"], str(one.get("title", ""))) for key in ("oneOf", "anyOf") for one in field.get(key, ())]
    values, names = field.get("enum", ()), field.get("enumNames", ())
    return [*found, *((value, str(name)) for value, name in zip(values, chain(names, repeat("")), strict=False))]
