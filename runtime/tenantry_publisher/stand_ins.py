"""What code is run with before it is served: placeholders for secrets, and somebody who is signed in.

A placeholder is enough to import and to describe code that wants a secret; what an example does with one may fail,
and then that may be why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tenantry_registry.manifest import Manifest

PLACEHOLDER: Final = "placeholder-for-{}"  # what a secret without a value reads as
# os.environ["X"] where there is no X, the last frame of a traceback: os.py, or frozen into the interpreter
UNSET = re.compile(r'File "(?:[^"]*[/\\]os\.py|<frozen os>)", line \d+, in __getitem__\n(?: .*\n)*KeyError: \'(.+)\'')


def filled(required: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """The secrets that are given, and a placeholder for each required one that is not."""
    return {**{name: PLACEHOLDER.format(name) for name in required}, **given}


def signed_in(person: Mapping[str, str], manifest: Manifest) -> dict[str, Any] | None:
    """The claims of a token of `person` with every scope of the plugin; None where there is no sign-in."""
    if manifest.auth is None or not person:
        return None
    return {**person, "iss": manifest.auth["issuer"], "scope": " ".join(manifest.auth.get("scopes") or ())}


def undeclared(trace: str) -> str:
    """A cure where code failed for a variable of the environment that nobody sets; empty where that is not why."""
    unset = UNSET.search(trace)
    if unset is None:
        return ""
    name = unset[1]
    return (
        f"{name} is not set. A setting: write {name} under [env] of plugin.toml. A secret: list it under [secrets] "
        "required, its value into .env here and into `platform secrets set` where it is served."
    )
