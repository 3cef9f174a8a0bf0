"""The command itself: help that is quick, errors with code, sentence and hint, exit codes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from tenantry import download
from tenantry_cli import author, main
from tenantry_registry.errors import PlatformError

HEAVY = {"rich", "pydantic", "fastapi", "mcp", "uvicorn", "obstore", "boto3", "watchfiles", "asyncio"}


def test_help_lists_every_command_and_imports_none_of_what_they_need() -> None:
    code = "import sys; from tenantry_cli.main import run; run(['--help']); print('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, _, loaded = done.stdout.partition("MODULES")
    assert all(f"  {name} " in text for name in main.COMMANDS)
    assert not HEAVY & set(loaded.split())


def test_platform_dev_serves_without_importing_the_kit() -> None:
    code = "import tenantry_cli.development, tenantry_cli.host.server, tenantry_gateway.app, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tenantry" not in done.stdout.split()
    assert author.DEVELOPMENT == download.DEVELOPMENT  # named twice for that


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_has_a_file_of_its_own_and_help(name: str, platform: Callable[..., Any]) -> None:
    command = import_module(f"tenantry_cli.commands.{name}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    done = platform(name, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: platform {name}")
    undescribed = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert not undescribed


def test_a_refusal_has_code_sentence_and_hint_on_standard_error(platform: Callable[..., Any], here: Path) -> None:
    done = platform("check", "nowhere")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error  folder.missing  nowhere is not a folder.\n       Make one with: platform init nowhere\n"


@pytest.mark.parametrize("args", [["no-such-command"], ["dev", "--no-such-option"], ["call"]])
def test_a_wrong_command_line_is_exit_code_2_with_usage(args: list[str], platform: Callable[..., Any]) -> None:
    done = platform(*args)
    assert done.code == 2
    assert "Usage: platform" in done.err


def test_a_misspelt_command_suggests_the_one_that_was_meant(platform: Callable[..., Any]) -> None:
    done = platform("chek")
    assert done.code == 2
    assert "Do you mean check?" in done.err


def test_the_version_is_the_packages(platform: Callable[..., Any]) -> None:
    from importlib.metadata import version

    assert platform("--version").out == f"platform {version('tenantry')}\n"


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main.platform, "main", interrupted)
    assert main.run([]) == 130


def test_a_bug_of_ours_is_not_dressed_up_as_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(main.platform, "main", broken)
    with pytest.raises(RuntimeError, match="ours"):
        main.run([])


def test_an_error_without_a_hint_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: Any) -> None:
        raise PlatformError("some.code", "Something is so.")

    monkeypatch.setattr(main.platform, "main", refused)
    assert main.run([]) == 1
    assert capsys.readouterr().err == "error  some.code  Something is so.\n"
