"""The development authorization server, in process: OAuth 2.1 as ChatGPT speaks it, and people who don't exist."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import httpx2 as httpx
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from tenantry_cli.host import create_host
from tenantry_cli.host.authorization import Authorization
from tenantry_cli.host.ledger import Ledger
from tenantry_cli.host.pages import Pages
from tenantry_cli.host.people import Person, person
from tenantry_cli.host.server import DIST
from tenantry_registry.errors import PlatformError

PAGE = "http://localhost:8787"
ISSUER = f"{PAGE}/_host/oauth"
WELL_KNOWN = "/.well-known/oauth-authorization-server/_host/oauth"
CALLBACK = f"{PAGE}/_host/callback"
RESOURCE = "https://zoo.example/mcp"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
DOCUMENT = "https://client.example/metadata.json"
ADA = {"person": "user-ada", "scope": ["animals.read"]}


def client(**more: Any) -> httpx.AsyncClient:
    listed = [{"tenant": "acme", "plugin": "zoo", "title": "City Zoo", "mcp_url": RESOURCE}]
    transport = httpx.ASGITransport(create_host(lambda: listed, **more))
    return httpx.AsyncClient(transport=transport, base_url=PAGE, headers={"Origin": PAGE})


async def signed_up(http: httpx.AsyncClient) -> dict[str, str]:
    answer = await http.post(f"{ISSUER}/register", json={"client_name": "Me", "redirect_uris": [CALLBACK]})
    assert answer.status_code == 201
    assert answer.json()["token_endpoint_auth_method"] == "none"
    return wish(answer.json()["client_id"])


def wish(client_id: str, **change: str) -> dict[str, str]:
    """What a client asks the authorization endpoint."""
    return {
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": "animals.read animals.write",
        "state": "s1",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": RESOURCE,
        **change,
    }


def came_back(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(CALLBACK)
    return {k: v[0] for k, v in parse_qs(urlparse(answer.headers["location"]).query).items()}


async def consented(http: httpx.AsyncClient, asked: Mapping[str, str], **answer: Any) -> dict[str, str]:
    """The form of the token request, after somebody said yes."""
    back = came_back(await http.post(f"{ISSUER}/authorize", params=asked, data={**ADA, **answer}))
    return {
        "grant_type": "authorization_code",
        "code": back["code"],
        "redirect_uri": CALLBACK,
        "client_id": asked["client_id"],
        "code_verifier": VERIFIER,
    }


async def tokens(http: httpx.AsyncClient, form: Mapping[str, str]) -> dict[str, Any]:
    answer = await http.post(f"{ISSUER}/token", data=form)
    found: dict[str, Any] = answer.json()
    return found


async def claims(http: httpx.AsyncClient, token: str) -> dict[str, Any]:
    keys = KeySet.import_key_set((await http.get(f"{ISSUER}/jwks")).json())
    return dict(jwt.decode(token, keys, algorithms=["ES256"]).claims)


def refreshed(form: Mapping[str, str], token: Mapping[str, Any]) -> dict[str, str]:
    return {"grant_type": "refresh_token", "client_id": form["client_id"], "refresh_token": token["refresh_token"]}


# -- the protocol ---------------------------------------------------------------------------------------------------


@pytest.mark.row("S05")
async def test_the_development_server_speaks_oauth_2_1() -> None:
    async with client() as http:
        metadata = (await http.get(WELL_KNOWN)).json()
        assert metadata["issuer"] == ISSUER
        assert metadata["code_challenge_methods_supported"] == ["S256"]
        assert metadata["client_id_metadata_document_supported"] is True
        asked = await signed_up(http)
        back = came_back(await http.post(f"{ISSUER}/authorize", params=asked, data=ADA))
        assert (back["state"], back["iss"]) == ("s1", ISSUER)
        form = await consented(http, asked)
        assert (await tokens(http, {**form, "code_verifier": "w" * 64}))["error"] == "invalid_grant"
        got = await tokens(http, form)
        told = await claims(http, got["access_token"])
        assert (told["iss"], told["aud"], told["sub"], told["scope"], told["email"]) == (
            ISSUER, RESOURCE, "user-ada", "animals.read", "ada@people.example",
        )  # fmt: skip
        assert (await tokens(http, form))["error"] == "invalid_grant"  # a code counts once
        fresh = await tokens(http, refreshed(form, got))
        assert (await claims(http, fresh["access_token"]))["aud"] == RESOURCE
        assert (await http.post(f"{ISSUER}/token", data=refreshed(form, got))).status_code == 400  # it rotated
        for path in ("register", "token"):
            assert (await http.request("OPTIONS", f"{ISSUER}/{path}")).status_code == 204


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": None}, "invalid_target"),
        ({"resource": "zoo"}, "invalid_target"),
        ({"resource": f"{RESOURCE}#part"}, "invalid_target"),
    ],
)
async def test_a_request_that_may_not_go_on_comes_back_with_its_error(change: dict[str, Any], error: str) -> None:
    async with client() as http:
        asked = {k: v for k, v in ((await signed_up(http)) | change).items() if v is not None}
        back = came_back(await http.get(f"{ISSUER}/authorize", params=asked))
        assert (back["error"], back["state"], back["iss"]) == (error, "s1", ISSUER)


async def test_a_token_is_for_the_plugin_that_the_person_was_asked_about() -> None:
    async with client() as http:
        form = await consented(http, await signed_up(http))
        refused = await http.post(f"{ISSUER}/token", data={**form, "resource": "https://other.example/mcp"})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_target")
        assert "access_token" in await tokens(http, {**form, "resource": RESOURCE})


async def test_a_denial_comes_back_and_an_unknown_client_or_address_does_not() -> None:
    async with client() as http:
        asked = await signed_up(http)
        for answer in ({"person": ""}, {**ADA, "deny": "yes"}):
            denied = came_back(await http.post(f"{ISSUER}/authorize", params=asked, data=answer))
            assert denied["error"] == "access_denied"
        for change in ({"client_id": "nobody"}, {"redirect_uri": "https://evil.example/"}):
            stopped = await http.get(f"{ISSUER}/authorize", params=asked | change)
            assert stopped.status_code == 400
            assert "can't go on" in stopped.text


async def test_on_this_machine_the_port_of_an_address_is_free() -> None:
    async with client() as http:
        answer = await http.post(f"{ISSUER}/register", json={"redirect_uris": ["http://127.0.0.1/back"]})
        asked = wish(answer.json()["client_id"], redirect_uri="http://127.0.0.1:40123/back")
        assert (await http.get(f"{ISSUER}/authorize", params=asked)).status_code == 200
        for other in (
            *("http://127.0.0.1:40123/other", "http://localhost.evil.example/back"),
            *("http://evil.example\\@127.0.0.1/back", "http://evil.example@127.0.0.1/back", "http://127.0.0.1\t/back"),
        ):
            stopped = await http.get(f"{ISSUER}/authorize", params={**asked, "redirect_uri": other})
            assert stopped.status_code == 400


async def test_a_registration_that_is_none_is_refused() -> None:
    async with client() as http:
        for body in (b"no json", b"[]", b"{}"):
            refused = await http.post(f"{ISSUER}/register", content=body)
            assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


async def test_what_is_no_address_is_refused_wherever_one_belongs() -> None:
    async with client() as http:
        refused = await http.post(f"{ISSUER}/register", json={"redirect_uris": [1]})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri")
        asked = await signed_up(http)
        for change in ({"client_id": "http://["}, {"redirect_uri": "http://["}, {"redirect_uri": "\\"}):
            stopped = await http.get(f"{ISSUER}/authorize", params=asked | change)
            assert stopped.status_code == 400
            assert "is none" in stopped.text
        for form, error in (
            ({"client_id": "http://["}, "invalid_client"),
            ({"grant_type": "urn:tenantry:person", "person": "ada", "resource": "http://["}, "invalid_request"),
        ):
            refused = await http.post(f"{ISSUER}/token", data=form)
            assert (refused.status_code, refused.json()["error"]) == (400, error)


async def test_no_other_web_site_signs_people_in() -> None:
    async with client() as http:
        asked = await signed_up(http)
        evil = {"Origin": "https://evil.example"}
        assert (await http.post(f"{ISSUER}/authorize", params=asked, data=ADA, headers=evil)).status_code == 403
        form = {"grant_type": "urn:tenantry:person", "person": "user-ada", "resource": RESOURCE}
        assert (await http.post(f"{ISSUER}/token", data=form, headers=evil)).status_code == 403


# -- clients that are known by a document ---------------------------------------------------------------------------


def documented(documents: Mapping[str, Any]) -> httpx.AsyncClient:
    """A host whose authorization server finds these documents in the web."""

    async def web(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        if url not in documents:
            raise PlatformError("fetch.failed", "It could not be fetched.", "It answered 404.")
        found = documents[url]
        return found if isinstance(found, bytes) else json.dumps(found).encode()

    server = Authorization(Pages(DIST), "/_host/oauth", fetch=web)
    app = Starlette(routes=[Route(WELL_KNOWN, server.metadata), Mount("/_host/oauth", app=server.app)])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=PAGE)


async def test_a_client_is_known_by_its_document() -> None:
    about = {"client_id": DOCUMENT, "client_name": "Documented", "redirect_uris": [CALLBACK]}
    async with documented({DOCUMENT: about}) as http:
        page = await http.get(f"{ISSUER}/authorize", params=wish(DOCUMENT))
        assert "For Documented" in page.text
        got = await tokens(http, await consented(http, wish(DOCUMENT)))
        assert (await claims(http, got["access_token"]))["client_id"] == DOCUMENT


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (None, "It answered 404."),
        (b"<html>", "must be JSON"),
        (b"[]", "must be JSON"),
        ({"client_id": "https://other.example/", "redirect_uris": [CALLBACK]}, "its own address"),
        ({"client_id": DOCUMENT, "redirect_uris": CALLBACK}, "a list of redirect_uris"),
    ],
)
async def test_a_document_that_says_something_else_is_refused_with_the_reason(document: Any, why: str) -> None:
    async with documented({} if document is None else {DOCUMENT: document}) as http:
        stopped = await http.get(f"{ISSUER}/authorize", params=wish(DOCUMENT))
        assert stopped.status_code == 400
        assert DOCUMENT in stopped.text
        assert why in stopped.text


async def test_the_page_has_a_document_of_its_own() -> None:
    async with client() as http:
        about = (await http.get("/_host/client.json")).json()
    assert about["client_id"] == f"{PAGE}/_host/client.json"
    assert about["redirect_uris"] == [CALLBACK]


# -- what the consent page offers -----------------------------------------------------------------------------------


async def test_the_consent_page_says_who_asks_for_what_and_offers_people() -> None:
    async with client() as http:
        asked = await signed_up(http)
        page = (await http.get(f"{ISSUER}/authorize", params=asked)).text
        for words in ("Sign in to City Zoo", "For Me", RESOURCE, "Ada Example", "ben@people.example", "user-cyd"):
            assert words in page
        assert re.findall(r'name="scope" value="([^"]+)"', page) == ["animals.read", "animals.write"]
        unknown = {**asked, "resource": "https://<b>.example/mcp", "scope": ""}
        page = (await http.get(f"{ISSUER}/authorize", params=unknown)).text
        assert "Sign in to &lt;b&gt;.example" in page
        assert "asks for no scopes" in page
        assert "$" not in re.sub(r"<script.*?</script>", "", page)


@pytest.mark.parametrize(
    ("granted", "scope"),
    [(["animals.read"], "animals.read"), ([], ""), (["animals.write", "all"], "animals.write")],
)
async def test_a_scope_can_be_refused_and_none_can_be_added(granted: list[str], scope: str) -> None:
    async with client() as http:
        got = await tokens(http, await consented(http, await signed_up(http), scope=granted))
        assert got["scope"] == scope
        assert (await claims(http, got["access_token"]))["scope"] == scope


async def test_a_dead_token_is_dead_until_it_is_refreshed() -> None:
    async with client() as http:
        form = await consented(http, await signed_up(http), expired="on")
        got = await tokens(http, form)
        assert "expires_in" not in got  # the client finds out by the plugin's answer
        assert (await claims(http, got["access_token"]))["exp"] < time.time() - 30
        fresh = await tokens(http, refreshed(form, got))
        assert (await claims(http, fresh["access_token"]))["exp"] > time.time()


async def test_a_sign_in_can_be_for_once() -> None:
    async with client() as http:
        got = await tokens(http, await consented(http, await signed_up(http), once="on"))
        assert "refresh_token" not in got


async def test_somebody_else_is_made_up_and_offered_from_then_on() -> None:
    async with client() as http:
        asked = await signed_up(http)
        got = await tokens(http, await consented(http, asked, person="new", email="ann@example.com"))
        told = await claims(http, got["access_token"])
        assert (told["sub"], told["name"], told["email"]) == ("user-ann-example-com", "Ann", "ann@example.com")
        page = (await http.get(f"{ISSUER}/authorize", params=asked)).text
        assert 'value="user-ann-example-com"' in page


async def test_somebody_without_name_and_email_has_a_subject_only() -> None:
    async with client() as http:
        told = await claims(
            http, (await tokens(http, await consented(http, await signed_up(http), person="user-cyd")))["access_token"]
        )
        assert told["sub"] == "user-cyd"
        assert not {"name", "email"} & set(told)


@pytest.mark.parametrize(
    ("given", "made", "told", "initials"),
    [
        (
            {"email": "ann.lee@example.com"},
            Person("user-ann-lee-example-com", "Ann", "ann.lee@example.com"),
            "ann.lee@example.com · user-ann-lee-example-com",
            "A",
        ),
        ({"email": "a@b.c", "name": "Zoe Ax"}, Person("user-a-b-c", "Zoe Ax", "a@b.c"), "a@b.c · user-a-b-c", "ZA"),
        ({"name": "Zoe Ax"}, Person("user-zoe-ax", "Zoe Ax"), "user-zoe-ax", "ZA"),
        ({"subject": " auth0|77 "}, Person("auth0|77"), "no name, no email", "A7"),
        ({"subject": "7", "email": "a@b.c"}, Person("7", "", "a@b.c"), "7", "AB"),
        ({"subject": "-"}, Person("-"), "no name, no email", "?"),
        ({}, Person("user-new"), "no name, no email", "N"),
    ],
)
def test_who_somebody_is_follows_from_what_is_given(
    given: dict[str, str], made: Person, told: str, initials: str
) -> None:
    assert person(**given) == made
    assert (made.told, made.initials) == (told, initials)


# -- without a browser ----------------------------------------------------------------------------------------------


async def test_tests_get_a_token_for_anybody_at_once() -> None:
    async with client() as http:
        form = {"grant_type": "urn:tenantry:person", "resource": RESOURCE, "scope": "animals.read"}
        got = await tokens(http, {**form, "person": "ada@people.example"})
        told = await claims(http, got["access_token"])
        assert (told["sub"], told["aud"], told["scope"]) == ("user-ada", RESOURCE, "animals.read")
        assert "refresh_token" not in got
        ann = await tokens(http, {**form, "person": "ann@example.com", "expired": "true"})
        told = await claims(http, ann["access_token"])
        assert told["sub"] == "user-ann-example-com"
        assert told["exp"] < time.time()
        same = await claims(http, (await tokens(http, {**form, "person": "user-ann-example-com"}))["access_token"])
        assert same["email"] == "ann@example.com"


@pytest.mark.parametrize(
    ("change", "error"), [({"person": ""}, "invalid_request"), ({"resource": ""}, "invalid_target")]
)
async def test_a_token_for_nobody_or_nothing_is_refused(change: dict[str, str], error: str) -> None:
    async with client() as http:
        form = {"grant_type": "urn:tenantry:person", "person": "user-ada", "resource": RESOURCE}
        assert (await tokens(http, {**form, **change}))["error"] == error


# -- what is remembered ---------------------------------------------------------------------------------------------


async def test_who_signed_in_stays_signed_in_when_the_server_starts_again(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "sign-ins.json"
    async with client(sign_ins=file) as http:
        asked = await signed_up(http)
        form = await consented(http, asked, person="new", email="ann@example.com")
        got = await tokens(http, form)
    assert file.stat().st_mode & 0o777 == 0o600
    async with client(sign_ins=file) as http:
        assert (await claims(http, got["access_token"]))["name"] == "Ann"  # the key is the same
        page = (await http.get(f"{ISSUER}/authorize", params=asked)).text  # so is the client
        assert "Ann" in page
        fresh = await tokens(http, refreshed(form, got))
        assert (await claims(http, fresh["access_token"]))["sub"] == "user-ann-example-com"
        assert (await http.post(f"{ISSUER}/token", data=refreshed(form, got))).status_code == 400


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": {"kty": "EC"}, "clients": {}}'])
def test_a_file_that_can_not_be_read_is_begun_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "sign-ins.json"
    file.write_text(text)
    begun = Ledger(file)
    assert begun.clients == {}
    begun.keep()
    assert Ledger(file).key.kid == begun.key.kid


def test_grants_that_nobody_used_for_a_month_are_forgotten(tmp_path: Path) -> None:
    from tenantry_cli.host.ledger import Grant

    file = tmp_path / "sign-ins.json"
    ledger = Ledger(file)
    for token, seconds in (("old", -1), ("new", 60)):
        ledger.refreshable[token] = Grant("c", "", "", Person("u"), RESOURCE, time.time() + seconds)
    ledger.keep()
    assert set(Ledger(file).refreshable) == {"new"}
