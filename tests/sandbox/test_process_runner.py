"""Real worker processes: what they answer, what they survive, what ends them."""

from __future__ import annotations

from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.runners import Call

ECHO = """
def echo(call, session):
    return {"result": {"echo": call["params"]["arguments"]}}
plugin = Plugin(echo=echo)
"""


def calling(name: str, /, **arguments: object) -> Call:
    return Call("tools/call", {"name": name, "arguments": arguments})


async def test_a_release_describes_itself(runner: ProcessRunner, publish) -> None:
    reply = await runner.describe(await publish(ECHO))
    assert reply["description"]["tools"] == [{"name": "echo"}]
    assert reply["cold"] is True


async def test_a_call_is_answered_by_a_worker_that_stays_warm(runner: ProcessRunner, publish) -> None:
    release = await publish(ECHO)
    first = await runner.call(release, calling("echo", word="ä"))
    second = await runner.call(release, calling("echo", word="b"))
    assert (first["result"], first["cold"]) == ({"echo": {"word": "ä"}}, True)
    assert (second["result"], second["cold"]) == ({"echo": {"word": "b"}}, False)
