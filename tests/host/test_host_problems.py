"""What goes wrong in an author's Python, on the page: a save that does not publish, a tool that crashes, no plugin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from person import Person
from playwright.sync_api import Page, expect
from test_host_page import serious
from test_host_real import Served, started

PLUGIN = """from tenantry import Plugin

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False)
def crash() -> str:
    \"\"\"Use this to see a tool crash.\"\"\"
    print("so far so good")
    raise ValueError("the reason")
"""


def write(folder: Path, name: str, code: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "plugin.toml").write_text(f'name = "{name}"\nentrypoint = "server:plugin"\n')
    new = folder / name / "server.py.new"
    new.write_text(code)
    os.replace(new, folder / name / "server.py")
    return folder / name


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Served]:
    good, broken = write(tmp_path, "good", PLUGIN), write(tmp_path, "broken", "import nowhere_at_all\n")
    with started(str(good), str(broken), "--store", str(tmp_path / "store")) as (origin, seconds):
        yield Served(origin, tmp_path, seconds)


def test_what_does_not_publish_is_said_where_it_is_and_is_gone_when_it_does(page: Page, dev: Served) -> None:
    person = Person(page, dev.origin)
    page.goto(f"{dev.origin}/?plugin=dev/good")
    expect(page.locator(".status[data-status=ready]")).to_be_visible()
    banner = page.locator(".problems")
    expect(banner).to_be_empty()
    write(dev.folder, "good", PLUGIN + "\n\ndef broken(:\n")
    expect(banner).to_contain_text("what was published before goes on serving")
    expect(banner).to_contain_text("plugin.import Loading server:plugin failed: SyntaxError")
    expect(banner).to_contain_text("server.py:13")
    expect(banner).to_contain_text("def broken(:")
    assert serious(page) == []
    card = person.run("crash")
    expect(card).to_contain_text("(error ")
    write(dev.folder, "good", PLUGIN + "\n")
    expect(banner).to_be_empty()
    assert person.errors == []


def test_a_crash_s_traceback_and_what_was_printed_are_in_the_tool_logs(page: Page, dev: Served) -> None:
    person = Person(page, dev.origin)
    page.goto(f"{dev.origin}/?plugin=dev/good")
    expect(page.locator(".status[data-status=ready]")).to_be_visible()
    card = person.run("crash")
    error_id = re.search(r"\(error ([0-9a-f]{12})\)", card.get_by_text("(error ").inner_text())
    assert error_id
    card.get_by_role("button", name="Show its traceback").click()
    logs = page.get_by_role("tabpanel", name="Tool logs")
    expect(logs).to_contain_text("so far so good")
    expect(logs).to_contain_text(f"crash · error {error_id[1]}")
    expect(logs).to_contain_text('File "server.py", line 10, in crash')
    expect(logs).to_contain_text("ValueError: the reason")


def test_a_plugin_that_never_published_is_listed_and_opens_when_it_does(page: Page, dev: Served) -> None:
    page.goto(f"{dev.origin}/?plugin=dev/broken")
    expect(page.get_by_role("heading", name="broken has not been published yet")).to_be_visible()
    expect(page.get_by_role("combobox", name="Plugin")).to_contain_text("broken · dev · not published")
    expect(page.locator(".problems")).to_contain_text("There is no module nowhere_at_all.")
    expect(page.locator(".problems")).to_contain_text("server.py:1")
    expect(page.locator(".problems")).to_contain_text("requirements.txt")
    write(dev.folder, "broken", PLUGIN)
    expect(page.locator(".status[data-status=ready]")).to_be_visible()
    expect(page.locator(".tool-name")).to_have_text("crash")
    expect(page.locator(".problems")).to_be_empty()


def test_an_address_that_names_an_unknown_plugin_is_told_so(page: Page, dev: Served) -> None:
    page.goto(f"{dev.origin}/?plugin=dev/godo")
    expect(page.get_by_role("heading", name="There is no plugin dev/godo here")).to_be_visible()
    page.get_by_role("button", name="Open dev/good").click()
    expect(page.locator(".status[data-status=ready]")).to_be_visible()
