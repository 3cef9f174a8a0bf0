"""The source that the house's rules are checked on."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "tenants": ("tenantry", "tenantry_registry"),
    "runtime": ("tenantry_gateway", "tenantry_control", "tenantry_publisher", "tenantry_sandbox"),
    "infra": ("tenantry_infra",),
    "cli": ("tenantry_cli",),
}


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that is committed or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return tuple(path for name in sorted(set(listed.stdout.split("\0")) - {""}) if (path := ROOT / name).is_file())


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """The modules of the eight packages, without what `platform init` copies."""
    for room, packages in ROOMS.items():
        for package in packages:
            for path in sorted((ROOT / room / package).rglob("*.py")):
                if "templates" not in path.parts and "node_modules" not in path.parts:
                    yield path, parsed(path)
