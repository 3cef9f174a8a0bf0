"""The command line in process: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tenantry_cli.main import run

EXAMPLES = Path(__file__).resolve().parents[2] / "tenants" / "examples"


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with nothing of the developer's own settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("TENANTRY_STORE", "TENANTRY_TENANT", "TENANTRY_PORT", "TENANTRY_TO", "TENANTRY_TOKEN", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def platform(here: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs one command in `here`."""

    def call(*args: str) -> Done:
        capfd.readouterr()
        code = run(list(args))
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call


@pytest.fixture
def example(here: Path) -> Callable[[str], Path]:
    """Copies one of the examples into `here`."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / name, here / name))

    return copy
