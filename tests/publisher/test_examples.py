from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_publisher.examples import run_examples, with_examples
from tenantry_publisher.publish import examine
from tenantry_registry.runners import Call, Release

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
