"""The specifiers and strings of a JavaScript source, each with its place. A lexer of our own.

No Python parser of JavaScript is kept up to date with the language (the usual one stopped at ES2017), and none is
needed: the ECMAScript lexical grammar decides what is a string, a template, a comment or a regular expression, and an
import is recognised by the few tokens around it. What the grammar leaves to the parser - is `/` a division or a regular
expression - is decided by the token before it, as es-module-lexer does in every browser's polyfill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

IDENT, STRING, TEMPLATE, NUMBER, REGEX, PUNCT = "ident", "string", "template", "number", "regex", "punct"

_TOKEN = re.compile(
    r"""
    (?P<space>[\s\ufeff]+|//[^\n\u2028\u2029]*|/\*.*?(?:\*/|\Z)|\#![^\n]*)
  | (?P<ident>(?:[A-Za-z_$\#\u0080-\U0010ffff]|\\u)(?:[\w$\u0080-\U0010ffff]|\\u\{?[0-9A-Fa-f]+\}?)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z))
  | (?P<number>\.?\d(?:[eE][+-]?\d|[\w.])*)
  | (?P<punct>=>|\?\.(?!\d)|\.\.\.|[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[A-Za-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}

# After one of these words an expression begins, so that "/" opens a regular expression and "{" an object
_OPERATORS = frozenset(
    (
        *("return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else"),
        *("yield", "await", "default", "extends"),
    )
)
_CONDITIONS = frozenset(("if", "while", "for", "with"))  # "(...)" after one of these is followed by a statement


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, its text as written, and where it starts. `plain` templates have no substitution."""

    kind: str
    text: str
    start: int
    plain: bool = True

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def value(self) -> str:
        """What a string or a plain template stands for."""
        return _ESCAPE.sub(_unescape, self.text[1:-1])


@dataclass(frozen=True, slots=True)
class Specifier:
    """A module specifier or a URL of `new URL(..., import.meta.url)`: offsets of the literal with its quotes."""

    start: int
    end: int
    value: str
    form: str  # "import" | "export" | "dynamic" | "url"


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2) or match.group(3)
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    return _SIMPLE.get(match.group(4), match.group(4))


def tokens(source: str) -> Iterator[Token]:
    """The tokens of `source`, white space and comments left out. Never fails: what isn't JavaScript comes out as
    punctuation. Strings inside a template's `${...}` are tokens too, after the template's first part."""
    position, size = 0, len(source)
    before: Token | None = None
    stack: list[str] = []  # what each open bracket means for the token after its closing one
    closed = ""  # what the bracket closed last meant
    while position < size:
        char = source[position]
        if char == "`" or (char == "}" and stack and stack[-1] == "template"):
            if char == "}":
                stack.pop()
            text, goes_on = _template(source, position)
            if goes_on:
                stack.append("template")
            token = Token(TEMPLATE, text, position, plain=char == "`" and not goes_on)
            yield token
            before = token if not goes_on else Token(PUNCT, "(", position)
            position = token.start + len(text)
            continue
        if (
            char == "/"
            and source[position + 1 : position + 2] not in ("/", "*")
            and _expression_begins(before, closed)
            and (found := _REGEX.match(source, position))
        ):
            token = Token(REGEX, found.group(), position)
        else:
            match = _TOKEN.match(source, position)
            assert match is not None  # the last alternative takes any character that is not a space
            if match.lastgroup == "space":
                position = match.end()
                continue
            token = Token(str(match.lastgroup), match.group(), position)
        if token.kind == PUNCT:
            if token.text in "([{":
                stack.append(_meaning(token.text, before, closed))
            elif token.text in ")]}" and stack:
                closed = stack.pop()
        yield token
        before = token
        position = token.end


def _template(source: str, start: int) -> tuple[str, bool]:
    """The part of a template that begins at `start` (a backtick or a closing brace), and whether `${` ends it."""
    match = _TEMPLATE.match(source, start + 1)
    end = match.end() if match else start + 1
    goes_on = source.startswith("${", end)
    return source[start : min(len(source), end + (2 if goes_on else 1))], goes_on


def _meaning(bracket: str, before: Token | None, closed: str) -> str:
    """ "statement" where an expression may begin after the closing bracket, else "value"."""
    if bracket == "(":
        return "statement" if before is not None and before.text in _CONDITIONS else "value"
    if bracket == "[":
        return "value"
    if before is None or before.text in (";", "{", "}", ")", "=>", "else", "do", "try", "finally"):
        return "statement"
    return "value" if _expression_begins(before, closed) else "statement"


def _expression_begins(before: Token | None, closed: str) -> bool:
    if before is None:
        return True
    if before.kind == PUNCT:
        if before.text in (")", "}"):
            return closed == "statement"
        return before.text != "]"
    return before.kind == IDENT and before.text in _OPERATORS


def specifiers(source: str) -> list[Specifier]:
    """Every module specifier that `source` imports or re-exports from, static or dynamic with a literal, and every
    literal in `new URL(literal, import.meta.url)`, in order."""
    if "import" not in source and "export" not in source:
        return []
    every = list(tokens(source))
    texts = [token.text for token in every]
    found: list[Specifier] = []
    for index, token in enumerate(every):
        if token.kind != IDENT or (index and texts[index - 1] in (".", "?.")):
            continue
        if token.text == "import":
            literal, form = _imported(every, texts, index)
        elif token.text == "export":
            literal, form = _exported(every, texts, index)
        elif token.text == "new" and texts[index + 1 : index + 3] == ["URL", "("]:
            literal, form = _beside(every, texts, index)
        else:
            continue
        if literal is not None:
            found.append(Specifier(literal.start, literal.end, literal.value, form))
    return found


def _literal(every: list[Token], index: int) -> Token | None:
    if index < len(every):
        token = every[index]
        if (token.kind == STRING or (token.kind == TEMPLATE and token.plain)) and len(token.text) > 1:
            return token
    return None


def _imported(every: list[Token], texts: list[str], index: int) -> tuple[Token | None, str]:
    following = texts[index + 1] if index + 1 < len(texts) else ""
    if following == "(":
        literal = _literal(every, index + 2)
        after = texts[index + 3] if index + 3 < len(texts) else ""
        return (literal if after in (")", ",") else None), "dynamic"
    if following == ".":
        if texts[index + 2 : index + 4] in (["defer", "("], ["source", "("]):
            return _literal(every, index + 4), "dynamic"
        return None, ""
    if following[:1] in ("'", '"'):
        return _literal(every, index + 1), "import"
    return _after_from(every, texts, index + 1), "import"


def _exported(every: list[Token], texts: list[str], index: int) -> tuple[Token | None, str]:
    if index + 1 < len(texts) and texts[index + 1] in ("*", "{"):
        return _after_from(every, texts, index + 1), "export"
    return None, ""


def _after_from(every: list[Token], texts: list[str], index: int) -> Token | None:
    """The literal after `from`, where only what an import or export clause may hold stands between."""
    depth = 0
    while index < len(every):
        token, text = every[index], texts[index]
        if depth == 0 and text == "from" and (literal := _literal(every, index + 1)) is not None:
            return literal if literal.kind == STRING else None
        if text in "{}":
            depth += 1 if text == "{" else -1
        elif token.kind not in (IDENT, STRING) and text not in (",", "*"):
            return None
        if token.kind == STRING and depth == 0:
            return None
        index += 1
    return None


def _beside(every: list[Token], texts: list[str], index: int) -> tuple[Token | None, str]:
    if texts[index + 4 : index + 10] == [",", "import", ".", "meta", ".", "url"]:
        return _literal(every, index + 3), "url"
    return None, ""
