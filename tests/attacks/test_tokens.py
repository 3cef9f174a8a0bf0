"""The control plane against those who hold a token of somebody else, an old one, or none."""

from __future__ import annotations

import hashlib
import json

import pytest
from attacks.village import ISSUER, VAULT_TOML, Village, signed
from tenantry_registry.errors import PlatformError

pytestmark = pytest.mark.asyncio(loop_scope="session")

DIGEST = "0" * 64
ROUTES = [
    ("GET", "/v1/tenants/bank", None),
    ("PATCH", "/v1/tenants/bank", {"title": "mine"}),
    ("PUT", "/v1/tenants/bank/trust", {"identities": []}),
    ("GET", "/v1/tenants/bank/tokens", None),
    ("POST", "/v1/tenants/bank/tokens", {"scopes": ["admin"]}),
    ("DELETE", "/v1/tenants/bank/tokens/0123456789abcdef", None),
    ("GET", "/v1/plugins/bank", None),
    ("GET", "/v1/plugins/bank/vault", None),
    ("DELETE", "/v1/plugins/bank/vault", None),
    ("POST", "/v1/plugins/bank/vault/rollback", None),
    ("POST", "/v1/plugins/bank/vault/prune", None),
    ("PUT", "/v1/plugins/bank/vault/challenge", {"token": "mine"}),
    ("POST", "/v1/plugins/bank/vault/publishes", {"digest": DIGEST, "size": 1}),
    ("GET", f"/v1/plugins/bank/vault/releases/{DIGEST}", None),
    ("POST", f"/v1/plugins/bank/vault/releases/{DIGEST}/promote", None),
    ("POST", f"/v1/plugins/bank/vault/releases/{DIGEST}/yank", None),
    ("POST", f"/v1/plugins/bank/vault/releases/{DIGEST}/submit", None),
    ("POST", f"/v1/plugins/bank/vault/releases/{DIGEST}/preview", {"days": 1}),
    ("GET", "/v1/plugins/bank/vault/secrets", None),
    ("PUT", "/v1/plugins/bank/vault/secrets/VAULT_KEY", {"value": "mine"}),
    ("DELETE", "/v1/plugins/bank/vault/secrets/VAULT_KEY", None),
    ("GET", "/v1/plugins/bank/vault/files", None),
    ("DELETE", "/v1/plugins/bank/vault/files/file_" + "0" * 32, None),
    ("GET", "/v1/plugins/bank/vault/logs", None),
    ("GET", "/v1/tenants/bank/usage", None),
    ("GET", "/v1/tenants/bank/audit", None),
]
OPERATORS = [
    ("POST", "/v1/tokens", {"scopes": ["admin"]}),
    ("GET", "/v1/tokens", None),
    ("DELETE", "/v1/tokens/0123456789abcdef", None),
    ("POST", "/v1/tenants", {"slug": "mine"}),
    ("GET", "/v1/tenants", None),
    ("PATCH", "/v1/tenants/acme", {"plan": "large"}),
    ("POST", "/v1/tenants/acme/suspend", None),
    ("POST", "/v1/tenants/acme/resume", None),
    ("DELETE", "/v1/tenants/acme", None),
    ("POST", "/v1/tenants/acme/erase", None),
]


@pytest.mark.attack("token-foreign")
@pytest.mark.parametrize(("method", "path", "body"), ROUTES, ids=lambda value: str(value)[:60])
async def test_a_tenants_token_does_nothing_to_another_tenant(
    village: Village, method: str, path: str, body: object
) -> None:
    answer = await village.api(method, path, token=village.tokens["acme"], body=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "access.denied")


@pytest.mark.attack("token-foreign")
async def test_no_route_of_a_tenant_was_forgotten_here(village: Village) -> None:
    described = (await village.api("GET", "/v1/openapi.json", token="")).json()["paths"]
    tried = {(method, path.count("/"), path.split("/")[-1]) for method, path, _ in [*ROUTES, *OPERATORS]}
    for path, methods in described.items():
        for method in methods if "{tenant}" in path else ():
            last = path.split("/")[-1]
            found = [one for one in tried if one[:2] == (method.upper(), path.count("/"))]
            assert any(last.startswith("{") or one[2] == last for one in found) or "{job_id}" in path, (method, path)


@pytest.mark.attack("token-none")
@pytest.mark.parametrize(("method", "path", "body"), [*ROUTES, *OPERATORS], ids=lambda value: str(value)[:60])
async def test_nothing_is_open_to_who_has_no_token(village: Village, method: str, path: str, body: object) -> None:
    assert (await village.api(method, path, token="", body=body)).status_code == 401
    assert (await village.api(method, path, token="tno_" + "x" * 43, body=body)).status_code == 401


@pytest.mark.attack("token-operator")
@pytest.mark.parametrize(("method", "path", "body"), OPERATORS, ids=lambda value: str(value)[:60])
async def test_a_tenants_admin_is_no_operator(village: Village, method: str, path: str, body: object) -> None:
    issued = await village.api("POST", "/v1/tenants/acme/tokens", status=201, body={"scopes": ["admin"]})
    assert (await village.api(method, path, token=issued.json()["token"], body=body)).status_code == 403


@pytest.mark.attack("token-scope")
async def test_a_token_cannot_make_itself_a_better_one(village: Village) -> None:
    issued = await village.api("POST", "/v1/tenants/acme/tokens", status=201, body={"scopes": ["read"]})
    for body in ({"scopes": ["admin"]}, {"scopes": ["publish"]}):
        answer = await village.api("POST", "/v1/tenants/acme/tokens", token=issued.json()["token"], body=body)
        assert answer.status_code == 403
    wanted = {"digest": DIGEST, "size": 1}
    answer = await village.api("POST", "/v1/plugins/acme/x/publishes", token=issued.json()["token"], body=wanted)
    assert answer.status_code == 403


@pytest.mark.attack("token-operator-scope")
async def test_an_operators_token_that_may_read_only_reads(village: Village) -> None:
    issued = await village.api("POST", "/v1/tokens", status=201, body={"scopes": ["read"]})
    token = issued.json()["token"]
    assert (await village.api("GET", "/v1/tenants/bank", token=token)).status_code == 200
    changing = [route for route in [*ROUTES, *OPERATORS] if route[0] != "GET"]
    for method, path, body in [*changing, ("GET", "/v1/tokens", None), ("GET", "/v1/tenants/bank/tokens", None)]:
        answer = await village.api(method, path, token=token, body=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "access.denied"), path


@pytest.mark.attack("token-revoked")
async def test_a_revoked_or_expired_token_is_dead_at_once(village: Village) -> None:
    issued = (await village.api("POST", "/v1/tenants/acme/tokens", status=201, body={"scopes": ["read"]})).json()
    assert (await village.api("GET", "/v1/tenants/acme", token=issued["token"])).status_code == 200
    token_id = hashlib.sha256(issued["token"].encode()).hexdigest()[:12]
    listed = (await village.api("GET", "/v1/tenants/acme/tokens")).json()
    (found,) = [one["id"] for one in listed if one["id"].startswith(token_id)]
    await village.api("DELETE", f"/v1/tenants/acme/tokens/{found}", status=204)
    assert (await village.api("GET", "/v1/tenants/acme", token=issued["token"])).status_code == 401


@pytest.mark.attack("token-form")
@pytest.mark.parametrize(
    "forged",
    [
        "tnt_../bank_" + "x" * 43,
        "tnt_bank_" + "x" * 43,
        "tnt_bank%2f_" + "x" * 43,
        "tnt__" + "x" * 43,
        "tno_",
        "null",
        "x" * 20_000,
    ],
)
async def test_a_made_up_token_is_refused_like_any_other(village: Village, forged: str) -> None:
    answer = await village.api("GET", "/v1/tenants/bank", token=forged)
    assert (answer.status_code, answer.json()["code"]) == (401, "token.refused")


@pytest.mark.attack("token-renamed")
async def test_a_token_is_not_another_tenants_by_changing_its_name(village: Village) -> None:
    forged = village.tokens["acme"].replace("tnt_acme_", "tnt_bank_")
    assert (await village.api("GET", "/v1/tenants/bank", token=forged)).status_code == 401


@pytest.mark.attack("ci-foreign")
async def test_a_ci_identity_acts_for_who_trusts_it_only(village: Village) -> None:
    trusted = [{"issuer": ISSUER, "claims": {"repository": "bank/vault"}, "scopes": ["read"]}]
    await village.api("PUT", "/v1/tenants/bank/trust", status=200, body={"identities": trusted})
    ours = signed("repo:bank/vault", audience="https://api.plugins.example.com", repository="bank/vault")
    assert (await village.api("GET", "/v1/tenants/bank", token=ours)).status_code == 200
    assert (await village.api("GET", "/v1/tenants/acme", token=ours)).status_code == 401
    for claims in ({"repository": "bank/vault2"}, {"repository": "BANK/vault"}, {"repository": ["bank/vault"]}, {}):
        other = signed("x", audience="https://api.plugins.example.com", **claims)
        assert (await village.api("GET", "/v1/tenants/bank", token=other)).status_code == 401
    elsewhere = signed("x", audience="https://api.other.example", repository="bank/vault")
    assert (await village.api("GET", "/v1/tenants/bank", token=elsewhere)).status_code == 401


@pytest.mark.attack("trust-everybody")
@pytest.mark.parametrize("claims", [{}, {"repository": "*"}, {"repository": ""}, {"a": "x", "b": "**"}])
async def test_nobody_can_trust_every_workflow_of_a_provider(village: Village, claims: dict[str, str]) -> None:
    body = {"identities": [{"issuer": ISSUER, "claims": claims, "scopes": ["publish"]}]}
    assert (await village.api("PUT", "/v1/tenants/acme/trust", body=body)).status_code == 422


@pytest.mark.attack("slug-tricks")
@pytest.mark.parametrize(
    "slug",
    [
        "..",
        "%2e%2e",
        "bank%2fvault",
        "bank%00",
        "BANK",
        "bank.",
        "bánk",
        "bank%0a",
        "-bank",
        "b",
        "%252e%252e",
        "bank\\x",
    ],
)
async def test_a_slug_is_a_slug_and_no_path(village: Village, slug: str) -> None:
    for path in (f"/v1/tenants/{slug}", f"/v1/plugins/{slug}/vault", f"/v1/plugins/acme/{slug}/secrets/X"):
        answer = await village.api("GET", path, token=village.tokens["acme"])
        assert answer.status_code in (401, 403, 404, 405, 422), answer.text
        assert answer.status_code != 200
    made = await village.api("POST", "/v1/tenants", body={"slug": slug})
    assert made.status_code == 422


@pytest.mark.attack("job-foreign")
async def test_a_publish_of_another_plugin_is_unknown(village: Village) -> None:
    started = await village.api(
        "POST",
        "/v1/plugins/bank/vault/publishes",
        token=village.tokens["bank"],
        status=201,
        body={"digest": DIGEST, "size": 5},
    )
    job = started.json()["id"]
    for method, path in (("GET", job), ("POST", f"{job}/finish"), ("POST", f"{job}/upload")):
        answer = await village.api(method, f"/v1/plugins/acme/mallory/publishes/{path}", token=village.tokens["acme"])
        assert answer.status_code == 404, answer.text


@pytest.mark.attack("release-foreign")
async def test_a_release_of_another_tenant_cannot_be_promoted_or_shown(village: Village) -> None:
    theirs = json.loads((await village.stored("plugins/bank/"))["plugins/bank/vault.json"])["current"]
    for method, path in (
        ("POST", f"{theirs}/promote"),
        ("GET", theirs),
        ("GET", theirs[:12]),
        ("POST", f"{theirs}/yank"),
    ):
        answer = await village.api(method, f"/v1/plugins/acme/mallory/releases/{path}", token=village.tokens["acme"])
        assert answer.status_code == 404


@pytest.mark.attack("upload-signed")
async def test_a_signed_upload_is_for_one_key_one_size_and_one_type(village: Village) -> None:
    body = {"digest": DIGEST, "size": 5}
    path = "/v1/plugins/acme/mallory/publishes"
    started = (await village.api("POST", path, token=village.tokens["acme"], status=201, body=body)).json()["upload"]
    for field in started["fields"]:
        for forged in ("bundles/bank/vault/evil.zip", started["fields"][field] + "x", ""):
            changed = {**started, "fields": {**started["fields"], field: forged}}
            with pytest.raises(PlatformError):
                await village.upload(changed, b"12345")
    for data in (b"1234", b"123456", b""):
        with pytest.raises(PlatformError):
            await village.upload(started, data)
    assert not [key for key in await village.stored("bundles/bank/") if "evil" in key]


@pytest.mark.attack("upload-other-bytes")
async def test_bytes_that_were_not_announced_become_no_release(village: Village) -> None:
    real = village.bundle(VAULT_TOML, "x = 1\n")
    evil = bytes(reversed(real))
    path = "/v1/plugins/acme/mallory/publishes"
    wanted = {"digest": hashlib.sha256(real).hexdigest(), "size": len(evil)}
    token = village.tokens["acme"]
    started = (await village.api("POST", path, token=token, status=201, body=wanted)).json()
    await village.upload(started["upload"], evil)
    await village.api("POST", f"{path}/{started['id']}/finish", token=token, status=202)
    await village.publisher.aclose()
    ended = (await village.api("GET", f"{path}/{started['id']}", token=token)).json()
    assert (ended["state"], ended["error"]["code"]) == ("failed", "upload.digest")


@pytest.mark.attack("plugin-takeover")
async def test_a_bundle_cannot_say_that_it_is_another_plugin(village: Village) -> None:
    ended = await village.publish("acme", "mallory", village.bundle(VAULT_TOML, "x = 2\n"))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "config.other-name")


@pytest.mark.attack("audit-forged")
async def test_what_a_caller_writes_adds_no_line_to_the_audit(village: Village) -> None:
    title = 'x","who":"token:operator"}\n{"action":"tenant.delete'
    await village.api("PATCH", "/v1/tenants/acme", status=200, body={"title": title})
    for data in (await village.stored("audit/acme/")).values():
        assert json.loads(data)["action"] != "tenant.delete"


@pytest.mark.attack("token-errors")
async def test_refusals_repeat_no_token(village: Village) -> None:
    token = village.tokens["acme"]
    for path in ("/v1/tenants/bank", "/v1/plugins/acme/nothing", "/v1/nowhere"):
        assert token not in (await village.api("GET", path, token=token)).text
    assert token not in village.log
