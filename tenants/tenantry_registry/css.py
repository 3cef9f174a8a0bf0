"""The URLs that a style sheet loads, each with its exact place in the source. Parsed by tinycss2 (CSS Syntax 3).

Only places are found here; what becomes of a URL is the widget compiler's business. Sources have newlines normalised
(`\\r\\n`, `\\r` and `\\f` are one `\\n`), as CSS Syntax 3.3 wants and as `html.Source` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tinycss2 import parse_component_value_list  # type: ignore[import-untyped]
from tinycss2.tokenizer import _consume_ident, _consume_quoted_string, _consume_url  # type: ignore[import-untyped]

REMEMBERED = 256  # style sheets, with their text: some megabytes

STRING_IS_URL = frozenset({"url", "src", "image-set", "-webkit-image-set"})  # functions whose strings are URLs
# Functions inside image-set() whose strings aren't: type("image/avif")
STRING_IS_TEXT = frozenset({"type", "format", "tech", "local", "attr", "var", "counter", "counters", "env"})


@dataclass(frozen=True, slots=True)
class Found:
    """A URL: the offsets of what may be replaced, the URL itself, and how it is written.

    `form` is "url" (a whole `url(...)` token), "string" (a quoted string, quotes included).
    """

    start: int
    end: int
    url: str
    form: str


def urls(css: str) -> tuple[Found, ...]:
    """Every URL that `css` (a style sheet or a list of declarations) refers to, in order.

    `url()`, `src()`, `image-set()` strings and `@import` are loads; `@namespace` names are not. What was found in the
    last sheets is remembered: a folder that is published again has mostly the same ones.
    """
    if not any(word in css.lower() for word in ("url(", "src(", "image-set(", "import", "\\")):
        return ()
    return _parsed(css)


@lru_cache(maxsize=REMEMBERED)
def _parsed(css: str) -> tuple[Found, ...]:
    starts = [0]
    position = css.find("\n")
    while position != -1:
        starts.append(position + 1)
        position = css.find("\n", position + 1)
    walked = _walk(css, starts, parse_component_value_list(css), False)
    return tuple(sorted(walked, key=lambda found: found.start))


def _walk(css: str, starts: list[int], nodes: Iterable[Any], strings: bool) -> Iterator[Found]:
    rule = ""  # the at-rule whose prelude we are in
    for node in nodes:
        kind = node.type
        if kind == "at-keyword":
            rule = node.lower_value
        elif kind == "url" and rule != "namespace":
            yield _token(css, starts, node)
        elif kind == "string" and (strings or rule == "import"):
            start = starts[node.source_line - 1] + node.source_column - 1
            yield Found(start, _consume_quoted_string(css, start)[1], node.value, "string")
            rule = ""
        elif kind == "function":
            name = node.lower_name
            inside = name in STRING_IS_URL or (strings and name not in STRING_IS_TEXT)
            if not (rule == "namespace" and name == "url"):
                yield from _walk(css, starts, node.arguments, inside)
        elif kind == "{} block" or (kind == "literal" and node.value == ";"):
            rule = ""
        if kind in ("{} block", "[] block", "() block"):
            yield from _walk(css, starts, node.content, strings and kind != "{} block")


def _token(css: str, starts: list[int], node: Any) -> Found:
    start = starts[node.source_line - 1] + node.source_column - 1
    after_name = _consume_ident(css, start)[1] + 1
    end = _consume_url(css, after_name)[1]
    return Found(start, end, node.value, "url")


def written(found: Found, url: str) -> str:
    """`url` in the form that `found` was written in. `url` must be percent-encoded (no quotes, spaces or brackets)."""
    return f'url("{url}")' if found.form == "url" else f'"{url}"'
