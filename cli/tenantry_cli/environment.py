"""What a plugin's requirements bring, by the author's own environment: names that may be imported though no bundle
holds them yet.

Nothing is resolved and nothing is run: an environment says itself which files each package installed and what it
requires. Names are those of what was asked for, and of everything that those ask for in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from tenantry_registry.rules_imports import importable
from tenantry_registry.vendor import NAMED, requirements

from tenantry_cli.folder import PluginFolder

FIRST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a requirement: the package's name


def provided(folder: PluginFolder) -> frozenset[str]:
    """The names that may be imported by the requirements of `folder`. Raises: PlatformError `vendor.requirements`."""
    wanted = requirements(folder.path, str(folder.config.get("entrypoint", "")))
    if wanted is None:
        return frozenset()
    asked = frozenset(normal(found["name"]) for found in NAMED.finditer(wanted.text))
    return frozenset().union(*(_brought(place, _changed(place), asked) for place in site_packages(folder)))


def site_packages(folder: PluginFolder) -> Iterator[Path]:
    """The folders of packages of the interpreter that runs this plugin here."""
    venv = Path(folder.interpreter()).parent.parent
    yield from sorted((*venv.glob("lib/python3*/site-packages"), *venv.glob("Lib/site-packages")))


@lru_cache(maxsize=32)
def _brought(place: Path, changed: int, asked: frozenset[str]) -> frozenset[str]:
    """Names below `place`, for a state of it: a save is published in less time than its metadata are read in."""
    installed = {normal(one.metadata["Name"]): one for one in distributions(path=[str(place)]) if one.metadata["Name"]}
    waiting, seen = [*asked], set[str]()
    names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in installed:
            continue
        seen.add(name)
        names |= _names(installed[name])
        waiting += [normal(found[0]) for line in installed[name].requires or () if (found := FIRST.match(line))]
    return frozenset(names)


def _names(package: Distribution) -> set[str]:
    files: Iterable[str] = map(str, package.files or ())
    told = (package.read_text("top_level.txt") or "").split()  # of an editable installation, which lists no module
    return importable(path for path in files if ".dist-info/" not in path and not path.startswith("..")) | set(told)


def _changed(place: Path) -> int:
    return place.stat().st_mtime_ns


def normal(name: str) -> str:
    """A package's name as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
