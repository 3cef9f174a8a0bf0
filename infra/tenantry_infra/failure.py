"""How a command of this package fails: one JSON line on stderr, which the CLI turns into an error of its own again."""

from __future__ import annotations

import json
import sys

from tenantry_registry.errors import PlatformError


def told(error: PlatformError) -> int:
    """Print the error; the exit code."""
    print(json.dumps({"code": error.code, "message": error.message, "hint": error.hint}), file=sys.stderr)
    return 1
