"""Where a secret could come out: errors, logs, last words, audit, manifests, listings, the store, a preview."""

from __future__ import annotations

import json

import httpx
import pytest
from attacks.village import CAPABLE, MALLORY_KEY, MALLORY_TOML, MODERN, VAULT_KEY, VAULT_TOML, Village

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.attack("secret-traceback")
async def test_an_exception_that_holds_a_secret_tells_nobody(village: Village) -> None:
    at = len(village.log)
    answer = await village.ask("vault-bank", "tools/call", {"name": "breaks", "arguments": {}})
    assert answer.json()["result"]["isError"] is True
    assert VAULT_KEY not in answer.text
    assert "could not log in" not in answer.text
    assert "server.py" not in answer.text
    line = json.loads(village.log[at:])
    assert "RuntimeError" in line["traceback"], "its author finds it by the error id"
    assert VAULT_KEY not in village.log


@pytest.mark.attack("secret-last-words")
async def test_the_last_words_of_a_crash_or_of_a_slow_tool_hold_no_secret(village: Village) -> None:
    at = len(village.log)
    answer = await village.ask("vault-bank", "tools/call", {"name": "dies", "arguments": {}})
    assert "last words" in village.log[at:]
    assert VAULT_KEY not in answer.text + village.log
    await village.attack("print('slow', ctx.secrets['MALLORY_KEY'], flush=True); time.sleep(60)")
    assert "slow" in village.log[at:]
    assert MALLORY_KEY not in village.log


@pytest.mark.attack("secret-describe")
async def test_code_that_is_only_described_sees_placeholders(village: Village) -> None:
    server = "import os\nraise RuntimeError('key=' + os.environ['VAULT_KEY'] + ';')\n"
    ended = await village.publish("bank", "vault", village.bundle(VAULT_TOML, server))
    assert ended["state"] == "failed"
    assert VAULT_KEY not in json.dumps(ended)
    assert "RuntimeError" in ended["error"]["message"], "whoever publishes may read why"


@pytest.mark.attack("secret-baked-in")
async def test_a_placeholder_is_all_that_a_manifest_could_hold(village: Village) -> None:
    pointer = json.loads((await village.stored("plugins/bank/"))["plugins/bank/vault.json"])
    path = f"/v1/plugins/bank/vault/releases/{pointer['current']}"
    manifest = await village.api("GET", path, token=village.tokens["bank"], status=200)
    assert "VAULT_KEY" in manifest.text
    assert VAULT_KEY not in manifest.text
    assert VAULT_KEY.encode() not in b"".join((await village.stored("releases/bank/")).values())


@pytest.mark.attack("secret-readback")
async def test_no_token_reads_a_secret_back(village: Village) -> None:
    base = "/v1/plugins/bank/vault/secrets"
    for token in (village.tokens["bank"], "tno_" + "o" * 43):
        listed = await village.api("GET", base, token=token, status=200)
        assert "VAULT_KEY" in listed.text
        assert VAULT_KEY not in listed.text
        assert (await village.api("GET", f"{base}/VAULT_KEY", token=token)).status_code in (404, 405)


@pytest.mark.attack("secret-audit")
async def test_the_audit_names_secrets_and_no_values(village: Village) -> None:
    audit = b"".join((await village.stored("audit/bank/")).values())
    assert b"VAULT_KEY" in audit
    assert VAULT_KEY.encode() not in audit
    assert village.tokens["bank"].encode() not in audit


@pytest.mark.attack("secret-at-rest")
async def test_secrets_and_tokens_are_not_in_the_store_as_text(village: Village) -> None:
    for prefix in ("secrets/", "tokens/", "tenants/", "plugins/", "publishes/", "releases/", "audit/"):
        for key, data in (await village.stored(prefix)).items():
            for text in (VAULT_KEY, MALLORY_KEY, *village.tokens.values()):
                assert text.encode() not in data, key


@pytest.mark.attack("secret-swapped")
async def test_a_sealed_secret_put_in_anothers_place_does_not_open(village: Village) -> None:
    from tenantry_registry.objects import ANY

    theirs = (await village.stored("secrets/bank/vault/"))["secrets/bank/vault/VAULT_KEY"]
    own = (await village.stored("secrets/acme/trudy/"))["secrets/acme/trudy/MALLORY_KEY"]
    await village.objects.swap("secrets/acme/trudy/MALLORY_KEY", theirs, expected=ANY)
    told = await village.attack("got = dict(os.environ)", "trudy-acme")
    assert VAULT_KEY not in str(told)
    await village.objects.swap("secrets/acme/trudy/MALLORY_KEY", own, expected=ANY)
    assert await village.attack("got = ctx.secrets['MALLORY_KEY']", "trudy-acme") == MALLORY_KEY


@pytest.mark.attack("secret-preview")
async def test_a_preview_gets_no_secret_unless_its_owner_said_so(village: Village) -> None:
    server = "from tenantry import Context, Plugin\nplugin = Plugin()\n" + (
        "@plugin.tool(read_only=True, destructive=False, open_world=False)\n"
        'def leak(ctx: Context) -> str:\n    """Use this to leak."""\n    import os\n'
        "    return str(dict(os.environ)) + str(list(ctx.secrets))\n"
    )
    data = village.bundle(VAULT_TOML + "\n# preview\n", server)
    ended = await village.publish("bank", "vault", data, preview_days=1)
    assert ended["state"] == "done", ended["error"]
    url = f"https://vault-bank.plugins.example.com/v/{ended['digest'][:12]}/mcp"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "leak", "arguments": {}}}
    async with village.http("vault-bank.plugins.example.com") as http:
        answer = await http.post(url, json=body)
    assert answer.json()["result"].get("isError") is not True, answer.text
    assert VAULT_KEY not in answer.text


ASKS_AND_LEAKS = '''
import os
from pydantic import BaseModel
from tenantry import Context, Plugin
plugin = Plugin()

class Sure(BaseModel):
    sure: bool

@plugin.tool(read_only=True, destructive=False, open_world=False)
def leak(ctx: Context) -> str:
    """Use this to leak."""
    ctx.elicit("Sure?", Sure)
    return "went on " + str(dict(os.environ)) + str(ctx.secrets)
'''
LEAK = {"name": "leak", "arguments": {}}
YES = {"action": "accept", "content": {"sure": True}}


@pytest.mark.attack("secret-preview-resumed")
async def test_a_call_of_a_preview_goes_on_at_that_preview_alone(village: Village) -> None:
    data = village.bundle(VAULT_TOML + "\n# asks\n", ASKS_AND_LEAKS)
    ended = await village.publish("bank", "vault", data, preview_days=1)
    assert ended["state"] == "done", ended["error"]
    preview, plugin = f"/v/{ended['digest'][:12]}/mcp", "/mcp"
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": CAPABLE}
    new = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "leak"}
    old = {"accept": "application/json, text/event-stream"}
    async with village.http("vault-bank.plugins.example.com") as http:

        async def call(path: str, **more: object) -> httpx.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**LEAK, "_meta": meta, **more}}
            return await http.post(path, json=body, headers=new)

        asked = (await call(preview)).json()["result"]
        (key,) = asked["inputRequests"]
        answered = {"inputResponses": {key: YES}, "requestState": asked["requestState"]}
        elsewhere = await call(plugin, **answered)
        assert elsewhere.json()["error"]["code"] == -32602
        assert "went on" in (await call(preview, **answered)).text
        assert VAULT_KEY not in elsewhere.text + (await call(preview, **answered)).text

        greeting = {
            "protocolVersion": "2025-11-25",
            "capabilities": CAPABLE,
            "clientInfo": {"name": "x", "version": "1"},
        }
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting}
        old["mcp-session-id"] = (await http.post(preview, json=hello, headers=old)).headers["mcp-session-id"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": LEAK}
        waits = (await http.post(preview, json=body, headers=old)).text
        event = waits.partition("id: ")[2].partition("\n")[0].strip()
        question = f"{event}.0"
        assert question in waits
        answer = {"jsonrpc": "2.0", "id": question, "result": YES}
        for path in (plugin, preview):  # an answer given at the plugin's address is for nobody
            await http.post(path, json=answer, headers=old)
            stolen = await http.get(plugin, headers={**old, "last-event-id": event})
            assert VAULT_KEY not in stolen.text
            assert "went on" not in stolen.text
        own = await http.get(preview, headers={**old, "last-event-id": event})
        assert "went on" in own.text
        assert VAULT_KEY not in own.text


@pytest.mark.attack("secret-reserved")
@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "PYTHONPATH", "AWS_ACCESS_KEY_ID", "HOME", "HTTPS_PROXY", "x"])
async def test_a_secret_cannot_change_how_the_sandbox_is_started(village: Village, name: str) -> None:
    path = f"/v1/plugins/acme/mallory/secrets/{name}"
    answer = await village.api("PUT", path, token=village.tokens["acme"], body={"value": "/evil"})
    assert answer.status_code == 422


@pytest.mark.attack("env-reserved")
@pytest.mark.parametrize("name", ["AWS_LAMBDA_RUNTIME_API", "LAMBDA_TASK_ROOT", "TENANTRY_DEV_FILES", "LD_PRELOAD"])
async def test_nor_can_the_environment_of_a_bundle(village: Village, name: str) -> None:
    toml = MALLORY_TOML.format(name="mallory", egress="none", timeout=3) + f'[env]\n{name} = "1"\n'
    ended = await village.publish("acme", "mallory", village.bundle(toml, "plugin = 1\n"))
    assert (ended["state"], ended["error"]["code"]) == ("failed", "config.invalid")


@pytest.mark.attack("oauth-token-forwarded")
async def test_a_users_token_reaches_no_tool_that_did_not_ask_for_it(village: Village) -> None:
    from attacks.village import signed

    token = signed("alice")
    await village.call("club-bank", "remember", token=token, text="hello")
    assert token not in village.log
    assert token.encode() not in b"".join((await village.stored("state/bank/")).values())
