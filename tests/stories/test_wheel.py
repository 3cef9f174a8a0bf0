"""What is shipped is whole: the wheel alone makes a plugin, serves it, and shows the page."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest
from stories.served import Served

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = "import sys; from tenantry_cli.main import main; sys.exit(main())"
WHERE = (
    "import tenantry, tenantry_cli, tenantry_registry as r; print(tenantry.__file__, tenantry_cli.__file__, r.__file__)"
)


def test_the_wheel_makes_a_plugin_and_shows_the_built_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "built")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = (tmp_path / "built").iterdir()
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    monkeypatch.setenv("PYTHONPATH", str(installed))  # before the clone, which the environment has for itself
    said = subprocess.run([sys.executable, "-c", WHERE], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(path.startswith(f"{installed}{os.sep}") for path in said.stdout.split())
    command = [sys.executable, "-c", PLATFORM]
    subprocess.run([*command, "init", "zoo"], cwd=tmp_path, capture_output=True, check=True)
    served = Served([*command, "dev", "zoo", "--port", "0", "--json", "--no-open"], tmp_path)
    try:
        page = httpx.get(served.origin)
        assert page.status_code == 200
        script = page.text.split('src="')[1].split('"')[0]
        assert httpx.get(f"{served.origin}{script}").headers["content-type"].startswith("text/javascript")
        assert len(served.call("zoo", "roll_dice", {"count": 3})["structuredContent"]["dice"]) == 3
    finally:
        served.stop()
