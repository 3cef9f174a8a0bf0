"""ctx.shared and ctx.state: carried, merged, and run again when what was read has changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gateway.house import House, ask, manifest, tool
from tenantry_registry.objects import ANY
from tenantry_registry.runners import Call, Release

SHARED = "state/acme/zoo/_shared.json"
CALL = {"name": "echo", "arguments": {}}
Meanwhile = Callable[[int], dict[str, Any] | None]


async def stand(house: House, values: dict[str, Any]) -> None:
    await house.objects.swap(SHARED, json.dumps(values).encode(), expected=ANY)


async def standing(house: House) -> Any:
    stored = await house.objects.get(SHARED)
    return None if stored is None else json.loads(stored.data)


def patching(house: House, patch: dict[str, Any], meanwhile: Meanwhile = lambda run: None) -> Any:
    """A tool with a patch, during whose nth run somebody else writes `meanwhile(n)`."""
    runs = 0

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        nonlocal runs
        runs += 1
        other = meanwhile(runs)
        if other is not None:
            await stand(house, other)
        return {"result": {"content": [{"type": "text", "text": json.dumps(call.shared)}]}, "shared": patch}

    return answer


async def run(http: httpx.AsyncClient) -> str:
    return str((await ask(http, "tools/call", CALL)).json()["result"]["content"][0]["text"])


async def test_a_patch_is_written_and_seen_by_the_next_call(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = patching(house, {"set": {"a": 1}})
    assert await run(http) == "{}"
    assert await run(http) == '{"a": 1}'
    house.runner.answer = patching(house, {"delete": ["a"], "set": {"b": 2}})
    await run(http)
    assert await standing(house) == {"b": 2}


async def test_a_call_that_changes_nothing_writes_nothing(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = patching(house, {"read": ["a"]})
    await run(http)
    assert await standing(house) is None


async def test_changes_of_other_keys_are_merged(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = patching(house, {"set": {"a": 1}, "read": ["r"]}, lambda run: {"b": 2} if run == 1 else None)
    await run(http)
    assert await standing(house) == {"a": 1, "b": 2}
    assert len(house.runner.calls) == 1


@pytest.mark.parametrize(
    "patch", [{"set": {"a": 1}}, {"delete": ["a"]}, {"set": {"z": 1}, "read": ["a"]}, {"set": {"z": 1}, "read": True}]
)
async def test_a_call_whose_ground_moved_runs_again(
    house: House, http: httpx.AsyncClient, patch: dict[str, Any]
) -> None:
    house.runner.answer = patching(house, patch, lambda run: {"a": "theirs"} if run == 1 else None)
    assert await run(http) == '{"a": "theirs"}'
    assert len(house.runner.calls) == 2


async def test_ground_that_never_rests_is_an_error(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = patching(house, {"set": {"a": 1}}, lambda run: {"a": run})
    assert "change the same data" in await run(http)
    assert len(house.runner.calls) == 5


class Busy:
    """Objects in which other keys change before every swap."""

    def __init__(self, objects: Any) -> None:
        self._objects, self._count = objects, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def swap(self, key: str, data: bytes, *, expected: Any, **more: Any) -> str:
        self._count += 1
        await self._objects.swap(key, json.dumps({"other": self._count}).encode(), expected=ANY)
        return str(await self._objects.swap(key, data, expected=expected, **more))


async def test_a_patch_that_never_lands_is_an_error(house: House) -> None:
    await house.publish()
    house.runner.answer = patching(house, {"set": {"a": 1}})
    house.objects = Busy(house.objects)  # type: ignore[assignment]
    async with house.http() as http:
        assert "change the same data" in await run(http)


async def test_a_document_has_a_size(house: House, http: httpx.AsyncClient) -> None:
    house.runner.answer = patching(house, {"set": {"a": "x" * 300_000}})
    assert "262144" in await run(http)
    assert await standing(house) is None


async def test_each_user_has_a_document(house: House) -> None:
    who = {"sub": "ada", "iss": "https://auth.example.com"}

    async def authenticate(request: Any, site: Any, edition: Any) -> dict[str, Any]:
        return dict(who)

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        text = json.dumps([call.user, call.state, call.shared])
        return {"result": {"content": [{"type": "text", "text": text}]}, "state": {"set": {"who": who["sub"]}}}

    house.runner.answer = answer
    house.extra["authenticate"] = authenticate
    await house.publish()
    async with house.http() as http:
        assert json.loads(await run(http))[1] == {}
        assert json.loads(await run(http))[1] == {"who": "ada"}
        who["sub"] = "eve"
        assert json.loads(await run(http))[1] == {}
    keys = [listed.key async for listed in house.objects.list("state/acme/zoo/")]
    assert len(keys) == 2
    assert not any("ada" in key for key in keys)


async def test_a_preview_has_documents_of_its_own(house: House) -> None:
    async def authenticate(request: Any, site: Any, edition: Any) -> dict[str, Any]:
        return {"sub": "ada", "iss": "https://auth.example.com"}

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        text = json.dumps([call.shared, call.state])
        said = {"set": {"by": release.digest[:4]}}
        return {"result": {"content": [{"type": "text", "text": text}]}, "state": said, "shared": said}

    house.runner.answer = answer
    house.extra["authenticate"] = authenticate
    live = await house.publish()
    draft = await house.publish(manifest(instructions="Draft."), current=False, preview_until=time.time() + 600)
    async with house.http() as http:
        assert json.loads(await run(http)) == [{}, {}]
        at_preview = http.base_url.join(f"/v/{draft[:12]}/")
        at_plugin, http.base_url = http.base_url, at_preview
        assert json.loads(await run(http)) == [{}, {}]
        assert json.loads(await run(http)) == [{"by": draft[:4]}, {"by": draft[:4]}]
        http.base_url = at_plugin
        assert json.loads(await run(http)) == [{"by": live[:4]}, {"by": live[:4]}]
    drafts = [listed.key async for listed in house.objects.list(f"state/acme/zoo/previews/{draft}/")]
    assert len(drafts) == 2


async def test_a_tool_that_takes_no_context_costs_no_read_of_storage(house: House) -> None:
    read: list[str] = []
    inner = house.objects.get

    async def get(key: str) -> Any:
        read.append(key)
        return await inner(key)

    await house.publish(manifest(tools=(tool("plain"), tool("other")), plain=("plain",)))
    async with house.http() as http:
        await ask(http, "tools/call", {"name": "other"})
        house.objects.get = get  # type: ignore[method-assign]
        await ask(http, "tools/call", {"name": "other"})
        await ask(http, "tools/call", {"name": "plain"})
    assert read.count(SHARED) == 1
