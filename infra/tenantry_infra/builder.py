"""Builds a function's zip: its room, the rooms below it and its locked dependencies, byte for byte the same anywhere.

Two targets from one lock. `lambda` is what AWS runs: CPython 3.13 on arm64, wheels only, by hash. `host` is the
same list of files for the interpreter that builds it, and is what the tests unzip and run.

The same bytes come out in any folder, with any hash seed and any umask, because nothing of those is written: names
are sorted, times are 1980, modes are one mode, bytecode is hash-based (bytecode.py), and whatever an installer notes
about itself is dropped. Dependencies are kept under the digest of what went into them and not made twice.

What no function needs is left out: symbols of shared libraries (elf.py), tests, stubs, command lines, plugins for other
tools, and in the platform's own functions the libraries' sources, whose bytecode loads alone and names the same lines.
Docstrings stay: without one, every dataclass works out its signature at import, and the start is slower.

    python -m tenantry_infra.builder --target lambda --out FOLDER [--only gateway]    one JSON line for each zip
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from tenantry_registry.errors import PlatformError
from uv import find_uv_bin

from tenantry_infra import elf
from tenantry_infra.failure import told

Target = Literal["lambda", "host"]

LAMBDA_PYTHON: Final = "3.13"  # SnapStart starts at 3.12; 3.13 is the newest that every wheel we ship is built for
LAMBDA_PLATFORM: Final = (
    "aarch64-manylinux_2_28"  # Amazon Linux 2023 has glibc 2.34; manylinux2014 lacks numpy's wheels
)
ZIP_LIMIT: Final = 50 * 1024 * 1024  # a direct upload to Lambda; a quota of AWS
UNZIPPED_LIMIT: Final = 250 * 1024 * 1024  # Lambda's deployment package with its layers, unzipped
MODE: Final = 0o100644 << 16
EPOCH: Final = (1980, 1, 1, 0, 0, 0)
LEVEL: Final = 9  # of deflate; once for each lock, since dependencies are kept
RECIPE: Final = 5  # raise it when this file, bytecode.py or elf.py changes what comes out

# Tests, type stubs, what an installer writes about itself, scripts, and botocore's examples.
DROPPED: Final = (
    "*.pyi", "*/tests/*", "*/test/*", "*/testing/*.py", "bin/*", "*/__pycache__/*", "*.pyc", "*.lock",
    "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "*.dist-info/direct_url.json",
    "*.dist-info/uv_*", "*.dist-info/sboms/*", "botocore/data/*/examples-1.json*",
    "dateutil/zoneinfo/*.tar.gz", "cffi/*", "pycparser/*",  # cryptography needs _cffi_backend alone
)  # fmt: skip
KEPT: Final = ("fastapi/testing/*",)
# What is for other programs than ours: not in the sandbox, where others' code may use whatever a library has.
FOR_OTHERS: Final = (
    "pydantic/v1/*", "pydantic/mypy.py", "anyio/pytest_plugin.py", "anyio/_backends/_trio.py", "*/testclient.py",
    "fastapi/cli.py", "fastapi/__main__.py", "dotenv/cli.py", "dotenv/__main__.py", "dotenv/ipython.py", "idna/cli.py",
    "idna/__main__.py", "obstore/fsspec.py", "urllib3/contrib/emscripten/*",
)  # fmt: skip
# anyio reads its own source to learn what to load later; without it everything is loaded at once (3 % of a cold start).
SOURCES: Final = ("anyio/__init__.py", "anyio/abc/__init__.py")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What goes into a function's zip: our `packages`, and of botocore's 400 services the ones it calls. `whole`:
    the libraries keep what our code does not use, and their sources, since others' code runs beside them."""

    packages: tuple[str, ...]
    services: tuple[str, ...] = ()
    whole: bool = False


RECIPES: Final[Mapping[str, Recipe]] = {
    "gateway": Recipe(("tenantry", "tenantry_registry", "tenantry_gateway"), ("lambda", "dynamodb", "sts")),
    "control": Recipe(("tenantry", "tenantry_registry", "tenantry_control"), ("lambda", "dynamodb", "logs", "sts")),
    "publisher": Recipe(("tenantry", "tenantry_registry", "tenantry_publisher"), ("lambda", "dynamodb", "sts")),
    "sandbox": Recipe(("tenantry", "tenantry_sandbox"), whole=True),
}


@dataclass(frozen=True, slots=True)
class Zip:
    """A built function: the file, its sha256 and its sizes in bytes, zipped and not."""

    room: str
    target: Target
    path: Path
    sha256: str
    size: int
    unzipped: int


def locks() -> Path:
    """The folder of the hash-locked requirement files (shipped inside the package in a wheel)."""
    here = Path(__file__).resolve().parent
    inside = here / "locks"
    return inside if inside.is_dir() else here.parent / "locks"


def package_folder(name: str) -> Path:
    """Where one of our packages lies, found without importing it. Raises: PlatformError `deploy.no-source`."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise PlatformError("deploy.no-source", f"The package {name} is not installed.", "Run `make setup`.")
    return Path(next(iter(spec.submodule_search_locations)))


def interpreter(target: Target) -> str:
    """The Python whose bytecode goes into the zip. Raises: PlatformError `deploy.no-python`."""
    if target == "host":
        return sys.executable
    # pyenv's shims answer for versions that are not switched on, which uv takes for a broken Python: ask pyenv's
    # own folder first.
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for python in sorted(pyenv.glob(f"{LAMBDA_PYTHON}.*/bin/python")):
        return str(python)
    found = subprocess.run(
        [find_uv_bin(), "python", "find", "--no-project", "--no-python-downloads", "--system", LAMBDA_PYTHON],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode != 0:
        raise PlatformError(
            "deploy.no-python",
            f"There is no Python {LAMBDA_PYTHON} on this machine, which the functions' bytecode is made with.",
            f"Install one, for example with `uv python install {LAMBDA_PYTHON}`.",
        )
    return found.stdout.strip()


def build(room: str, target: Target, out: Path, *, cache: Path | None = None) -> Zip:
    """Build `out/{room}-{target}.zip`: the dependencies first, our own packages after them.

    `cache` is a folder where the dependencies' part is kept by the digest of its input; without one it is made anew.
    Raises: PlatformError `deploy.no-python`, `deploy.no-source`, `deploy.build`, `deploy.zip-too-large`.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{room}-{target}.zip"
    part = path.with_suffix(f".{os.getpid()}.part")
    python = interpreter(target)
    with tempfile.TemporaryDirectory() as work:
        kept = cache / f"{room}-{target}-{_key(room, target)}.zip" if cache else Path(work) / "dependencies.zip"
        if not kept.exists():
            _dependencies(room, target, python, Path(work) / "dependencies", kept)
        shutil.copyfile(kept, part)
        ours = Path(work) / "ours"
        _add_ours(RECIPES[room], ours)
        _compile(python, ours, ("*",))
        _write(ours, part)
    part.replace(path)
    return _measure(room, target, path)


def build_all(target: Target, out: Path, *, cache: Path | None = None) -> list[Zip]:
    """Build every function's zip. Raises as `build`."""
    return [build(room, target, out, cache=cache) for room in RECIPES]


def _key(room: str, target: Target) -> str:
    seen = hashlib.sha256(f"{RECIPE} {RECIPES[room].services} {LAMBDA_PYTHON} {sys.implementation.cache_tag}".encode())
    seen.update((locks() / f"{room}.txt").read_bytes())
    return seen.hexdigest()[:24]


def _dependencies(room: str, target: Target, python: str, stage: Path, path: Path) -> None:
    _install(room, target, python, stage)
    _trim(RECIPES[room], stage)
    _compile(python, stage, ("*",) if RECIPES[room].whole else SOURCES)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    _write(stage, part)
    part.replace(path)


def _sources(package: str) -> Iterable[tuple[str, Path]]:
    folder = package_folder(package)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield f"{package}/{file.relative_to(folder).as_posix()}", file


def _install(room: str, target: Target, python: str, stage: Path) -> None:
    command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--no-compile", "--require-hashes",
               "--only-binary", ":all:", "--target", str(stage), "--requirement", str(locks() / f"{room}.txt"),
               "--link-mode", "copy", "--python", python]  # fmt: skip
    if target == "lambda":
        command += ["--python-platform", LAMBDA_PLATFORM, "--python-version", LAMBDA_PYTHON]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlatformError(
            "deploy.build",
            f"The dependencies of {room} could not be installed for {target}: {done.stderr.strip()[-400:]}",
            f"Look at infra/locks/{room}.in; every dependency needs a wheel for {LAMBDA_PLATFORM}.",
        )


def _add_ours(recipe: Recipe, stage: Path) -> None:
    for package in recipe.packages:
        for name, file in _sources(package):
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, stage / name)


def _trim(recipe: Recipe, stage: Path) -> None:
    unwanted = DROPPED if recipe.whole else DROPPED + FOR_OTHERS
    for file in sorted(stage.rglob("*")):
        name = file.relative_to(stage).as_posix()
        if file.is_dir() or any(fnmatch.fnmatchcase(name, kept) for kept in KEPT):
            continue
        if any(fnmatch.fnmatchcase(name, dropped) for dropped in unwanted):
            file.unlink()
        elif file.suffix == ".so":
            file.write_bytes(elf.cut(file.read_bytes()))
    data = stage / "botocore" / "data"
    for service in sorted(data.iterdir()) if data.is_dir() else ():
        if service.is_dir() and service.name not in recipe.services:
            shutil.rmtree(service)
        elif service.is_dir():  # botocore takes the newest version of an API, unless it is asked for another
            for older in sorted(service.iterdir())[:-1]:
                shutil.rmtree(older)


def _compile(python: str, stage: Path, sources: tuple[str, ...]) -> None:
    script = Path(__file__).with_name("bytecode.py")
    done = subprocess.run(
        [python, "-S", "-s", str(script), str(stage), *sources],
        env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ.get("PATH", "")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise PlatformError("deploy.build", f"The bytecode could not be made: {done.stderr.strip()[-400:]}")


def _write(stage: Path, path: Path) -> None:
    """Add what lies in `stage` to the zip at `path`, which is made where there is none."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for file in sorted(stage.rglob("*"), key=lambda f: f.relative_to(stage).as_posix()):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(stage).as_posix(), EPOCH)
                entry.create_system, entry.external_attr = 3, MODE
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes(), compresslevel=LEVEL)


def _measure(room: str, target: Target, path: Path) -> Zip:
    with zipfile.ZipFile(path) as archive:
        unzipped = sum(entry.file_size for entry in archive.infolist())
    size = path.stat().st_size
    if size > ZIP_LIMIT or unzipped > UNZIPPED_LIMIT:
        raise PlatformError(
            "deploy.zip-too-large",
            f"{room} is {size} bytes zipped and {unzipped} unzipped; Lambda takes {ZIP_LIMIT} and {UNZIPPED_LIMIT}.",
            f"Take a dependency out of infra/locks/{room}.in.",
        )
    return Zip(room, target, path, hashlib.sha256(path.read_bytes()).hexdigest(), size, unzipped)


def main(arguments: list[str] | None = None) -> int:
    """The command line: prints one JSON line for each zip; a PlatformError goes to stderr as JSON, exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m tenantry_infra.builder", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--target", choices=["lambda", "host"], required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=sorted(RECIPES), action="append")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args(arguments)
    try:
        for room in options.only or RECIPES:
            made = build(room, options.target, options.out, cache=options.cache)
            line = {"room": room, "target": made.target, "path": str(made.path), "sha256": made.sha256,
                    "size": made.size, "unzipped": made.unzipped}  # fmt: skip
            print(json.dumps(line), flush=True)
    except PlatformError as error:
        return told(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
