"""`platform submit`: what a submission folder holds already counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MISSING = "Every widget has a screenshot"


def test_pictures_that_lie_in_the_folder_count_at_every_later_submit(platform: Callable[..., Any], here: Path) -> None:
    platform("init", "zoo", "--template", "widget")
    assert platform("publish", "zoo", "--tenant", "acme").code == 0
    first = platform("submit", "acme/zoo").out
    assert MISSING in first
    assert "--page URL" in first
    assert "rows" not in first  # numbers of our own documents
    shots = here / "submission" / "zoo-acme" / "screenshots"
    shots.mkdir()
    (shots / "1-roll_dice.png").write_bytes(b"PNG")
    (shots / "notes.txt").write_text("not a picture")
    answer = json.loads(platform("submit", "acme/zoo", "--json").out)
    assert MISSING not in answer["missing"]
    assert "screenshots/1-roll_dice.png" in answer["files"]
    assert "screenshots/notes.txt" not in answer["files"]
