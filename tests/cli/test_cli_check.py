"""`platform check` finds what publishing would refuse, and says what is wrong in the author's own lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stories.served import COMMAND, Served
from tenantry_cli.environment import provided
from tenantry_cli.findings import cure
from tenantry_cli.folder import PluginFolder

SERVER = '''{}
from tenantry import Plugin
plugin = Plugin()

@plugin.tool(read_only=True, destructive=False, open_world=False)
def tell(name: str = "you") -> str:
    """Use this to be told something."""
    {}
'''
CONFIG = 'name = "telling"\nentrypoint = "server:plugin"\n[[examples]]\nprompt = "Tell"\ntool = "tell"\n'


@pytest.fixture
def write(here: Path) -> Callable[..., Path]:
    def make(head: str = "", body: str = "return name", config: str = CONFIG, **files: str) -> Path:
        folder = here / "telling"
        folder.mkdir(exist_ok=True)
        (folder / "server.py").write_text(SERVER.format(head, body))
        (folder / "plugin.toml").write_text(config)
        for name, text in files.items():
            (folder / name.replace("_", ".")).write_text(text)
        return folder

    return make


def venv_with(folder: Path, **packages: str) -> None:
    """A .venv that holds packages: name -> what it requires."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    site = next((folder / ".venv").glob("lib/python3*/site-packages"))
    for name, requires in packages.items():
        (site / f"{name}_code").mkdir()
        (site / f"{name}_code" / "__init__.py").touch()
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        wants = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{wants}")
        (info / "RECORD").write_text(f"{name}_code/__init__.py,,\n{name}-1.0.dist-info/METADATA,,\n../../bin/x,,\n")


def test_an_import_that_is_installed_here_and_declared_nowhere_is_refused_as_publishing_does(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    folder = write(body="import tree_code; return name")
    venv_with(folder, tree="")
    done = platform("check", "telling")
    assert done.code == 1, done.err
    assert "dependency.undeclared" in done.out
    assert "server.py imports tree_code" in done.out
    assert done.out.splitlines()[-1] == "1 error, 0 warnings"
    refused = platform("publish", "telling", "--store", "kept")
    assert refused.code == 1
    assert "server.py imports tree_code" in refused.err


def test_dev_warns_of_it_too_and_knows_what_the_requirements_bring(write: Callable[..., Path], here: Path) -> None:
    folder = write(body="import tree_code, other_code; return name", requirements_txt="tree\n")
    venv_with(folder, tree="", other="")
    served = Served([COMMAND, "dev", "telling", "--port", "0", "--json"], here)
    try:
        log = served.wait_for("dependency.undeclared")
    finally:
        served.stop()
    assert "imports other_code" in log
    assert "tree_code" not in log
    assert ("dev", "telling") in served.plugins


def test_an_environment_says_what_requirements_bring_and_what_those_bring(write: Callable[..., Path]) -> None:
    folder = write(requirements_txt="Tree[x]>=1  # a comment\nmissing\n")
    venv_with(folder, tree="leaf (>=1); python_version > '3'", leaf="", other="")
    assert provided(PluginFolder.open(folder)) == {"tree_code", "leaf_code"}
    (folder / "requirements.txt").unlink()
    assert provided(PluginFolder.open(folder)) == frozenset()


def test_requirements_that_can_not_be_resolved_are_refused_or_said_to_be_unproven(
    platform: Callable[..., Any], write: Callable[..., Path], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(requirements_txt="tree==1\n")
    venv_with(folder, tree="")
    (here / "index").mkdir()
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(here / "index"))
    refused = platform("check", "telling")
    assert refused.code == 1
    assert "vendor.unresolved" in refused.err
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.delenv("UV_FIND_LINKS")
    monkeypatch.setenv("UV_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    unproven = platform("check", "telling")
    assert unproven.code == 0, unproven.err
    assert "were not resolved" in unproven.out


def test_an_example_that_fails_is_shown_by_the_tools_own_lines(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    write(body='raise ValueError("on purpose")')
    done = platform("check", "telling")
    assert "example.failed" in done.out
    assert 'File "server.py", line 8, in tell' in done.out
    assert "ValueError: on purpose" in done.out
    assert "tenantry/" not in done.out
    told = json.loads(platform("check", "telling", "--json").out)["findings"][0]["message"].splitlines()
    assert told[1:] == [
        '  File "server.py", line 8, in tell',
        '    raise ValueError("on purpose")',
        "ValueError: on purpose",
    ]


def test_a_declaration_that_can_not_be_right_is_told_once(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    folder = write()
    server = folder / "server.py"
    server.write_text(server.read_text().replace('name: str = "you"', "name"))
    lines = platform("check", "telling").err.splitlines()
    assert lines[0] == "error  plugin.definition  server.py:5: tell: the parameter name has no type."
    assert lines[-1].strip() == "Annotate it: it becomes the input schema."
    assert sum("becomes the input schema" in line for line in lines) == 1
    assert sum("has no type" in line for line in lines) == 1
    assert not any("^^" in line for line in lines)


def test_an_error_of_syntax_needs_no_advice(platform: Callable[..., Any], write: Callable[..., Path]) -> None:
    (write() / "server.py").write_text("def (:\n")
    refused = platform("check", "telling").err
    assert "SyntaxError" in refused
    assert "Run it on your machine" not in refused


def test_an_unknown_key_suggests_the_one_that_was_meant(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    write(config=CONFIG.replace("[[examples]]", 'egres = "none"\n[[examples]]'))
    refused = platform("check", "telling").err
    assert "do you mean egress?" in refused
    assert "platform init FOLDER" in refused


def test_an_example_that_makes_a_file_is_no_warning(platform: Callable[..., Any], write: Callable[..., Path]) -> None:
    head = "from tenantry import Context"
    body = 'return ctx.files.save("a.txt", name.encode(), "text/plain").download_url'
    folder = write(head, body)
    source = folder / "server.py"
    source.write_text(source.read_text().replace('tell(name: str = "you")', 'tell(ctx: Context, name: str = "you")'))
    done = platform("check", "telling")
    assert done.code == 0, done.out
    assert "0 errors, 0 warnings" in done.out


SECRETIVE = 'name = "telling"\nentrypoint = "server:plugin"\ntimeout = 1\n[secrets]\nrequired = ["ZOO_API_KEY"]\n'
EXAMPLE = '[[examples]]\nprompt = "Tell"\ntool = "tell"\n'


def test_a_secret_that_is_listed_is_a_placeholder_wherever_check_runs_the_code(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    head = 'import os\nKEY = os.environ["ZOO_API_KEY"]'
    write(head, "return KEY", SECRETIVE + EXAMPLE)
    assert platform("check", "telling").out.splitlines()[-1] == "0 errors, 0 warnings"
    write(head, "raise ValueError(KEY)", SECRETIVE + EXAMPLE)
    done = platform("check", "telling")
    assert done.code == 0
    assert "It may be because of a placeholder: .env has no value for ZOO_API_KEY." in done.out
    assert "could not be loaded" not in done.out


def test_an_example_that_returns_what_it_does_not_say_is_told_so(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    write(body="return [1]")
    done = platform("check", "telling")
    assert re.search(
        r"tell: 'Tell' ended in an error: tell \(server\.py:\d+\) returned \[1\], but says it returns str\.\n"
        r" +Return what the annotation says, or annotate what is returned\.\n",
        done.out,
    ), done.out


def test_a_variable_that_is_listed_nowhere_is_told_where_it_could_be(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    write('import os\nKEY = os.environ["ZOO_KEY"]')
    refused = platform("check", "telling")
    assert refused.code == 1
    assert "ZOO_KEY is not set. A setting: write ZOO_KEY under [env]" in refused.err


def test_an_example_that_does_not_come_to_an_end_is_named_beside_the_others(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    arguments = EXAMPLE.replace("Tell", "Wait") + 'arguments = {name = "slow"}\n'
    body = 'import time; time.sleep(30 if name == "slow" else 0); raise ValueError("on purpose")'
    write(body=body, config=SECRETIVE + EXAMPLE + arguments)
    done = platform("check", "telling")
    assert done.code == 1
    assert "example.unanswered     tell: 'Wait' got no answer" in done.out
    assert "example.failed         tell: 'Tell' ended in an error" in done.out
    assert done.out.splitlines()[-1] == "1 error, 1 warning"


def test_a_test_person_asks_the_examples_of_a_plugin_with_sign_in(
    platform: Callable[..., Any], write: Callable[..., Path]
) -> None:
    signed = '[auth]\nissuer = "https://id.example.com"\nscopes = ["read"]\n'
    folder = write("from tenantry import Context, OAuth2", "return f'{ctx.user.name} {name}'", CONFIG + signed)
    server = folder / "server.py"
    text = server.read_text().replace("(name:", "(ctx: Context, name:")
    server.write_text(text.replace("open_world=False", 'open_world=False, auth=[OAuth2("read")]'))
    done = platform("check", "telling")
    assert done.out.splitlines()[-1] == "0 errors, 0 warnings", done.out + done.err


@pytest.mark.parametrize(
    ("packages", "build"),
    [
        ({}, ""),
        ({"package.json": "{}", "ui/package.json": "{", "web/package.json": '{"scripts": {"test": "x"}}'}, ""),
        ({"package.json": "[]", "my ui/package.json": '{"scripts": {"build": "vite build"}}'}, "'{}/my ui'"),
        ({"package.json": '{"scripts": {"build": "x"}}', "ui/package.json": '{"scripts": {"build": "x"}}'}, "{}"),
    ],
)
def test_a_widget_that_is_yet_to_be_built_is_told_how(packages: dict[str, str], build: str, here: Path) -> None:
    for name, text in packages.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(text)
    where = build.format(here)
    told = f"Build it: (cd {where} && npm install && npm run build)" if build else "Name it."
    assert cure({"code": "widget.missing", "cure": "Name it."}, here) == told
    assert cure({"code": "widget.missing", "cure": "Name it."}, None) == "Name it."
    assert cure({"code": "widget.other", "cure": "Other."}, here) == "Other."
