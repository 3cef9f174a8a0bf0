"""The methods that run tenant code: tools/call, prompts/get, completion/complete; and how they ask the client back.

A bad call never costs an invocation: names, arguments and headers are checked first. When the code asks the client
something, the stateless era gets `input_required` with a sealed requestState, the handshake era a pending call
(pending.py). Both resume by running the code again, from its beginning, with the answers so far.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from tenantry_registry.errors import PlatformError

from tenantry_gateway import door, headers, notices, pending
from tenantry_gateway.edition import Edition
from tenantry_gateway.results import error_result, finish, outcome
from tenantry_gateway.revisions import HANDSHAKE, NEWEST_HANDSHAKE, STATELESS
from tenantry_gateway.turn import Desk, Reply, Turn
from tenantry_gateway.wire import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY, Refusal, dump
from tenantry_gateway.work import Done, Work, failed, missing, run

STATE_SECONDS: Final = 3_600  # that a client has for its answer
COMPLETIONS: Final = 100  # values in one answer (completion/complete)


async def call_tool(desk: Desk, turn: Turn) -> Reply:
    """tools/call."""
    params = turn.message.params
    tool = turn.edition.tools.get(_name(params, "tool"))
    arguments = params.get("arguments", {})
    guest = turn.edition.guest  # which says for itself what it does not know and does not take
    if tool is None and not guest:
        raise Refusal(INVALID_PARAMS, f"There is no tool {str(params['name'])[:80]!r}.")
    if not isinstance(arguments, dict) and not guest:
        raise Refusal(INVALID_PARAMS, "arguments must be an object.")
    if tool is None or not isinstance(arguments, dict):
        return await pass_on(desk, turn)
    if turn.message.era == STATELESS:
        headers.check_parameters(turn.request, tool.repeated, arguments, turn.message.id)
    level = notices.level_of(turn.message)
    work = _work(turn, {**params, "arguments": arguments})
    denied = door.refused(turn, tool.entry)
    if denied is not None:
        return await conclude(desk, turn, work, Done(denied, facts={"code": "auth.required"}), level)
    if guest:
        return await pass_on(desk, turn)
    try:
        wrong = tool.wrong_arguments(arguments)
    except PlatformError as error:
        wrong = [error.message]
    if wrong:
        done = error_result(f"The arguments of {tool.name} are not valid. " + "; ".join(wrong), "arguments.invalid")
    else:
        work = await _resume(desk, turn, work)
        done = await run(desk, work)
    return await conclude(desk, turn, work, done, level)


async def get_prompt(desk: Desk, turn: Turn) -> Reply:
    """prompts/get."""
    params = turn.message.params
    entry = turn.edition.prompts.get(_name(params, "prompt"))
    if turn.edition.guest:
        return await pass_on(desk, turn)
    if entry is None:
        raise Refusal(INVALID_PARAMS, f"There is no prompt {str(params['name'])[:80]!r}.")
    arguments = params.get("arguments") or {}
    if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
        raise Refusal(INVALID_PARAMS, "A prompt's arguments are an object of strings.")
    for argument in entry.get("arguments") or ():
        if argument.get("required") and argument["name"] not in arguments:
            raise Refusal(INVALID_PARAMS, f"The prompt {entry['name']} needs the argument {argument['name']}.")
    return await _run(desk, turn, _work(turn, {**params, "arguments": arguments}))


async def pass_on(desk: Desk, turn: Turn) -> Reply:
    """Whatever only tenant code knows: a dynamic resource, and all that a guest (a server that was not written with
    the kit) is asked, which checks and answers in its own way."""
    return await _run(desk, turn, _work(turn, turn.message.params))


async def _run(desk: Desk, turn: Turn, work: Work) -> Reply:
    level = notices.level_of(turn.message)
    work = await _resume(desk, turn, work)
    return await conclude(desk, turn, work, await run(desk, work), level)


async def complete(desk: Desk, turn: Turn) -> Reply:
    """completion/complete."""
    if turn.edition.guest:
        return await pass_on(desk, turn)
    if "completions" not in turn.edition.capabilities(turn.message.era):
        raise Refusal(METHOD_NOT_FOUND, "This server completes nothing.")
    params = turn.message.params
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise Refusal(INVALID_PARAMS, "ref and argument must be objects.")
    if not isinstance(argument.get("name"), str) or not isinstance(argument.get("value"), str):
        raise Refusal(INVALID_PARAMS, "argument needs a name and a value, both strings.")
    _check_reference(turn.edition, reference)
    done = await run(desk, _work(turn, params))
    result = done.result or {}
    completion = result.get("completion")
    values = [str(v) for v in completion.get("values", [])] if isinstance(completion, dict) else []
    if isinstance(completion, dict) and len(values) > COMPLETIONS:
        completion = {**completion, "values": values[:COMPLETIONS], "hasMore": True}
    whole = turn.face.complete(turn.message.era, {**result, "completion": completion or {"values": []}})
    return Reply(dump(whole), facts=done.facts)


def _check_reference(edition: Edition, reference: Mapping[str, Any]) -> None:
    kind = reference.get("type")
    if kind == "ref/prompt" and reference.get("name") in edition.prompts:
        return
    templates = {entry.get("uriTemplate") for entry in edition.manifest.templates}
    if kind == "ref/resource" and (reference.get("uri") in templates or reference.get("uri") in edition.resources):
        return
    raise Refusal(INVALID_PARAMS, "ref names no prompt and no resource template of this server.")


# -- asking the client ------------------------------------------------------------------------------------------------


def _work(turn: Turn, params: Mapping[str, Any]) -> Work:
    work = Work(turn.site, turn.edition, turn.message.method, params, turn.message.revision, turn.client, turn.user)
    if not turn.edition.guest or turn.message.era == HANDSHAKE:
        return work
    if STATELESS not in turn.edition.manifest.answers:  # it speaks no other; what it says is translated on the way out
        return work._replace(revision=NEWEST_HANDSHAKE)
    return work._replace(headers=headers.parameters(turn.request))


def _digest(work: Work) -> str:
    """What a requestState is good for: this very request, whoever sends it again."""
    asked = {key: work.params.get(key) for key in ("name", "uri", "arguments")}
    return hashlib.sha256(json.dumps([work.method, asked], sort_keys=True).encode()).hexdigest()


def _bound(turn: Turn) -> str:
    """Where a requestState is good: a preview's elsewhere would run its release with secrets not meant for it."""
    return f"{turn.bound} {turn.site.preview} {(turn.user or {}).get('sub', '')}"


async def _resume(desk: Desk, turn: Turn, work: Work) -> Work:
    """The work with what the client answered, on the release where it began. Raises: Refusal."""
    params = turn.message.params
    if turn.message.era == HANDSHAKE:
        return work
    given, sealed = params.get("inputResponses", {}), params.get("requestState")
    state = desk.seal.open("requestState", _bound(turn), sealed) if isinstance(sealed, str) else None
    if state is None and turn.edition.guest and STATELESS in turn.edition.manifest.answers:
        return work  # what it asked by its own results is its own to read
    if not isinstance(given, dict) or not all(isinstance(value, dict) for value in given.values()):
        raise Refusal(INVALID_PARAMS, "inputResponses must be an object of objects.")
    bare = {key: value for key, value in work.params.items() if key not in ("inputResponses", "requestState")}
    work = work._replace(params=bare)
    if turn.edition.guest:  # it asked by a request, and gets a client's response to each
        given = {key: {"result": value} for key, value in given.items()}
    if sealed is None:
        return work._replace(answers=given)
    if state is None or state["request"] != _digest(work):
        raise Refusal(INVALID_PARAMS, "requestState is not one of this request, or has expired.")
    edition = work.edition
    if state["release"] != edition.digest:
        edition = await desk.shelf.resumed(work.site.name, state["release"])
    return work._replace(edition=edition, answers={**state["answers"], **given})


async def conclude(desk: Desk, turn: Turn, work: Work, done: Done, level: str | None) -> Reply:
    """A finished or asking run as an answer of its era."""
    before = notices.wanted(turn.message, level, done.notifications)
    if done.result is None:
        lacking = missing(work.client, done.questions, batch=turn.batch)
        if lacking:
            if turn.message.era == STATELESS:
                raise Refusal(
                    MISSING_CAPABILITY, "The client did not declare what this needs.", {"requiredCapabilities": lacking}
                )
            done = failed(work, {"message": f"This client can't be asked ({', '.join(lacking)})."}, done.facts)
        elif turn.message.era == STATELESS:
            return Reply(dump(_input_required(desk, turn, work, done)), before, facts=done.facts)
        else:
            return await pending.open_call(desk, turn, work, done, before)
    result = await finish(desk, work, done, turn.message.era)
    if turn.message.method == "resources/read":
        result = turn.face.complete(turn.message.era, result, 0)
    else:
        result = turn.face.complete(turn.message.era, result)
    return Reply(turn.face.fill(dump(result)), before, facts={**done.facts, **outcome(result)})


def _input_required(desk: Desk, turn: Turn, work: Work, done: Done) -> dict[str, Any]:
    state = {"request": _digest(work), "release": work.edition.digest, "answers": dict(work.answers)}
    result = turn.face.complete(STATELESS, {"inputRequests": dict(done.questions)})
    result["resultType"] = "input_required"
    result["requestState"] = desk.seal.close("requestState", _bound(turn), state, seconds=STATE_SECONDS)
    return result


def _name(params: Mapping[str, Any], what: str) -> str:
    name = params.get("name")
    if not isinstance(name, str):
        raise Refusal(INVALID_PARAMS, f"params.name must name a {what}.")
    return name
