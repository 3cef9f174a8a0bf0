"""Signing in under `platform dev`, in the page: the plugin's issuer is elsewhere, the people are here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import HERE
from person import Person
from playwright.sync_api import Browser, Locator, Page, expect

PLATFORM = Path(sys.executable).parent / "platform"
AXE = HERE.parent.parent / "cli/tenantry_cli/host/page/node_modules/axe-core/axe.min.js"
TOML = """
name = "notes"
title = "Notes"
entrypoint = "server:plugin"
[auth]
issuer = "https://auth.notes.example"
scopes = ["notes.read", "notes.write"]
"""
SERVER = '''
from tenantry import Context, NoAuth, OAuth2, Plugin, Profile

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False, title="About", auth=[NoAuth()])
def about() -> str:
    """Use this when the user asks what this plugin does."""
    return "notes"


@plugin.tool(read_only=True, destructive=False, open_world=False, title="My notes", auth=[OAuth2("notes.read")])
def mine(ctx: Context) -> dict[str, str]:
    """Use this when the user wants to see their notes."""
    return {"of": ctx.user.sub}


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Draft", auth=[OAuth2("notes.write")])
def draft(ctx: Context) -> dict[str, str]:
    """Use this when the user wants a note drafted."""
    return {"by": ctx.user.sub}


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Count", auth=[OAuth2("notes.read")])
def count(ctx: Context) -> dict[str, int]:
    """Use this when the user wants to know how often they asked."""
    ctx.state["asked"] = ctx.state.get("asked", 0) + 1
    return {"asked": ctx.state["asked"]}


@plugin.profile
def whoami(ctx: Context) -> Profile:
    return Profile(id=ctx.user.sub, name=ctx.user.name, email=ctx.user.email)
'''


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`platform dev` on the plugin."""
    root = tmp_path_factory.mktemp("sign-in")
    folder = root / "notes"
    folder.mkdir()
    (folder / "plugin.toml").write_text(TOML)
    (folder / "server.py").write_text(SERVER)
    command = [PLATFORM, "dev", folder, "--store", root / "store", "--port", "0", "--no-open", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        ready = json.loads(process.stdout.readline())
        yield ready["plugins"][0]["mcp_url"].partition("/t/")[0]
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def author(page: Page, origin: str) -> Iterator[Person]:
    found = Person(page, origin)
    page.goto(origin)
    expect(page.locator(".status[data-status=ready]")).to_be_visible(timeout=20_000)
    yield found
    assert found.errors == []


def connect(author: Person, card: Locator) -> Page:
    """The consent page that the button of the card opens."""
    with author.page.expect_popup() as popup:
        card.get_by_role("button", name="Connect account").click()
    expect(popup.value.get_by_role("heading", name="Sign in to Notes")).to_be_visible()
    return popup.value


def go_on(consent: Page, who: str = "Ada Example") -> None:
    """Choose somebody, and leave all else as it stands."""
    consent.get_by_role("group", name="Who are you?").get_by_text(who, exact=True).click()
    consent.get_by_role("button", name=f"Continue as {who}").click()


@pytest.mark.row("S05", "P05", "T06")
@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_tool_asks_for_sign_in_and_then_knows_who_it_is(author: Person, era: str) -> None:
    author.knob("Protocol", era)
    expect(author.page.locator(".status[data-status=ready]")).to_be_visible()
    card = author.run("mine")
    expect(card.get_by_role("status")).to_have_text("Waiting for you to sign in")
    expect(card).to_contain_text("notes.read")
    consent = connect(author, card)
    expect(consent.get_by_role("checkbox", name="notes.read")).to_be_checked()
    go_on(consent, "Ben Example")
    expect(card.get_by_role("status")).to_have_text("Called My notes")
    expect(author.pane("Model sees")).to_contain_text("user-ben")
    expect(author.account).to_contain_text("Ben Example")
    expect(author.account).to_contain_text("ben@people.example")


@pytest.mark.row("S05")
@pytest.mark.parametrize("kind", ["chatgpt", "plain"])  # one is told in the result, the other by the HTTP status
def test_a_scope_that_was_refused_is_asked_for_when_a_tool_needs_it(author: Person, kind: str) -> None:
    author.knob("Client", kind)
    expect(author.page.locator(".status[data-status=ready]")).to_be_visible()
    with author.page.expect_popup() as popup:
        author.account_menu("Sign in")
    popup.value.get_by_role("checkbox", name="notes.write").uncheck()
    go_on(popup.value)
    expect(author.account).to_contain_text("Ada Example")
    expect(author.run("mine").get_by_role("status")).to_have_text("Called My notes")
    card = author.run("draft")
    expect(card).to_contain_text("The tool needs more than you granted.")
    consent = connect(author, card)
    expect(consent.get_by_role("group", name="What may it do?")).to_contain_text("notes.write")
    go_on(consent)
    expect(card.get_by_role("status")).to_have_text("Called Draft")
    author.account.get_by_role("button", name="Account: Ada Example").click()
    expect(author.account.get_by_role("listitem")).to_have_count(1)  # the same person, once
    expect(author.account.locator(".granted code")).to_have_text("notes.write")


def test_a_dead_token_is_refreshed_without_a_word(author: Person) -> None:
    card = author.run("mine")
    consent = connect(author, card)
    consent.get_by_text("Try what goes wrong").click()
    consent.get_by_role("checkbox", name="Expired token").check()
    go_on(consent)
    expect(card.get_by_role("status")).to_have_text("Called My notes")
    answers = author.pane("Request").get_by_role("combobox", name="Request")
    expect(answers).to_contain_text("401")


def test_a_dead_token_that_can_not_be_refreshed_is_asked_for_again(author: Person) -> None:
    card = author.run("mine")
    consent = connect(author, card)
    consent.get_by_text("Try what goes wrong").click()
    consent.get_by_role("checkbox", name="Expired token").check()
    consent.get_by_role("checkbox", name="No refresh token").check()
    go_on(consent)
    expect(card).to_contain_text("Your sign-in has expired.")
    go_on(connect(author, card))
    expect(card.get_by_role("status")).to_have_text("Called My notes")


def test_anybody_can_be_made_up_and_accounts_stand_side_by_side(author: Person) -> None:
    card = author.run("mine")
    consent = connect(author, card)
    expect(consent.get_by_role("textbox", name="Email")).to_be_hidden()
    consent.get_by_text("Somebody else").click()
    consent.get_by_role("textbox", name="Email").fill("mia@zoo.example")
    consent.get_by_role("textbox", name="Subject").fill("auth0|77")
    consent.get_by_role("button", name="Continue as mia@zoo.example").click()
    expect(author.pane("Model sees")).to_contain_text("auth0|77")
    with author.page.expect_popup() as popup:
        author.account_menu("Add account")
    expect(popup.value.get_by_text("auth0|77", exact=True)).to_be_visible()  # from now on there is such a person
    go_on(popup.value, "user-cyd")
    expect(author.account.get_by_role("button", name="Account: user-cyd")).to_be_visible()
    author.account_menu("mia@zoo.example")
    expect(author.page.locator(".status[data-status=ready]")).to_be_visible()
    author.page.reload()
    expect(author.account.get_by_role("button", name="Account: mia@zoo.example")).to_be_visible()
    author.run("mine")
    expect(author.pane("Model sees")).to_contain_text("auth0|77")
    author.account_menu("Sign out")
    expect(author.run("mine")).to_contain_text("Connect your account")


def serious(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, { iframes: false })")
    return [
        f"{fault['id']}: {node['target']}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signing_in_looks_right_and_is_open_to_everybody(
    browser: Browser, origin: str, shots: Path, theme: Any
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=theme)
    author = Person(context.new_page(), origin)
    author.page.goto(origin)
    expect(author.page.get_by_role("button", name="Draft draft")).to_be_visible()  # connected: Enter sends
    card = author.run("draft")
    expect(card.get_by_role("button", name="Connect account")).to_be_visible()
    author.page.screenshot(path=shots / f"sign-in-asked-{theme}.png")
    assert serious(author.page) == []
    consent = connect(author, card)
    expect(consent.locator("html")).to_have_attribute("data-theme", theme)
    consent.get_by_text("Try what goes wrong").click()
    consent.screenshot(path=shots / f"sign-in-consent-{theme}.png", full_page=True)
    assert serious(consent) == []
    consent.get_by_role("radio", name="Ada Example").focus()
    consent.keyboard.press("ArrowDown")  # by keys alone: Ben, then the form is sent
    consent.keyboard.press("Enter")
    expect(author.account.get_by_role("button", name="Account: Ben Example")).to_be_visible()
    expect(card.get_by_role("status")).to_have_text("Called Draft")
    author.account.get_by_role("button", name="Account: Ben Example").click()
    expect(author.account.get_by_role("button", name="Sign out")).to_be_visible()
    author.page.screenshot(path=shots / f"sign-in-done-{theme}.png")
    assert serious(author.page) == []
    context.close()


def test_a_copied_test_begins_with_the_state_of_who_is_signed_in(author: Person, tmp_path: Path) -> None:
    card = author.run("count")
    go_on(connect(author, card))
    expect(card.get_by_role("status")).to_have_text("Called Count")
    card = author.run("count")
    expect(card.get_by_role("status")).to_have_text("Called Count")
    card.get_by_role("button", name="Copy as pytest").click()
    expect(author.page.get_by_text("Test copied")).to_be_visible()
    source: str = author.page.evaluate("navigator.clipboard.readText()")
    assert 'state={"asked": 1}' in source
    assert 'called.structured == {"asked": 2}' in source
    (tmp_path / "plugin.toml").write_text(TOML)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "test_copied.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", tmp_path, tmp_path]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_request_that_makes_no_sense_is_explained(page: Page, origin: str, shots: Path) -> None:
    page.goto(f"{origin}/_host/oauth/authorize?client_id=nobody&response_type=code")
    expect(page.get_by_role("heading", name="This sign-in can't go on")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The client does not exist on this server.")
    page.screenshot(path=shots / "sign-in-stopped.png")
