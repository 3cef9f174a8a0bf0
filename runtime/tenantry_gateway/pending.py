"""Calls that wait for the client, in the handshake era: SSE polling (SEP-1699) over whole answers.

Lambda can't hold a stream, so the server's question leaves in one closed event stream: an event id, a `retry`, the
request. The half-done call lies in Objects under `pending/`; the client posts its response (202) and comes back with
GET and Last-Event-ID, which runs the call again with the answers, on the release where it began, and returns the
result. A result is kept too: a client that lost it may ask again. The id is a 128-bit capability; a signed-in user's
call is that user's alone, and a preview's is that preview's: elsewhere its release would get secrets not meant for it.

What the code told before it asked (progress, log messages) it tells again when it runs again; the client gets it once.
A kit tool ends when the client refuses a question; a guest gets the client's error and decides for itself.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from tenantry_registry.errors import Conflict
from tenantry_registry.names import Name
from tenantry_registry.objects import ANY, Stored, move

from tenantry_gateway import notices
from tenantry_gateway.clients import Client
from tenantry_gateway.results import finish, outcome
from tenantry_gateway.revisions import HANDSHAKE
from tenantry_gateway.route import Site
from tenantry_gateway.turn import Desk, Reply, Turn, User
from tenantry_gateway.wire import INTERNAL_ERROR, Message, Refusal, dump, failure, success
from tenantry_gateway.work import Done, Work, failed, missing, run

WAIT_SECONDS: Final = 900  # that a client has for its answer; also the lifetime of pending/ on AWS, about
RETRY: Final = (250, 3_000)  # ms until the client asks again: soon at first, rarely for somebody who thinks
CLAIM_SECONDS: Final = 40.0  # a run that took longer died with its environment; another GET may take it over
ANSWER_BYTES: Final = 4_194_304  # of all answers of a call: it travels to the code in one piece (Lambda: 6 MB)


async def open_call(desk: Desk, turn: Turn, work: Work, done: Done, before: list[bytes]) -> Reply:
    """Put a call aside and ask the client. The questions go as requests whose ids lead back here."""
    record = {
        "created": time.time(),
        "id": turn.message.id,
        "guest": work.edition.guest,
        "method": work.method,
        "params": dict(work.params),
        "revision": work.revision,
        "release": work.edition.digest,
        "client": {
            "kind": work.client.kind,
            "info": dict(work.client.info),
            "capabilities": dict(work.client.capabilities),
            "locale": work.client.locale,
        },
        "user": (work.user or {}).get("sub"),
        "preview": turn.site.preview,
        "answers": dict(work.answers),
        "round": 0,
        "asked": {},
        "told": [_short(message) for message in before],
        "claimed": 0.0,
        "result": None,
    }
    pid = secrets.token_hex(16)
    asked = _ask(pid, record, done)
    await desk.objects.swap(_key(turn.site.name, pid), dump(record), expected=None)
    return Reply(None, [*before, *asked], waiting=_event(pid, 1), retry=RETRY[0], facts=done.facts)


def _ask(pid: str, record: dict[str, Any], done: Done) -> list[bytes]:
    """The questions of a run as requests of ours, remembered in the record."""
    record["round"] += 1
    record["asked"] = {f"{pid}.{record['round']}.{n}": key for n, key in enumerate(done.questions)}
    return [
        dump({"jsonrpc": "2.0", "id": id, "method": question["method"], "params": question.get("params") or {}})
        for id, question in zip(record["asked"], done.questions.values(), strict=True)
    ]


async def receive(desk: Desk, site: Site, user: User | None, message: Message) -> None:
    """Keep the client's response to a question. What belongs to no pending call is dropped, as responses are.

    Raises: Conflict, when too many others write to it; StorageDown."""
    pid, _, _ = str(message.id).partition(".")

    def read(stored: Stored | None) -> dict[str, Any]:
        record = _record(stored, site, user)
        if record is None or str(message.id) not in record["asked"]:
            raise _Dropped
        return record

    def decide(record: dict[str, Any]) -> dict[str, Any]:
        changed = {**record, "answers": dict(record["answers"])}
        _keep(changed, record["asked"][str(message.id)], message.params)
        return changed

    if _is_id(pid):
        with suppress(_Dropped):
            await move(desk.objects, _key(site.name, pid), read=read, decide=decide, write=dump, what="The call")


class _Dropped(Exception):
    """A response to nothing that was asked."""


def _keep(record: dict[str, Any], key: str, response: Mapping[str, Any]) -> None:
    """An answer in the record, as who asked takes it: a guest gets the client's whole response."""
    result, error = response.get("result"), response.get("error")
    text = str(error.get("message") or "")[:500] if isinstance(error, dict) else ""
    if isinstance(result, dict):
        record["answers"][key] = {"result": result} if record["guest"] else result
    elif record["guest"] and isinstance(error, dict):
        code = error.get("code")
        told = {**error, "code": code if type(code) is int else INTERNAL_ERROR, "message": text}
        record["answers"][key] = {"error": told}
    else:
        record["refused"] = text or "The client refused."
    if len(dump(record["answers"])) > ANSWER_BYTES:
        del record["answers"][key]
        record["refused"] = f"Its answers are larger than {ANSWER_BYTES:,} bytes."


async def resume(desk: Desk, turn: Turn, last_event_id: str) -> tuple[Reply, Turn] | None:
    """Go on with a pending call, for a GET with Last-Event-ID; None when there is no such call. The turn is the call's
    own where code ran, `turn` where nothing did.

    Raises: PlatformError."""
    pid, _, _ = last_event_id.partition(".")
    name = turn.site.name
    found = await _load(desk, turn.site, pid, turn.user)
    if found is None:
        return None
    record, version = found
    if record["result"] is not None:
        return Reply(None, [record["result"].encode()]), turn
    now = time.time()
    unanswered = [key for key in record["asked"].values() if key not in record["answers"]]
    if (unanswered and "refused" not in record) or now - record["claimed"] < CLAIM_SECONDS:
        age = int((now - record["created"]) * 250)
        return Reply(None, (), waiting=_event(pid, record["round"]), retry=min(max(age, RETRY[0]), RETRY[1])), turn
    record["claimed"] = now
    try:
        version = await desk.objects.swap(_key(name, pid), dump(record), expected=version)
    except Conflict:
        return Reply(None, (), waiting=_event(pid, record["round"]), retry=RETRY[0]), turn
    return await _again(desk, turn, pid, record, version)


async def _again(desk: Desk, turn: Turn, pid: str, record: dict[str, Any], version: str) -> tuple[Reply, Turn]:
    name = turn.site.name
    edition = await desk.shelf.resumed(name, record["release"])
    kept = record["client"]
    client = Client(kept["kind"], kept["info"], kept["capabilities"], kept["locale"])
    message = Message(record["method"], record["params"], record["id"], HANDSHAKE, record["revision"])
    turn = turn._replace(message=message, edition=edition, client=client)
    work = Work(
        turn.site, edition, record["method"], record["params"], record["revision"], client, turn.user, record["answers"]
    )
    before: list[bytes] = []
    facts: Mapping[str, Any] = {}
    try:
        if "refused" in record:
            done = failed(work, {"message": f"The client did not answer: {record['refused']}"}, {})
        else:
            done = await run(desk, work)
        facts = done.facts
        before = _news(record, notices.wanted(message, notices.DEFAULT_LEVEL, done.notifications))
        lacking = missing(client, done.questions)
        if lacking:
            done = failed(work, {"message": f"This client can't be asked ({', '.join(lacking)})."}, done.facts)
        if done.result is None:
            before += _ask(pid, record, done)
            record["claimed"] = 0.0
            await desk.objects.swap(_key(name, pid), dump(record), expected=version)
            return Reply(None, before, waiting=_event(pid, record["round"]), retry=RETRY[0], facts=facts), turn
        result = await finish(desk, work, done, HANDSHAKE)
        facts = {**facts, **outcome(result)}
        last = success(record["id"], turn.face.fill(dump(turn.face.complete(HANDSHAKE, result))))
    except Refusal as refusal:
        last = failure(refusal, record["id"])
        facts = {"code": str(refusal.code), **facts}
    record["result"] = last.decode()
    await desk.objects.swap(_key(name, pid), dump(record), expected=ANY)
    return Reply(None, [*before, last], facts=facts), turn


def _news(record: dict[str, Any], messages: Sequence[bytes]) -> list[bytes]:
    """The messages that earlier runs did not send already."""
    told = Counter(record["told"])
    news: list[bytes] = []
    for message in messages:
        short = _short(message)
        if told[short]:
            told[short] -= 1
        else:
            news.append(message)
            record["told"].append(short)
    return news


def _short(message: bytes) -> str:
    return hashlib.sha256(message).hexdigest()[:16]


async def _load(desk: Desk, site: Site, pid: str, user: User | None) -> tuple[dict[str, Any], str] | None:
    stored = await desk.objects.get(_key(site.name, pid)) if _is_id(pid) else None
    record = _record(stored, site, user)
    return (record, stored.version) if stored is not None and record is not None else None


def _record(stored: Stored | None, site: Site, user: User | None) -> dict[str, Any] | None:
    """A call that waits, for who made it and where it was made; None when it waited too long."""
    record: dict[str, Any] | None = json.loads(stored.data) if stored is not None else None
    if record is None or time.time() - record["created"] > WAIT_SECONDS:
        return None
    own = record["user"] == (user or {}).get("sub") and record["preview"] == site.preview
    return record if own else None


def _is_id(pid: str) -> bool:
    return len(pid) == 32 and set(pid) <= set("0123456789abcdef")


def _key(name: Name, pid: str) -> str:
    return f"pending/{name.tenant}/{name.plugin}/{pid}.json"


def _event(pid: str, round: int) -> str:
    return f"{pid}.{round}"
