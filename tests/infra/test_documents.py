"""The documents: the workflow's syntax, and that what docs/scale.md quotes is what the simulation says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tenantry_cli.main import COMMANDS
from tenantry_infra.simulation import simulate
from tenantry_infra.stages import MEMORY, stage

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "docs" / "templates" / "deploy.yml"


def test_the_workflow_is_valid_for_github_actions() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run([str(checker), "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_workflow_stores_no_key_and_runs_commands_that_exist() -> None:
    text = WORKFLOW.read_text()
    workflow = yaml.safe_load(text)
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read", "id-token": "write"}
    commands = re.findall(r"\.venv/bin/platform (\w+)", text)
    assert commands == ["doctor", "deploy"]
    assert set(commands) <= set(COMMANDS)


def simulated() -> list[tuple[int, int, str]]:
    """Plugins and requests a second of each row of the simulation in docs/scale.md, and the row itself."""
    page = (ROOT / "docs" / "scale.md").read_text().partition("## The simulation")[2]
    rows = re.finditer(r"^\| ([\d,]+) \| ([\d,]+) \| .*\|$", page, re.MULTILINE)
    return [(int(row[1].replace(",", "")), int(row[2].replace(",", "")), row[0]) for row in rows]


def takes_long(plugins: int, rate: int) -> bool:
    return rate > 1_000 or (plugins > 1_000 and rate > 1)


def test_the_scale_page_has_every_scale_that_can_be_simulated() -> None:
    scales = {(plugins, rate) for plugins in (10, 1_000, 100_000) for rate in (1, 1_000, 50_000)}
    assert {(plugins, rate) for plugins, rate, _ in simulated()} == scales - {(100_000, 50_000)}  # hours


@pytest.mark.parametrize(
    ("plugins", "rate", "row"),
    [pytest.param(*one, marks=[pytest.mark.soak] if takes_long(*one[:2]) else []) for one in simulated()],
)
def test_the_scale_page_quotes_the_simulation(plugins: int, rate: int, row: str) -> None:
    found = simulate(plugins, rate, seconds=300)
    assert row == (
        f"| {plugins:,} | {rate:,} | {100 * found.cold_share:.1f} % | {found.peak:,} | {found.concurrent:,} "
        f"| {found.quota:,} | ${found.sandbox_dollars_a_day:,.2f} |"
    )


def test_the_scale_page_says_which_sandboxes_its_cost_is_of() -> None:
    page, prod = (ROOT / "docs" / "scale.md").read_text(), stage("prod").memory["sandbox-public"]
    assert f"sandboxes of {MEMORY['sandbox-public']} MB; prod's have {prod:,} MB" in page
    assert prod == 2 * MEMORY["sandbox-public"]


def test_the_long_tail_starts_cold_and_the_popular_stay_warm() -> None:
    few, many = simulate(10, 5, seconds=200), simulate(5_000, 5, seconds=200)
    assert few.cold_share < 0.05 < many.cold_share
    assert many.peak > few.peak
    assert many.quota >= many.concurrent
    assert simulate(10, 5, seconds=200) == few
