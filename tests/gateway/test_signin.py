"""Sign-in for plugins: who is asking, what they may do, and how a refusal is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from tenantry_gateway import signin
from tenantry_gateway.signin import Refusal, SignIn
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Issuers, TokenRefused

ISSUER = "https://auth.zoo.example"
RESOURCE = "https://zoo-acme.plugins.example.com/mcp"
DOCUMENT = "https://zoo-acme.plugins.example.com/.well-known/oauth-protected-resource/mcp"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
AUTH: dict[str, Any] = {"issuer": ISSUER, "scopes": ["recipes.read", "offline_access"]}
OPEN = {"name": "look", "securitySchemes": [{"type": "noauth"}, {"type": "oauth2", "scopes": ["recipes.read"]}]}
CLOSED = {"name": "write", "securitySchemes": [{"type": "oauth2", "scopes": ["recipes.write", "recipes.read"]}]}


async def web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    if form is not None:
        return json.dumps({"active": True, "sub": "u2", "aud": RESOURCE, "exp": 2_000_000_000}).encode()
    if url.endswith("/keys"):
        return json.dumps({"keys": [KEY.as_dict(private=False)]}).encode()
    return json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}).encode()


def token(audience: str = RESOURCE) -> str:
    claims = {"iss": ISSUER, "aud": audience, "sub": "u1", "exp": 2_000_000_000, "scope": "recipes.read"}
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)


async def user(
    *authorization: str, secrets: Mapping[str, str] = MappingProxyType({}), **auth: Any
) -> dict[str, Any] | None:
    asked = SignIn(Issuers(web, clock=lambda: 1_800_000_000))
    return await asked.user(authorization, {**AUTH, **auth}, RESOURCE, secrets)


@pytest.mark.row("P05")
async def test_a_token_for_this_plugin_names_its_user() -> None:
    found = await user(f"Bearer {token()}")
    assert found is not None
    assert found["sub"] == "u1"
    assert await user() is None


async def test_a_token_for_a_configured_audience_is_taken_too() -> None:
    assert await user(f"bearer {token('zoo-api')}", audience="zoo-api") is not None
    with pytest.raises(TokenRefused):
        await user(f"bearer {token('zoo-api')}")


@pytest.mark.parametrize("sent", [["Basic abc"], ["Bearer "], ["Bearer a", "Bearer b"], [""]])
async def test_a_header_that_is_no_bearer_token_is_refused(sent: list[str]) -> None:
    with pytest.raises(TokenRefused):
        await user(*sent)


async def test_an_opaque_token_is_introspected_with_the_plugins_own_secret() -> None:
    how = {"introspection": f"{ISSUER}/introspect", "client_id": "zoo"}
    found = await user("Bearer opaque", secrets={signin.CLIENT_SECRET: "hush"}, **how)
    assert found is not None
    assert found["sub"] == "u2"
    with pytest.raises(PlatformError) as refused:
        await user("Bearer opaque", **how)
    assert refused.value.code == "auth.secret-missing"


def test_a_plugin_answers_without_a_token_when_one_of_its_tools_may_be_so_called() -> None:
    assert signin.anonymous([OPEN, CLOSED])
    assert signin.anonymous([{"name": "unstated"}])
    assert not signin.anonymous([CLOSED])


@pytest.mark.row("T02")
def test_a_tool_asks_for_a_token_then_for_scopes() -> None:
    assert signin.lacking(OPEN, None) is None
    assert signin.lacking(CLOSED, None) == Refusal(
        401, "", "Sign in to use this tool.", ("recipes.write", "recipes.read")
    )
    refused = signin.lacking(CLOSED, {"scope": "recipes.read"})
    assert refused is not None
    assert (refused.status, refused.error) == (403, "insufficient_scope")
    assert signin.lacking(CLOSED, {"scope": "recipes.read recipes.write more"}) is None
    either = {"securitySchemes": [{"type": "oauth2", "scopes": ["a"]}, {"type": "oauth2", "scopes": ["b"]}]}
    assert signin.lacking(either, {"scope": "b"}) is None
    assert signin.lacking({"securitySchemes": [{"type": "oauth2"}]}, {}) is None
    assert signin.lacking({"securitySchemes": [{"type": "other"}]}, None) is not None
    assert signin.lacking({"securitySchemes": [{"type": "other"}]}, {}) is None


def test_a_challenge_says_where_to_sign_in_and_for_what() -> None:
    assert signin.challenge(DOCUMENT, Refusal(401, "", "Sign in.")) == f'Bearer resource_metadata="{DOCUMENT}"'
    assert signin.challenge(DOCUMENT, Refusal(403, "insufficient_scope", 'Say "é\n\\".', ("a", "b"))) == (
        f'Bearer resource_metadata="{DOCUMENT}", error="insufficient_scope", '
        'error_description="Say \\"??\\\\\\".", scope="a b"'
    )


@pytest.mark.row("S05")
def test_chatgpt_is_told_in_the_result() -> None:
    result = signin.result_challenge(DOCUMENT, Refusal(401, "", "Sign in.", ("a",)))
    assert result["isError"] is True
    assert result["_meta"]["mcp/www_authenticate"] == [
        f'Bearer resource_metadata="{DOCUMENT}", error="invalid_token", error_description="Sign in.", scope="a"'
    ]


def test_the_resource_document_keeps_the_authors_strings_to_the_letter() -> None:
    assert signin.protected_resource(AUTH, RESOURCE, "Zoo") == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "resource_name": "Zoo",
        "scopes_supported": ["recipes.read"],
    }
    assert "scopes_supported" not in signin.protected_resource({"issuer": ISSUER}, RESOURCE, "Zoo")
