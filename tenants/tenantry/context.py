"""The context of one call: annotate a parameter `ctx: Context` and it is there.

What the client says are hints (`Unverified`); `user` is what the platform has verified. Everything is plain and
blocking, in `async def` too: one call at a time runs in a worker.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tenantry import hints
from tenantry.document import Document
from tenantry.errors import AuthRequired, PluginError
from tenantry.hints import Location, Unverified
from tenantry.secrets import Secrets
from tenantry.session import Session
from tenantry.user import User

if TYPE_CHECKING:
    from logging import Logger

    from tenantry.ask import Question, Root, Sampled
    from tenantry.content import Content, Role
    from tenantry.saved import Files

T = TypeVar("T")


class Context:
    """One call, as the author sees it."""

    def __init__(self, call: Mapping[str, Any], session: Session, name: str = "") -> None:
        self._call = call
        self._session = session
        meta = (call.get("params") or {}).get("_meta")
        self._meta: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
        claims = call.get("user")
        self._user = User(claims) if claims is not None else None
        self._state = Document("state", call.get("state"))
        self._files: Files | None = None
        self._progress = -1.0
        self.shared = Document("shared", call.get("shared"))
        """The plugin's document, the same for all its users."""
        self.secrets = Secrets(session.secrets)
        self.pending: BaseException | None = None  # a question on its way out, even when something swallowed it
        self.name = name
        """The tool's, prompt's or resource's name."""
        self.revision = str(call.get("revision", ""))
        """The revision of MCP that the client speaks."""

    # -- who -------------------------------------------------------------------------------------------------------

    @property
    def user(self) -> User:
        """The signed-in user. Raises: AuthRequired when nobody is: left alone, that starts the sign-in."""
        if self._user is None:
            raise AuthRequired()
        return self._user

    @property
    def signed_in(self) -> bool:
        """Whether `user` is there, for tools that work with and without."""
        return self._user is not None

    @property
    def locale(self) -> Unverified | None:
        """BCP 47, like "de-AT" (row M01; older clients send webplus/i18n)."""
        return hints.text(self._meta, "openai/locale", "webplus/i18n") or hints.text(
            self._call.get("client") or {}, "locale"
        )

    @property
    def user_agent(self) -> Unverified | None:
        """For formatting and analytics; does not identify the host (row M02)."""
        return hints.text(self._meta, "openai/userAgent")

    @property
    def user_location(self) -> Location | None:
        """Roughly where the user may be (row M03)."""
        return hints.location(self._meta.get("openai/userLocation"))

    @property
    def subject(self) -> Unverified | None:
        """An anonymous user id, for rate limits (row M04)."""
        return hints.text(self._meta, "openai/subject")

    @property
    def session(self) -> Unverified | None:
        """An anonymous conversation id, to correlate calls (row M05)."""
        return hints.text(self._meta, "openai/session")

    @property
    def organization(self) -> Unverified | None:
        """An anonymous organisation id (row M06)."""
        return hints.text(self._meta, "openai/organization")

    @property
    def widget_session_id(self) -> Unverified | None:
        """The mounted widget that makes this call, to correlate log entries (row S04)."""
        return hints.text(self._meta, "openai/widgetSessionId")

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's own `_meta`: hints all of it."""
        return self._meta

    # -- what it keeps ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> Document:
        """This user's document. Raises: AuthRequired when nobody is signed in; see `shared`."""
        if self._user is None:
            raise AuthRequired()
        return self._state

    @property
    def files(self) -> Files:
        """Make files for the model and the widget."""
        if self._files is None:
            from tenantry.saved import Files

            self._files = Files(self._session)
        return self._files

    @property
    def folder(self) -> Path:
        """A folder for scratch files; it is gone after the call."""
        return Path(self._session.folder)

    @property
    def time_left(self) -> float:
        """Seconds until the platform ends this call."""
        return max(0.0, self._session.deadline - time.monotonic())

    # -- what it says ----------------------------------------------------------------------------------------------

    @property
    def log(self) -> Logger:
        """A standard logger. It and every other logger reach the release's log, and the client where it asked."""
        import logging

        logger = logging.getLogger(f"tenantry.{self.name or 'call'}")
        logger.setLevel(logging.DEBUG)
        return logger

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far it is. Sent with the result, when the client asked for it, and only while `done` grows."""
        token = self._meta.get("progressToken")
        if token is None or done <= self._progress:
            return
        self._progress = done
        optional = {"total": total, "message": message}
        params = {"progressToken": token, "progress": done}
        params.update({key: value for key, value in optional.items() if value is not None})
        self._session.notify("notifications/progress", params)

    # -- what it asks ----------------------------------------------------------------------------------------------

    @property
    def can_elicit(self) -> bool:
        """Whether the client shows forms."""
        return self._offers({"elicitation": {"form": {}}})

    @property
    def can_elicit_url(self) -> bool:
        """Whether the client sends its user to a page."""
        return self._offers({"elicitation": {"url": {}}})

    @property
    def can_sample(self) -> bool:
        """Whether the client lends its model."""
        return self._offers({"sampling": {}})

    @property
    def can_list_roots(self) -> bool:
        """Whether the client names folders."""
        return self._offers({"roots": {}})

    @overload
    def elicit(self, message: str, model: type[T], *, key: str | None = None) -> T: ...
    @overload
    def elicit(self, message: str, *, url: str, key: str | None = None) -> bool: ...
    def elicit(
        self, message: str, model: type[Any] | None = None, *, url: str | None = None, key: str | None = None
    ) -> Any:
        """Ask the user: a form of `model`'s fields, answered by an instance of it, or a page at `url`, answered True.

        The tool runs again from its beginning when the answer is there, so ask before acting. The key is made of the
        question unless given; give one when the message changes between runs (a clock, a random number).
        Raises: Declined (a ToolError) when the user says no.
        """
        from tenantry.ask import Elicit, Visit

        if (model is None) == (url is None):
            raise PluginError("elicit() takes a model or a url.", 'Write ctx.elicit("Sure?", Confirm).')
        question: Question = Visit(message, url) if url is not None else Elicit(message, model or object)
        return self._ask_one(question, key)

    def sample(
        self,
        messages: str | Content | Sequence[str | Content | tuple[Role, str | Content]],
        *,
        max_tokens: int = 1000,
        system: str | None = None,
        temperature: float | None = None,
        stop: Sequence[str] = (),
        preferences: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Sampled:
        """Ask the client's own model. Runs again like `elicit`."""
        from tenantry.ask import Sample

        answer: Sampled = self._ask_one(Sample(messages, max_tokens, system, temperature, stop, preferences), key)
        return answer

    def roots(self, *, key: str | None = None) -> list[Root]:
        """The folders that the client offers. Runs again like `elicit`."""
        from tenantry.ask import Roots

        answer: list[Root] = self._ask_one(Roots(), key)
        return answer

    def ask(self, **questions: Question) -> dict[str, Any]:
        """Several questions at once, by key: `ctx.ask(name=Elicit("Who?", Name), folders=Roots())`."""
        from tenantry.ask import InputRequired, MissingCapability

        answers = self._call.get("answers") or {}
        missing = {key: question for key, question in questions.items() if not isinstance(answers.get(key), Mapping)}
        for question in missing.values():
            if not self._offers(question.needs):
                self.pending = MissingCapability(question.needs)
                raise self.pending
        if missing:
            self.pending = InputRequired(
                {key: {"method": q.method, "params": q.params(self.revision)} for key, q in missing.items()}
            )
            raise self.pending
        return {key: question.read(answers[key]) for key, question in questions.items()}

    def _ask_one(self, question: Question, key: str | None) -> Any:
        from tenantry.ask import key_of

        key = key or key_of(question, self.revision)
        return self.ask(**{key: question})[key]

    def _offers(self, needs: Mapping[str, Any]) -> bool:
        from tenantry.ask import offers

        return offers((self._call.get("client") or {}).get("capabilities") or {}, needs)

    # -- what the platform is told ---------------------------------------------------------------------------------

    def outcome(self) -> dict[str, Any]:
        """What a successful call leaves behind: the patches of both documents and the files made."""
        parts = {
            "state": self._state.patch() if self._user is not None else {},
            "shared": self.shared.patch(),
            "files": self._files.made if self._files is not None else [],
        }
        return {key: value for key, value in parts.items() if value}
