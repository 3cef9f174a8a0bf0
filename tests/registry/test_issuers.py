"""Tokens of other people's authorization servers: what is believed, and what is not."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from tenantry_registry import issuers
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Introspection, Issuers, TokenRefused

ISSUER = "https://auth.zoo.example/tenant"
RESOURCE = "https://zoo-acme.plugins.example.com/mcp"
NOW = 1_800_000_000
WELL_KNOWN = "https://auth.zoo.example/.well-known/oauth-authorization-server/tenant"
KEYS = "https://auth.zoo.example/keys"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
OTHER = RSAKey.generate_key(2048, {"kid": "two"})
CURVE = ECKey.generate_key("P-256", {"kid": "curve"})


class Web:
    """The internet as this test knows it: documents by address, each request noted."""

    def __init__(self, **documents: Any) -> None:
        self.documents: dict[str, Any] = {
            WELL_KNOWN: {"issuer": ISSUER, "jwks_uri": KEYS},
            KEYS: {"keys": [KEY.as_dict(private=False), CURVE.as_dict(private=False)]},
            **documents,
        }
        self.asked: list[str] = []
        self.forms: list[bytes] = []
        self.down = False

    async def __call__(self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        self.asked.append(url)
        if form is not None:
            assert headers is not None
            assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"zoo:hush"
            self.forms.append(form)
        if self.down or url not in self.documents:
            raise PlatformError("fetch.status", "It answered 404.")
        document = self.documents[url]
        return document if isinstance(document, bytes) else json.dumps(document).encode()


class Clock:
    def __init__(self) -> None:
        self.now: float = NOW

    def __call__(self) -> float:
        return self.now


def signed(key: Any = KEY, *, algorithm: str = "RS256", header: Mapping[str, Any] | None = None, **claims: Any) -> str:
    stated = {"iss": ISSUER, "aud": RESOURCE, "sub": "u1", "exp": NOW + 60, "scope": "read write", **claims}
    return jwt.encode(
        {"alg": algorithm, "kid": key.kid, **(header or {})},
        {name: value for name, value in stated.items() if value is not None},
        key,
        algorithms=[algorithm],
    )


async def verify(token: str, web: Web | None = None, **kwargs: Any) -> dict[str, Any]:
    return await Issuers(web or Web(), clock=Clock()).verify(token, issuer=ISSUER, audience=[RESOURCE], **kwargs)


async def test_a_token_by_a_published_key_is_believed() -> None:
    claims = await verify(signed())
    assert claims["sub"] == "u1"
    assert claims["scope"] == "read write"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"scope": None, "scp": ["read", "write"]}, "read write"),
        ({"scope": None, "scp": "read"}, "read"),
        ({"scope": None}, ""),
        ({"aud": ["https://else.example", RESOURCE]}, "read write"),
        ({"exp": NOW - 10, "nbf": NOW + 10}, "read write"),
    ],
)
async def test_the_forms_that_servers_use_are_read(given: dict[str, Any], read: str) -> None:
    assert (await verify(signed(**given)))["scope"] == read


async def test_an_elliptic_key_is_believed_too() -> None:
    assert (await verify(signed(CURVE, algorithm="ES256", header={"typ": "at+jwt"})))["sub"] == "u1"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: signed(iss=ISSUER + "/"), "another issuer"),
        (lambda: signed(iss=None), "another issuer"),
        (lambda: signed(aud="https://zoo-other.plugins.example.com/mcp"), "another audience"),
        (lambda: signed(aud=None), "another audience"),
        (lambda: signed(exp=NOW - 31), "expired"),
        (lambda: signed(exp="never"), "expired"),
        (lambda: signed(exp=None), "expired"),
        (lambda: signed(exp=True), "expired"),
        (lambda: signed(nbf=NOW + 31), "not valid yet"),
        (lambda: signed(sub=None), "no subject"),
        (lambda: signed(sub=7), "no subject"),
        (lambda: signed(OTHER), "signature"),
        (lambda: signed(OTHER, header={"kid": "one"}), "signature"),
        (lambda: signed(header={"typ": "dpop+jwt"}), "not an access token"),
        (
            lambda: signed(OctKey.import_key("0123456789abcdef0123456789abcdef", {"kid": "one"}), algorithm="HS256"),
            "algorithm",
        ),
        (lambda: "e30.e30.", "algorithm"),
        (lambda: "W10.e30.", "not a JWT"),
        (lambda: "?.?.?", "not a JWT"),
        (lambda: "opaque", "does not introspect"),
        (lambda: "x" * (issuers.TOKEN_BYTES + 1), "too long"),
    ],
)
async def test_what_proves_nothing_is_refused(make: Callable[[], str], why: str) -> None:
    with pytest.raises(TokenRefused, match=why) as refused:
        await verify(make())
    assert refused.value.code == "auth.invalid-token"


async def test_a_published_symmetric_key_signs_nothing() -> None:
    shared = OctKey.import_key("0123456789abcdef0123456789abcdef", {"kid": "shared"})
    web = Web(**{KEYS: {"keys": [KEY.as_dict(private=False), shared.as_dict(private=True)]}})
    with pytest.raises(TokenRefused):
        await verify(signed(shared, algorithm="HS256"), web)


async def test_keys_are_fetched_once_and_again_when_they_rotate() -> None:
    web, clock = Web(), Clock()
    kept = Issuers(web, clock=clock)

    async def ask(token: str) -> dict[str, Any]:
        return await kept.verify(token, issuer=ISSUER, audience=[RESOURCE])

    await ask(signed())
    await ask(signed())
    assert web.asked == [WELL_KNOWN, KEYS]
    with pytest.raises(TokenRefused):  # an unknown key id within the pause asks nobody
        await ask(signed(OTHER))
    assert len(web.asked) == 2
    web.documents[KEYS] = {"keys": [OTHER.as_dict(private=False)]}
    clock.now += issuers.ROTATION
    await ask(signed(OTHER))
    assert len(web.asked) == 4


async def test_stale_keys_serve_while_the_issuer_is_down_but_not_for_ever() -> None:
    web, clock = Web(), Clock()
    kept = Issuers(web, clock=clock)
    await kept.verify(signed(), issuer=ISSUER, audience=[RESOURCE])
    web.down = True
    clock.now += issuers.FRESH
    await kept.verify(signed(exp=NOW + 10_000), issuer=ISSUER, audience=[RESOURCE])
    clock.now += issuers.STALE
    with pytest.raises(PlatformError) as refused:
        await kept.verify(signed(exp=NOW + 1_000_000), issuer=ISSUER, audience=[RESOURCE])
    assert refused.value.code == "auth.issuer-unavailable"


async def test_an_issuer_that_comes_up_late_is_asked_again_at_once() -> None:
    web = Web()
    web.down = True
    kept = Issuers(web, clock=Clock())
    with pytest.raises(PlatformError) as refused:
        await kept.verify(signed(), issuer=ISSUER, audience=[RESOURCE])
    assert refused.value.code == "auth.issuer-unavailable"
    web.down = False
    await kept.verify(signed(), issuer=ISSUER, audience=[RESOURCE])


async def test_whoever_comes_while_keys_are_fetched_waits_for_them() -> None:
    """A server that has just started meets several people at once: one of them asks the issuer, for all."""
    web, answered = Web(), asyncio.Event()

    async def slow(url: str, **more: Any) -> bytes:
        await answered.wait()
        return await web(url, **more)

    kept = Issuers(slow, clock=Clock())
    asking = [asyncio.create_task(kept.verify(signed(), issuer=ISSUER, audience=[RESOURCE])) for _ in range(5)]
    await asyncio.sleep(0)
    asking[0].cancel()  # and the one that asks may go away
    await asyncio.sleep(0)
    answered.set()
    said = await asyncio.gather(*asking, return_exceptions=True)
    assert [isinstance(one, dict) for one in said] == [False, True, True, True, True]
    assert web.asked == [WELL_KNOWN, KEYS]


async def test_an_issuer_that_does_not_answer_is_asked_once_for_all_who_wait() -> None:
    web, asked = Web(), 0

    async def slow(url: str, **more: Any) -> bytes:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.01)
        raise PlatformError("fetch.failed", "It does not answer.")

    kept = Issuers(slow, clock=Clock())
    asking = (kept.verify(signed(), issuer=ISSUER, audience=[RESOURCE]) for _ in range(5))
    said = await asyncio.gather(*asking, return_exceptions=True)
    assert {getattr(one, "code", "") for one in said} == {"auth.issuer-unavailable"}
    assert asked == 3  # the places of its metadata, once
    assert web.asked == []


async def test_memory_is_bounded_by_the_number_of_issuers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuers, "ISSUERS", 1)
    web = Web()
    web.documents["https://two.example/.well-known/oauth-authorization-server"] = {
        "issuer": "https://two.example",
        "jwks_uri": KEYS,
    }
    kept = Issuers(web, clock=Clock())
    for issuer in (ISSUER, "https://two.example", ISSUER):
        await kept.verify(signed(iss=issuer), issuer=issuer, audience=[RESOURCE])
    assert web.asked.count(WELL_KNOWN) == 2


@pytest.mark.parametrize(
    ("documents", "code"),
    [
        ({WELL_KNOWN: {"issuer": ISSUER + "/", "jwks_uri": KEYS}}, "auth.issuer-invalid"),
        ({WELL_KNOWN: []}, "auth.issuer-invalid"),
        ({WELL_KNOWN: {"issuer": ISSUER}}, "auth.issuer-invalid"),
        ({WELL_KNOWN: b"<html>"}, "auth.issuer-unavailable"),
        ({KEYS: b"<html>"}, "auth.issuer-invalid"),
        ({WELL_KNOWN: {"issuer": ISSUER, "jwks_uri": KEYS + "/gone"}}, "auth.issuer-unavailable"),
        ({KEYS: {"keys": "none"}}, "auth.issuer-invalid"),
        ({KEYS: {"keys": []}}, "auth.issuer-invalid"),
    ],
)
async def test_an_issuer_that_contradicts_itself_is_named(documents: dict[str, Any], code: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await verify(signed(), Web(**documents))
    assert refused.value.code == code


async def test_openid_discovery_is_the_second_place() -> None:
    web = Web()
    web.documents["https://auth.zoo.example/tenant/.well-known/openid-configuration"] = web.documents.pop(WELL_KNOWN)
    assert (await verify(signed(), web))["sub"] == "u1"


HOW = Introspection("https://auth.zoo.example/introspect", "zoo", "hush")


async def test_an_opaque_token_is_introspected() -> None:
    web = Web(**{HOW.endpoint: {"active": True, "sub": "u1", "aud": RESOURCE, "exp": NOW + 1, "scope": "read"}})
    assert (await verify("opaque", web, introspection=HOW))["scope"] == "read"
    assert web.forms == [b"token=opaque&token_type_hint=access_token"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"active": False}, "auth.invalid-token"),
        ([], "auth.invalid-token"),
        ({"active": True, "iss": "https://else.example", "sub": "u1", "aud": RESOURCE}, "auth.invalid-token"),
        (b"<html>", "auth.issuer-invalid"),
    ],
)
async def test_an_introspection_that_does_not_vouch_is_refused(answer: Any, code: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await verify("opaque", Web(**{HOW.endpoint: answer}), introspection=HOW)
    assert refused.value.code == code


async def test_an_introspection_that_does_not_answer_is_not_the_tokens_fault() -> None:
    with pytest.raises(PlatformError) as refused:
        await verify("opaque", Web(), introspection=HOW)
    assert refused.value.code == "auth.issuer-unavailable"
