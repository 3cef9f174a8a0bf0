"""Sign-in at the gateway: challenges, per-tool scopes, and what reaches the tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from gateway.house import HOST, House, ask, manifest, modern, modern_headers, replying, tool
from joserfc import jwt
from joserfc.jwk import RSAKey
from tenantry_gateway.door import Door, on_this_machine, over_the_network
from tenantry_gateway.signin import CLIENT_SECRET
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Issuers
from tenantry_registry.names import Name

ISSUER = "https://auth.zoo.example"
RESOURCE = f"https://{HOST}/mcp"
DOCUMENT = f"https://{HOST}/.well-known/oauth-protected-resource/mcp"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
AUTH: dict[str, Any] = {"issuer": ISSUER, "scopes": ["read", "write", "offline_access"]}
WRITE = [{"type": "oauth2", "scopes": ["write"]}]
EITHER = [{"type": "noauth"}, *WRITE]


class Web:
    down = False

    async def __call__(self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        if self.down:
            raise PlatformError("fetch.failed", "It does not answer.")
        if form is not None:
            return json.dumps({"active": True, "sub": "opaque", "aud": RESOURCE, "exp": 4_000_000_000}).encode()
        if url.endswith("/keys"):
            return json.dumps({"keys": [KEY.as_dict(private=False)]}).encode()
        return json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}).encode()


def token(**claims: Any) -> str:
    stated = {"iss": ISSUER, "aud": RESOURCE, "sub": "u1", "exp": 4_000_000_000, "scope": "read write", **claims}
    return jwt.encode({"alg": "RS256", "kid": "one"}, stated, KEY)


class Asking:
    """A plugin with sign-in, and somebody who asks it."""

    def __init__(self, house: House) -> None:
        self.house, self.web = house, Web()

        async def secrets(name: Name, wanted: Any) -> Mapping[str, str]:
            return {CLIENT_SECRET: "hush"}

        house.extra["authenticate"] = Door(Issuers(self.web), secrets)

    async def publish(self, *schemes: list[dict[str, Any]], auth: Mapping[str, Any] | None = AUTH) -> None:
        tools = tuple(tool(f"tool{n}", securitySchemes=scheme) for n, scheme in enumerate(schemes))
        await self.house.publish(manifest(tools=tools, auth=auth))

    async def __call__(
        self, method: str = "tools/call", *, name: str = "tool0", headers: Mapping[str, str] | None = None, **meta: Any
    ) -> httpx.Response:
        body = modern(method, {"name": name, "arguments": {}} if method == "tools/call" else {}, **meta)
        async with self.house.http() as http:
            return await http.post("/mcp", json=body, headers={**modern_headers(body), **(headers or {})})


@pytest.fixture
def asking(house: House) -> Asking:
    return Asking(house)


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


@pytest.mark.row("P05")
async def test_a_plugin_for_the_signed_in_challenges_every_request(asking: Asking) -> None:
    await asking.publish(WRITE)
    for method in ("tools/list", "server/discover", "tools/call"):
        answer = await asking(method)
        assert answer.status_code == 401
        value = f'Bearer resource_metadata="{DOCUMENT}", scope="read write"'
        assert answer.headers["www-authenticate"] == answer.headers["x-mcp-challenge"] == value
    answer = await asking("tools/list", headers=bearer(token()))
    assert answer.status_code == 200


async def test_a_token_that_proves_nothing_is_challenged_with_the_reason(asking: Asking) -> None:
    await asking.publish(EITHER)
    answer = await asking("tools/list", headers=bearer(token(aud="https://else.example")))
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert "another audience" in answer.json()["error"]["message"]


async def test_two_tokens_are_none(asking: Asking) -> None:
    await asking.publish(EITHER)
    body = modern("tools/list")
    headers = [*modern_headers(body).items(), ("authorization", "Bearer a"), ("authorization", "Bearer b")]
    async with asking.house.http() as http:
        answer = await http.post("/mcp", json=body, headers=headers)
    assert answer.status_code == 401


async def test_verified_claims_reach_the_tool_and_the_token_does_not(asking: Asking) -> None:
    await asking.publish(WRITE)
    assert (await asking(headers=bearer(token()))).status_code == 200
    (call,) = asking.house.runner.calls
    assert call.user is not None
    assert (call.user["sub"], call.user["scope"]) == ("u1", "read write")
    assert "token" not in call.user
    assert call.state == {}


async def test_the_token_is_forwarded_only_where_the_plugin_asks_for_it(asking: Asking) -> None:
    await asking.publish(WRITE, auth={**AUTH, "forward_token": True})
    await asking(headers=bearer(token()))
    (call,) = asking.house.runner.calls
    assert call.user is not None
    assert call.user["token"].count(".") == 2


async def test_an_opaque_token_is_introspected(asking: Asking) -> None:
    await asking.publish(EITHER, auth={**AUTH, "introspection": f"{ISSUER}/introspect", "client_id": "zoo"})
    await asking(headers=bearer("opaque"))
    (call,) = asking.house.runner.calls
    assert call.user is not None
    assert call.user["sub"] == "opaque"


async def test_a_tool_asks_for_the_scopes_that_are_missing(asking: Asking) -> None:
    await asking.publish(WRITE)
    answer = await asking(headers=bearer(token(scope="read")))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert 'scope="write"' in answer.headers["www-authenticate"]
    assert not asking.house.runner.calls
    assert (asking.house.log[-1]["status"], asking.house.log[-1]["outcome"]) == (403, "scope")


async def test_the_log_says_how_a_tools_answer_is_an_error_and_none_of_its_words(asking: Asking) -> None:
    await asking.publish(WRITE, EITHER)
    for authorization, wanted in ({}, "sign-in"), (bearer(token(scope="read")), "scope"):
        assert (await asking(headers=authorization, **{"openai/locale": "en"})).json()["result"]["isError"]
        assert asking.house.log[-1]["outcome"] == wanted
    told = {"content": [{"type": "text", "text": "No such book."}], "isError": True}
    asking.house.runner.answer = replying(result=told)
    await asking(headers=bearer(token(scope="write")))
    assert asking.house.log[-1]["outcome"] == "error"
    assert "book" not in json.dumps(asking.house.log[-1])
    asking.house.runner.answer = replying(result={"content": []})
    await asking(headers=bearer(token(scope="write")))
    assert "outcome" not in asking.house.log[-1]


@pytest.mark.row("S05")
async def test_chatgpt_is_asked_in_the_result_and_others_by_the_status(asking: Asking) -> None:
    await asking.publish(WRITE, EITHER)
    assert (await asking()).status_code == 401
    answer = await asking(**{"openai/locale": "en"})
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert result["isError"] is True
    (value,) = result["_meta"]["mcp/www_authenticate"]
    assert f'resource_metadata="{DOCUMENT}"' in value
    assert 'error="invalid_token"' in value
    assert (await asking(name="tool1")).status_code == 200
    assert len(asking.house.runner.calls) == 1


async def test_a_tool_that_asks_for_what_the_plugin_can_not_do_is_refused(asking: Asking) -> None:
    await asking.publish(WRITE, auth=None)
    answer = await asking()
    assert answer.json()["result"]["isError"] is True
    assert not asking.house.runner.calls


async def test_an_authorization_server_that_is_down_is_not_the_users_fault(asking: Asking) -> None:
    await asking.publish(EITHER)
    asking.web.down = True
    answer = await asking(headers=bearer(token()))
    assert answer.status_code == 503
    assert answer.json()["error"]["data"]["code"] == "auth.issuer-unavailable"


@pytest.mark.row("S05")
@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ('Bearer error="invalid_token"', f'Bearer resource_metadata="{DOCUMENT}", error="invalid_token"'),
        (["Bearer", "Basic realm=x"], [f'Bearer resource_metadata="{DOCUMENT}"', "Basic realm=x"]),
        ('Bearer resource_metadata="https://own.example"', 'Bearer resource_metadata="https://own.example"'),
        ([7], [7]),
    ],
)
async def test_a_tools_own_challenge_is_told_where_to_sign_in(house: House, given: Any, sent: Any) -> None:
    await house.publish(manifest(tools=(tool("t"),)))
    result = {"content": [], "isError": True, "_meta": {"mcp/www_authenticate": given}}
    house.runner.answer = replying(result=result)
    async with house.http() as http:
        answer = await ask(http, "tools/call", {"name": "t"})
    assert answer.json()["result"]["_meta"]["mcp/www_authenticate"] == sent


async def test_documents_come_from_public_addresses_in_production() -> None:
    with pytest.raises(PlatformError) as refused:
        await over_the_network("https://127.0.0.1:9/keys")
    assert refused.value.code == "fetch.failed"
    with pytest.raises(PlatformError) as refused:
        await on_this_machine("http://127.0.0.1:9/keys")
    assert "can't be reached" in refused.value.hint
