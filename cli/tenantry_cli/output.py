"""What the terminal shows: short, calm, exact lines; colour only as emphasis; plain when it is not a terminal.

A `Terminal` writes steps (a word, then what came of it), findings, tables and refusals. Where a step lasts longer
than a second and the terminal is one, a progress bar stands below the last line until the step is done. NO_COLOR
and a pipe both give plain text; `--json` sends everything that is not the answer to standard error. Control
characters of what others say are shown as pictures: no terminal takes them for orders.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from tenantry_registry.errors import PlatformError

from tenantry_cli import trace

WORD = 11  # columns that a step's word takes
BAR_AFTER = 1.0  # seconds; what is faster needs no bar
PLAIN_WIDTH = 200  # columns of a pipe: long enough that no address is broken
UPPER = range(0x7F, 0xA0)  # DEL and the second set of control characters, which JSON leaves as they are
PICTURES: dict[int, int | None] = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
    | dict.fromkeys(UPPER, 0xFFFD)
    | {0x7F: 0x2421}
    | dict.fromkeys((7, 8, 11, 12, 13))  # which rich leaves out, too
)


class Terminal:
    """Writes to one stream. `quiet` drops everything but refusals and answers."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or make_console(sys.stdout)

    @classmethod
    def for_errors(cls) -> Terminal:
        """The terminal behind standard error."""
        return cls(make_console(sys.stderr))

    @classmethod
    def beside(cls, answer_is_json: bool) -> Terminal:
        """Standard output, or standard error where standard output carries JSON alone."""
        return cls.for_errors() if answer_is_json else cls()

    @property
    def interactive(self) -> bool:
        return self.console.is_terminal

    def line(self, text: str | Text = "") -> None:
        line = Text(text) if isinstance(text, str) else text.copy()
        line.plain = shown(line.plain)
        self.console.print(line, soft_wrap=True)

    def step(self, word: str, text: str, aside: str = "", *, style: str = "") -> None:
        """`  packed      38 KB, 12 files      0.2 s`."""
        line = Text("  ").append(f"{word:<{WORD}} ", style="dim").append(text, style=style)
        if aside:
            line.append(" " * max(3, 44 - len(text))).append(aside, style="dim")
        self.line(line)

    def finding(
        self, severity: str, code: str, what: str, where: str = "", cure: str = "", frames: Sequence[str] = ()
    ) -> None:
        """One finding of a check; the author's frames of its error, and how to cure it, below."""
        style = {"error": "bold red", "warn": "yellow"}.get(severity, "dim")
        line = Text("  ").append(f"{severity:<6} ", style=style).append(f"{code:<22}", style="bold").append(f" {what}")
        if where:
            line.append(f"  {where}", style="dim")
        self.line(line)
        for frame in frames:
            self.line(Text(f"         {frame}", style="dim"))
        if cure:
            self.line(Text(f"         {cure}", style="dim"))

    def refusal(self, error: PlatformError) -> None:
        """`error  bundle.too-large: ...` and the hint below it."""
        sentence, frames = trace.split(error.message)
        self.line(Text("error", style="bold red").append(f"  {error.code}", style="bold").append(f"  {sentence}"))
        for frame in frames:
            self.line(Text(f"       {frame}", style="dim"))
        if error.hint:
            self.line(Text(f"       {error.hint}", style="dim"))

    def next(self, text: str) -> None:
        """What to do next."""
        self.line(Text("  next        ", style="dim").append(text, style="bold"))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, strong: int = 0) -> None:
        """Rows under dim heads; column `strong` is emphasised."""
        widths = [max(len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]
        for row in (columns, *rows):
            line = Text()
            for index, cell in enumerate(row):
                style = "dim" if row is columns else "bold" if index == strong else ""
                line.append(cell, style=style).append(" " * (widths[index] - len(cell) + 3))
            line.rstrip()
            self.line(line)

    def answer(self, value: Any, *, compact: bool = False) -> None:
        """JSON on standard output, on one line where `compact`."""
        text = json.dumps(value, ensure_ascii=False, indent=None if compact else 2)
        print(text.translate({code: f"\\u{code:04x}" for code in UPPER}), flush=True)

    @contextmanager
    def bar(self, text: str) -> Iterator[Bar]:
        """A bar that appears after a second, on a terminal only."""
        bar = Bar(self.console if self.interactive else None, text)
        try:
            yield bar
        finally:
            bar.close()


def shown(text: str) -> str:
    """Somebody else's text as a terminal may have it."""
    return text.translate(PICTURES)


def asked(what: str) -> str:
    """What is not to be seen: typed unseen by a person, or a line of standard input where that is no terminal."""
    if sys.stdin.isatty():
        import click

        return str(click.prompt(what, hide_input=True))
    return sys.stdin.readline().rstrip("\r\n")


class Bar:
    """How far something has come. `advance` may be called from any thread."""

    def __init__(self, console: Console | None, text: str) -> None:
        self.console = console
        self.progress: Progress | None = None
        self.text, self.done = text, 0
        self.total: int | None = None
        self.lock = threading.Lock()
        self.timer = threading.Timer(BAR_AFTER, self.appear)
        self.timer.daemon = True
        if console:
            self.timer.start()

    def appear(self) -> None:
        with self.lock:
            self.progress = Progress(
                TextColumn("  {task.description}"), BarColumn(28), TimeElapsedColumn(), console=self.console,
                transient=True,
            )  # fmt: skip
            self.task = self.progress.add_task(self.text, total=self.total, completed=self.done)
            self.progress.start()

    def at(self, done: int, total: int | None, text: str = "") -> None:
        """Say how much is done, of how much (None: nobody knows), and of what."""
        with self.lock:
            self.done, self.total, self.text = done, total, text or self.text
            if self.progress:
                self.progress.update(self.task, completed=done, total=total, description=self.text)

    def close(self) -> None:
        self.timer.cancel()
        with self.lock:
            if self.progress:
                self.progress.stop()


def make_console(stream: Any) -> Console:
    """A console for `stream`; wide and plain where it is not a terminal."""
    terminal = stream.isatty()
    return Console(file=stream, highlight=False, emoji=False, markup=False, width=None if terminal else PLAIN_WIDTH)


def size(count: int) -> str:
    """Bytes for people: `38 KB`, `1.4 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 999_500:
        return f"{count / 1000:.0f} KB"
    if count < 999_950_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1_000_000_000:.1f} GB"


def many(count: int, noun: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def short(digest: str) -> str:
    """The twelve digits that people see of a digest."""
    return digest[:12]


def ago(seconds: float) -> str:
    """`just now`, `5 minutes ago`, or the day."""
    past = time.time() - seconds
    for limit, unit, name in ((90, 0, "just now"), (5400, 60, "minute"), (129_600, 3600, "hour")):
        if past < limit:
            return f"{many(round(past / unit), name)} ago" if unit else name
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
