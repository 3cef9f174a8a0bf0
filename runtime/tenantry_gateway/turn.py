"""One message being answered: what is known about it, what answers it, and what an answer is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tenantry_registry.manifest import WidgetEntry
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.runners import Runner

from tenantry_gateway.clients import Client
from tenantry_gateway.edition import Edition, Face
from tenantry_gateway.request import Request, Response
from tenantry_gateway.route import Site
from tenantry_gateway.seal import Seal
from tenantry_gateway.shelf import Shelf
from tenantry_gateway.wire import Message

if TYPE_CHECKING:
    from tenantry_gateway.attachments import Attachments
    from tenantry_gateway.flights import Flights
    from tenantry_gateway.meter import Meter, Seat
    from tenantry_gateway.reads import Answers


class Answer(Exception):
    """Ends a request with this HTTP answer, whatever was to come."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


User = Mapping[str, Any]
Authenticate = Callable[[Request, Site, Edition], Awaitable[User | None]]
WidgetOf = Callable[[Name, str], Awaitable[WidgetEntry | None]]


class SecretsOf(Protocol):
    """Finds the values of a plugin's secrets; a preview gets those that its owner lets previews have."""

    async def __call__(self, name: Name, wanted: Sequence[str], /, *, preview: bool = False) -> Mapping[str, str]: ...


class Desk(NamedTuple):
    """What all turns share; made once, in app.py.

    `authenticate` finds the verified user of a request and is the one place where a plugin's sign-in is decided: it
    returns claims, or None for nobody, and raises `Answer` to end the request with an HTTP answer (a challenge).
    """

    objects: Objects
    runner: Runner
    shelf: Shelf
    seal: Seal
    log: Callable[..., None]
    flights: Flights
    attachments: Attachments
    answers: Answers
    widget_of: WidgetOf
    authenticate: Authenticate
    secrets: SecretsOf
    meter: Meter | None = None  # counts nothing on a machine without a control plane
    seat: Seat | None = None  # of the message that is being answered, where calls are counted


class Turn(NamedTuple):
    """One message of one client to one release."""

    message: Message
    request: Request
    site: Site
    edition: Edition
    client: Client
    user: User | None = None
    batch: bool = False

    @property
    def face(self) -> Face:
        return self.edition.face(self.site, self.client.kind)

    @property
    def bound(self) -> str:
        """What a sealed note of this plugin is bound to."""
        return str(self.site.name)


class Reply(NamedTuple):
    """An answer: `result` is the JSON of the JSON-RPC result; `before` are whole JSON-RPC messages that go first.

    `waiting` is the event id of a call that waits for the client (handshake era): there is no result yet, and
    `retry` says in how many milliseconds to ask again.
    """

    result: bytes | None
    before: Sequence[bytes] = ()
    waiting: str = ""
    retry: int | None = None
    session: str = ""
    facts: Mapping[str, Any] = {}  # for the log


Handler = Callable[[Desk, Turn], Awaitable[Reply]]
