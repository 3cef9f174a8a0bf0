"""A server of somebody else's, hosted, passes every scenario of the official suite that it passes on its own.

Each twice: alone under uvicorn, as its author serves it, and published and hosted. The suite's own MCPServer passes
most; one of each other kind (tests/hosted) shows that hosting takes nothing away from those either.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conformance.test_conformance import HERE, checks, run
from hosted import conftest as hosting
from simulators.serving import free_port

FIXTURE = HERE / "sdk"
PASSES = {"2025-11-25": 25, "2026-07-28": 25}  # at least, by itself: what is compared
OLD, NEW = PASSES
#: A server of tests/hosted, a revision that it speaks, and how many scenarios it passes by itself at least: those that
#: ask for none of the suite's own tools.
KINDS = [
    pytest.param("raw", OLD, 4, id="Starlette"),
    pytest.param("first", OLD, 8, id="FastMCP of v1"),
    pytest.param("fast", OLD, 8, id="fastmcp 4"),
    pytest.param("fast", NEW, 10, id="fastmcp 4, stateless"),
    pytest.param("mcpserver", OLD, 10, id="MCPServer with Apps", marks=pytest.mark.soak),
    pytest.param("mcpserver", NEW, 14, id="MCPServer with Apps, stateless", marks=pytest.mark.soak),
]


@pytest.fixture(scope="module")
def alone() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "server.py"],
        cwd=FIXTURE,
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        hosting.wait_for(process, port)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hosting_of("sdk", FIXTURE, tmp_path_factory.mktemp("sdk")) as url:
        yield url


@contextmanager
def hosting_of(name: str, source: Path, folder: Path) -> Iterator[str]:
    """The address of a server that is published and served by the gateway."""
    with hosting.hosted(name, asyncio.run(hosting.published(name, source, folder)), folder) as url:
        yield url


def passed(url: str, revision: str, results: Path) -> set[str]:
    run(url, results, "--requirements", revision)
    return {
        name
        for name, made in checks(results).items()
        if any(check["status"] == "SUCCESS" for check in made)
        and not any(check["status"] == "FAILURE" for check in made)
    }


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_hosted_it_passes_what_it_passes_alone(alone: str, hosted: str, revision: str, tmp_path: Path) -> None:
    by_itself = passed(alone, revision, tmp_path / "alone")
    through_us = passed(hosted, revision, tmp_path / "hosted")
    assert len(by_itself) >= PASSES[revision]
    assert by_itself - through_us == set()


@pytest.mark.parametrize(("name", "revision", "least"), KINDS)
def test_a_server_of_each_kind_passes_what_it_passes_alone(
    name: str, revision: str, least: int, tmp_path: Path
) -> None:
    with hosting.alone(name) as url:
        by_itself = passed(url, revision, tmp_path / "alone")
    with hosting_of(name, hosting.HERE / name, tmp_path / "release") as url:
        through_us = passed(url, revision, tmp_path / "hosted")
    assert len(by_itself) >= least
    assert by_itself - through_us == set()
