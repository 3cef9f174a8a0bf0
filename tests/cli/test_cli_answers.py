"""`platform call` of tools that ask: answered by the command line, or by whoever sits at the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from stories.served import COMMAND, Served
from tenantry_cli import answering

SERVER = '''
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from tenantry import Context, Declined, Plugin

plugin = Plugin()


class Booking(BaseModel):
    name: Annotated[str, Field(description="Who comes")]
    nights: Annotated[int, Field(ge=1, le=14)] = 2
    room: Literal["sea", "garden"] = "sea"
    extras: list[Literal["breakfast", "parking"]] = []
    late: bool = False
    note: str | None = None


class Sure(BaseModel):
    sure: bool


@plugin.tool(read_only=False, destructive=False, open_world=False)
def book(ctx: Context) -> str:
    """Use this to book a room."""
    try:
        booking = ctx.elicit("Who takes the room?", Booking)
        sure = ctx.elicit(f"{booking.nights} nights for {booking.name}?", Sure).sure
    except Declined as no:
        return str(no)
    return f"{booking.model_dump()} {sure}"


@plugin.tool(read_only=True, destructive=False, open_world=False)
def welcome(ctx: Context) -> str:
    """Use this to welcome a guest."""
    words = ctx.sample("Say welcome.", max_tokens=40).text
    return f"{words} {[root.uri for root in ctx.roots()]}"


@plugin.tool(read_only=True, destructive=False, open_world=False)
def pay(ctx: Context) -> str:
    """Use this to pay."""
    try:
        ctx.elicit("Pay at the desk.", url="https://pay.example/1")
    except Declined as no:
        return str(no)
    return "paid"


@plugin.tool(read_only=True, destructive=False, open_world=False)
def folders(ctx: Context) -> str:
    """Use this to see which folders are open; it tells how far it is."""
    ctx.progress(1, 2, "half")
    return str(len(ctx.roots()))
'''
ERAS = ("2025", "2026")
PATIENCE = 60.0
CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("asks")
    (folder / "hotel").mkdir()
    (folder / "hotel" / "server.py").write_text(SERVER)
    (folder / "hotel" / "plugin.toml").write_text('name = "hotel"\nentrypoint = "server:plugin"\n')
    server = Served([COMMAND, "dev", "hotel", "--port", "0", "--json"], folder)
    yield server.url("hotel")
    server.stop()


@pytest.mark.parametrize("era", ERAS)
def test_the_command_line_answers_in_turn(url: str, platform: Callable[..., Any], era: str) -> None:
    done = platform("call", url, "book", "--era", era, "--answer", '{"name": "Ada"}', "--answer", '{"sure": true}')
    assert (done.code, done.out.strip().endswith("True")) == (0, True), done
    assert [line.split(maxsplit=1) for line in done.err.splitlines()] == [
        ["asks", 'Who takes the room?                         {"name": "Ada"}'],
        ["asks", '2 nights for Ada?                           {"sure": true}'],
    ]
    done = platform("call", url, "welcome", "--era", era, "--answer", "Moin!", "--answer", "/, /etc")
    assert done.out.strip() == "Moin! ['file:///', 'file:///etc']"
    assert platform("call", url, "pay", "--era", era, "--answer", "accept").out.strip() == "paid"
    assert "declined" in platform("call", url, "book", "--era", era, "--answer", "decline").out
    assert "closed" in platform("call", url, "pay", "--era", era, "--answer", "cancel").out


@pytest.mark.parametrize("era", ERAS)
def test_a_question_that_nobody_answers_is_told(url: str, platform: Callable[..., Any], era: str) -> None:
    done = platform("call", url, "book", "--era", era, "--answer", '{"name": "Ada"}')
    assert done.code == 1
    assert "error  call.unanswered  The tool asks: 2 nights for Ada?" in done.err
    done = platform("call", url, "book", "--era", era, "--answer", "hello")
    assert (done.code, "error  call.answer  'hello' is no answer" in done.err) == (1, True)
    done = platform("call", url, "welcome", "--era", era, "--answer", "Moin!")
    assert (done.code, "error  call.unanswered  The tool asks: Which folders" in done.err) == (1, True), done
    done = platform("call", url, "welcome", "--era", era, "--answer", "", "--answer", "/")
    assert (done.code, "did not let the model answer" in done.out + done.err) == (1, True), done


def test_a_call_that_can_not_be_asked_is_told_how_it_can(url: str, platform: Callable[..., Any]) -> None:
    done = platform("call", url, "book", "--era", "2026")
    assert (done.code, done.err.splitlines()[-1].strip()) == (
        1,
        "The tool asks its user something: answer with --answer, or call from a terminal.",
    )


def test_progress_and_what_nobody_asked_for_are_told_beside_the_answer(url: str, platform: Callable[..., Any]) -> None:
    done = platform("call", url, "folders", "--answer", "/etc", "--answer", "more")
    assert (done.code, done.out.strip()) == (0, "1"), done
    told = [" ".join(line.split()) for line in done.err.splitlines()]
    note = "note The tool did not ask for the answer 'more'."
    assert {*told} == {"progress 1 of 2 half", "asks Which folders are open? /etc", note}
    lacking = platform("call", url, "folders", "--era", "2026")
    assert lacking.err.splitlines()[-1].strip().startswith("The tool asks for folders (roots): answer with --answer")


@pytest.fixture
def at_terminal(url: str) -> Iterator[Callable[[str, str], Typed]]:
    with ExitStack() as stack:

        def call(tool: str, era: str) -> Typed:
            typed = Typed(url, tool, era)
            stack.callback(typed.close)
            return typed

        yield call


class Typed:
    """`platform call` on a terminal of its own; `said` is all that stood there."""

    def __init__(self, url: str, tool: str, era: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [COMMAND, "call", url, tool, "--era", era]
        environ = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120"}
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # or Ctrl-C would be a letter
        )
        os.close(theirs)
        self.said = ""
        self._seen = 0

    def types(self, prompt: str, answer: str) -> None:
        """Waits for the prompt first, behind the one before."""
        self._read(lambda: prompt in self.said[self._seen :])
        self._seen = self.said.index(prompt, self._seen) + len(prompt)
        os.write(self._ours, answer.encode())

    def interrupts(self, prompt: str) -> int:
        """Ctrl-C, as often as it takes: one that comes just before the terminal is read waits for the next key."""
        self.types(prompt, CTRL_C)
        while True:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                os.write(self._ours, CTRL_C.encode())
            else:
                return self.ends()

    def ends(self) -> int:
        self._read(lambda: False)
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            os.close(self._ours)

    def _read(self, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not enough():
            ready, _, _ = select.select([self._ours], [], [], max(0.0, end - time.monotonic()))
            assert ready, self.said
            try:
                read = os.read(self._ours, 4096)
            except OSError:  # Linux: nobody has the terminal open any more
                return
            if not read:
                return
            self.said += read.decode().replace("\r", "")


@pytest.mark.parametrize("era", ERAS)
def test_a_form_is_filled_in_field_by_field(at_terminal: Callable[[str, str], Typed], era: str) -> None:
    call = at_terminal("book", era)
    call.types("name (Who comes): ", "Ada\n")
    call.types("nights (1 to 14) [2]: ", "99\n")
    call.types("'99' is not a whole number 1 to 14.", "")
    call.types("nights (1 to 14) [2]: ", "3\n")
    call.types("room (sea | garden) [sea]: ", "pool\n")
    call.types("'pool' is none of sea, garden.", "")
    call.types("room (sea | garden) [sea]: ", "garden\n")
    call.types("extras (breakfast | parking; several by commas), or nothing: ", "breakfast, parking\n")
    call.types("late [y/N]: ", "y\n")
    call.types("note, or nothing: ", "\n")
    call.types("sure [y/n]: ", "y\n")
    assert call.ends() == 0, call.said
    assert "asks        3 nights for Ada?" in call.said
    booked = {
        "name": "Ada",
        "nights": 3,
        "room": "garden",
        "extras": ["breakfast", "parking"],
        "late": True,
        "note": None,
    }
    assert f"{booked} True" in call.said


def test_the_model_and_the_client_are_a_line_each(at_terminal: Callable[[str, str], Typed]) -> None:
    call = at_terminal("welcome", "2026")
    call.types("the model: Say welcome.", "Moin!\n")
    call.types("folders, by commas > ", CTRL_D)
    assert (call.ends(), "Moin! []" in call.said) == (0, True), call.said
    silent = at_terminal("welcome", "2025")
    silent.types("model (or nothing, to refuse) > ", CTRL_D)
    assert (silent.ends(), "did not let the model answer" in silent.said) == (1, True), silent.said


@pytest.mark.parametrize("era", ERAS)
def test_ctrl_d_leaves_a_question_and_ctrl_c_the_command(at_terminal: Callable[[str, str], Typed], era: str) -> None:
    for tool, prompt in (("book", "name"), ("pay", "open it, then")):
        left, ended = at_terminal(tool, era), at_terminal(tool, era)
        left.types(prompt, CTRL_D)
        code = ended.interrupts(prompt)
        assert (left.ends(), "closed" in left.said) == (0, True), left.said
        assert (code, "Traceback" in ended.said) == (130, False), ended.said
    paid = at_terminal("pay", era)
    paid.types("https://pay.example/1", "\n")
    assert (paid.ends(), "paid" in paid.said) == (0, True), paid.said


def test_choices_are_taken_by_their_titles_too() -> None:
    old = {"type": "string", "enum": ["s", "g"], "enumNames": ["Sea", "Garden"]}
    new = {"type": "string", "oneOf": [{"const": "s", "title": "Sea"}, {"const": "g", "title": "Garden"}]}
    many = {"type": "array", "items": {"anyOf": new["oneOf"]}}
    assert [answering.taken(text, field) for field in (old, new) for text in ("s", "garden")] == ["s", "g"] * 2
    assert answering.taken("Garden,s", many) == ["g", "s"]
    assert answering.taken("1.5", {"type": "number"}) == 1.5
    for text, field in (("x", new), ("1.5", {"type": "integer"}), ("x", many)):
        with pytest.raises(click.UsageError):
            answering.taken(text, field)


@pytest.mark.parametrize(("typed", "action"), [("\n", "accept"), ("n\n", "decline"), ("", "cancel")])
def test_an_empty_form_is_accepted_declined_or_left(typed: str, action: str) -> None:
    with CliRunner().isolation(typed):
        assert answering.at_form({"properties": {}}) == (action, {})


def test_a_list_has_its_default() -> None:
    field = {"type": "array", "title": "Extras", "items": {"enum": ["a", "b"]}, "default": ["a", "b"]}
    with CliRunner().isolation("\n") as (_, err, _):
        assert answering.at_field("extras", field, required=True) == ["a", "b"]
    assert err.getvalue().decode().startswith("  Extras (a | b; several by commas) [a,b]: ")


def test_nobody_is_asked_where_nobody_sits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "none").open("w+") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert not answering.can_ask()
