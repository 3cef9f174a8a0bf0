"""What goes wrong, as the page of `platform dev` shows it: the terminal's own words, with the place and the cure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from tenantry_registry.errors import PlatformError

from tenantry_cli import trace

PLACE = re.compile(r'\s*File "(?P<file>[^"/][^"]*)", line (?P<line>\d+)')  # a frame of the author's, by its own path


def spot(place: Mapping[str, Any]) -> str:
    """`server.py:3`, or the file alone where no line is known."""
    return f"{place['file']}:{place['line']}" if place["line"] else str(place["file"])


def cure(finding: Mapping[str, Any], folder: Path | None) -> str:
    """How to cure a finding in `folder`: a widget's file that is missing may only have to be built."""
    build = build_command(folder) if folder and finding["code"] == "widget.missing" else ""
    return f"Build it: {build}" if build else str(finding["cure"])


def build_command(folder: Path) -> str:
    """The command that builds the folder's widgets, by the first package.json in it or one below; "" without one."""
    for package in sorted((folder / "package.json", *folder.glob("*/package.json"))):
        try:
            if "build" in json.loads(package.read_text("utf-8"))["scripts"]:
                return f"(cd {quote(str(package.parent))} && npm install && npm run build)"
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return ""


def for_page(findings: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Findings of a check: {"severity", "rule", "message", "hint", "tool", "where", "frames"}."""
    for finding in findings:
        sentence, frames = trace.split(finding["message"])
        yield {
            "severity": finding["severity"],
            "rule": finding["code"],
            "message": sentence,
            "hint": finding["cure"],
            "tool": finding["subject"],
            "where": spot(finding["place"]),
            "frames": frames,
        }


def of_refusal(error: PlatformError) -> list[dict[str, Any]]:
    """Why something did not publish, in the same form; the place is the author's last frame, where there is one."""
    from tenantry_publisher.publish import RulesBroken

    if isinstance(error, RulesBroken):
        return list(for_page(f.to_dict() for f in error.report.findings if f.severity == "error"))
    sentence, frames = trace.split(error.message)
    places = [place for place in map(PLACE.match, frames) if place]
    where = spot(places[-1].groupdict()) if places else ""
    return [
        {"severity": "error", "rule": error.code, "message": sentence, "hint": error.hint, "tool": "", "where": where,
         "frames": frames}
    ]  # fmt: skip
