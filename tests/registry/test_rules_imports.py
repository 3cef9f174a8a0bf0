"""The rule of dependencies: imports that only the author's machine could satisfy."""

from __future__ import annotations

import pytest
from tenantry_registry.config import load
from tenantry_registry.report import Place
from tenantry_registry.rules_imports import check_egress, check_imports, reached

SERVER = "name = 'zoo'\nentrypoint = '{}'\n"


def undeclared(
    files: dict[str, str], *, entrypoint: str = "server:plugin", vendored: tuple[str, ...] = (), provided: str = ""
) -> list[tuple[str, Place]]:
    raw = {path: text.encode() for path, text in files.items()}
    found = check_imports(load(SERVER.format(entrypoint)), raw, [*raw, *vendored], provided.split())
    return [(finding.subject, finding.place) for finding in found]


def test_an_import_that_no_requirement_brings_is_told_once_with_its_place() -> None:
    files = {"server.py": "import os\nimport httpx\nfrom httpx import Client\nimport yaml.nodes\n"}
    assert undeclared(files) == [("httpx", Place("server.py", 2)), ("yaml", Place("server.py", 4))]


def test_the_standard_library_the_kit_and_the_bundle_itself_are_known() -> None:
    files = {
        "server.py": "from __future__ import annotations\nimport json, pydantic\nfrom tenantry import Plugin\n"
        "import animals, food.meat\nfrom . import fast\n",
        "animals.py": "",
        "README": "",
        "food/meat.py": "",
        "fast.cpython-313-x86_64-linux-gnu.so": "",
    }
    assert undeclared(files) == []


def test_what_was_vendored_or_is_provided_is_known() -> None:
    files = {"server.py": "import httpx, six, yaml"}
    assert undeclared(files, vendored=("_vendor/httpx/__init__.py", "_vendor/six.py"), provided="yaml") == []
    assert [name for name, _ in undeclared(files, provided="yaml six")] == ["httpx"]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import httpx\nexcept ImportError:\n    httpx = None",
        "try:\n    import httpx\nexcept (OSError, ModuleNotFoundError):\n    pass",
        "try:\n    import httpx\nexcept:\n    pass",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import httpx",
        "import typing\nif typing.TYPE_CHECKING:\n    import httpx",
        "import sys\nif sys.version_info < (3, 11):\n    import tomli",
        "import sys\nif sys.platform == 'emscripten':\n    import pyodide",
    ],
)
def test_what_the_code_can_do_without_is_not_asked_for(source: str) -> None:
    assert undeclared({"server.py": source}) == []


def test_an_import_where_it_is_needed_counts_wherever_it_stands() -> None:
    source = "def tool():\n    import httpx\ntry:\n    import six\nexcept ValueError:\n    pass\n"
    assert [name for name, _ in undeclared({"server.py": source})] == ["httpx", "six"]


def test_only_modules_that_the_entrypoint_leads_to_are_read() -> None:
    files = {
        "app/__init__.py": "",
        "app/server.py": "from . import shop\nfrom .deep import far\nfrom app.own import thing\n",
        "app/shop.py": "import httpx",
        "app/deep/__init__.py": "",
        "app/deep/far.py": "from .. import server\nimport six",
        "app/own.py": "",
        "test_app.py": "import pytest",
    }
    assert [name for name, _ in undeclared(files, entrypoint="app.server:plugin")] == ["httpx", "six"]
    raw = {path: text.encode() for path, text in files.items()}
    assert "test_app.py" not in [*reached("app.server:plugin", raw)]


def test_a_script_is_read_and_what_is_no_python_is_somebody_elses_finding() -> None:
    assert [name for name, _ in undeclared({"run.py": "import httpx"}, entrypoint="./run.py")] == ["httpx"]
    assert undeclared({"run.py": "def ("}, entrypoint="run.py") == []
    assert undeclared({}, entrypoint="run.py") == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import json, urllib.parse, http.server", ""),
        ("import http.client as client", "http.client"),
        ("from urllib import request", "urllib.request"),
        ("from httpx import Client\nimport httpx, requests.adapters", "httpx and requests"),
        ("def fetch():\n    import aiohttp", "aiohttp"),
        ("try:\n    import httpx\nexcept ImportError:\n    httpx = None", ""),
    ],
)
def test_a_network_that_is_not_there_once_published_is_told_once(source: str, names: str) -> None:
    files = {"server.py": b"import animals", "animals.py": source.encode()}
    found = [finding.message for finding in check_egress(load(SERVER.format("server:plugin")), files)]
    assert found == ([f"animals.py imports {names}, and egress is none."] if names else [])
    assert not [*check_egress(load(f'{SERVER.format("server:plugin")}egress = "public"\n'), files)]
