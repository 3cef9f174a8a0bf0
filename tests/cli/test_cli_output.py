"""The terminal: exact lines, plain when piped, colour as emphasis only, a bar for what takes longer than a second."""

from __future__ import annotations

import io
import json
import time

import pytest
from mcp_types import CallToolResult, TextContent
from rich.console import Console
from tenantry_cli import output, trace
from tenantry_cli.calls import Calls
from tenantry_cli.commands import call, logs
from tenantry_cli.output import Bar, Terminal
from tenantry_registry.errors import PlatformError

FAILED = f"""Traceback (most recent call last):
  File "/opt/tenantry/tenantry/call.py", line 88, in answer
    return await run(tool, arguments)
  File "/tmp/x/bundles/{"a" * 64}/server.py", line 9, in roll
    return 1 / 0
           ~~^~~
ZeroDivisionError: division by zero
"""


def plain() -> tuple[Terminal, io.StringIO]:
    stream = io.StringIO()
    return Terminal(output.make_console(stream)), stream


def coloured(**options: bool) -> tuple[Terminal, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system="standard", highlight=False, **options)
    return Terminal(console), stream


def test_a_pipe_gets_plain_text_with_nothing_broken_or_padded() -> None:
    terminal, stream = plain()
    terminal.step("packed", "38 KB, 12 files", "0.2 s")
    terminal.table(["plugin", "address"], [["dev/zoo", "http://" + "x" * 300], ["dev/a", "b"]])
    terminal.finding("error", "tool.name", "bad name", "server.py:3", "Rename it.")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "  packed      38 KB, 12 files                             0.2 s"
    assert lines[1] == "plugin    address"
    assert lines[2] == "dev/zoo   http://" + "x" * 300
    assert lines[3] == "dev/a     b"
    assert lines[4].split() == ["error", "tool.name", "bad", "name", "server.py:3"]
    assert lines[5] == "         Rename it."


def test_brackets_in_what_is_shown_are_not_markup() -> None:
    terminal, stream = plain()
    terminal.line("a [bold]list[/bold] of [1, 2] :smile:")
    assert stream.getvalue() == "a [bold]list[/bold] of [1, 2] :smile:\n"


def test_what_a_server_or_a_tool_says_gives_the_terminal_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    said = "a\x1b]0;title\x07b\x1b[2J\r\nc\td\x7f\x9b31m\x85"
    pictures = "a\u241b]0;titleb\u241b[2J\nc\td\u2421\ufffd31m\ufffd"
    assert output.shown(said) == pictures
    for terminal, stream in (plain(), coloured(no_color=True)):
        terminal.line(said)
        terminal.step("asks", said, said)
        terminal.refusal(PlatformError("a.b", said, said))
        text = stream.getvalue().replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "")
        assert text.expandtabs().count(pictures.expandtabs(1).splitlines()[0]) == 5
        assert not {"\x07", "\x1b", "\x7f", "\x85", "\x9b", "\r"} & {*text}, text
    plain()[0].answer({"said": said})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"said": said}
    assert not {"\x1b", "\x7f", "\x9b"} & {*printed}


def test_colour_is_only_emphasis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, stream = coloured()
    terminal.refusal(PlatformError("a.code", "A sentence.", "A hint."))
    assert "\x1b[1;31merror\x1b[0m" in stream.getvalue()


def test_no_color_takes_the_colours_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal, stream = coloured()
    terminal.refusal(PlatformError("a.code", "A sentence.", "A hint."))
    assert "\x1b[31m" not in stream.getvalue()
    assert "31" not in stream.getvalue()


def test_a_bar_appears_for_what_is_slow_and_on_a_terminal_only() -> None:
    terminal, stream = coloured()
    with terminal.bar("packing") as bar:
        bar.appear()
        bar.at(2, 5, "describing")
    assert "describing" in stream.getvalue()
    quiet, silence = plain()
    with quiet.bar("packing") as bar:
        bar.at(1, None)
    assert silence.getvalue() == ""
    assert Bar(None, "").progress is None


def test_json_answers_leave_standard_output_to_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal.beside(answer_is_json=True)
    terminal.line("working")
    terminal.answer({"name": "Zoë"}, compact=True)
    out, err = capsys.readouterr()
    assert out == '{"name": "Zoë"}\n'
    assert err == "working\n"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (38_211, "38 KB"),
        (999_600, "1.0 MB"),
        (1_400_000, "1.4 MB"),
        (5_000_000_000, "5.0 GB"),
    ],
)
def test_sizes_are_for_people(value: int, words: str) -> None:
    assert output.size(value) == words


@pytest.mark.parametrize(
    ("past", "words"), [(0, "just now"), (120, "2 minutes ago"), (3600, "60 minutes ago"), (7200, "2 hours ago")]
)
def test_moments_are_for_people(past: int, words: str) -> None:
    assert output.ago(time.time() - past) == words
    assert output.ago(0).startswith("19")


BUNDLE = "/var/cache/bundles/" + "0" * 64
CHAINED = f'''Loading failed
Traceback (most recent call last):
  File "/usr/lib/python3/importlib/__init__.py", line 126, in import_module
    return _bootstrap
  File "{BUNDLE}/app/server.py", line 3, in <module>
    raise ValueError("x")
ValueError: x

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/opt/sandbox/worker.py", line 9, in run
    load()
LoadError: Loading failed
'''


def test_an_author_sees_their_own_frames_by_their_own_paths() -> None:
    sentence, frames = trace.split(CHAINED)
    assert sentence == "Loading failed"
    assert frames == ['  File "app/server.py", line 3, in <module>', '    raise ValueError("x")', "ValueError: x"]


def test_a_traceback_without_any_of_the_authors_files_has_none_of_their_frames() -> None:
    assert trace.own_frames('Traceback (most recent call last):\n  File "/x.py", line 1\nE: y\n') == []
    assert trace.split("One sentence.") == ("One sentence.", [])


def test_a_logged_error_is_shown_by_the_authors_frames_with_paths_in_their_folder() -> None:
    line = {"event": "call", "time": 0.0, "method": "tools/call", "tool": "roll", "code": "tool.failed"}
    terminal, stream = plain()
    logs.show(terminal, {**line, "stdout": "rolling", "traceback": FAILED}, whole=True)
    assert [text.strip() for text in stream.getvalue().splitlines()[1:]] == [
        "rolling",
        'File "server.py", line 9, in roll',
        "return 1 / 0",
        "ZeroDivisionError: division by zero",
    ]
    terminal, stream = plain()
    logs.show(terminal, {**line, "traceback": 'Traceback (most recent call last):\n  File "/x.py"\nE: y'}, whole=True)
    assert "E: y" in stream.getvalue()  # nothing of the author's in it: then all of it


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("sign-in", "refused: sign in"),
        ("scope", "refused: a scope is missing"),
        ("error", "error: the tool answered with one"),
        (None, ""),
    ],
)
def test_a_call_that_was_refused_does_not_look_like_one_that_went_well(outcome: str | None, words: str) -> None:
    terminal, stream = plain()
    Calls(terminal)("call", plugin="books", method="tools/call", tool="export_books", ms=29.2, outcome=outcome)
    line = stream.getvalue().split(maxsplit=1)[1].rstrip()
    assert line == f"books        export_books   29 ms   {words}".rstrip()


def test_structured_content_that_the_words_repeat_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"animals": [{"name": "Okapi"}]}
    for text, begins in ((json.dumps(found), "{"), ("One animal.", "One animal.\n{"), ("7", "7\n{")):
        call.show(CallToolResult(content=[TextContent(type="text", text=text)], structured_content=found))
        shown = capsys.readouterr().out
        assert shown.startswith(begins)
        assert shown.count("Okapi") == 1
