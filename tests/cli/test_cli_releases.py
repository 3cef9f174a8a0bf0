"""publish, releases, rollback: what is live, what was, and how to go back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stories.served import versioned
from tenantry_cli import credentials


def test_publishing_says_each_step_what_was_replaced_and_what_to_do_next(
    platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    first = platform("publish", "hello")
    assert first.code == 0, first.err
    words = [line.split()[0] for line in first.out.splitlines()]
    assert words[0] == "packed"
    assert words.index("described") < words.index("released")
    assert first.out.splitlines()[-1].split()[0] == "next"
    versioned(folder, 2)
    second = platform("publish", "hello", "--json")
    told = json.loads(second.out)
    assert told["changed"]
    assert told["previous"] != told["release"]
    again = platform("publish", "hello")
    assert "unchanged" in again.out


def test_releases_are_listed_newest_first_and_rollback_goes_back_and_forth(
    platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    digests = []
    for version in range(3):
        versioned(folder, version)
        digests.append(json.loads(platform("publish", "hello", "--json").out)["release"])
    listed = json.loads(platform("releases", "dev/hello", "--json").out)
    assert [r["release"] for r in listed] == digests[::-1]
    assert [r["current"] for r in listed] == [True, False, False]
    table = platform("releases", "dev/hello").out
    assert "live" in table
    assert f"platform rollback dev/hello {digests[1][:12]}" in table

    back = platform("rollback", "dev/hello")
    assert back.code == 0, back.err
    assert digests[1][:12] in back.out
    assert f"platform rollback dev/hello {digests[2][:12]}" in back.out
    far = platform("rollback", "dev/hello", digests[0][:8])
    assert far.code == 0, far.err
    listed = json.loads(platform("releases", "dev/hello", "--json").out)
    assert next(r["release"] for r in listed if r["current"]) == digests[0]


def test_a_second_rollback_goes_further_back_and_never_to_what_was_left(
    platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    folder, kept = example("hello"), ("--store", "kept")
    config = folder / "plugin.toml"
    digests = []
    for version in range(3):
        versioned(folder, version)
        config.write_text(re.sub('version = ".*"', f'version = "{version}.2.3"', config.read_text()))
        told = platform("publish", "hello", *kept)
        rows = json.loads(platform("releases", "dev/hello", *kept, "--json").out)
        digests.append(next(r["release"] for r in rows if r["current"]))
    assert f"platform rollback dev/hello {digests[1][:12]} --store kept" in told.out
    for wanted in (1, 0):
        assert digests[wanted][:12] in platform("rollback", "dev/hello", *kept).out.splitlines()[0]
    nothing = platform("rollback", "dev/hello", *kept)
    assert "rollback.nothing" in nothing.err
    assert "platform releases dev/hello --store kept" in nothing.err
    table = [re.split(r" {2,}", line.strip()) for line in platform("releases", "dev/hello", *kept).out.splitlines()]
    assert table == [
        ["release", "version", "became live"],
        [digests[0][:12], "0.2.3", "just now", "live"],
        [digests[1][:12], "1.2.3", "just now", "rolled back"],
        [digests[2][:12], "2.2.3", "just now", "rolled back"],
    ]
    platform("rollback", "dev/hello", digests[2][:12], *kept)  # named, it comes back, and what it replaces is before it
    assert f"platform rollback dev/hello {digests[0][:12]} --store kept" in platform("releases", "dev/hello", *kept).out
    assert "--store kept" in platform("rollback", "dev/hello", "0" * 12, *kept).err


def test_what_is_not_there_is_not_gone_back_to(platform: Callable[..., Any], example: Callable[[str], Path]) -> None:
    folder = example("hello")
    assert "registry.unknown" in platform("releases", "dev/hello").err
    platform("publish", "hello")
    assert "rollback.nothing" in platform("rollback", "dev/hello").err
    versioned(folder, 1)
    platform("publish", "hello")
    assert "rollback.unknown" in platform("rollback", "dev/hello", "0" * 12).err
    assert "rollback.unclear" in platform("rollback", "dev/hello", "").err
    assert "name.form" in platform("rollback", "hello").err


def test_a_broken_rule_stops_publishing_with_place_and_cure_and_keeps_what_is_live(
    platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    platform("publish", "hello")
    config = folder / "plugin.toml"
    config.write_text(config.read_text() + f'\n[listing]\nshort_description = "{"long " * 20}"\n')
    refused = platform("publish", "hello")
    assert refused.code == 1
    assert "listing.length" in refused.out
    assert "publish.rules" in refused.err
    checked = platform("check", "hello")
    assert checked.code == 1
    assert "1 error" in checked.out.splitlines()[-1]
    assert json.loads(platform("check", "hello", "--json").out)["findings"][0]["code"] == "listing.length"
    assert len(json.loads(platform("releases", "dev/hello", "--json").out)) == 1


def test_code_that_does_not_import_is_shown_by_its_own_lines(
    platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    (folder / "server.py").write_text("import tenantry\n\nraise RuntimeError('on purpose')\n")
    refused = platform("publish", "hello")
    assert refused.code == 1
    assert 'File "server.py", line 3' in refused.err
    assert "RuntimeError: on purpose" in refused.err
    assert "importlib" not in refused.err


def test_a_publish_says_where_the_release_went(platform: Callable[..., Any], example: Callable[[str], Path]) -> None:
    example("hello")
    said = platform("publish", "hello", "--store", "kept").out
    assert "the store kept on this machine" in said
    assert "http://localhost:8787/t/dev/hello/mcp" in said
    assert said.splitlines()[-1].endswith("platform serve --store kept")
    told = json.loads(platform("publish", "hello", "--store", "kept", "--json").out)
    assert (told["store"], told["mcp_url"]) == ("kept", "http://localhost:8787/t/dev/hello/mcp")


def test_a_release_goes_to_a_platform_only_where_one_is_named(
    platform: Callable[..., Any], example: Callable[[str], Path], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example("hello")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "config"))
    credentials.keep("http://localhost:1/api", "tnt_x")  # the last login
    assert platform("publish", "hello").code == 0
    assert platform("releases", "dev/hello").code == 0
    monkeypatch.setenv("TENANTRY_TO", "http://localhost:1/api")
    for command in (["publish", "hello"], ["releases", "dev/hello"], ["rollback", "dev/hello"]):
        assert "control.unreachable" in platform(*command).err
        named = platform(*command, "--store", ".tenantry")
        assert "control" not in named.err
    assert "the store on this machine" in " ".join(platform("publish", "--help").out.split())


@pytest.mark.parametrize(
    "command",
    [
        ["preview", "hello"],
        ["publish", "hello"],
        ["logs", "dev/hello"],
        ["secrets", "set", "dev/hello", "K"],
        ["login"],
    ],
)
def test_that_nobody_answers_is_said_before_a_token_or_a_secret_is_asked_for(
    command: list[str], platform: Callable[..., Any], example: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    example("hello")
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    monkeypatch.setenv("TENANTRY_TO", "http://localhost:1/api")
    monkeypatch.setattr("sys.stdin", None)  # reading it fails
    refused = platform(*command)
    assert refused.code == 1
    assert refused.err.startswith("error  control.unreachable  Nobody answers at http://localhost:1/api.\n")
    assert "platform serve" in refused.err


def test_a_tool_that_is_gone_is_a_warning_line(platform: Callable[..., Any], example: Callable[[str], Path]) -> None:
    folder = example("hello")
    platform("publish", "hello")
    server, config = folder / "server.py", folder / "plugin.toml"
    server.write_text(server.read_text().replace("def hello", "def greet"))
    config.write_text(config.read_text().replace('tool = "hello"', 'tool = "greet"'))
    done = platform("publish", "hello")
    assert done.code == 0, done.err
    assert "  warning     hello was renamed to greet: conversations that use it break" in done.out
