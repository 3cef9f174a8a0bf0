"""Servers that ask their client in the middle of a call: the official client sees hosted what it sees alone.

At the 2025 revisions, where a server asks by requests of its own. A client of 2026 gets the same questions from a
server that speaks only the older era.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import mcp_types as types
import pytest
from hosted import conftest as hosting
from hosted.conftest import Release
from mcp.client import Client
from mcp.shared.exceptions import MCPError

NAMES = ("asks2", "asks1", "asks4")
Urls = tuple[str, str]

pytestmark = pytest.mark.filterwarnings("ignore:The (sampling|roots) capability")


@pytest.fixture(scope="module")
def both(
    request: pytest.FixtureRequest, releases: Callable[[str], Release], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Urls]:
    """The server alone and hosted: their addresses."""
    name = request.param
    with (
        hosting.alone(name) as alone,
        hosting.hosted(name, releases(name), tmp_path_factory.mktemp(name)) as hosted,
    ):
        yield alone, hosted


class Person:
    """Answers a client's questions in turn, and remembers everything that came."""

    def __init__(self, *answers: types.ElicitResult | types.ErrorData) -> None:
        self._answers = list(answers)
        self.seen: list[Any] = []

    async def elicited(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        self.seen.append(params.model_dump(by_alias=True, exclude={"meta"}))
        return self._answers.pop(0)

    async def sampled(self, context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.seen.append(params.model_dump(by_alias=True, exclude={"meta"}))
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="Moin!"), model="small"
        )

    async def roots(self, context: Any) -> types.ListRootsResult:
        self.seen.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri="file:///inn", name="inn")])

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.seen.append((done, total, message))

    async def calls(self, url: str, tool: str, mode: Any = "legacy", **arguments: Any) -> dict[str, Any]:
        """The result, or the error, of one call."""
        client = Client(
            url,
            mode=mode,
            elicitation_callback=self.elicited,
            sampling_callback=self.sampled,
            list_roots_callback=self.roots,
        )
        async with client:
            try:
                result = await client.call_tool(tool, arguments, progress_callback=self.progress)
            except MCPError as error:
                return error.error.model_dump()
            return result.model_dump(exclude={"meta"} if mode == "auto" else None)


def accept(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


ADA = accept(name="Ada", nights=3)
SAID: dict[str, tuple[Any, ...]] = {
    "accepts": (ADA, accept(sure=True, value="yes")),
    "thinks again": (ADA, types.ElicitResult(action="cancel")),
    "declines": (types.ElicitResult(action="decline"),),
    "gives what was not asked": (accept(name=[]),),
    "fails": (types.ErrorData(code=-32603, message="The form broke."),),
}


@pytest.mark.parametrize("both", NAMES, indirect=True)
async def test_a_tool_that_asks_twice_is_answered_hosted_as_alone(both: Urls) -> None:
    for answers in SAID.values():
        people = Person(*answers), Person(*answers)
        alone, hosted = [await person.calls(url, "book", room="7") for person, url in zip(people, both, strict=True)]
        assert hosted == alone
        assert people[1].seen == people[0].seen
    assert "Ada" in str(await Person(*SAID["accepts"]).calls(both[1], "book", room="7"))


@pytest.mark.parametrize("both", NAMES, indirect=True)
async def test_what_is_asked_beside_the_call_is_answered_hosted_as_alone(both: Urls) -> None:
    people = Person(), Person()
    alone, hosted = [await person.calls(url, "greet") for person, url in zip(people, both, strict=True)]
    assert hosted["content"][0]["text"] == "small: Moin!"
    assert hosted == alone
    assert people[1].seen == people[0].seen


@pytest.mark.parametrize("both", NAMES, indirect=True)
async def test_many_clients_ask_at_once(both: Urls) -> None:
    people = [Person(accept(name=f"guest {number}"), accept(sure=True, value="yes")) for number in range(4)]
    results = await asyncio.gather(*(person.calls(both[1], "book", room="7") for person in people))
    assert [f"guest {number}" in str(result) for number, result in enumerate(results)] == [True] * 4


@pytest.mark.parametrize("both", NAMES, indirect=True)
async def test_who_can_not_be_asked_is_not(both: Urls) -> None:
    for url in both:
        async with Client(url, mode="legacy") as client:
            assert (await client.call_tool("decide")).content[0].text == "decided alone"


@pytest.mark.parametrize("both", ["asks2"], indirect=True)
async def test_a_newer_client_is_asked_where_the_server_alone_would_refuse(both: Urls) -> None:
    """At 2026-07-28 the SDK has no way back to the client over HTTP: hosted, its question is the call's result."""
    refused = await Person(*SAID["accepts"]).calls(both[0], "book", "auto", room="7")
    assert "back-channel" in str(refused)
    for answers in SAID.values():
        if isinstance(answers[-1], types.ErrorData):
            continue  # a client of that revision answers by results alone
        people = Person(*answers), Person(*answers)
        alone, hosted = [
            await person.calls(url, "book", mode, room="7")
            for person, url, mode in zip(people, both, ("legacy", "auto"), strict=True)
        ]
        assert hosted["content"] == alone["content"]
        asked = [[seen for seen in person.seen if isinstance(seen, dict)] for person in people]
        assert asked[1] == asked[0]
    greeted = await Person().calls(both[1], "greet", "auto")
    assert greeted["content"][0]["text"] == "small: Moin!"


@pytest.mark.parametrize("both", ["asks1"], indirect=True)
async def test_a_newer_client_is_asked_by_an_older_server(both: Urls) -> None:
    people = Person(*SAID["accepts"]), Person(*SAID["accepts"])
    alone, hosted = [
        await person.calls(url, "book", "auto", room="7") for person, url in zip(people, both, strict=True)
    ]
    assert hosted == alone
    asked = [[seen for seen in person.seen if isinstance(seen, dict)] for person in people]
    assert asked[1] == asked[0]
