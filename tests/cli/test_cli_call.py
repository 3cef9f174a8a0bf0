"""`platform call` and `platform check URL` against a server that runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stories.served import COMMAND, EXAMPLES, Served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("call")
    server = Served(
        [COMMAND, "dev", str(EXAMPLES / "elements"), str(EXAMPLES / "hello"), "--port", "0", "--json"], folder
    )
    yield server
    server.stop()


def test_without_a_tool_the_tools_are_listed(served: Served, platform: Callable[..., Any]) -> None:
    done = platform("call", served.url("elements"))
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["tool", "find_elements", "molar_mass"]
    listed = json.loads(platform("call", served.url("elements"), "--json").out)
    assert [tool["name"] for tool in listed] == ["find_elements", "molar_mass"]


@pytest.mark.parametrize("era", ["auto", "2025", "2026"])
def test_a_call_prints_words_and_structure(era: str, served: Served, platform: Callable[..., Any]) -> None:
    url = served.plugins["dev", "elements"]["host_url"]
    done = platform("call", url, "molar_mass", '{"formula": "H2O"}', "--era", era)
    assert done.code == 0, done.err
    words, _, structure = done.out.partition("\n")
    assert words == "One mole of H2O weighs 18.015 g."
    assert json.loads(structure)["grams_per_mole"] == 18.015


def test_json_is_the_whole_result(served: Served, platform: Callable[..., Any]) -> None:
    done = platform("call", served.url("elements"), "molar_mass", '{"formula": "H2O"}', "--json")
    result = json.loads(done.out)
    assert result["structuredContent"]["parts"][0]["symbol"] == "O"
    assert len(result["_meta"]["chart"]) == 118


def test_a_tool_that_fails_is_exit_code_1_on_standard_error(served: Served, platform: Callable[..., Any]) -> None:
    done = platform("call", served.url("elements"), "molar_mass", '{"formula": "Xx"}')
    assert (done.code, done.out) == (1, "")
    assert done.err == "There is no element Xx.\n"


def test_a_tool_that_is_not_there_leads_to_those_that_are(served: Served, platform: Callable[..., Any]) -> None:
    assert "Do you mean molar_mass?" in platform("call", served.url("elements"), "molar_mas").err
    assert "It has find_elements, molar_mass." in platform("call", served.url("elements"), "xyz").err


FAILING = """
from tenantry import Plugin
plugin = Plugin()

@plugin.tool(read_only=True, destructive=False, open_world=False)
def fail() -> str:
    \"\"\"Use this to see a tool fail.\"\"\"
    raise ValueError("x")
"""


def test_a_masked_failure_leads_to_the_terminal_of_platform_dev_which_has_no_log_to_ask(
    platform: Callable[..., Any], here: Path
) -> None:
    folder = here / "failing"
    folder.mkdir()
    (folder / "server.py").write_text(FAILING)
    (folder / "plugin.toml").write_text('name = "failing"\nentrypoint = "server:plugin"\n')
    server = Served([COMMAND, "dev", "failing", "--port", "0", "--json"], here)
    try:
        for url in (server.url("failing"), server.plugins["dev", "failing"]["host_url"]):
            done = platform("call", url, "fail")
            assert done.code == 1
            assert re.search(r"\(error [0-9a-f]{12}\)", done.err)
            assert done.err.splitlines()[-1].startswith(
                "  next        its traceback is in the terminal of platform dev"
            )
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nothing"], "call.unknown-tool"),
        (["molar_mass", "[1]"], "call.arguments"),
        (["molar_mass", "{"], "call.arguments"),
    ],
)
def test_what_is_wrong_with_a_call_has_a_code(
    args: list[str], code: str, served: Served, platform: Callable[..., Any]
) -> None:
    done = platform("call", served.url("elements"), *args)
    assert done.code == 1
    assert done.err.startswith(f"error  {code}")


def test_an_address_without_a_server_is_said_so(served: Served, platform: Callable[..., Any]) -> None:
    assert "call.unreachable" in platform("call", "http://localhost:1/mcp", "x").err
    assert "call.unreachable" in platform("check", "http://localhost:1/mcp").err
    elsewhere = platform("call", f"{served.origin}/nothing/here", "x")
    assert (elsewhere.code, elsewhere.err.split()[1]) == (1, "call.not-mcp")
    assert elsewhere.err.splitlines()[1].strip().startswith("Look at the address: it usually ends in /mcp")
    page = platform("call", f"{served.origin}/", "x")
    assert page.err.startswith("error  call.not-mcp")
    assert "call.not-mcp" in platform("check", f"{served.origin}/nothing/here").err


def test_an_address_is_checked_by_the_same_rules(served: Served, platform: Callable[..., Any], here: Path) -> None:
    report = json.loads(platform("check", served.url("hello"), "--json").out)
    assert (report["tools"], report["findings"]) == (1, [])
    shown = platform("check", served.url("elements"))
    assert "wire.domain-missing" in shown.out  # the path form has none, and says so
