"""A server of somebody else's, hosted, passes every scenario of the official suite that it passes on its own.

The same MCPServer twice: alone under uvicorn, as `mcp.run("streamable-http")` serves it, and published and hosted.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.test_conformance import HERE, checks, run
from hosted.conftest import published, runner_of, wait_for
from simulators.serving import KEY, free_port, listening
from tenantry_gateway.app import create_app
from tenantry_gateway.settings import GatewaySettings

FIXTURE = HERE / "sdk"
PASSES = {"2025-11-25": 25, "2026-07-28": 25}  # at least, by itself: what is compared


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
        wait_for(process, port)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    release = asyncio.run(published("sdk", FIXTURE, tmp_path_factory.mktemp("sdk")))
    runner = runner_of("sdk", release.objects, release.folder)
    settings = GatewaySettings(
        mode="development",
        origin=f"http://localhost:{port}",
        hosts=(f"127.0.0.1:{port}",),
        base=f"localhost:{port}",
        scheme="http",
        seal_keys=KEY,
    )
    app = create_app(objects=release.objects, runner=runner, settings=settings, log=lambda event, **fields: None)
    with listening(app, port, runner.aclose):
        yield f"http://localhost:{port}/t/acme/sdk/mcp"


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
