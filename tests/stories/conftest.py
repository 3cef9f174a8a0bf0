"""The platform as its users run it: the command itself, in processes of its own, on free ports."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stories.served import COMMAND, EXAMPLES, Served


@pytest.fixture
def platform(tmp_path: Path) -> Callable[..., str]:
    """Runs one command to its end in `tmp_path`; returns what it printed."""

    def run(*args: str, code: int = 0) -> str:
        done = subprocess.run([COMMAND, *args], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts `platform dev` or `platform serve` in `tmp_path` and waits until it is ready; ends it afterwards."""
    running: list[Served] = []

    def begin(*args: str) -> Served:
        served = Served([COMMAND, *args, "--port", "0", "--json"], tmp_path)
        running.append(served)
        return served

    yield begin
    for served in running:
        served.stop()


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Path]:
    """Copies one of the examples into `tmp_path`."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / name, tmp_path / name))

    return copy
