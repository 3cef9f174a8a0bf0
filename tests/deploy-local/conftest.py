"""A platform on a local AWS, and the people who use it: an operator with AWS credentials, an author with a token."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from simulators.front_door import FrontDoor
from simulators.local_aws import ROOT, Cloud, local_aws
from tenantry_infra import builder

# What differs from one run to the next, and what is written in its place.
VARYING = (
    (re.compile(r"https://[a-z0-9]+\.cloudfront\.net"), "URL"),
    (re.compile(r"tn[to]_[A-Za-z0-9_-]{30,}"), "TOKEN"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "MOMENT"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "MOMENT"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "DIGITS"),
    (re.compile(r" +\d+\.\d+ ms\b"), " N ms"),
    (re.compile(r"\b\d+ KB\b"), "N KB"),
    (re.compile(r"\b\d+ files\b"), "N files"),
    (re.compile(r" {2,}\d+\.\d+ s$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Person:
    """Somebody at a terminal in `folder`. `log` is the emulator's, for what failed."""

    folder: Path
    env: Mapping[str, str]
    log: Path

    def platform(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("platform")), *arguments],
            cwd=self.folder, env=dict(self.env), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ok:
            said = self.log.read_text(errors="replace")[-4000:]
            assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-4000:]}\n--- the emulator:\n{said}"
        return done

    def breaks_off(self, *arguments: str, when: Callable[[], bool]) -> subprocess.CompletedProcess[str]:
        """Types a command, and Ctrl-C once `when()` holds: as at a terminal, everything that it started hears of it,
        also where these tests run in the background of a shell, which lets its jobs ignore Ctrl-C."""
        command = [str(Path(sys.executable).with_name("platform")), *arguments]
        with subprocess.Popen(
            command, cwd=self.folder, env=dict(self.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:  # fmt: skip
            try:
                while process.poll() is None and not when():
                    time.sleep(0.1)  # somebody who looks now and then; nothing tells them
                os.killpg(process.pid, signal.SIGINT)
                out, err = process.communicate(timeout=60)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def sees(self, *arguments: str, ok: bool = True) -> str:
        """What the terminal shows, without what differs from one run to the next."""
        done = self.platform(*arguments, ok=ok)
        assert ok or done.returncode == 1, done.stdout + done.stderr
        text = done.stdout + done.stderr
        for pattern, word in VARYING:
            text = pattern.sub(word, text)
        return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cloud, FrontDoor]]:
    with local_aws(tmp_path_factory.mktemp("emulator")) as found:
        yield found


@pytest.fixture(scope="session")
def cloud(standing: tuple[Cloud, FrontDoor]) -> Cloud:
    """The emulator itself: what tests look behind the scenes with."""
    return standing[0]


@pytest.fixture(scope="session")
def operator(standing: tuple[Cloud, FrontDoor], tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Whoever deploys: AWS credentials, and AWS's addresses lead to the emulator."""
    found, door = standing
    return Person(tmp_path_factory.mktemp("operator"), {**found.env, **door.env}, found.log)


@pytest.fixture
def at_the_operators(operator: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own process in the operator's environment."""
    for name, value in operator.env.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def zips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions for this machine, built once."""
    folder = tmp_path_factory.mktemp("zips")
    builder.build_all("host", folder, cache=ROOT / ".build" / "zips")
    return folder


@pytest.fixture(scope="session")
def record(operator: Person, zips: Path) -> dict[str, Any]:
    """The platform, deployed from one command, and what the command recorded."""
    operator.platform("deploy", "--stage", "local", "--yes", "--zips", str(zips))
    found: dict[str, Any] = json.loads((operator.folder / ".platform" / "local.json").read_text())
    return found


@pytest.fixture(scope="session")
def author(
    operator: Person,
    record: dict[str, Any],
    standing: tuple[Cloud, FrontDoor],
    tmp_path_factory: pytest.TempPathFactory,
) -> Person:
    """Whoever writes plugins for the tenant acme: no AWS credentials, a token to publish with, a home of their own."""
    found, door = standing
    operator.platform("tenants", "create", "acme")
    issued = json.loads(operator.platform("tokens", "issue", "acme", "--label", "Ada's laptop", "--json").stdout)
    home = tmp_path_factory.mktemp("author")
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env = {**kept, **door.env, "HOME": str(home), "TENANTRY_TO": record["url"], "TENANTRY_TOKEN": issued["token"]}
    return Person(home, env, found.log)
