"""Dependencies, resolved by the real uv from wheels in a folder: no index is asked."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tenantry_registry import vendor
from tenantry_registry.errors import PlatformError
from tenantry_registry.vendor import HOST, LAMBDA, V1_NOTICE, declares, requirements


def wheel(folder: Path, name: str, version: str, tag: str = "py3-none-any", needs: str = "") -> None:
    """Write a wheel with one module in it (and a script, and a cache, as real ones have)."""
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    files = {
        f"{name}/__init__.py": f"version = {version!r}\n",
        f"{name}/__pycache__/x.pyc": "",
        f"{about}/METADATA": metadata,
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{name} = {name}:version\n",
    }
    record = "".join(f"{path},sha256={_hash(text)},{len(text)}\n" for path, text in files.items())
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        for path, text in {**files, f"{about}/RECORD": f"{record}{about}/RECORD,,\n"}.items():
            archive.writestr(path, text)


def _hash(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "mcp", "1.30.0")
    wheel(folder, "mcp", "2.3.0")
    wheel(folder, "pure", "1.0", needs="deeper")
    wheel(folder, "deeper", "2.0")
    wheel(folder, "windows", "1.0", tag="cp313-cp313-win_amd64")
    wheel(folder, "graviton", "1.0", tag="cp313-cp313-manylinux_2_28_aarch64")
    wheel(folder, "tenantry", "9.0")
    return folder


@pytest.fixture
def environ(index: Path, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "uv.toml").write_text(f"no-index = true\nfind-links = ['{index}']\n")
    offline = {"UV_CONFIG_FILE": str(tmp_path / "uv.toml"), "UV_CACHE_DIR": str(tmp_path / "uv")}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **offline}


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., Path]:
    def plugin(**files: str) -> Path:
        folder = tmp_path / "plugin"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return folder

    return plugin


@pytest.fixture
def resolve(environ: dict[str, str], tmp_path: Path):
    def resolve(folder: Path, target: vendor.Target = HOST, entrypoint: str = "server:mcp") -> vendor.Vendored:
        wanted = requirements(folder, entrypoint)
        assert wanted is not None
        return vendor.vendor(folder, wanted, target, tmp_path / "cache", environ)

    return resolve


SCRIPT = '# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#   "pure",\n# ]\n# ///\nimport pure\n'


@pytest.mark.parametrize(
    ("files", "entrypoint"),
    [
        ({"requirements__txt": "# what it needs\npure>=1  # a comment\n"}, "server:mcp"),
        ({"pyproject__toml": '[project]\nname = "x"\ndependencies = ["pure"]\n'}, "server:mcp"),
        ({"server__py": SCRIPT}, "server:mcp"),
        ({"run__py": SCRIPT, "requirements__txt": "windows\n"}, "run.py"),
        ({"requirements__txt": "-r more.txt\n", "more__txt": "pure\n"}, "server:mcp"),
    ],
)
def test_what_a_plugin_asks_for_is_resolved_with_all_that_it_needs(plugin, resolve, files, entrypoint: str) -> None:
    vendored = resolve(plugin(**files), entrypoint=entrypoint)
    assert vendored.packages == ("deeper==2.0", "pure==1.0")
    assert vendored.notices == ()
    names = [*vendored.files()]
    assert {"_vendor/pure/__init__.py", "_vendor/deeper/__init__.py"} <= {*names}
    assert not [name for name in names if "/bin/" in name or name.endswith("/x.pyc") or "/." in name]
    assert [name for name in names if name.startswith("_vendor/pure/__pycache__/__init__.")], "a cold import is halved"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"requirements__txt": "\n# nothing yet\n"},
        {"pyproject__toml": "[tool.ruff]\nline-length = 120\n"},
        {"server__py": "# /// script\n# requires-python = '>=3.11'\n# ///\n"},
    ],
)
def test_a_plugin_that_asks_for_nothing_gets_nothing(plugin, files) -> None:
    assert requirements(plugin(**files), "server:mcp") is None


def test_whether_a_plugin_asks_for_anything_can_be_told_of_words_that_can_not_be_read(plugin) -> None:
    assert not declares(plugin(), "server:mcp")
    assert declares(plugin(pyproject__toml="[project\n"), "server:mcp")
    assert declares(plugin(requirements__txt="pure\n"), "server:mcp")


def test_requirements_that_include_each_other_are_read_once(plugin, resolve) -> None:
    folder = plugin(requirements__txt="-r more.txt\npure\n", more__txt="-r requirements.txt\ndeeper\n")
    assert resolve(folder).packages == ("deeper==2.0", "pure==1.0")


def test_the_same_question_is_answered_from_the_cache(plugin, resolve, index: Path) -> None:
    folder = plugin(requirements__txt="-r more.txt\n", more__txt="pure\n")
    first = resolve(folder)
    for path in index.iterdir():
        path.unlink()
    assert resolve(folder).folder == first.folder
    (folder / "more.txt").write_text("deeper\n")
    with pytest.raises(PlatformError):
        resolve(folder)


def test_the_kit_is_the_platforms_unless_a_version_is_asked_for(plugin, resolve) -> None:
    assert resolve(plugin(requirements__txt="tenantry[cli]\npure\n")).packages == ("deeper==2.0", "pure==1.0")
    assert "tenantry==9.0" in resolve(plugin(requirements__txt="tenantry==9.0\npure\n")).packages


V1 = "from mcp.server.fastmcp import FastMCP\n"


@pytest.mark.parametrize(
    ("asked", "code", "resolved", "notices"),
    [
        ("mcp\npure\n", V1, "mcp==1.30.0", (V1_NOTICE,)),
        ("mcp[cli]>=1.2\n", V1, "mcp==1.30.0", (V1_NOTICE,)),
        ("mcp\n", "from mcp.server import MCPServer\n", "mcp==2.3.0", ()),
        ("mcp>=2\n", V1, "mcp==2.3.0", ()),
        ("mcp==1.30.0\n", V1, "mcp==1.30.0", ()),
        ("mcp<2\n", V1, "mcp==1.30.0", ()),
        ("mcp>=1.2,<2.0  # the first SDK\n", V1, "mcp==1.30.0", ()),
        ("mcp<=1.40\n", V1, "mcp==1.30.0", ()),
        ("mcp<20\n", V1, "mcp==1.30.0", (V1_NOTICE,)),
    ],
)
def test_code_for_the_first_sdk_gets_the_first_sdk(plugin, resolve, asked, code, resolved, notices) -> None:
    vendored = resolve(plugin(requirements__txt=asked, server__py=code))
    assert resolved in vendored.packages
    assert vendored.notices == notices


def test_wheels_are_chosen_for_the_platform_that_will_run_them(plugin, resolve) -> None:
    folder = plugin(requirements__txt="graviton\n")
    nowhere = replace(LAMBDA, python="python-that-is-not-here")
    assert resolve(folder, nowhere).packages == ("graviton==1.0",)
    with pytest.raises(PlatformError) as refused:
        resolve(folder, HOST)
    assert refused.value.code == "vendor.no-wheel"
    assert refused.value.message == f"graviton has no wheel for {HOST.name}."


@pytest.mark.parametrize(
    ("files", "code", "told"),
    [
        ({"requirements__txt": "windows\n"}, "vendor.no-wheel", "windows has no wheel"),
        ({"requirements__txt": "pure==3\n"}, "vendor.unresolved", "pure==3"),
        ({"requirements__txt": "no-such-package\n"}, "vendor.unresolved", "no-such-package"),
        ({"requirements__txt": "-r missing.txt\n"}, "vendor.unresolved", "missing.txt"),
        ({"requirements__txt": "=not= a requirement\n"}, "vendor.unresolved", "resolved"),
        ({"pyproject__toml": "[project\n"}, "vendor.requirements", "pyproject.toml is not TOML"),
        ({"pyproject__toml": "project = 3\n"}, "vendor.requirements", "not a list"),
        ({"pyproject__toml": "[project]\ndependencies = 'pure'\n"}, "vendor.requirements", "not a list"),
    ],
)
def test_what_can_not_be_had_is_named(plugin, resolve, tmp_path: Path, files, code: str, told: str) -> None:
    with pytest.raises(PlatformError) as refused:
        resolve(plugin(**files), LAMBDA)
    assert refused.value.code == code
    assert told in refused.value.message
    assert not [*tmp_path.glob("cache/*")]


def test_an_index_that_does_not_answer_is_said_so(plugin, tmp_path: Path, environ: dict[str, str]) -> None:
    folder = plugin(requirements__txt="pure\n")
    wanted = requirements(folder, "server:mcp")
    assert wanted is not None
    (tmp_path / "uv.toml").write_text("index-url = 'http://127.0.0.1:9/simple'\n")
    offline = {**environ, "UV_HTTP_RETRIES": "0"}
    with pytest.raises(PlatformError) as refused:
        vendor.vendor(folder, wanted, HOST, tmp_path / "cache", offline)
    assert refused.value.code == "vendor.unreachable"


def test_an_index_that_is_too_slow_is_said_so(plugin, tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = requirements(plugin(requirements__txt="pure\n"), "server:mcp")
    assert wanted is not None
    with pytest.raises(PlatformError) as refused:
        vendor.vendor(tmp_path / "plugin", wanted, HOST, tmp_path / "cache", environ, seconds=0.001)
    assert refused.value.code == "vendor.unreachable"


def test_uv_is_the_installed_one_or_the_one_on_the_path(tmp_path: Path) -> None:
    assert vendor.uv() == [sys.executable, "-m", "uv"]
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert vendor.uv({"PATH": str(tmp_path)}, installed=False) == [str(program)]
    with pytest.raises(PlatformError) as refused:
        vendor.uv({"PATH": "/nowhere"}, installed=False)
    assert refused.value.code == "vendor.no-uv"


def test_two_that_resolve_the_same_at_once_both_get_it(
    plugin, resolve, tmp_path: Path, environ: dict[str, str]
) -> None:
    folder = plugin(requirements__txt="pure\n")
    wanted = requirements(folder, "server:mcp")
    assert wanted is not None

    class Racing(dict[str, str]):
        """While the first resolves, a second comes, and is faster."""

        raced = False

        def __iter__(self):
            if not self.raced:
                type(self).raced = True
                resolve(folder)
            return super().__iter__()

        def keys(self):
            iter(self)
            return super().keys()

    raced = vendor.vendor(folder, wanted, HOST, tmp_path / "cache", Racing(environ))
    assert raced.packages == ("deeper==2.0", "pure==1.0")
    assert len([*(tmp_path / "cache").iterdir()]) == 1
