"""What can go wrong, and who gets to read it.

`PluginError` is for the author: a declaration that can't be right, raised where it stands, with its file and line.
`ToolError` and what derives from it is for the model and the user: its text reaches them. Every other exception is
masked: the model sees an error id, the log sees the traceback (field report R37).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tenantry.source import Source, caller

if TYPE_CHECKING:
    from tenantry.content import Content

CHALLENGE = "mcp/www_authenticate"


class PluginError(TypeError, ValueError):
    """A declaration that can't be right. `code` is stable, `file` and `line` say where, `hint` what to write instead.

    `check` and `publish` print it as a finding; the text of the exception is `file:line: message`, the hint a note.
    """

    def __init__(
        self, message: str, hint: str = "", *, code: str = "plugin.definition", source: Source | None = None
    ) -> None:
        source = source or caller()
        super().__init__(f"{source}: {message}")
        if hint:
            self.add_note(hint)
        self.code = code
        self.message = message
        self.hint = hint
        self.file = source.file
        self.line = source.line


class WrongReturn(TypeError):
    """A tool returned what its annotation does not say: masked like any exception but ToolError.

    The log has the words alone: the frames would be the kit's and pydantic's, none of them the author's. As the output
    raises it, the text is the end of the sentence "f (server.py:5) returned 'x', ..."; the tool says the whole.
    """

    SAYS = "but says it returns {type}"

    def __init__(self, text: str = SAYS) -> None:
        super().__init__(text)


class ToolError(Exception):
    """Raise it to tell the model, and so the user, what went wrong: the one exception whose text is not masked.

    The result is marked `isError`. `content` are further content blocks, `meta` is for the widget only. Nothing of
    `ctx.state` or `ctx.shared` is written when a tool raises.
    """

    def __init__(
        self,
        message: str,
        *,
        content: Sequence[Content | str] = (),
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.content = tuple(content)
        self.meta = dict(meta or {})


class Declined(ToolError):
    """The user did not answer what `ctx.elicit` asked: `action` is "decline" or "cancel".

    Left alone it becomes an error result that says so; catch it to go on without the answer.
    """

    def __init__(self, action: str) -> None:
        super().__init__("The user declined to answer." if action == "decline" else "The user closed the question.")
        self.action = action


class FileError(ToolError):
    """A file can't be had: its address is refused, it is too large, too slow, or of another type than asked for."""


class AuthRequired(ToolError):
    """Raise it to make the host sign the user in, or ask for more rights (rows S05 and P05).

    `scopes` are the scopes needed, `error` an RFC 6750 code: by default `invalid_token` when nobody is signed in and
    `insufficient_scope` when somebody is. `description` is shown to the user. `challenge` replaces all of it by your
    own RFC 7235 challenge or challenges. The platform adds `resource_metadata` where a challenge has none.
    """

    def __init__(
        self,
        scopes: str | Sequence[str] = (),
        error: str | None = None,
        description: str = "Sign in to continue.",
        *,
        challenge: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(description)
        self.scopes = (scopes,) if isinstance(scopes, str) else tuple(scopes)
        self.error = error
        self.challenge = challenge

    def to_meta(self, *, signed_in: bool) -> dict[str, Any]:
        """The result's `_meta`: the challenge as a string, or a list where the author gave several."""
        if self.challenge is not None:
            value: str | list[str] = self.challenge if isinstance(self.challenge, str) else list(self.challenge)
        else:
            error = self.error or ("insufficient_scope" if signed_in else "invalid_token")
            value = f'Bearer error="{_quotable(error)}", error_description="{_quotable(self.message)}"'
            if self.scopes:
                value += f', scope="{_quotable(" ".join(self.scopes))}"'
        return {**self.meta, CHALLENGE: value}


def _quotable(text: str) -> str:
    # RFC 6750, section 3: error_description is %x20-21 / %x23-5B / %x5D-7E; the result's text keeps the original
    table = {'"': "'", "\\": "/"}
    return "".join(table.get(c, c if " " <= c <= "~" else "?") for c in text)
