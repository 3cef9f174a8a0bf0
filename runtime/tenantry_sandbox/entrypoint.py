"""From an unpacked bundle and its entrypoint to the object that serves.

`sys.path` becomes: the bundle, its vendored dependencies, the standard library (and, under `platform dev`, the
author's own environment), and last the platform's kit and pydantic; so whatever an author pins wins over what the
platform brings.
"""

import importlib
import importlib.machinery
import os
import sys
from types import ModuleType
from typing import Any

from tenantry_sandbox import scripts
from tenantry_sandbox.faults import LoadError

VENDOR = "_vendor"
SHOWN = 8  # modules or names in a hint
FOUNDATION = frozenset(  # what the standard library itself stands on: a bundle's types.py must not replace types
    (
        *sys.builtin_module_names,
        *("__main__", "abc", "ast", "asyncio", "codecs", "collections", "contextlib", "copyreg", "dataclasses"),
        *(
            "encodings",
            "enum",
            "functools",
            "genericpath",
            "importlib",
            "inspect",
            "io",
            "json",
            "keyword",
            "linecache",
        ),
        *("logging", "operator", "os", "posixpath", "re", "reprlib", "selectors", "site", "socket", "stat", "string"),
        *("struct", "threading", "token", "tokenize", "traceback", "types", "typing", "warnings", "weakref"),
    )
)


def prepare(folder: str, kit: list[str]) -> None:
    """Make `folder` the place that code comes from, and let it win over modules that the runner has loaded."""
    kept = [path for path in sys.path if path not in kit]
    sys.path[:] = [folder, os.path.join(folder, VENDOR), *kept, *kit]
    os.chdir(folder)
    own = top_level(folder) | top_level(os.path.join(folder, VENDOR))
    for name in [*sys.modules]:
        first = name.partition(".")[0]
        if first in own and first not in FOUNDATION and first != __package__:
            del sys.modules[name]
    importlib.invalidate_caches()


def top_level(folder: str) -> set[str]:
    """The names that can be imported from `folder`."""
    try:
        entries = os.listdir(folder)
    except FileNotFoundError:
        return set()
    return {entry.partition(".")[0] for entry in entries if not entry.startswith(("_vendor", "."))}


def load(folder: str, entrypoint: str) -> Any:
    """Import the module and return its object, or run the script and return the server that it starts.

    Raises: LoadError `plugin.entrypoint`, `plugin.dependency`, `plugin.wrong-platform`, `plugin.import`.
    """
    module, colon, path = entrypoint.partition(":")
    try:
        if colon:
            return _attribute(importlib.import_module(module), path, entrypoint)
        return scripts.serve(os.path.join(folder, entrypoint))
    except LoadError:
        raise
    except ModuleNotFoundError as error:
        raise _missing(folder, module if colon else "", error) from error
    except BaseException as error:
        code, hint = getattr(error, "code", None), getattr(error, "hint", None)
        if isinstance(code, str) and isinstance(hint, str):  # the kit's own refusal of a declaration
            raise LoadError(code, str(error), hint) from error
        raise LoadError("plugin.import", f"Loading {entrypoint} failed: {type(error).__name__}: {error}") from error


def _attribute(module: ModuleType, path: str, entrypoint: str) -> Any:
    found: Any = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise LoadError(
                "plugin.entrypoint",
                f"{module.__name__} has no {path}.",
                f"The entrypoint is {entrypoint!r}; {module.__name__} has: {', '.join(_objects(module)[:SHOWN])}.",
            ) from None
    return found


def _objects(module: ModuleType) -> list[str]:
    """What of a module might be meant: not what it imports to build its server from, nor from __future__."""
    return [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and type(value).__module__ not in ("builtins", "__future__")
    ]


def _modules(folder: str) -> list[str]:
    """The modules and packages of the author's, sorted."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(".py") or entry.is_dir()]
    return sorted(name.removesuffix(".py") for name in names if name[0] not in "_.")


def _missing(folder: str, module: str, error: ModuleNotFoundError) -> LoadError:
    name = error.name or ""
    top = name.partition(".")[0]
    if module == name or module.startswith(f"{name}."):
        told = f"Set the entrypoint in plugin.toml; modules of the bundle: {', '.join(_modules(folder)[:SHOWN])}."
        return LoadError("plugin.entrypoint", f"The bundle has no module {name}.", told)
    foreign = _foreign_wheel(os.path.join(folder, VENDOR, top))
    if foreign:
        return LoadError(
            "plugin.wrong-platform",
            f"{top} was built for another platform: {foreign} does not load here.",
            f"Publish again; {top} must fit Python {sys.version_info[0]}.{sys.version_info[1]} on {sys.platform}.",
        )
    told = (
        f"Add the package that brings {top} to requirements.txt, or, if {top} is your own, put it into the plugin's "
        "folder. Publish again."
    )
    if _asks_for(folder, top):
        told = (
            f"requirements.txt names {top}, but what is installed has no {name}: name a version that has it, and where "
            "the plugin runs in an environment of its own (.venv), install requirements.txt there."
        )
    return LoadError("plugin.dependency", f"There is no module {name}.", told)


def _asks_for(folder: str, package: str) -> bool:
    """Whether the bundle's requirements.txt names a package."""
    try:
        with open(os.path.join(folder, "requirements.txt"), encoding="utf-8", errors="replace") as file:
            lines = [line.strip().lower().replace("-", "_") for line in file]
    except FileNotFoundError:
        return False
    name = package.lower()
    return any(line.startswith(name) and not line[len(name) : len(name) + 1].isidentifier() for line in lines)


def _foreign_wheel(package: str) -> str:
    """The name of a compiled module in `package` that this interpreter cannot load, where all are such."""
    compiled = [
        name
        for _, _, names in os.walk(package)
        for name in names
        if name.endswith((".so", ".pyd", ".dylib")) and "." in name.removesuffix(".so")
    ]
    fitting = [name for name in compiled if name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES[:-1]))]
    return compiled[0] if compiled and not fitting else ""
