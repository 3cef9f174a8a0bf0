"""The table of rules: what is checked, why, and what to do. `rules.toml` is the table; docs/rules.md is made from it.

The checks themselves are in rules_tools, rules_widgets, rules_assets, rules_plugin, rules_bundle, rules_imports and
rules_wire. Each finding is made by `found`, which takes severity, rows and cure from the table, so that the table can't
drift from what is said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tenantry_registry.report import NOWHERE, Finding, Place


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `code` is stable, `rows` are ids of the reference, `severity` "error" or "warn"."""

    code: str
    severity: str
    rows: tuple[str, ...]
    what: str
    why: str
    cure: str


def _load() -> dict[str, Rule]:
    raw: dict[str, dict[str, Any]] = tomllib.loads(
        resources.files(__package__).joinpath("rules.toml").read_text("utf-8")
    )
    return {code: Rule(code=code, **{**row, "rows": tuple(row["rows"])}) for code, row in raw.items()}


RULES: Mapping[str, Rule] = _load()


def found(code: str, subject: str, message: str, place: Place = NOWHERE, cure: str = "") -> Finding:
    """A finding under a rule of the table. `cure` where this case has a better one than the row."""
    rule = RULES[code]
    return Finding(code, message, subject, place, rule.severity, cure or rule.cure, rule.rows)


def markdown() -> str:
    """docs/rules.md: the table, sorted by code."""
    head = (
        "# The rules of `platform check`\n\n"
        "Made from the table that the checks use; a test keeps the two equal. An error refuses a release, a warning "
        "goes with it.\nRows are ids of the reference: see [coverage](coverage.md).\n\n"
        "| code | severity | rows | what | why | cure |\n|---|---|---|---|---|---|\n"
    )
    cells = (
        (f"`{rule.code}`", rule.severity, " ".join(rule.rows), rule.what, rule.why, rule.cure)
        for rule in sorted(RULES.values(), key=lambda rule: rule.code)
    )
    return head + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in cells)
