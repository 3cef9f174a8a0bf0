"""docs/kit.md is true: its code runs in the order it stands, and it leaves nothing out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tenantry
from tenantry import CSP, Context, Plugin, Widget
from tenantry.testing import Client

TEXT = (Path(__file__).parents[2] / "docs" / "kit.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the reference's examples define, run as one module."""
    module: dict[str, Any] = {"__name__": "server"}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"docs/kit.md#{number}", "exec", dont_inherit=True), module)
    return module


def test_the_examples_run_and_their_own_test_passes(names):
    names["test_the_zoo"]()


def test_what_the_examples_say_of_questions_and_sign_in_is_so(names):
    client = Client(names["plugin"], answers=[{"sure": True}, "A line.", ["file:///a"], True])
    assert client.call("survey").text == "True, A line., 1 folders, True"
    assert "mcp/www_authenticate" in client.call("count_visits").meta
    client.user, client.state = {"sub": "u"}, {"visits": 3}
    assert client.call("count_visits").structured == {"result": 3}
    client.shared = {"ape": 1}
    assert client.read("zoo://animals/ape?language=de")[0]["text"] == '{"id":"ape","language":"de"}'
    assert client.complete("story", "animal", "a") == ["ape"]
    client.answers = [{"sure": False}]
    assert client.call("close_zoo").text == "It stays open."
    assert client.call("remove_animal", animal_id="x").is_error


def options(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self", "function"}


def test_the_reference_names_everything_there_is():
    offered = {name for name in tenantry.__all__ if not name.startswith("_")}
    members = {name for name in vars(Context) if not name.startswith("_")} - {"outcome"}
    members |= {"shared", "secrets", "name", "revision"}
    taken = options(Plugin.tool) | options(Plugin.profile) | options(Plugin.resource) | options(Plugin.prompt)
    taken |= options(Widget) | options(CSP) | {name for name in vars(Plugin) if not name.startswith("_")}
    missing = {name for name in offered | members | taken if not re.search(rf"\b{name}\b", TEXT)}
    assert not missing
