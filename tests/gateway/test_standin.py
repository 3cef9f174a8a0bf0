"""An authorization server of ours in place of a plugin's own: in development, whole; in production, never."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from gateway.house import HOST, House, manifest, modern, modern_headers, tool
from joserfc import jwt
from joserfc.jwk import RSAKey
from tenantry_gateway.app import create_app
from tenantry_gateway.door import Door
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Issuers
from tenantry_registry.names import Name

OURS = "http://localhost:8787/_host/oauth"
THEIRS = "https://auth.zoo.example"
RESOURCE = f"https://{HOST}/mcp"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
TOOLS = (tool("mine", securitySchemes=[{"type": "oauth2", "scopes": ["read"]}]),)
HouseOf = Callable[..., House]


async def web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    assert form is None, "nothing is introspected"
    if url.endswith("/keys"):
        return json.dumps({"keys": [KEY.as_dict(private=False)]}).encode()
    issuer = OURS if url.startswith("http://localhost:8787/") else THEIRS
    return json.dumps({"issuer": issuer, "jwks_uri": f"{issuer}/keys"}).encode()


async def no_secrets(name: Name, wanted: Any) -> Mapping[str, str]:
    raise AssertionError("no secret is needed")


def token(issuer: str) -> str:
    claims = {"iss": issuer, "aud": RESOURCE, "sub": "u1", "exp": 4_000_000_000, "scope": "read"}
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)


@pytest.fixture
def standing_in(tmp_path: Path) -> House:
    house = House(tmp_path, mode="development", development_issuer=OURS)
    house.extra["authenticate"] = Door(Issuers(web), no_secrets)
    return house


async def call(house: House, issuer: str) -> int:
    body = modern("tools/call", {"name": "mine", "arguments": {}})
    headers = {**modern_headers(body), "authorization": f"Bearer {token(issuer)}"}
    async with house.http() as http:
        return (await http.post("/mcp", json=body, headers=headers)).status_code


async def servers(house: House) -> Any:
    async with house.http() as http:
        answer = await http.get("/.well-known/oauth-protected-resource/mcp")
    return answer.json()["authorization_servers"] if answer.status_code == 200 else answer.status_code


@pytest.mark.row("P05")
async def test_in_development_another_server_signs_in_and_the_plugins_own_no_more(standing_in: House) -> None:
    auth = {"issuer": THEIRS, "scopes": ["read"], "introspection": f"{THEIRS}/introspect", "client_id": "zoo"}
    await standing_in.publish(manifest(tools=TOOLS, auth=auth))
    assert await servers(standing_in) == [OURS]
    assert await call(standing_in, OURS) == 200
    assert await call(standing_in, THEIRS) == 401
    (made,) = standing_in.runner.calls
    assert made.user is not None
    assert made.user["iss"] == OURS


@pytest.mark.parametrize("issuer", ["http://localhost:8080/realms/zoo", "http://127.0.0.1:9000"])
async def test_a_server_that_an_author_runs_here_is_left_alone(standing_in: House, issuer: str) -> None:
    await standing_in.publish(manifest(tools=TOOLS, auth={"issuer": issuer, "scopes": ["read"]}))
    assert await servers(standing_in) == [issuer]


async def test_a_plugin_without_sign_in_gets_none(standing_in: House) -> None:
    await standing_in.publish(manifest())
    assert await servers(standing_in) == 404


@pytest.mark.parametrize("mode", ["production", None])
def test_production_refuses_another_server(tmp_path: Path, mode: Any) -> None:
    house = House(tmp_path, development_issuer=OURS)  # whose own mode is production
    with pytest.raises(PlatformError) as refused:
        create_app(objects=house.objects, runner=house.runner, settings=house.settings, mode=mode)
    assert refused.value.code == "settings.issuer"


async def test_in_production_a_plugin_is_signed_in_to_at_its_own_server(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.extra["authenticate"] = Door(Issuers(web), no_secrets)
    await house.publish(manifest(tools=TOOLS, auth={"issuer": THEIRS, "scopes": ["read"]}))
    assert await servers(house) == [THEIRS]
    assert await call(house, OURS) == 401
    assert await call(house, THEIRS) == 200
