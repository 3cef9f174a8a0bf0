"""Documents are built and checked like code: generated pages are current, links lead somewhere, the tree is true."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from house.source import ROOMS, ROOT, tracked

GENERATED = ("docs/cli.md", "docs/settings.md", "docs/operate.md", "docs/plugin-toml.md")
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#]+)")
PAGES = [path for path in tracked() if path.suffix == ".md" and "node_modules" not in path.parts]


@pytest.mark.parametrize("page", GENERATED)
def test_a_generated_page_is_what_the_code_says(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", page], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"make docs\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: object) -> None:
    from pathlib import Path

    assert isinstance(page, Path)
    dead = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not dead


def test_the_readme_shows_every_room_and_package() -> None:
    tree = (ROOT / "README.md").read_text().partition("```text\n")[2]
    missing = [name for room, packages in ROOMS.items() for name in (room, *packages) if f"{name}/" not in tree]
    assert not missing


def test_every_page_of_the_documents_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in pages if f"docs/{name}" not in readme] == []


def test_every_make_target_explains_itself() -> None:
    targets = re.findall(r"^([a-z-]+):(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    unexplained = [name for name, rest in targets if "##" not in rest and name != "setup-test"]
    assert not unexplained
