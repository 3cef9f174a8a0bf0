"""`platform init`: every template publishes clean as generated; plugin.toml comes from the annotated example."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenantry_cli import manual, scaffold
from tenantry_cli.commands import init
from tenantry_registry import bundle, config

NPM = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "npm"


def test_the_choices_are_the_templates() -> None:
    assert tuple(scaffold.KINDS) == init.KINDS


@pytest.mark.parametrize("kind", ["widget", "minimal", "files", "oauth"])
def test_a_template_publishes_clean_as_generated(kind: str, platform: Callable[..., Any], here: Path) -> None:
    done = platform("init", "city-zoo", "--template", kind)
    assert done.code == 0, done.err
    steps = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert next(step for step in steps if step[0] == "next") == ["next", "platform dev city-zoo"]
    checked = platform("check", "city-zoo", "--json")
    assert checked.code == 0, checked.out
    assert json.loads(checked.out)["findings"] == []
    published = platform("publish", "city-zoo")
    assert published.code == 0, published.err
    assert "my-plugin" not in "".join(p.read_text() for p in (here / "city-zoo").rglob("*") if p.is_file())


def test_the_first_template_has_a_test_that_passes_and_stays_at_home(platform: Callable[..., Any], here: Path) -> None:
    platform("init", "zoo")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "zoo"]
    ran = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
    files = bundle.read(bundle.pack(here / "zoo")).files
    assert not [path for path in files if "test" in path]


@pytest.mark.row("O19")
def test_the_react_template_is_built_by_npm_and_publishes_clean(platform: Callable[..., Any], here: Path) -> None:
    platform("init", "trip", "--template", "react")
    told = platform("check", "trip")
    assert told.code == 1
    assert "widget.missing" in told.out
    assert "Build it: (cd trip/ui && npm install && npm run build)" in told.out
    assert "Build it: (cd trip/ui " in platform("publish", "trip").out
    for args in (["install", "--no-audit", "--no-fund", "--prefer-offline"], ["run", "build"]):
        built = subprocess.run([NPM, *args], cwd=here / "trip" / "ui", capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        assert "EBADENGINE" not in built.stderr
    css = "".join(path.read_text() for path in (here / "trip" / "widgets" / "app").rglob("*.css"))
    assert css.count("light-dark(") == 4  # as written: the theme is what the page sets, not what the system prefers
    assert "prefers-color-scheme" not in css
    checked = platform("check", "trip", "--json")
    assert checked.code == 0, checked.out
    report = json.loads(checked.out)
    assert report["findings"] == []
    assert report["files"] < 10  # ui/ and node_modules stay at home


def test_next_steps_can_be_pasted_whatever_the_folder_is_called(platform: Callable[..., Any]) -> None:
    told = platform("init", "My Zoo", "--template", "react").out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in told if line.split()[0] == "next"] == [
        "(cd 'My Zoo'/ui && npm install && npm run build)",
        "platform dev 'My Zoo'",
        "(cd 'My Zoo'/ui && npm run watch), in a second terminal: builds again at each save",
    ]


def test_what_init_wrote_has_every_key_of_the_manual_explained() -> None:
    written = manual.write({"name": "zoo", "entrypoint": "server:plugin"})
    for line in config.example().splitlines():
        told = line.partition("#")[2].strip()
        assert told in written
    assert tomllib.loads(written) == {"name": "zoo", "entrypoint": "server:plugin"}


def test_the_manual_with_all_its_own_values_reads_as_itself() -> None:
    example = tomllib.loads(config.example())
    assert tomllib.loads(manual.write(example)) == example


def test_several_examples_and_unknown_keys_of_a_section_are_written() -> None:
    values = {
        "name": "zoo",
        "entrypoint": "server:plugin",
        "env": {"REGION": "eu", "SIZE": "3"},
        "examples": [
            {"prompt": "One", "tool": "a", "arguments": {"deep": {"list": [1, True, "x"]}}},
            {"prompt": "Two", "tool": "b", "arguments": {}},
        ],
    }
    written = manual.write(values)
    assert tomllib.loads(written) == values
    config.load(written)


def test_a_folder_that_holds_something_is_left_alone(platform: Callable[..., Any], here: Path) -> None:
    (here / "zoo").mkdir()
    (here / "zoo" / "mine.txt").write_text("mine")
    done = platform("init", "zoo")
    assert done.code == 1
    assert "init.not-empty" in done.err
    assert [p.name for p in (here / "zoo").iterdir()] == ["mine.txt"]


def test_a_folder_must_be_named_and_nameable(platform: Callable[..., Any]) -> None:
    assert "init.no-folder" in platform("init").err
    assert "name.plugin" in platform("init", "???").err
    assert scaffold.slug("My  Great Plugin!") == "my-great-plugin"
