"""What the platform uses of a machine, and what it is good for."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Tool:
    """`found` is a version or path, or "" where it is missing; `cure` says how to get it."""

    name: str
    found: str
    purpose: str
    cure: str


def look() -> Sequence[Tool]:
    """Everything, the indispensable first. Nothing is started but bubblewrap, to see that it may."""
    from tenantry_registry import bubblewrap

    walls = str(bubblewrap.usable() or "")
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), "")
    return (
        Tool("python", platform.python_version(), "3.11 or newer runs everything", "apt-get install python3"),
        Tool(
            "bubblewrap",
            "works" if walls else "",
            "keeps tenants apart in platform serve",
            "apt-get install bubblewrap",
        ),
        Tool(
            "uv",
            shutil.which("uv") or ("in Python" if find_spec("uv") else ""),
            "plugins' dependencies",
            "pip install uv",
        ),
        Tool("node", shutil.which("node") or "", "plugins with a React widget", "apt-get install nodejs npm"),
        Tool("browser", browser, "pictures of widgets for a submission", "apt-get install chromium"),
        Tool(
            "moto", "in Python" if find_spec("moto") else "", "platform dev --s3 moto", "pip install 'moto[server,s3]'"
        ),
    )
