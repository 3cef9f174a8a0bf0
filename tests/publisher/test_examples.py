from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_publisher.examples import run_examples, with_examples
from tenantry_publisher.publish import examine, publish
from tenantry_registry.errors import PlatformError
from tenantry_registry.runners import Call, Release, SandboxError

OUT = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOML = 'name = "zoo"\nentrypoint = "server:plugin"\n[env]\nA = "1"\n' + "".join(
    f'[[examples]]\nprompt = "x"\ntool = "{tool}"\n' for tool in ("animals", "deletes")
)
EXAMPLE = '[[examples]]\nprompt = "x"\ntool = "animals"\n'


@pytest.mark.row("S01", "T01", "O02")
@pytest.mark.parametrize(
    ("reply", "schema", "code", "says"),
    [
        ({"result": {"structuredContent": {"n": 1}}}, OUT, "", ""),
        ({"result": {"content": []}}, None, "", ""),
        ({"result": {"structuredContent": {"n": "1"}}}, OUT, "result.mismatch", "is not of type"),
        ({"result": {"content": []}}, OUT, "result.mismatch", "returns no structured content"),
        ({"result": {"structuredContent": {}}}, None, "result.mismatch", "without an output schema"),
        ({"result": {"structuredContent": {"n": 1, "x": "y" * 20_000}}}, OUT, "result.large", "19 KB"),
        (
            {"result": {"isError": True, "content": [{"type": "text", "text": "no"}]}},
            OUT,
            "example.failed",
            "error: no",
        ),
        ({"result": {"isError": True, "content": [{"type": "image"}]}}, OUT, "example.failed", "no text"),
        ({"error": {"message": "boom"}}, OUT, "example.failed", "boom"),
        (
            {"error": {"message": "no", "traceback": "f (a.py:5) returned 'x'."}},
            OUT,
            "example.failed",
            "error: f (a.py:5)",
        ),
        ({"protocol_error": {"code": -32602}}, OUT, "example.failed", "-32602"),
        ({"input_required": {}}, OUT, "example.failed", "asks the user"),
        ({}, OUT, "example.failed", "no result"),
    ],
)
async def test_an_examples_result_must_keep_what_the_schema_promises(
    workshop: Any, make: SimpleNamespace, reply: dict[str, Any], schema: Any, code: str, says: str
) -> None:
    tools = (
        make.tool(**({"outputSchema": schema} if schema else {})),
        make.tool("deletes", annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}),
    )
    runner = make.runner(make.description(*tools))
    runner.calls = {"animals": reply}  # the other tool is not to be called
    published = await workshop.publish(make.description(*tools), {"plugin.toml": TOML})
    found = await run_examples(runner=runner, manifest=published.manifest, secrets={}, env={})
    assert [finding.code for finding in found] == ([code] if code else [])
    assert says in "".join(finding.message for finding in found)
    assert with_examples(published.report, found).findings == found


async def test_checking_calls_the_examples_unless_the_plugin_is_broken_already(
    workshop: Any, make: SimpleNamespace
) -> None:
    reply = {"result": {"structuredContent": {"n": "1"}}}
    for name, codes in (("animals", ["result.mismatch"]), ("a.b", ["example.tool", "tool.name"])):
        tool = make.tool(name, outputSchema=OUT)
        toml = 'name = "zoo"\nentrypoint = "server:plugin"\n[[examples]]\nprompt = "x"\ntool = "animals"\n'
        runner = make.runner(make.description(tool))
        runner.calls = {"animals": reply}
        examined = await examine(
            objects=workshop.objects,
            runner=runner,
            name=make.name,
            bundle=workshop.bundle({"plugin.toml": toml}),
            examples=True,
        )
        assert sorted(finding.code for finding in examined.report.findings) == codes


@pytest.mark.parametrize(
    ("uses", "reply", "codes"),
    [
        (True, {"result": {"structuredContent": {"n": 1}}}, []),
        (True, {"overflow": {"id": "file_0", "size": 7_000_000}}, ["result.large"]),
        (False, {"result": {"structuredContent": {"n": 1}}}, []),
    ],
)
async def test_an_example_may_make_as_many_files_as_a_call(
    workshop: Any, make: SimpleNamespace, uses: bool, reply: dict[str, Any], codes: list[str]
) -> None:
    tool = make.tool(outputSchema=OUT)
    published = await workshop.publish(make.description(tool), {"plugin.toml": TOML.partition("[[")[0] + EXAMPLE})
    seen: list[Call] = []

    class Runner:
        async def call(self, release: Release, call: Call) -> dict[str, Any]:
            seen.append(call)
            return reply

    manifest = replace(published.manifest, uses_files=uses)
    found = await run_examples(runner=Runner(), manifest=manifest, secrets={}, env={})  # type: ignore[arg-type]
    assert [finding.code for finding in found] == codes
    [call] = seen
    assert len({slot["key"] for slot in call.uploads}) == (8 if uses else 0)
    assert all(slot["key"].startswith("pending/acme/zoo/uploads/file_") for slot in call.uploads)


ONE = TOML.partition("[[")[0] + EXAMPLE
FROZEN = (
    'Traceback (most recent call last):\n  File "/x/server.py", line 3, in <module>\n    os.environ["ZOO_KEY"]\n'
    "    ~~~~~~~~~~^^^^\n  File \"{os}\", line 679, in __getitem__\n{line}KeyError: 'ZOO_KEY'\n"
)
TRACES = (
    FROZEN.format(os="<frozen os>", line=""),
    FROZEN.format(os="/usr/lib/python3.11/os.py", line="    raise KeyError(key) from None\n"),
)
SECRETIVE = 'name = "zoo"\nentrypoint = "server:plugin"\n[secrets]\nrequired = ["KEY", "TOKEN"]\n' + EXAMPLE
SIGNED = (
    'name = "zoo"\nentrypoint = "server:plugin"\n[auth]\nissuer = "https://id.example.com"\nscopes = ["read", "feed"]\n'
    + EXAMPLE * 2
)


class Answering:
    """A runner that answers each call with the next of `replies`, or raises it."""

    def __init__(self, *replies: dict[str, Any] | PlatformError) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Release, Call]] = []

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        self.asked.append((release, call))
        reply = self.replies.pop(0)
        if isinstance(reply, PlatformError):
            raise reply
        return reply


async def ran(workshop: Any, make: SimpleNamespace, toml: str, runner: Answering, **more: Any) -> Any:
    schemes = [{"type": "oauth2", "scopes": ["feed"]}, {"type": "noauth"}]
    tool = make.tool(**({"securitySchemes": schemes} if toml == SIGNED else {}))
    published = await workshop.publish(make.description(tool), {"plugin.toml": toml})
    given = {"secrets": {}, "env": {}, **more}
    return await run_examples(runner=runner, manifest=published.manifest, **given)  # type: ignore[arg-type]


async def test_an_example_has_placeholders_for_secrets_and_is_told_that_they_may_be_why_it_fails(
    workshop: Any, make: SimpleNamespace
) -> None:
    failed = {"error": {"code": "tool.failed", "message": "no"}}
    runner = Answering(failed)
    (finding,) = await ran(workshop, make, SECRETIVE, runner, secrets={"KEY": "k"})
    assert runner.asked[0][0].secrets == {"KEY": "k", "TOKEN": "placeholder-for-TOKEN"}
    assert (finding.code, finding.severity) == ("example.failed", "warn")
    assert finding.cure == "It may be because of a placeholder: .env has no value for TOKEN."
    (finding,) = await ran(workshop, make, SECRETIVE, Answering(failed), secrets={"KEY": "k", "TOKEN": "t"})
    assert finding.cure == "See what the tool says."


@pytest.mark.parametrize("trace", TRACES)
async def test_a_variable_that_nobody_sets_is_named_with_the_places_where_it_could_be(
    workshop: Any, make: SimpleNamespace, trace: str
) -> None:
    error = {
        "code": "plugin.import",
        "message": "Loading server:plugin failed: KeyError: 'ZOO_KEY'",
        "traceback": trace,
    }
    (finding,) = await ran(workshop, make, ONE, Answering({"error": {**error, "code": "tool.failed"}}))
    runner = make.runner({})
    runner.reply = {"error": error}
    with pytest.raises(PlatformError) as refused:
        await publish(objects=workshop.objects, runner=runner, name=make.name, bundle=workshop.bundle({}))
    for cure in (finding.cure, refused.value.hint):
        assert cure.startswith("ZOO_KEY is not set.")
        assert all(place in cure for place in ("[env]", "[secrets]", ".env"))


async def test_code_that_does_not_load_for_an_example_is_an_error(workshop: Any, make: SimpleNamespace) -> None:
    error = {"code": "plugin.import", "message": "The plugin could not be loaded.", "traceback": "T"}
    (finding,) = await ran(workshop, make, ONE, Answering({"error": error}))
    assert (finding.code, finding.severity, finding.subject) == ("example.unloaded", "error", "animals")
    assert finding.message == "'x' got no answer: The plugin could not be loaded.\nT"


async def test_an_example_that_is_too_slow_is_an_error_among_the_others(workshop: Any, make: SimpleNamespace) -> None:
    late = SandboxError("sandbox.timeout", "It did not answer within 1 seconds.", "Do less in one call.")
    runner = Answering(late, {"error": {"code": "tool.failed", "message": "no"}})
    first, second = await ran(workshop, make, ONE + EXAMPLE.replace('"x"', '"y"'), runner)
    assert (first.code, first.severity, first.subject) == ("example.unanswered", "error", "animals")
    assert first.message == "'x' got no answer: It did not answer within 1 seconds."
    assert first.cure == "Do less in one call."
    assert second.message == "'y' ended in an error: no"


async def test_where_no_code_can_be_run_no_example_is_to_blame(workshop: Any, make: SimpleNamespace) -> None:
    with pytest.raises(SandboxError, match="could not start"):
        await ran(workshop, make, ONE, Answering(SandboxError("sandbox.refused", "The sandbox could not start.")))


@pytest.mark.parametrize(
    ("toml", "person", "user"),
    [
        (SIGNED, {"sub": "ada"}, {"sub": "ada", "iss": "https://id.example.com", "scope": "read feed"}),
        (SIGNED, None, None),
        (ONE, {"sub": "ada"}, None),
    ],
)
async def test_a_person_who_may_do_everything_asks_the_examples_of_a_plugin_with_sign_in(
    workshop: Any, make: SimpleNamespace, toml: str, person: Any, user: Any
) -> None:
    runner = Answering(*[{"result": {"content": []}}] * 2)
    assert await ran(workshop, make, toml, runner, person=person) == ()
    assert runner.asked[0][1].user == user
