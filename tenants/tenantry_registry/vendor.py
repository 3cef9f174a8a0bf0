"""Dependencies of a plugin, resolved by uv for the platform that will run it, as files below `_vendor/` of its bundle.

    requirements  what the folder asks for: the script's own block (PEP 723), requirements.txt, or pyproject.toml
    vendor        those, resolved and installed for a Target, from a cache where the same was asked before

Wheels only: nothing of a dependency's is executed, and a package without a wheel for the platform is named here rather
than missed on the first call. The kit itself is left out unless a version is asked for: the platform brings it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tenantry_registry.errors import PlatformError

UV_SECONDS: Final = 600.0  # a slow line and a hundred packages
SCRIPT_BLOCK: Final = re.compile(r"(?m)^# /// script\s*$\s(?P<body>(^#(| .*)$\s)+)^# ///$")  # PEP 723
INCLUDED: Final = re.compile(r"^\s*(?:-r|-c|--requirements?|--constraints?)[ =]+(\S+)", re.MULTILINE)
NAMED: Final = re.compile(
    r"^[ \t]*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)[ \t]*(?:\[[^\]]*\])?[ \t]*(?P<version>[^#;\n]*)", re.MULTILINE
)
# A version, a compatible one, an address; none below 2, or none from there on
SAYS_WHICH_MCP: Final = re.compile(r"^(?:={2,3}|~=|@|>=?\s*[2-9])|<\s*2(?!\d|[.\d]*[1-9])|<=?\s*1(?!\d)")
V1_IMPORT: Final = re.compile(r"^\s*(?:from\s+mcp\.server\.fastmcp\b|import\s+mcp\.server\.fastmcp\b)", re.MULTILINE)
V1_NOTICE: Final = (
    "mcp: the code imports mcp.server.fastmcp, which mcp 2 no longer has; resolved as mcp<2. Pin it to say so yourself."
)
NOT_SHIPPED: Final = ("bin", "__pycache__")  # of an installation: scripts for a terminal, and caches


@dataclass(frozen=True, slots=True)
class Target:
    """Where code will run: `name` for the cache and for messages, `options` for uv, `python` to make bytecode with."""

    name: str
    options: tuple[str, ...]
    python: str


LAMBDA: Final = Target(
    "Lambda arm64, Python 3.13",
    ("--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.13"),
    "python3.13",
)
HOST: Final = Target(
    f"this machine, Python {sys.version_info[0]}.{sys.version_info[1]}", ("--python", sys.executable), sys.executable
)


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a plugin asks for. `file`: where it says so, for messages; `text`: as the lines of a requirements file."""

    file: str
    text: str
    below_mcp_2: bool = False


@dataclass(frozen=True, slots=True)
class Vendored:
    """`folder` holds the packages; `packages` are "name==version"; `notices` are for the author to read."""

    folder: Path
    packages: tuple[str, ...]
    notices: tuple[str, ...]

    def files(self) -> dict[str, bytes]:
        """What `bundle.pack` takes as `extra`."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {f"_vendor/{path.relative_to(self.folder).as_posix()}": path.read_bytes() for path in paths}


def requirements(folder: Path, entrypoint: str) -> Requirements | None:
    """What the plugin in `folder` depends on, or None where it names nothing.

    Raises: PlatformError `vendor.requirements` when what it names can't be read.
    """
    found = _found(folder, entrypoint)
    if found is None:
        return None
    file, text = found
    return Requirements(file, text, below_mcp_2=_wants_mcp_1(folder, text))


def declares(folder: Path, entrypoint: str) -> bool:
    """Whether the plugin in `folder` names dependencies, be it in words that can't be read."""
    try:
        return _found(folder, entrypoint) is not None
    except PlatformError:
        return True


def vendor(
    folder: Path,
    wanted: Requirements,
    target: Target,
    cache: Path,
    environ: Mapping[str, str] = os.environ,
    seconds: float = UV_SECONDS,
) -> Vendored:
    """Resolve and install, or find it in `cache`.

    Raises: PlatformError `vendor.no-wheel`, `vendor.unresolved`, `vendor.unreachable`, `vendor.no-uv`.
    """
    place = kept_at(folder, wanted, target, cache)
    if not place.exists():
        draft = cache / f".{secrets.token_hex(8)}"
        (draft / "packages").mkdir(parents=True)
        try:
            _install(folder, wanted, draft, Uv(folder, target, environ, seconds))
            with suppress(OSError):  # another process was faster
                draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    locked = (place / "lock.txt").read_text()
    packages = tuple(line.split()[0] for line in locked.splitlines() if line[:1].isalnum())
    return Vendored(place / "packages", packages, (V1_NOTICE,) if wanted.below_mcp_2 else ())


def kept_at(folder: Path, wanted: Requirements, target: Target, cache: Path) -> Path:
    """Where `vendor` keeps what it installs; there is nothing before the same was asked for once."""
    key = hashlib.sha256(
        json.dumps([wanted.text, wanted.below_mcp_2, *_included(folder, wanted.text), target.name]).encode()
    )
    return cache / key.hexdigest()[:32]


def _install(folder: Path, wanted: Requirements, draft: Path, run: Uv) -> None:
    (draft / "excluded.txt").write_text("" if _pinned(wanted.text, "tenantry") else "tenantry\n")
    (draft / "constraints.txt").write_text("mcp<2\n" if wanted.below_mcp_2 else "")
    asked = folder / wanted.file
    if wanted.file != "requirements.txt":
        asked = draft / "requirements.txt"
        asked.write_text(wanted.text)
    lock = draft / "lock.txt"
    # A lock with hashes first, so that what is installed is what was resolved.
    told = ("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "-o", str(lock))
    given = ("--excludes", str(draft / "excluded.txt"), "--constraints", str(draft / "constraints.txt"))
    run("compile", str(asked), *given, *told)
    packages = draft / "packages"
    into = ("--target", str(packages), "--no-deps", "--link-mode", "copy")
    run("install", *into, "-r", str(lock))
    for path in [*packages.iterdir()]:
        if path.name in NOT_SHIPPED or path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [*packages.rglob("__pycache__")]:
        shutil.rmtree(path)
    run.compile(packages)


@dataclass(frozen=True, slots=True)
class Uv:
    """Runs `uv pip` in the plugin's folder, for a target, without ever building anything."""

    folder: Path
    target: Target
    environ: Mapping[str, str]
    seconds: float

    def __call__(self, verb: str, *arguments: str) -> None:
        """Raises: PlatformError, as `vendor` says."""
        env = {**self.environ, "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
        only = ("--only-binary", ":all:", *self.target.options)
        command = [*uv(self.environ), "--quiet", "pip", verb, *arguments, *only]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=self.seconds, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise PlatformError("vendor.unreachable", "The package index is too slow.", "Try again.") from error
        if done.returncode:
            raise _explained(done.stderr, self.target)

    def compile(self, packages: Path) -> None:
        """Add bytecode, where there is an interpreter of the target's version: it halves the time of a cold import.

        Unchecked, because a bundle keeps no times; and so that the same packages are the same bytes.
        """
        python = shutil.which(self.target.python, path=self.environ.get("PATH"))
        if python is not None:
            how = ("-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(packages))
            # A package may hold templates that are no Python; those are left as they are.
            subprocess.run([python, "-I", *how, str(packages)], capture_output=True, check=False)


def uv(environ: Mapping[str, str] = os.environ, *, installed: bool | None = None) -> list[str]:
    """The command that is uv: the one that is installed with the platform, or the one on PATH.

    Raises: PlatformError `vendor.no-uv`."""
    if importlib.util.find_spec("uv") is not None if installed is None else installed:
        return [sys.executable, "-m", "uv"]
    program = shutil.which("uv", path=environ.get("PATH"))
    if program is None:
        told = "Dependencies are resolved by uv, which is missing."
        raise PlatformError("vendor.no-uv", told, "Install tenantry[cli].")
    return [program]


def _explained(stderr: str, target: Target) -> PlatformError:
    """uv's refusal, with the name of the package that it is about."""
    text = re.sub(r"\s+", " ", stderr).strip()
    named = re.search(
        r"[Bb]ecause (?:only )?(?:there (?:is|are) no versions? of )?([A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9])", text
    )
    package = named[1] if named else "a package"
    if re.search(r"no wheels|no usable wheels|only-binary|no-build|Building source distributions", text):
        return PlatformError(
            "vendor.no-wheel",
            f"{package} has no wheel for {target.name}.",
            "Choose a version that has one, or another package; nothing is built from source.",
        )
    if re.search(r"error sending request|dns error|timed out|connect error|Failed to fetch", text):
        return PlatformError(
            "vendor.unreachable", "The package index does not answer.", "Try again; see uv's settings."
        )
    reason = text.rpartition("cause: ")[2] or text
    return PlatformError(
        "vendor.unresolved", f"Dependencies can't be resolved: {reason[:600]}", "Loosen or correct them."
    )


def _found(folder: Path, entrypoint: str) -> tuple[str, str] | None:
    """The first place that names anything, and what it says."""
    found = _script(folder, entrypoint) or _requirements_file(folder) or _pyproject(folder)
    if found is None or not any(line.strip() and not line.lstrip().startswith("#") for line in found[1].splitlines()):
        return None
    return found


def _script(folder: Path, entrypoint: str) -> tuple[str, str] | None:
    module, colon, _ = entrypoint.partition(":")
    path = folder / (f"{module.replace('.', '/')}.py" if colon else entrypoint)
    found = SCRIPT_BLOCK.search(path.read_text("utf-8", "replace")) if path.is_file() else None
    if found is None:
        return None
    body = "".join(line[2:] if line.startswith("# ") else line[1:] for line in found["body"].splitlines(keepends=True))
    return path.name, "\n".join(_strings(path.name, _toml(path.name, body).get("dependencies", [])))


def _requirements_file(folder: Path) -> tuple[str, str] | None:
    path = folder / "requirements.txt"
    return ("requirements.txt", path.read_text("utf-8", "replace")) if path.is_file() else None


def _pyproject(folder: Path) -> tuple[str, str] | None:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return None
    project = _toml(path.name, path.read_text("utf-8", "replace")).get("project", {})
    listed = project.get("dependencies", []) if isinstance(project, dict) else None
    return path.name, "\n".join(_strings(path.name, listed))


def _toml(name: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlatformError("vendor.requirements", f"{name} is not TOML: {error}.", "Correct it.") from error


def _strings(name: str, listed: object) -> list[str]:
    if isinstance(listed, list) and all(isinstance(line, str) for line in listed):
        return listed
    raise PlatformError("vendor.requirements", f"The dependencies in {name} are not a list of texts.", "See PEP 621.")


def _included(folder: Path, text: str, seen: frozenset[Path] = frozenset()) -> Iterator[str]:
    """The texts of the requirement files that `text` includes; one that includes itself is read once."""
    for name in INCLUDED.findall(text):
        path = (folder / name).resolve()
        if path.is_file() and path not in seen:
            content = path.read_text("utf-8", "replace")
            yield content
            yield from _included(path.parent, content, seen | {path})


def _versions(text: str, package: str) -> list[str]:
    named = [(found["name"], found["version"].strip()) for found in NAMED.finditer(text)]
    return [version for name, version in named if re.sub(r"[-_.]+", "-", name).lower() == package]


def _pinned(text: str, package: str) -> bool:
    return any(_versions(text, package))


def _wants_mcp_1(folder: Path, text: str) -> bool:
    """Whether code needs `mcp` 1.x and nothing in the requirements says which one it is."""
    if any(SAYS_WHICH_MCP.search(version) for version in _versions(text, "mcp")):
        return False
    return any(V1_IMPORT.search(path.read_text("utf-8", "replace")) for path in sorted(folder.rglob("*.py")))
