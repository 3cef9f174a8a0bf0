"""The documents: the workflow's syntax, and that what docs/scale.md quotes is what the simulation says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml
from tenantry_cli.main import COMMANDS
from tenantry_infra.simulation import simulate

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


def test_the_scale_page_quotes_the_simulation() -> None:
    page = (ROOT / "docs" / "scale.md").read_text()
    for plugins, rate in ((10, 1), (1_000, 1)):
        found = simulate(plugins, rate, seconds=300)
        row = f"| {plugins:,} | {rate:,} | {100 * found.cold_share:.1f} % | {found.peak:,} | {found.concurrent:,} |"
        assert row in page


def test_the_long_tail_starts_cold_and_the_popular_stay_warm() -> None:
    few, many = simulate(10, 5, seconds=200), simulate(5_000, 5, seconds=200)
    assert few.cold_share < 0.05 < many.cold_share
    assert many.peak > few.peak
    assert many.quota >= many.concurrent
    assert simulate(10, 5, seconds=200) == few
