"""The folder that comes last on a worker's sys.path: the platform's kit and pydantic, and nothing else of the platform.

It holds links, so that whatever else is installed beside them cannot be imported by accident: a bundle that needs it
must bring it, here as on AWS.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Final

# The kit and its closure of dependencies; each is a package or a single module.
KIT: Final = ("tenantry", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection")


def place(name: str) -> Path:
    """The folder of an installed package, or the file of a module. Raises: ModuleNotFoundError."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed", name=name)
    origin = Path(spec.origin)
    return (origin.parent if spec.submodule_search_locations else origin).resolve()


def sources() -> dict[str, Path]:
    """Where each of KIT lies in this installation: {file or folder name: path}."""
    return {path.name: path for path in map(place, KIT)}


def make(folder: Path) -> Path:
    """Fill `folder` with a link to each of `sources`, replacing links that lead elsewhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in sources().items():
        link = folder / name
        if link.is_symlink() and link.readlink() != target:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(target)
    return folder


def sandbox() -> Path:
    """The folder of the package `tenantry_sandbox`, which the platform starts and never imports."""
    return place("tenantry_sandbox")
