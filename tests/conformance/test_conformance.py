"""The official conformance suite against the fixture plugin: every required scenario, every check, of both frozen sets.

Once over plain HTTP and once with every request as a Lambda event behind the AWS simulator. `npm ci` in this folder
fetches the suite (package-lock.json pins it).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulators.serving import served

HERE = Path(__file__).parent
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance"
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
EXPECTED = HERE / "expected.yaml"
#: Checks that the suite does not make of a server which offers no subscriptions: nothing streams from Lambda.
NOT_OFFERED = {
    "sep-2575-server-sends-subscription-ack",
    "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
}


@pytest.fixture(scope="module", params=[False, True], ids=["http", "lambda-events"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert SUITE.is_dir(), "run `npm ci` in tests/conformance first"
    with served(HERE / "plugin", tmp_path_factory.mktemp("conformance"), edge=request.param) as address:
        yield address


def run(url: str, results: Path, *arguments: str) -> tuple[int, str]:
    """Run the suite; its exit status and what it printed."""
    node = Path(os.environ.get("VIRTUAL_ENV", HERE.parents[1] / ".venv")) / "bin" / "node"
    command = [str(node) if node.exists() else "node", str(SUITE / "dist" / "index.js"), "server", "--url", url]
    done = subprocess.run(
        [*command, "-o", str(results), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stdout + done.stderr


def required(revision: str) -> list[str]:
    """The scored server scenarios of a revision, from the suite's own frozen list."""
    text = (SUITE / "requirements" / f"{revision}.yaml").read_text()
    block = re.search(r"^server:\n((?:  - .+\n|\s*#.*\n|\n)+)", text, re.MULTILINE)
    assert block is not None
    return re.findall(r"^  - (\S+)$", block[1], re.MULTILINE)


def failures() -> set[str]:
    return set(re.findall(r"^  - (\S+)$", EXPECTED.read_text(), re.MULTILINE))


def checks(results: Path) -> dict[str, list[dict[str, str]]]:
    """Every check that was made, by scenario."""
    found: dict[str, list[dict[str, str]]] = {}
    for file in results.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", file.parent.name).removeprefix("server-")
        found.setdefault(name, []).extend(json.loads(file.read_text()))
    return found


@pytest.mark.parametrize("revision", REQUIRED)
def test_every_required_scenario_passes_every_check(url: str, revision: str, tmp_path: Path) -> None:
    _, printed = run(url, tmp_path, "--requirements", revision, "--expected-failures", str(EXPECTED))
    names = required(revision)
    assert len(names) == REQUIRED[revision]
    made = checks(tmp_path)
    for name in names:
        found = made.get(name, [])
        assert found, f"{name} made no check\n{printed[-2000:]}"
        bad = [check for check in found if check["status"] not in ("SUCCESS", "INFO", "SKIPPED")]
        assert not bad, (name, bad)
        assert {check["id"] for check in found if check["status"] == "SKIPPED"} <= NOT_OFFERED
        assert any(check["status"] == "SUCCESS" for check in found), name
    failed = {name for name, found in made.items() if any(check["status"] == "FAILURE" for check in found)}
    assert failed <= failures()


def test_of_all_scenarios_exactly_the_explained_ones_fail(url: str, tmp_path: Path) -> None:
    run(url, tmp_path, "--suite", "all")
    made = checks(tmp_path)
    assert len(made) > 50
    failed = {name for name, found in made.items() if any(check["status"] == "FAILURE" for check in found)}
    assert failed == failures()
