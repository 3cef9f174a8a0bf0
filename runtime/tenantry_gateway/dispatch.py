"""From a POST to its answer: read the wire, find the release, answer every message, write the wire."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name

from tenantry_gateway import clients, pending, wire
from tenantry_gateway.calls import pass_on
from tenantry_gateway.edition import Edition
from tenantry_gateway.methods import METERED, METHODS
from tenantry_gateway.request import JSON_TYPE, SSE_TYPE, Request, Response
from tenantry_gateway.revisions import HANDSHAKE, STATELESS
from tenantry_gateway.route import Site
from tenantry_gateway.signin import FORBIDDEN
from tenantry_gateway.turn import Answer, Desk, Reply, Turn, User
from tenantry_gateway.wire import INTERNAL_ERROR, METHOD_NOT_FOUND, Message, Refusal

SESSION: Final = "mcp-session-id"
LISTEN: Final = "subscriptions/listen"  # would hold a worker until its time is up, for a stream that nobody can hear
STATUS: Final[Mapping[str, int]] = {  # of a PlatformError that ends a whole request
    "plugin.unknown": 404,
    "preview.unknown": 404,
    "plugin.suspended": 403,
    "objects.conflict": 503,
    "objects.unavailable": 503,
}


async def post(desk: Desk, request: Request, site: Site) -> Response:
    """Answer a POST to an MCP address. Never raises for what a client sent."""
    sealed = request.headers.get(SESSION)
    note = (desk.seal.open("session", str(site.name), sealed) if sealed else None) or {}
    era = STATELESS if request.headers.get("mcp-protocol-version") == "2026-07-28" else HANDSHAKE
    try:
        incoming = wire.read(request, note.get("revision"))
    except Refusal as refusal:
        return wire.refuse(refusal, era)
    try:
        edition = await desk.shelf.edition(site)
    except PlatformError as error:
        return whole_error(desk, error, incoming)
    user = await desk.authenticate(request, site, edition)
    if incoming.batch:
        return await _batch(desk, request, site, edition, user, note, incoming.messages)
    message = incoming.messages[0]
    assert isinstance(message, Message)
    if message.id is None or not message.method:
        if not message.method:
            await pending.receive(desk, site, user, message)
        return Response(202)
    turn = Turn(message, request, site, edition, clients.recognise(request, message, note), user)
    try:
        reply = await answer(desk, turn)
    except Refusal as refusal:
        status = wire.status_of(refusal, message.era)
        return Response(status, wire.failure(refusal, message.id), JSON_TYPE)
    return _single(request, message, reply)


async def get(desk: Desk, request: Request, site: Site) -> Response | None:
    """A GET with Last-Event-ID: go on with a pending call, which is logged and counted like any. None when there is
    none."""
    edition = await desk.shelf.edition(site)
    user = await desk.authenticate(request, site, edition)
    turn = Turn(Message("", {}), request, site, edition, clients.Client(), user)
    began = time.perf_counter()
    async with seated(desk, site.name) as desk:
        resumed = await pending.resume(desk, turn, request.headers["last-event-id"])
        if resumed is None:
            return None
        reply, turn = resumed
        if turn.message.method:
            _log(desk, turn, reply.facts, time.perf_counter() - began)
            _count(desk, turn, reply)
    return _events(reply, None)


async def answer(desk: Desk, turn: Turn) -> Reply:
    """Answer one request, and log it. Raises: Refusal."""
    began = time.perf_counter()
    facts: Mapping[str, Any] = {}
    try:
        handler = METHODS.get((turn.message.era, turn.message.method))
        if handler is None and turn.edition.guest and turn.message.method != LISTEN:
            handler = pass_on  # an extension of its own, perhaps
        if handler is None:
            raise Refusal(METHOD_NOT_FOUND, f"There is no method {turn.message.method[:80]!r} at this revision.")
        async with seated(desk, turn.site.name) as desk:
            reply = None
            try:
                reply = await handler(desk, turn)
                facts = reply.facts
            finally:
                _count(desk, turn, reply)
        return reply
    except PlatformError as error:
        facts = {"code": error.code}
        raise Refusal(INTERNAL_ERROR, error.message, {"code": error.code, "hint": error.hint}) from error
    except Refusal as refusal:
        facts = {"code": str(refusal.code)}
        raise
    except Answer as answer:
        status = answer.response.status
        facts = {"status": status, "outcome": "scope" if status == FORBIDDEN else "sign-in"}
        raise
    finally:
        _log(desk, turn, facts, time.perf_counter() - began)


@asynccontextmanager
async def seated(desk: Desk, name: Name) -> AsyncIterator[Desk]:
    """A desk with a seat for one message, which is left at the end, whatever that is."""
    if desk.meter is None:
        yield desk
        return
    seat = desk.meter.seat(name)
    try:
        yield desk._replace(seat=seat)
    finally:
        await seat.leave()


def _count(desk: Desk, turn: Turn, reply: Reply | None) -> None:
    """What ran tenant code adds to its tenant's usage, under the name that its release has for it; also where it came
    to no `reply`.

    A hosted server may be asked for any name; those nobody listed count together, so that no client makes rows."""
    message = turn.message
    if desk.seat is None or message.method not in METERED:
        return
    name = message.params.get("name")
    listed = isinstance(name, str) and (name in turn.edition.tools or name in turn.edition.prompts)
    failed = reply is None or "code" in reply.facts
    size = 0 if reply is None else len(reply.result or b"".join(reply.before[-1:]))
    desk.seat.used(str(name) if listed else "", failed=failed, size=size)


async def _batch(
    desk: Desk,
    request: Request,
    site: Site,
    edition: Edition,
    user: User | None,
    note: Mapping[str, Any],
    messages: Sequence[Message | Refusal],
) -> Response:
    """An array of 2025-03-26: each answered in turn, all in one body."""
    before: list[bytes] = []
    answers: list[bytes] = []
    for message in messages:
        if isinstance(message, Refusal):
            answers.append(wire.failure(message, message.id))
        elif not message.method:
            await pending.receive(desk, site, user, message)
        elif message.id is not None:
            client = clients.recognise(request, message, note)
            try:
                reply = await answer(desk, Turn(message, request, site, edition, client, user, batch=True))
                before.extend(reply.before)
                answers.append(wire.success(message.id, reply.result or b"{}"))
            except Refusal as refusal:
                answers.append(wire.failure(refusal, message.id))
    if not answers:
        return Response(202)
    return _body(request, before, b"[" + b",".join(answers) + b"]")


def _single(request: Request, message: Message, reply: Reply) -> Response:
    if reply.result is None:
        return _events(reply, None)
    response = _body(request, reply.before, wire.success(message.id, reply.result))
    if reply.session:
        response.headers.append((SESSION, reply.session))
    return response


def _body(request: Request, before: Sequence[bytes], last: bytes) -> Response:
    """Plain JSON, or one complete event stream where notifications go first and the client takes one."""
    json_too, events_too = wire.accepts(request)
    if events_too and (before or not json_too):
        return _events(Reply(None, before), last)
    return Response(200, last, JSON_TYPE)


def _events(reply: Reply, last: bytes | None) -> Response:
    """A whole event stream. A pending call's has an event id and a retry, and ends without a result."""
    parts = []
    if reply.waiting:
        parts.append(wire.event(b"", id=reply.waiting, retry=reply.retry))
    parts += [wire.event(data) for data in (*reply.before, *((last,) if last is not None else ()))]
    return Response(200, b"".join(parts), SSE_TYPE, [("cache-control", "no-cache, no-transform")])


def whole_error(desk: Desk, error: PlatformError, incoming: wire.Incoming | None = None) -> Response:
    """A request that has no release to answer it."""
    status = STATUS.get(error.code, 500)
    desk.log("fault", status=status, code=error.code)
    first = incoming.messages[0] if incoming and incoming.messages else None
    id = first.id if first is not None else None
    refusal = Refusal(INTERNAL_ERROR, error.message, {"code": error.code, "hint": error.hint})
    return Response(status, wire.failure(refusal, id), JSON_TYPE)


def _log(desk: Desk, turn: Turn, facts: Mapping[str, Any], seconds: float) -> None:
    message, meta = turn.message, turn.message.meta
    name = message.params.get("name", message.params.get("uri", ""))
    desk.log(
        "call",
        tenant=turn.site.name.tenant,
        plugin=turn.site.name.plugin,
        release=turn.edition.digest[:12],
        method=message.method,
        tool=name if isinstance(name, str) else "",
        era=message.era,
        client=turn.client.kind or str(turn.client.info.get("name", "")),
        session=meta.get("openai/session"),
        widget_session=meta.get("openai/widgetSessionId"),
        subject=meta.get("openai/subject"),
        ms=round(seconds * 1000, 3),
        **facts,
    )
