"""A widget's HTML as html5lib reads it (the WHATWG algorithm), with the exact place of what its author wrote.

The compiler changes a handful of URLs and nothing else, so it must not re-serialise: html5lib's tokenizer is watched
while its own parser drives it, and every attribute value and every style or script text is reported with its offsets
in the source. `Source` keeps the map from the newline-normalised text that the standards speak of to the text as
written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from html5lib import html5parser
from html5lib._tokenizer import HTMLTokenizer
from html5lib.constants import tokenTypes

from tenantry_registry.errors import PlatformError

START, END = tokenTypes["StartTag"], tokenTypes["EndTag"]
TEXT = (tokenTypes["Characters"], tokenTypes["SpaceCharacters"])
WITH_TEXT = frozenset({"style", "script"})


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its decoded value, the offsets of the value as written (without quotes), and the quote."""

    value: str
    start: int
    end: int
    quote: str  # '"', "'" or "" when unquoted


@dataclass(slots=True)
class Element:
    """One start tag and, for style and script, the text inside. `raw`: the text was written without escapes."""

    name: str
    attributes: Mapping[str, Attribute]
    start: int
    text: str = ""
    text_start: int = 0
    text_end: int = 0
    raw: bool = True

    @property
    def name_end(self) -> int:
        """The offset just after the tag's name, where an attribute may be put in."""
        return self.start + 1 + len(self.name)

    def get(self, name: str) -> str:
        """The decoded value of an attribute, trimmed and in lower case; empty where there is none."""
        found = self.attributes.get(name)
        return found.value.strip().lower() if found else ""


@dataclass(slots=True)
class Source:
    """A text as written and as the standards read it: `text` has every newline as `\\n`."""

    written: str
    text: str = ""
    _extra: list[int] = field(default_factory=list)  # offsets in `text` of newlines that were written as two
    _lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.text = self.written.replace("\r\n", "\n").replace("\r", "\n")
        if len(self.text) != len(self.written):
            position = -1
            while (position := self.written.find("\r\n", position + 1)) != -1:
                self._extra.append(position - len(self._extra))

    def at(self, offset: int) -> int:
        """The offset in `written` of an offset in `text`."""
        return offset + bisect_left(self._extra, offset)

    def line(self, offset: int) -> int:
        """The line, counted from 1, of an offset in `text`."""
        if not self._lines:
            position = -1
            while (position := self.text.find("\n", position + 1)) != -1:
                self._lines.append(position)
        return bisect_right(self._lines, offset - 1) + 1

    def replaced(self, edits: list[tuple[int, int, str]]) -> str:
        """`written` with each (start, end, new text), offsets in `text`, put in."""
        parts, last = [], 0
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            parts += [self.written[last : self.at(start)], new]
            last = self.at(end)
        return "".join([*parts, self.written[last:]])


def read(data: bytes) -> Source:
    """Decode a widget's HTML. A byte order mark is dropped: inside a JSON string it would be text.

    Raises: PlatformError `widget.encoding`.
    """
    try:
        return Source(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PlatformError(
            "widget.encoding", f"The HTML is not UTF-8 (byte {error.start}).", "Save the file as UTF-8."
        ) from None


def elements(source: Source) -> list[Element]:
    """Every start tag that the parser meets, in order, comments and `noscript` text left out (scripts are on)."""
    parser = _Parser()
    parser.watched = source.text
    parser.parse(source.text, scripting=True)
    return parser.found


_BaseTokenizer: Any = HTMLTokenizer  # its stubs describe tokens that may not carry what is added below
_BaseParser: Any = html5parser.HTMLParser


class _Tokenizer(_BaseTokenizer):  # type: ignore[misc]
    """html5lib's tokenizer, telling where things are. Positions are offsets: the whole text is one chunk."""

    def __init__(self, stream: str, parser: Any) -> None:
        super().__init__(stream, parser=parser)
        self.stream._defaultChunkSize = len(stream) + 1
        self.tag_start = 0
        self.values: dict[int, tuple[int, int, str]] = {}
        self.inside: Element | None = None
        self.texts: list[str] = []

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            kind = token["type"]
            if kind in TEXT and self.inside is not None:
                self.texts.append(token["data"])
            elif kind == END and self.inside is not None and token["name"] == self.inside.name:
                self._close(token["start"])
            yield token
            if kind == START:
                element = self._element(token)
                self.parser.found.append(element)
                if element.name in WITH_TEXT and not token["selfClosing"]:
                    self._close(element.start)
                    element.text_start = token["end"]
                    element.raw = self.state in (self.rawtextState, self.scriptDataState)
                    self.inside = element
        self._close(len(self.parser.watched))

    def _close(self, end: int) -> None:
        """Finish the style or script that is open. Unescaped text is exactly as long as its source."""
        element, self.inside = self.inside, None
        if element is not None:
            element.text = "".join(self.texts)
            element.text_end = element.text_start + len(element.text) if element.raw else end
        self.texts = []

    def _element(self, token: dict[str, Any]) -> Element:
        attributes: dict[str, Attribute] = {}
        for index, (name, value) in enumerate(token["written"]):
            start, end, quote = token["values"].get(index, (0, 0, ""))
            if name not in attributes and end:
                attributes[name] = Attribute(value, start, end, quote)
            else:
                attributes.setdefault(name, Attribute(value, token["start"], token["start"], ""))
        return Element(token["name"], attributes, token["start"])

    def tagOpenState(self) -> bool:
        self.tag_start = self.stream.chunkOffset - 1
        self.values = {}
        return bool(super().tagOpenState())

    def emitCurrentToken(self) -> None:
        token, end = self.currentToken, self.stream.chunkOffset
        token.update(start=self.tag_start, end=end, values=self.values, written=list(token["data"]))
        super().emitCurrentToken()

    def beforeAttributeValueState(self) -> bool:
        going_on = super().beforeAttributeValueState()
        here, index = self.stream.chunkOffset, len(self.currentToken["data"]) - 1
        if self.state == self.attributeValueDoubleQuotedState:
            self.values[index] = (here, here, '"')
        elif self.state == self.attributeValueSingleQuotedState:
            self.values[index] = (here, here, "'")
        elif self.state == self.attributeValueUnQuotedState:
            start = here - len(self.currentToken["data"][-1][1])
            self.values[index] = (start, start, "")
        return bool(going_on)

    def _value(self, going_on: Any) -> bool:
        """After a step inside a value: everything but the character that ended it belongs to it."""
        index = max(self.values)
        start, _, quote = self.values[index]
        ended = self.state not in (
            self.attributeValueDoubleQuotedState,
            self.attributeValueSingleQuotedState,
            self.attributeValueUnQuotedState,
        )
        self.values[index] = (start, self.stream.chunkOffset - (1 if ended else 0), quote)
        return bool(going_on)

    def attributeValueDoubleQuotedState(self) -> bool:
        return self._value(super().attributeValueDoubleQuotedState())

    def attributeValueSingleQuotedState(self) -> bool:
        return self._value(super().attributeValueSingleQuotedState())

    def attributeValueUnQuotedState(self) -> bool:
        return self._value(super().attributeValueUnQuotedState())


class _Parser(_BaseParser):  # type: ignore[misc]
    """html5lib's parser with the tokenizer above. It decides what is raw text and what is markup."""

    watched = ""

    def _parse(self, stream: str, innerHTML: bool = False, container: str = "div", scripting: bool = False) -> None:
        self.found: list[Element] = []
        self.innerHTMLMode = innerHTML
        self.container = container
        self.scripting = scripting
        self.tokenizer = _Tokenizer(stream, self)
        self.reset()
        self.mainLoop()
