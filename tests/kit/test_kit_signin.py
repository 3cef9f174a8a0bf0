"""Who may call a tool, and who is signed in."""

from __future__ import annotations

from typing import Any

import pytest
from tenantry import (
    AuthRequired,
    Context,
    NoAuth,
    OAuth2,
    Plugin,
    Profile,
)
from tenantry.testing import Client

READS = {"read_only": True, "destructive": False, "open_world": False}


def described(plugin: Plugin, name: str) -> dict[str, Any]:
    return next(tool for tool in Client(plugin).describe()["tools"] if tool["name"] == name)


@pytest.mark.row("T06", "P06")
def test_the_profile_tool_is_closed_authenticated_and_returns_only_what_is_known():
    plugin = Plugin()

    @plugin.profile
    def whoami(ctx: Context) -> Profile:
        return Profile(id=ctx.user.sub, name=ctx.user.name)

    tool = described(plugin, "whoami")
    assert tool["profile"] is True
    assert tool["inputSchema"] == {"type": "object", "properties": {}, "additionalProperties": False}
    assert tool["outputSchema"]["required"] == ["id"]
    assert set(tool["outputSchema"]["properties"]) == {"id", "name", "email", "nickname"}
    assert tool["outputSchema"]["additionalProperties"] is False
    assert tool["securitySchemes"] == [{"type": "oauth2", "scopes": []}]
    assert tool["annotations"]["readOnlyHint"] is True
    called = Client(plugin, user={"sub": "u1"}).call("whoami")
    assert called.structured == {"id": "u1"}
    assert called.text == '{"id":"u1"}'
    assert Client(plugin).call("whoami").is_error


def test_a_profile_tool_may_have_a_title_and_scopes():
    plugin = Plugin()

    @plugin.profile(scopes=["profile"], title="Account", description="Who is it?")
    async def whoami(ctx: Context) -> Profile:
        return Profile(id=ctx.user.sub, email=ctx.user.email, nickname=ctx.user.nickname)

    assert described(plugin, "whoami")["securitySchemes"] == [{"type": "oauth2", "scopes": ["profile"]}]
    client = Client(plugin, user={"sub": "u", "scope": "openid profile", "email": "a@b.example", "nickname": 3})
    assert client.call("whoami").structured == {"id": "u", "email": "a@b.example"}


@pytest.mark.row("P06")
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_profile_without_an_id_is_refused(blank):
    with pytest.raises(ValueError, match="blank"):
        Profile(id=blank)


@pytest.mark.row("S05", "T02", "N05")
def test_a_tool_enforces_its_own_scopes_whatever_the_descriptor_hints():
    plugin = Plugin()

    @plugin.tool(**READS, auth=[OAuth2("a"), OAuth2("b", "c")])
    def guarded() -> str:
        """Guarded."""
        return "in"

    @plugin.tool(**READS, auth=[OAuth2("a"), NoAuth()])
    def open_to_all() -> str:
        """Open."""
        return "in"

    nobody = Client(plugin).call("guarded")
    assert nobody.is_error
    assert nobody.meta["mcp/www_authenticate"] == (
        'Bearer error="invalid_token", error_description="Sign in to use this.", scope="a"'
    )
    some = Client(plugin, user={"sub": "u", "scp": ["b"]}).call("guarded")
    assert 'error="insufficient_scope"' in some.meta["mcp/www_authenticate"]
    assert Client(plugin, user={"sub": "u", "scp": ["c", "b"]}).call("guarded").text == "in"
    assert Client(plugin, user={"sub": "u", "scope": "x a"}).call("guarded").text == "in"
    assert Client(plugin).call("open_to_all").text == "in"


@pytest.mark.row("S05")
@pytest.mark.parametrize(
    ("error", "challenge"),
    [
        (AuthRequired("a"), 'Bearer error="invalid_token", error_description="Sign in to continue.", scope="a"'),
        (
            AuthRequired(["a", "b"], "insufficient_scope", 'Say "ü" \\ now.'),
            'Bearer error="insufficient_scope", error_description="Say \'?\' / now.", scope="a b"',
        ),
        (AuthRequired(challenge="Basic realm=x"), "Basic realm=x"),
        (AuthRequired(challenge=["Basic realm=x", "Bearer"]), ["Basic realm=x", "Bearer"]),
    ],
)
def test_a_tool_may_ask_for_sign_in_in_its_own_words(error, challenge):
    plugin = Plugin()

    @plugin.tool(**READS)
    def ask() -> str:
        """Asks."""
        raise error

    called = Client(plugin).call("ask")
    assert called.is_error
    assert called.text == error.message
    assert called.meta["mcp/www_authenticate"] == challenge
