"""Clients in the field, each pinned in an environment of its own: every one lists, calls with structured output and
reads a widget. `setup.sh` makes the environments.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulators.serving import served

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "tenants" / "examples" / "elements"
NODE = ROOT / ".venv" / "bin" / "node"
BIN = HERE / "node" / "node_modules" / ".bin"
PYTHON = {
    "mcp1": "with_mcp1.py",
    "fastmcp": "with_fastmcp.py",
    "openai-agents": "with_openai_agents.py",
    "pydantic-ai": "with_pydantic_ai.py",
    "langchain": "with_langchain.py",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(EXAMPLE, tmp_path_factory.mktemp("elements")) as address:
        yield address


def run(*command: str | Path) -> str:
    environ = {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    environ.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120, check=False, env=environ, cwd=HERE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def judge(told: dict[str, Any]) -> None:
    assert {"find_elements", "molar_mass"} <= set(told["tools"])
    assert "Neon" in json.dumps(told["structured"])
    assert "/assets/" in told["widget"]


@pytest.mark.parametrize("client", PYTHON)
def test_python_clients(url: str, client: str) -> None:
    python = ROOT / ".venvs" / f"clients-{client}" / "bin" / "python"
    assert python.exists(), "run tests/clients/setup.sh first"
    judge(json.loads(run(python, HERE / PYTHON[client], url).splitlines()[-1]))


@pytest.mark.parametrize("script", ["with_client2.mjs", "with_sdk1.mjs"])
def test_typescript_clients(url: str, script: str) -> None:
    judge(json.loads(run(NODE, HERE / "node" / script, url).splitlines()[-1]))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspectors_command_line(url: str, era: str) -> None:
    def inspect(method: str, *arguments: str) -> Any:
        command = [NODE, BIN / "mcp-inspector", "--cli", url, "--transport", "http", "--protocol-era", era, "--method"]
        return json.loads(run(*command, method, *arguments, "--format", "json", "-q"))["result"]

    tools = inspect("tools/list")["tools"]
    shown = next(tool for tool in tools if tool["name"] == "find_elements")
    called = inspect("tools/call", "--tool-name", "find_elements", "--tool-arg", "family=noble gas")
    page = inspect("resources/read", "--uri", shown["_meta"]["ui"]["resourceUri"])
    judge(
        {
            "tools": [tool["name"] for tool in tools],
            "structured": called["structuredContent"],
            "widget": page["contents"][0]["text"],
        }
    )
