"""Signing in: challenges, a real OAuth flow against the development server, accounts and profiles."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import httpx2 as httpx
import pytest
from conftest import House
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from person import Person
from playwright.sync_api import Page, expect
from scripted import Scripted, result
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

ASKING: ContextVar[dict[str, Any] | None] = ContextVar("ASKING", default=None)
OAUTH = [{"type": "oauth2", "scopes": ["animals.read"]}]


class Guarded(Scripted):
    """A plugin behind sign-in: its tools ask, or (`locked`) everything does."""

    locked = False
    listed = True  # a result's challenge is a list of one
    origin = ""

    @property
    def user(self) -> dict[str, Any] | None:
        """Who makes the request that is being answered."""
        return ASKING.get()

    @property
    def resource(self) -> str:
        return f"{self.origin}/t/test/{self.name}/mcp"

    @property
    def challenge(self) -> str:
        where = f"{self.origin}/t/test/{self.name}/metadata"
        return f'Bearer resource_metadata="{where}", scope="animals.read", error="invalid_token"'

    async def check(self, request: Request) -> Response | None:
        ASKING.set(None)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token:
            async with httpx.AsyncClient() as client:
                keys = (await client.get(f"{self.origin}/_host/oauth/jwks")).json()
            try:
                ASKING.set(jwt.decode(token, KeySet.import_key_set(keys), algorithms=["ES256"]).claims)
            except JoseError:
                return JSONResponse({}, 401, headers={"WWW-Authenticate": self.challenge})
            assert self.user is not None
            assert self.user["aud"] == self.resource
        if self.locked and self.user is None:
            return JSONResponse({}, 401, headers={"WWW-Authenticate": self.challenge})
        return None

    async def __call__(self, request: Request) -> Response:
        if request.url.path.endswith("/metadata") or "well-known" in request.url.path:
            document = {
                "resource": self.resource,
                "authorization_servers": [f"{self.origin}/_host/oauth"],
                "scopes_supported": ["animals.read"],
            }
            return JSONResponse(document, headers={"Access-Control-Allow-Origin": "*"})
        return await super().__call__(request)


@pytest.fixture
def guarded(house: House) -> Guarded:
    plugin = Guarded("guarded", title="Guarded")
    plugin.origin = house.origin
    plugin.protects = plugin.check

    def secret(_: dict[str, Any]) -> dict[str, Any]:
        challenge = [plugin.challenge] if plugin.listed else plugin.challenge
        if plugin.user is None:
            return result(None, "Sign in first.", isError=True, _meta={"mcp/www_authenticate": challenge})
        return result({"for": plugin.user["name"]})

    def whoami(_: dict[str, Any]) -> dict[str, Any]:
        assert plugin.user
        return result({"id": plugin.user["sub"], "name": plugin.user["name"]})

    plugin.tool("secret", secret, securitySchemes=OAUTH)
    plugin.tool("whoami", whoami, securitySchemes=OAUTH, _meta={"openai/profile": True})
    house.add(plugin)
    return plugin


def choose(popup: Page, who: str) -> None:
    expect(popup.get_by_role("heading")).to_have_text("Sign in to Guarded")
    expect(popup.get_by_role("checkbox", name="animals.read")).to_be_checked()
    popup.get_by_text(who, exact=True).click()
    popup.get_by_role("button", name=f"Continue as {who}").click()


@pytest.mark.row("S05", "T02", "T06", "H53")
@pytest.mark.parametrize("listed", [True, False], ids=["a list", "one string"])
def test_a_challenge_in_a_result_leads_to_sign_in_and_the_call_is_made_again(
    person: Person, guarded: Guarded, listed: bool
) -> None:
    guarded.listed = listed
    person.open("guarded")
    card = person.run("secret")
    expect(card.get_by_role("heading", name="Connect your account")).to_be_visible()
    with person.page.expect_popup() as popup:
        card.get_by_role("button", name="Connect account").click()
    choose(popup.value, "Ada Example")
    expect(card).to_contain_text("Called secret")
    expect(person.pane("Model sees")).to_contain_text("Ada Example")
    expect(person.account).to_contain_text("Ada Example")
    request = person.pane("Request")
    expect(request).to_contain_text("authorization")


@pytest.mark.row("T06", "S05")
def test_two_accounts_are_kept_and_switched_between(person: Person, guarded: Guarded) -> None:
    person.open("guarded")
    for who in ("Ada Example", "Ben Example"):
        with person.page.expect_popup() as popup:
            person.account_menu("Add account" if who == "Ben Example" else "Sign in")
        choose(popup.value, who)
        expect(person.account.get_by_role("button", name=f"Account: {who}")).to_be_visible()
    person.account_menu("Ada Example")
    expect(person.page.locator(".status[data-status=ready]")).to_be_visible()
    person.run("secret")
    expect(person.pane("Model sees")).to_contain_text("Ada Example")
    person.account_menu("Sign out")
    expect(person.page.locator(".status[data-status=ready]")).to_be_visible()
    expect(person.run("secret")).to_contain_text("Connect your account")
    for who in ("Ada Example", "Ben Example"):
        person.account_menu(f"Forget {who}")
    expect(person.account.get_by_role("button")).to_have_text("Sign in")


def test_a_plugin_that_is_locked_whole_asks_before_anything_else(person: Person, guarded: Guarded) -> None:
    guarded.locked = True
    person.page.goto(f"{person.origin}/?plugin=test/guarded")
    with person.page.expect_popup() as popup:
        person.page.get_by_role("button", name="Connect account").click()
    choose(popup.value, "Ben Example")
    expect(person.page.locator(".status[data-status=ready]")).to_be_visible()
    person.run("secret")
    expect(person.pane("Model sees")).to_contain_text("Ben Example")


def test_a_sign_in_that_is_denied_or_closed_changes_nothing(person: Person, guarded: Guarded) -> None:
    person.open("guarded")
    card = person.run("secret")
    with person.page.expect_popup() as popup:
        card.get_by_role("button", name="Connect account").click()
    popup.value.get_by_role("button", name="Cancel").click()
    expect(person.page.get_by_text("Sign-in failed")).to_be_visible()
    with person.page.expect_popup() as popup:
        card.get_by_role("button", name="Connect account").click()
    popup.value.get_by_role("button", name="Cancel").wait_for()
    popup.value.close()
    expect(person.page.get_by_text("The sign-in window was closed")).to_be_visible()
    expect(person.account).to_contain_text("Signed out")
