"""`.platform/STAGE.json`: what stands where, written after every deployment; and the assemblies to go back to.

An assembly (templates and zips) is deployed as it was synthesised. The last few are kept beside the record, so that a
rollback deploys what stood, not what the source says today.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(".platform")
KEPT = 3  # assemblies, the one that stands included


@dataclass(frozen=True, slots=True)
class Record:
    """One stage as it stands. `url` serves the path form, `api_url` the control plane; `assemblies` are folders below
    .platform/STAGE, the one that stands last; `zips` the SHA-256 of each function's by room, nothing where they were
    rolled back to; `at` seconds since the epoch."""

    stage: str
    account: str
    region: str
    url: str
    api_url: str
    store: str
    at: float
    domain: str = ""
    certificate: str = ""
    notify: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    zips: Mapping[str, str] = field(default_factory=dict)
    assemblies: tuple[str, ...] = ()


class Records:
    """The records below `folder`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def read(self, stage: str) -> Record | None:
        """The stage's record, or None where nothing was deployed from here."""
        path = self.folder / f"{stage}.json"
        if not path.exists():
            return None
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Record(**{**raw, "assemblies": tuple(raw["assemblies"])})

    def write(self, record: Record) -> Path:
        """Write it, and tidy."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{record.stage}.json"
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        part.replace(path)
        self.tidy(record.stage)
        return path

    def tidy(self, stage: str) -> None:
        """Drop the assemblies that the record does not name: of plans, of deployments that were broken off, of old."""
        record = self.read(stage)
        for found in self.assemblies(stage).glob("*"):
            if record is None or found.name not in record.assemblies:
                shutil.rmtree(found)

    def forget(self, stage: str) -> None:
        """Drop the record and the assemblies."""
        (self.folder / f"{stage}.json").unlink(missing_ok=True)
        shutil.rmtree(self.assemblies(stage), ignore_errors=True)

    def assemblies(self, stage: str) -> Path:
        """Where the stage's assemblies are."""
        return self.folder / stage
