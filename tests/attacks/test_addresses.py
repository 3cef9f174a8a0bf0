"""The gateway against foreign hosts, tricks in paths, links of others, sessions of others, and poisoned caches."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from attacks.village import BASE, CAPABLE, ISSUER, KEY, SHARED, VAULT_TOML, Village, signed
from joserfc.jwk import RSAKey

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def post(village: Village, host: str, path: str = "/mcp", **headers: str) -> Any:
    async with village.http(SHARED) as http:
        given = {"host": host, "x-literal-path": path}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.post("/", json=LIST, headers=given)


# -- hosts and paths --------------------------------------------------------------------------------------------------


@pytest.mark.attack("host-foreign")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example", f"evil.{BASE}", f"vault-bank.{BASE}.evil.example", f"x.vault-bank.{BASE}", BASE,
        f"-bank.{BASE}", f"vault-.{BASE}", f"vault--bank.{BASE}", f"vault-bank.{BASE}@evil.example", "", "..", "*",
        f"vault-bank.{BASE}:1", f"vault-bank.{BASE}/../x", f"xn--vault-bank.{BASE}", "127.0.0.1", "[::1]",
        f"vault_bank.{BASE}", "vault-bank",
    ],
)  # fmt: skip
async def test_a_host_that_is_not_exactly_a_plugins_has_no_plugin(village: Village, host: str) -> None:
    assert (await post(village, host)).status_code == 404


@pytest.mark.attack("host-case")
async def test_a_host_in_other_letters_is_the_same_host_and_nothing_is_built_from_it(village: Village) -> None:
    answer = await post(village, f"VAULT-Bank.{BASE.upper()}")
    assert answer.status_code == 200
    assert "VAULT-Bank" not in answer.text + str(answer.headers)


@pytest.mark.attack("host-forwarded")
@pytest.mark.parametrize("header", ["x_forwarded_host", "forwarded", "x_original_host", "x_host", "x_tenantry_origin"])
async def test_a_forwarded_host_without_the_secret_counts_nothing(village: Village, header: str) -> None:
    value = f"host=vault-bank.{BASE}" if header == "forwarded" else f"vault-bank.{BASE}"
    answer = await post(village, f"mallory-acme.{BASE}", **{header: value})
    assert "attack" in answer.text
    assert "recall" not in answer.text
    assert (await post(village, "evil.example", **{header: value})).status_code == 404


@pytest.mark.attack("host-and-path")
async def test_a_plugins_host_does_not_serve_another_plugins_path(village: Village) -> None:
    for path in ("/t/bank/vault/mcp", "/mcp/../t/bank/vault/mcp", "//t/bank/vault/mcp"):
        answer = await post(village, f"mallory-acme.{BASE}", path)
        assert answer.status_code == 404, path


@pytest.mark.attack("path-tricks")
@pytest.mark.parametrize(
    "path",
    [
        "/t/acme/../bank/vault/mcp", "/t/acme/%2e%2e/bank/vault/mcp", "/t/bank%2f..%2fvault/mcp", "/t/bank/x%00/mcp",
        "/t/BANK/vault/mcp", "/t/bank/Vault/mcp", "/t/bank/vault/mcp/x", "/t/bank//vault/mcp", "/t/bank/vault/mcp%2f..",
        "/t/bank/vault/v/../mcp", "/t/bank/vault/v/000000000000/mcp", "/t/bank/vault/v/%2e%2e/mcp", "/t/bank/*/mcp",
        "/t/bank/vault;x/mcp", "/t/bank/vault\\mcp", "/t/../../etc/passwd", "/t/bank/.vault/mcp", "/t/_operator/x/mcp",
    ],
)  # fmt: skip
async def test_a_path_is_read_once_and_literally(village: Village, path: str) -> None:
    assert (await post(village, SHARED, path)).status_code == 404


@pytest.mark.attack("asset-tricks")
@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../bank/vault/x", "/assets/aaaaaaaaaa/../../../secrets/bank/vault/VAULT_KEY",
        "/assets/aaaaaaaaaa/%2e%2e/%2e%2e/x", "/assets/aaaaaaaaaa/%2e%2e%2f%2e%2e%2fx", "/assets//etc/passwd",
        "/assets/aaaaaaaaaa/..\\..\\x", "/assets/aaaaaaaaaa/x%00.js", "/assets/aaaaaaaaaa/" + "a/" * 600,
        "/assets/aaaaaaaaaa/\ud83d\ude00", "/assets/..%2f..%2fkeys%2flinks.json/x", "/assets/keys/links.json",
    ],
)  # fmt: skip
async def test_an_asset_is_looked_for_below_its_own_tree_only(village: Village, path: str) -> None:
    literal = path.encode("utf-16", "surrogatepass").decode("utf-16").encode().decode("latin-1")
    answer = await village.get(f"https://mallory-acme.{BASE}/", **{"x-literal-path": literal.encode("latin-1")})
    assert answer.status_code == 404, answer.text


@pytest.mark.attack("control-on-host")
async def test_the_control_plane_is_not_below_a_plugins_host(village: Village) -> None:
    for path in ("/v1/tenants", "/api/v1/tenants", "/v1/health", "/v1/openapi.json"):
        assert (await village.get(f"https://mallory-acme.{BASE}{path}")).status_code == 404


@pytest.mark.attack("web-origin")
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", f"https://mallory-acme.{BASE}", "http://localhost:3000", f"https://{BASE}",
     "https://chatgpt.com.evil.example", "https://chatgpt.com:444", "http://chatgpt.com", "https://CHATGPT.com"],
)  # fmt: skip
async def test_a_page_of_a_foreign_origin_calls_no_tool(village: Village, origin: str) -> None:
    answer = await post(village, f"vault-bank.{BASE}", origin=origin)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.attack("storage-route")
@pytest.mark.parametrize("query", ["", "?X-Amz-Signature=00", "?X-Amz-Expires=9&X-Amz-Signature=" + "0" * 64])
async def test_storage_answers_no_address_that_was_not_signed(village: Village, query: str) -> None:
    for key in ("secrets/bank/vault/VAULT_KEY", "keys/links.json", "state/bank/vault/_shared.json", "../secrets.key"):
        answer = await village.get(f"https://{SHARED}/_objects/{key}{query}")
        assert answer.status_code in (400, 403, 404)


# -- files ------------------------------------------------------------------------------------------------------------


async def link_of(village: Village, plugin: str = "vault-bank") -> str:
    kept = (await village.call(plugin, "keep", text="the bank's"))["structuredContent"]
    assert (await village.get(kept["download_url"])).status_code == 302
    return str(kept["download_url"])


@pytest.mark.attack("link-host")
async def test_a_link_shown_at_another_host_or_path_is_nobodys(village: Village) -> None:
    link = await link_of(village)
    rest = link.partition("/files/")[2]
    for place in (f"mallory-acme.{BASE}", f"club-bank.{BASE}", f"{SHARED}/t/acme/mallory", f"{SHARED}/t/bank/vault"):
        assert (await village.get(f"https://{place}/files/{rest}")).status_code == 403


@pytest.mark.attack("link-tampered")
async def test_a_link_with_any_part_changed_is_dead(village: Village) -> None:
    head, _, rest = (await link_of(village)).partition("/files/")
    token, _, name = rest.partition("/")
    kid, file_id, until, mac = token.split(".")
    for forged in (
        f"{kid}.{file_id}.{int(until) + 1}.{mac}",
        f"{kid}.file_{'0' * 32}.{until}.{mac}",
        f"{'0' * 8}.{file_id}.{until}.{mac}",
        f"{kid}.{file_id}.{until}.{mac[:-1]}",
        f"{kid}.{file_id}.{until}.{'A' * 43}",
        f"{kid}.{file_id}.{until}",
    ):
        assert (await village.get(f"{head}/files/{forged}/{name}")).status_code == 403
    for other in ("other.txt", "../kept.txt", "%2e%2e%2fkept.txt", "", "kept.txt%00", "x/kept.txt"):
        assert (await village.get(f"{head}/files/{token}/{other}")).status_code in (403, 404)


@pytest.mark.attack("link-storage")
async def test_the_address_in_storage_leads_to_that_file_only_and_not_for_long(village: Village) -> None:
    signed_url = (await village.get(await link_of(village))).headers["location"]
    assert (await village.get(signed_url)).status_code == 200
    for forged in (
        signed_url.replace("/vault/", "/club/"),
        signed_url.replace("kept.txt?", "other.txt?"),
        signed_url.replace("files/bank", "secrets/bank"),
        signed_url.replace("grant=eyJ", "grant=eyK"),
        signed_url[:-4] + "0000",
        signed_url.partition("?")[0],
    ):
        assert forged != signed_url
        assert (await village.get(forged)).status_code in (400, 403)
    assert (await village.get(signed_url, "POST")).status_code in (400, 403, 405)


@pytest.mark.attack("file-id-user")
async def test_a_members_file_is_bound_to_the_member(village: Village) -> None:
    from tenantry_registry import files
    from tenantry_registry.errors import PlatformError

    made = await village.call("club-bank", "remember", token=signed("alice"), text="alice's")
    file_id = made["structuredContent"]["file_id"]
    alice, bob = {"iss": ISSUER, "sub": "alice"}, {"iss": ISSUER, "sub": "bob"}
    files.check_id(file_id, alice)
    for other in (bob, None, {"iss": "https://evil.example", "sub": "alice"}, {"iss": ISSUER, "sub": "alice\n"}):
        with pytest.raises(PlatformError):
            files.check_id(file_id, other)
    bare = file_id.partition("u")[0]
    assert not await village.stored(f"files/bank/club/{bare}/"), "without its mark it is no file"


# -- sessions, states, pending calls ----------------------------------------------------------------------------------


@pytest.mark.attack("session-foreign")
async def test_a_session_id_is_no_authority_whoever_made_it(village: Village) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with village.http(f"mallory-acme.{BASE}") as http:
        begun = await http.post("/mcp", json={**body, "params": params})
    ours = begun.headers["mcp-session-id"]
    for session in (ours, ours[:-4] + "AAAA", "k1.." + "A" * 27, "x", "a.b.c", "k1.%00.x", "\u00e9".encode().hex()):
        answer = await post(village, f"club-bank.{BASE}", mcp_session_id=session)
        assert answer.status_code == 401, "the door is the same with and without"
    assert (await post(village, f"vault-bank.{BASE}", mcp_session_id=ours)).status_code == 200


async def asked(village: Village, plugin: str, tool: str, token: str = "", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    result: dict[str, Any] = (await village.ask(plugin, "tools/call", params, token=token)).json()["result"]
    assert result["resultType"] == "input_required"
    return result


async def resumed(village: Village, plugin: str, tool: str, first: Any, token: str = "", **arguments: Any) -> Any:
    answers = {key: {"action": "accept", "content": {"sure": True}} for key in first["inputRequests"]}
    params = {
        "name": tool,
        "arguments": arguments,
        "inputResponses": answers,
        "requestState": first["requestState"],
    }
    return (await village.ask(plugin, "tools/call", params, token=token)).json()


@pytest.mark.attack("state-tampered")
async def test_a_request_state_is_good_for_its_own_request_only(village: Village) -> None:
    first = await asked(village, "mallory-acme", "pay", amount=1)
    assert "paid 1" in str(await resumed(village, "mallory-acme", "pay", first, amount=1))
    more = await resumed(village, "mallory-acme", "pay", first, amount=1_000)
    assert more["error"]["code"] == -32602
    kid, note, mark = first["requestState"].split(".")
    opened = json.loads(base64.urlsafe_b64decode(note + "=" * (-len(note) % 4)))
    opened[1]["release"] = "0" * 64
    forged = base64.urlsafe_b64encode(json.dumps(opened).encode()).rstrip(b"=").decode()
    for state in (
        f"{kid}.{forged}.{mark}",
        f"{kid}.{note}.{mark[:-2]}",
        f"k2.{note}.{mark}",
        f"{kid}.{note}.",
        "x",
        "",
    ):
        answer = await resumed(village, "mallory-acme", "pay", {**first, "requestState": state}, amount=1)
        assert answer["error"]["code"] == -32602


@pytest.mark.attack("state-foreign")
async def test_a_request_state_of_another_plugin_or_member_is_none(village: Village) -> None:
    alices = await asked(village, "club-bank", "order", signed("alice"))
    bobs = await resumed(village, "club-bank", "order", alices, signed("bob"))
    assert bobs["error"]["code"] == -32602
    mallorys = await asked(village, "mallory-acme", "pay", amount=1)
    elsewhere = await resumed(village, "trudy-acme", "pay", mallorys, amount=1)
    assert elsewhere["error"]["code"] == -32602
    assert "ordered: True" in str(await resumed(village, "club-bank", "order", alices, signed("alice")))


@pytest.mark.attack("pending-foreign")
async def test_a_pending_call_is_its_users_alone(village: Village) -> None:
    async def send(method: str, token: str, plugin: str = "club-bank", body: Any = None, **headers: str) -> Any:
        given = {"authorization": f"Bearer {token}", "mcp-protocol-version": "2025-11-25"} if token else {}
        async with village.http(f"{plugin}.{BASE}") as http:
            return await http.request(
                method, "/mcp", json=body, headers=given | {k.replace("_", "-"): v for k, v in headers.items()}
            )

    alice, bob = signed("alice"), signed("bob")
    hello = {"protocolVersion": "2025-11-25", "capabilities": CAPABLE, "clientInfo": {"name": "x", "version": "1"}}
    begun = await send("POST", alice, body={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    session = begun.headers["mcp-session-id"]
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "order", "arguments": {}}}
    both = "application/json, text/event-stream"
    waiting = await send("POST", alice, body=call, mcp_session_id=session, accept=both)
    event = next(line[4:] for line in waiting.text.splitlines() if line.startswith("id: "))
    question = next(json.loads(line[6:]) for line in waiting.text.splitlines() if line.startswith("data: {"))
    yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"sure": True}}}
    for token, plugin in ((bob, "club-bank"), ("", "vault-bank"), ("", "mallory-acme")):
        await send("POST", token, plugin, yes)
        assert (await send("GET", token, plugin, last_event_id=event)).status_code == 405
    for made_up in ("0" * 32 + ".1", "../../x", event[:-1], "%2e%2e/x"):
        assert (await send("GET", alice, last_event_id=made_up)).status_code in (200, 405)
    still = await send("GET", alice, last_event_id=event)
    assert "ordered" not in still.text, "bob's yes was not taken"
    await send("POST", alice, body=yes)
    assert "ordered: True" in (await send("GET", alice, last_event_id=event)).text


@pytest.mark.attack("state-of-others")
async def test_a_member_reads_no_other_members_state(village: Village) -> None:
    await village.call("club-bank", "remember", token=signed("alice"), text="alice's own")
    for sub in ("bob", "Alice", "alice ", "alice\n", "../alice", "_shared"):
        told = await village.call("club-bank", "mine", token=signed(sub))
        assert told["content"][0]["text"] == "nothing"
    assert (await village.call("club-bank", "mine", token=signed("alice")))["content"][0]["text"] == "alice's own"


@pytest.mark.attack("subject-forged")
async def test_openai_subject_signs_nobody_in(village: Village) -> None:
    params = {"name": "mine", "arguments": {}, "_meta": {"openai/subject": "alice", "openai/session": "alice"}}
    answer = await village.ask("club-bank", "tools/call", params)
    assert answer.status_code == 401
    assert "alice's own" not in answer.text


@pytest.mark.attack("oauth-foreign")
async def test_an_access_token_is_for_this_plugin_by_this_issuer_or_worth_nothing(village: Village) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    for token in (
        signed("alice", audience=f"https://vault-bank.{BASE}/mcp"),
        signed("alice", iss="https://evil.example"),
        signed("alice", iss=ISSUER + "/"),
        signed("alice", exp=1),
        signed("alice", nbf=3_999_999_999),
        signed("alice", key=stranger),
        signed("", key=KEY),
        "a.b.c",
        "eyJhbGciOiJub25lIn0." + signed("alice").split(".")[1] + ".",
    ):
        params = {"name": "mine", "arguments": {}}
        assert (await village.ask("club-bank", "tools/call", params, token=token)).status_code == 401
    weak = signed("alice", scope="other")
    assert (
        await village.ask("club-bank", "tools/call", {"name": "mine", "arguments": {}}, token=weak)
    ).status_code == 403


# -- caches -----------------------------------------------------------------------------------------------------------


@pytest.mark.attack("cache-same-bundle")
async def test_the_same_bundle_of_two_tenants_stays_two_plugins(village: Village) -> None:
    server = (
        "import os\nfrom tenantry import Context, Plugin\nplugin = Plugin()\nSEEN = []\n"
        "@plugin.tool(read_only=True, destructive=False, open_world=False)\n"
        'def look(text: str, ctx: Context) -> str:\n    """Use this to look."""\n'
        "    SEEN.append(text)\n    return f\"{SEEN} {ctx.secrets.get('VAULT_KEY')}\"\n"
    )
    data = village.bundle(VAULT_TOML.replace('"vault"', '"twin"'), server)
    for tenant in ("acme", "bank"):
        assert (await village.publish(tenant, "twin", data))["state"] == "done"
        await village.secret(tenant, "twin", "VAULT_KEY", f"of-{tenant}-alone")
    for tenant, other in (("acme", "bank"), ("bank", "acme"), ("acme", "bank")):
        told = str(await village.call(f"twin-{tenant}", "look", text=tenant))
        assert f"of-{tenant}-alone" in told
        assert other not in told, "one digest, and still no worker is shared"
        front = await village.get(f"https://twin-{tenant}.{BASE}/")
        assert f"twin-{tenant}.{BASE}" in front.text
        assert f"twin-{other}" not in front.text


@pytest.mark.attack("cache-mixed")
async def test_answers_under_load_are_never_somebody_elses(village: Village) -> None:
    async def look(plugin: str, own: str, n: int) -> None:
        answer = await post(village, f"{plugin}.{BASE}", "/mcp" if n % 2 else "/mcp/")
        assert own in answer.text

    owns = {"mallory-acme": "attack", "trudy-acme": "fetch", "vault-bank": "recall"}
    await asyncio.gather(*(look(plugin, own, n) for n in range(60) for plugin, own in owns.items()))


@pytest.mark.attack("cache-private")
async def test_what_differs_by_who_asks_is_not_for_shared_caches(village: Village) -> None:
    listed = await village.ask("club-bank", "tools/list", {}, token=signed("alice"))
    assert listed.json()["result"]["cacheScope"] == "private"
    link = await village.get(await link_of(village))
    assert link.headers["cache-control"] == "no-store"
    front = await village.get(f"https://evil.{BASE}/.well-known/openai-apps-challenge")
    assert front.status_code == 404
    assert "max-age" not in front.headers.get("cache-control", "")


@pytest.mark.attack("suspended")
async def test_a_suspended_tenant_is_served_in_no_form(village: Village) -> None:
    link = await link_of(village)
    await village.api("POST", "/v1/tenants/bank/suspend", status=200)
    try:
        assert (await post(village, f"vault-bank.{BASE}")).status_code == 403
        assert (await post(village, SHARED, "/t/bank/vault/mcp")).status_code == 403
        for address in (link, f"https://vault-bank.{BASE}/", f"https://vault-bank.{BASE}/assets/aaaaaaaaaa/x.js"):
            assert (await village.get(address)).status_code == 403
        assert (await post(village, f"mallory-acme.{BASE}")).status_code == 200
    finally:
        await village.api("POST", "/v1/tenants/bank/resume", status=200)
    assert (await post(village, f"vault-bank.{BASE}")).status_code == 200
