"""my-plugin: counts the words of a text, and gives the counts back as a file."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import Annotated

from pydantic import BaseModel, Field
from tenantry import Context, File, Plugin, Result

plugin = Plugin()

LARGEST = 5_000_000  # bytes of a file that are read
SHOWN = 20  # words that the model is told


class Word(BaseModel):
    word: str
    times: int


class Words(BaseModel):
    total: int
    commonest: list[Word]
    report: File | None = None


def counted(text: str) -> Counter[str]:
    return Counter(re.findall(r"[\w'’-]+", text.lower()))


def words(found: Counter[str], report: File | None = None) -> Result[Words]:
    commonest = [Word(word=word, times=times) for word, times in found.most_common(SHOWN)]
    return Result(
        Words(total=found.total(), commonest=commonest, report=report),
        content=f"{found.total()} words, {len(found)} different.",
    )


@plugin.tool(
    read_only=True,
    destructive=False,
    open_world=False,
    title="Count the words of a file",
    invoking="Reading…",
    invoked="Counted",
)
def count_words_of_file(file: File, ctx: Context) -> Result[Words]:
    """Use this when the user gives a text file and wants to know which words it uses."""
    found = counted(file.read(max_bytes=LARGEST).decode("utf-8", errors="replace"))
    table = io.StringIO()
    csv.writer(table).writerows([("word", "times"), *found.most_common()])
    return words(found, ctx.files.save("words.csv", table.getvalue(), "text/csv"))


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Count the words of a text")
def count_words(text: Annotated[str, Field(max_length=100_000)]) -> Result[Words]:
    """Use this when the user pastes a text and wants to know which words it uses."""
    return words(counted(text))
