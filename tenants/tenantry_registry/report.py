"""What a check found: findings with a place and a cure, and the report that carries them.

A finding names its rule by code; severity, row ids, why and cure come from the rule's row in `rules.RULES`, so that a
message is worded once. Errors stop a release; warnings are kept in its manifest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

ERROR, WARN = "error", "warn"


@dataclass(frozen=True, slots=True)
class Place:
    """A file of the bundle and a line in it, counted from 1 (0: the file as a whole)."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: `subject` is the tool, widget or file it is about, `message` says it in a sentence."""

    code: str
    message: str
    subject: str = ""
    place: Place = NOWHERE
    severity: str = ERROR
    cure: str = ""
    rows: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON, for --json, for the manifest and for the control plane."""
        return {**asdict(self), "rows": list(self.rows)}


@dataclass(frozen=True, slots=True)
class Report:
    """What `platform check` prints: the findings in order of severity, and the sizes of what was looked at."""

    name: str = ""
    findings: tuple[Finding, ...] = ()
    tools: int = 0
    widgets: int = 0
    files: int = 0
    bytes: int = 0
    widget_bytes: dict[str, int] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity != ERROR)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "tools": self.tools,
            "widgets": self.widgets,
            "files": self.files,
            "bytes": self.bytes,
            "widget_bytes": dict(self.widget_bytes),
            "findings": [f.to_dict() for f in self.findings],
        }


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by place, each said once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (f.severity != ERROR, f.place.file, f.place.line, f.code, f.subject)))
