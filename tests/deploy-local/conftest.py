"""An AWS of this machine's own (MiniStack, with IAM enforced) and an operator in front of it.

Two things are adapted, both because the emulator speaks plain http: the CDK's bootstrap stack is made without its rule
against that, and the Lambda workers get a stream of their own (beside/sitecustomize.py says why).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from tenantry_cli.cloud.toolkit import Toolkit
from tenantry_infra import builder

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "123456789012"
REGION = "us-east-1"
START_SECONDS = 60.0


@dataclass(frozen=True)
class Cloud:
    """The emulator: its address and the environment that leads boto3 and the CDK CLI to it."""

    url: str
    env: Mapping[str, str]
    log: Path

    def client(self, service: str) -> Any:
        return boto3.client(
            service, endpoint_url=self.url, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
        )  # type: ignore[call-overload]


@dataclass(frozen=True)
class Operator:
    """Somebody at a terminal in `folder`, with the emulator's environment."""

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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(url: str, home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "UV_CACHE_DIR", "PYENV_ROOT") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


def wait_until_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, "the emulator ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)  # a process that is starting has nothing to wait on
    raise TimeoutError(url)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """MiniStack with AUTH=true, bootstrapped."""
    home = tmp_path_factory.mktemp("emulator")
    port = free_port()
    url = f"http://localhost:{port}"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_HOST": f"{REGION}.amazonaws.com",  # so that API hosts are AWS's own names
        "LAMBDA_EXECUTOR": "local",
        "AUTH": "true",
        "PYTHONPATH": str(Path(__file__).with_name("beside")),
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(ROOT / ".venvs" / "ministack" / "bin" / "ministack")],
            cwd=home, env=env, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_until_answers(f"{url}/_ministack/health", process)
        made = Cloud(url, environment(url, home), home / "log")
        bootstrap(made, home)
        yield made
    finally:
        process.terminate()
        process.wait(20)


def bootstrap(cloud: Cloud, folder: Path) -> None:
    toolkit = Toolkit(cloud.env)
    lines: list[str] = []
    assert toolkit.cdk(["bootstrap", "--show-template"], lines.append) == 0
    start = next(number for number, line in enumerate(lines) if line.startswith("Description:"))
    template = folder / "bootstrap.yaml"
    # The bucket's rule against plain http never holds; it stays in place, so the template is otherwise the CDK's.
    text = "\n".join(lines[start:]).replace('aws:SecureTransport: "false"', 'aws:SecureTransport: "never"')
    assert "never" in text
    template.write_text(text)
    said: list[str] = []
    code = toolkit.cdk(["bootstrap", "--template", str(template), f"aws://{ACCOUNT}/{REGION}"], said.append)
    assert code == 0, "\n".join(said[-20:])


@pytest.fixture(scope="session")
def operator(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Operator:
    return Operator(tmp_path_factory.mktemp("operator"), cloud.env, cloud.log)


@pytest.fixture(scope="session")
def zips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions for this machine, built once."""
    folder = tmp_path_factory.mktemp("zips")
    builder.build_all("host", folder, cache=ROOT / ".build" / "zips")
    return folder


@pytest.fixture(scope="session")
def record(operator: Operator, zips: Path) -> dict[str, Any]:
    """The platform, deployed to the emulator from one command, and what the command recorded."""
    operator.platform("deploy", "--stage", "local", "--yes", "--zips", str(zips))
    found: dict[str, Any] = json.loads((operator.folder / ".platform" / "local.json").read_text())
    return found
