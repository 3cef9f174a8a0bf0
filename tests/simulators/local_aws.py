"""An AWS of this machine's own: MiniStack with IAM enforced, bootstrapped, behind a front door with AWS's addresses.

    PYTHONPATH=tests .venv/bin/python -m simulators.local_aws      # says what to export, stands until Ctrl-C

What is adapted: the emulator speaks plain http, so the CDK's bootstrap stack is made without its rule against that;
beside/ gives it tenant ids, a condition key and workers apart from each other; front_door.py lets CloudFront ask the
HTTP API.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from simulators.front_door import FrontDoor, Origin, front_door
from simulators.serving import free_port
from tenantry_cli.cloud.toolkit import Toolkit

ROOT = Path(__file__).resolve().parents[2]
BESIDE = Path(__file__).with_name("beside")
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

    def origin(self, host: str) -> Origin:
        """What CloudFront's distribution `host` asks by default, as it was deployed."""
        client = self.client("cloudfront")
        found = client.list_distributions()["DistributionList"].get("Items", ())
        (number,) = [one["Id"] for one in found if one["DomainName"] == host]
        config = client.get_distribution_config(Id=number)["DistributionConfig"]
        wanted = config["DefaultCacheBehavior"]["TargetOriginId"]
        (origin,) = [one for one in config["Origins"]["Items"] if one["Id"] == wanted]
        added = origin["CustomHeaders"].get("Items", ())
        return Origin(origin["DomainName"], tuple((one["HeaderName"], one["HeaderValue"]) for one in added))


@contextmanager
def local_aws(home: Path) -> Iterator[tuple[Cloud, FrontDoor]]:
    """MiniStack with AUTH=true, bootstrapped, and the front door before it. `home` holds its log and its keys."""
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
        "PYTHONPATH": str(BESIDE),
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(ROOT / ".venvs" / "ministack" / "bin" / "python"), str(BESIDE / "emulator.py")],
            cwd=home, env=env, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_until_answers(f"{url}/_ministack/health", process)
        cloud = Cloud(url, environment(url, home), home / "log")
        bootstrap(cloud, home)
        with front_door(url, cloud.origin, home / "door") as door:
            yield cloud, door
    finally:
        process.terminate()
        process.wait(20)


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


def main() -> None:
    """Stand until Ctrl-C; say what leads a shell here."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="local-aws-") as home, local_aws(Path(home)) as (cloud, door):
        for name, value in {**cloud.env, **door.env}.items():
            if name.startswith("AWS_") or name in door.env:
                print(f"export {name}={value}")
        print(f"# its log: {cloud.log}", flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
