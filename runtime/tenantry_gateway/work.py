"""One run of tenant code: everything between a checked request and a finished result.

Both eras and all four methods that reach tenant code come through `run`. It carries the documents in and their
patches back, runs again when the data changed underneath, and translates every way a run can end: a result, a
question to the client, a JSON-RPC error, or a failure, which for a tool is an isError result that the model can read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tenantry_registry import files
from tenantry_registry.errors import PlatformError
from tenantry_registry.registry import bundle_key
from tenantry_registry.runners import Call, Release, SandboxError

from tenantry_gateway import distrust, documents
from tenantry_gateway.clients import Client
from tenantry_gateway.documents import ATTEMPTS, Document, Stale, contended
from tenantry_gateway.edition import Edition
from tenantry_gateway.log import blank
from tenantry_gateway.route import Site
from tenantry_gateway.turn import Desk, User
from tenantry_gateway.wire import INTERNAL_ERROR, Refusal

QUESTIONS: Final = ("elicitation/create", "sampling/createMessage", "roots/list")
BUSY: Final = frozenset({"limit.rate", "tenant.busy"})  # a tool says so in its result, everything else by 429
MESSAGE_CHARACTERS: Final = 4_000  # of an error's text


class Work(NamedTuple):
    """One thing to run. `params` are the client's, `answers` what the client answered so far, by key."""

    site: Site
    edition: Edition
    method: str
    params: Mapping[str, Any]
    revision: str
    client: Client
    user: User | None = None
    answers: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}  # Mcp-Param-*, which a guest checks itself


class Done(NamedTuple):
    """How it ended: with `result`, or with `questions` to the client ({key: {"method", "params"}})."""

    result: dict[str, Any] | None = None
    questions: Mapping[str, Mapping[str, Any]] = {}
    notifications: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Any] = {}
    links: Mapping[str, str] = {}  # what stands in the result -> the signed link it becomes


async def run(desk: Desk, work: Work) -> Done:
    """Run it. Raises: Refusal, for a JSON-RPC error."""
    try:
        with desk.flights.flight(work.site.name.tenant):
            return await _attempts(desk, work)
    except PlatformError as error:
        if error.code in BUSY and work.method != "tools/call":
            raise Refusal(
                INTERNAL_ERROR, error.message, {"code": error.code, "hint": error.hint}, status=429
            ) from error
        facts = {"code": error.code}
        if isinstance(error, SandboxError):
            facts |= {"stdout": error.stdout, "stderr": error.stderr}
        return failed(work, {"code": error.code, "message": error.message, "hint": error.hint}, facts)


async def _attempts(desk: Desk, work: Work) -> Done:
    release, (shared, state) = await _admitted(desk, work)
    for attempt in range(ATTEMPTS):
        if attempt:
            shared, state = await _documents(desk, work)
        count = 1 + (files.SLOTS if work.edition.manifest.uses_files else 0)  # one for a reply that is too large
        slots = files.slots(work.site.name, work.user, count)
        call = Call(
            method=work.method,
            params=work.params,
            revision=work.revision,
            client={
                "info": work.client.info,
                "capabilities": work.client.capabilities,
                "locale": work.client.locale,
            },
            user=work.user,
            answers=work.answers,
            state=state.values if state else None,
            shared=shared.values,
            widgets=work.edition.widget_uris,
            uploads=slots,
            headers=work.headers,
        )
        reply = distrust.held(await _ask(desk, release, call))
        if "overflow" in reply:
            whole = distrust.held(await desk.attachments.overflow(slots, reply.pop("overflow")))
            reply = {**reply, **whole}
        try:
            await documents.save(desk.objects, shared, reply.get("shared", {}))
            if state is not None:
                await documents.save(desk.objects, state, reply.get("state", {}))
        except Stale:
            continue
        links = await desk.attachments.keep(work.site, slots, reply["files"])
        return _read(work, reply, release.secrets)._replace(links=links)
    raise contended()


async def _admitted(desk: Desk, work: Work) -> tuple[Release, tuple[Document, Document | None]]:
    """What the call needs, read while its tenant's limits are asked whether it may run.

    Raises: PlatformError `limit.rate`, `tenant.busy`, before anything else; as the reading."""
    if desk.seat is None:
        return await _release(desk, work), await _documents(desk, work)
    needs = asyncio.gather(_release(desk, work), _documents(desk, work))
    try:
        await desk.seat.admit(_who(work), work.edition.manifest.limits)
    except BaseException:
        needs.cancel()
        await asyncio.gather(needs, return_exceptions=True)  # how that ended is nobody's business any more
        raise
    release, documents_read = await needs
    return release, documents_read


async def _ask(desk: Desk, release: Release, call: Call) -> dict[str, Any]:
    """The runner's reply; the last words of what gave none are without secrets. Raises: as Runner says."""
    took = 0.0
    try:
        reply = await desk.runner.call(release, call)
        took = reply.pop("ran_ms", took)
        return reply
    except SandboxError as error:
        took = error.ran_ms
        error.stdout, error.stderr = blank(error.stdout, release.secrets), blank(error.stderr, release.secrets)
        raise
    finally:
        if desk.seat is not None:
            desk.seat.ran(took)


def _who(work: Work) -> str:
    """Whose calls are counted together: the verified user's, else those of the host's anonymous id (row M04)."""
    if work.user is not None:
        return f"user {work.user['sub']}"
    meta = work.params.get("_meta")
    subject = meta.get("openai/subject") if isinstance(meta, dict) else None
    return f"subject {subject}" if isinstance(subject, str) and subject else ""


async def _release(desk: Desk, work: Work) -> Release:
    manifest = work.edition.manifest
    return Release(
        name=work.site.name,
        digest=manifest.digest,
        entrypoint=manifest.entrypoint,
        bundle=bundle_key(work.site.name, manifest.digest),
        egress=manifest.egress,
        env=manifest.env,
        secrets=await desk.secrets(work.site.name, manifest.secrets, preview=bool(work.site.preview)),
        timeout=manifest.timeout,
    )


async def _documents(desk: Desk, work: Work) -> tuple[Document, Document | None]:
    plain = work.method == "tools/call" and work.params.get("name") in work.edition.manifest.plain
    if plain or work.edition.guest:
        return Document("", None, {}), None  # no read of storage for what can't see them
    folder = documents.folder_of(work.site, work.edition.manifest.digest)
    shared = documents.load(desk.objects, documents.shared_key(folder))
    if work.user is None:
        return await shared, None
    both = await asyncio.gather(shared, documents.load(desk.objects, documents.state_key(folder, work.user)))
    return both[0], both[1]


def _read(work: Work, reply: Mapping[str, Any], secrets: Mapping[str, str]) -> Done:
    """A reply as distrust.py leaves it. Raises: Refusal."""
    facts: dict[str, Any] = {"tool_ms": 0.0} | {key: reply[key] for key in ("cold", "tool_ms") if key in reply}
    facts |= {key: blank(reply[key], secrets) for key in distrust.TEXTS if key in reply}
    notifications = reply["notifications"]
    if "protocol_error" in reply:
        error = reply["protocol_error"]
        raise Refusal(error["code"], error["message"], error["data"])
    if "input_required" in reply:
        questions = {key: one for key, one in reply["input_required"].items() if one["method"] in QUESTIONS}
        if questions:
            return Done(None, questions, notifications, facts)
    if "error" in reply:
        error = reply["error"]
        told = {key: error[key] for key in ("code", "error_id", "traceback") if isinstance(error.get(key), str)}
        facts |= {key: blank(value, secrets) for key, value in told.items()}
        return failed(work, error, facts)._replace(notifications=notifications)
    if "result" not in reply:
        raise distrust.bad()
    return Done(dict(reply["result"]), notifications=notifications, facts=facts)


def missing(client: Client, questions: Mapping[str, Mapping[str, Any]], *, batch: bool = False) -> dict[str, Any]:
    """What the client would have to declare to be asked, as a ClientCapabilities object; empty when nothing lacks.

    `batch`: within an array of messages nobody can be asked back."""
    methods = [str(question["method"]) for question in questions.values()]
    return {method.partition("/")[0]: {} for method in methods if batch or not client.may(method)}


def failed(work: Work, error: Mapping[str, Any], facts: Mapping[str, Any]) -> Done:
    """A failure: for a tool an isError result, for everything else a JSON-RPC error. Raises: Refusal."""
    text = " ".join(str(error[key]) for key in ("message", "hint") if error.get(key))[:MESSAGE_CHARACTERS]
    if error.get("error_id") and str(error["error_id"]) not in text:
        text += f" (error {error['error_id']})"
    if work.method != "tools/call":
        data = {key: error[key] for key in ("code", "error_id") if error.get(key)}
        raise Refusal(INTERNAL_ERROR, text, data or None)
    result = {"content": [{"type": "text", "text": text}], "isError": True}
    if isinstance(error.get("_meta"), dict):
        result["_meta"] = error["_meta"]
    return Done(result, facts=facts)
