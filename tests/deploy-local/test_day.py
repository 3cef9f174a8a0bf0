"""A day on a deployed platform: its operator lets a tenant in, an author publishes, and the official client calls.

Every line is typed into the real command, by two people: the operator, who deployed, and the author, who has nothing
but a token. Both speak https to the addresses that the deployment has. The tests run in order.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any

import httpx2
import pytest
from simulators.front_door import VIEWER
from simulators.local_aws import ROOT
from tenantry_cli import client

VAULT = '''

from tenantry import Context


@plugin.tool(read_only=True, destructive=False, open_world=False, title="Try the vault")
def try_vault(ctx: Context) -> str:
    """Use this when the user wants to know whether the vault opens."""
    print("trying the vault")
    return f"It opens, with a key of {len(ctx.secrets['VAULT_KEY'])} letters."
'''


def shown(text: str) -> str:
    """A screen, written down eight columns to the right."""
    return "\n".join(line[8:] for line in text.strip("\n").splitlines()).rstrip()


def mcp(record: dict[str, Any]) -> str:
    return f"{record['url']}/t/acme/zoo/mcp"


def test_the_operator_is_told_what_to_do_next(operator: Any, author: Any) -> None:
    assert operator.sees("tenants", "list", "--to", "local") == shown("""
        tenant   title   plan       state    created
        acme             standard   active   just now
    """)
    assert operator.sees("tokens", "list", "acme", "--to", "local") == shown("""
        id             label          scopes    created    expires
        DIGITS   Ada's laptop   publish   just now   never
    """)


def test_an_author_publishes_a_first_plugin(author: Any) -> None:
    author.platform("init", "zoo")
    assert author.sees("publish", "zoo") == shown("""
          packed      N KB, N files
          described   1 tool, 1 widget
          checked     0 errors, 0 warnings
          stored      N files, N KB
          released    DIGITS
          live        acme/zoo DIGITS
          on          URL/api
          at          URL/t/acme/zoo/mcp
    """)


@pytest.mark.usefixtures("at_the_operators")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_uses_what_was_published(author: Any, record: dict[str, Any], mode: str) -> None:
    async with client.connect(mcp(record), mode=mode) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["roll_dice"]
        answered = await session.call_tool("roll_dice", {"count": 3})
        (widget,) = (await session.list_resources()).resources
        page = (await session.read_resource(widget.uri)).contents[0]
    assert answered.structured_content is not None
    assert len(answered.structured_content["dice"]) == 3
    assets = re.findall(r'"(https://[^"]+/assets/[^"]+)"', page.text)  # type: ignore[union-attr]
    assert assets
    assert all(asset.startswith(record["url"]) for asset in assets)
    async with client.http_client() as http:
        for asset in assets:
            assert (await http.get(asset)).status_code == 200


def test_an_author_publishes_again_and_goes_back(author: Any, record: dict[str, Any]) -> None:
    source = author.folder / "zoo" / "server.py"
    source.write_text(source.read_text() + VAULT)
    published = author.sees("publish", "zoo")
    assert published == shown("""
          packed      N KB, N files
          described   2 tools, 1 widget
          checked     0 errors, 0 warnings
          stored      N files, N KB
          released    DIGITS
          live        acme/zoo DIGITS
          on          URL/api
          at          URL/t/acme/zoo/mcp
                      was DIGITS; go back with: platform rollback acme/zoo --to URL
    """)
    releases = json.loads(author.platform("releases", "acme/zoo", "--json").stdout)
    assert [release["current"] for release in releases] == [True, False]
    assert author.sees("releases", "acme/zoo") == shown("""
        release        version   became live
        DIGITS   0.1.0     just now      live
        DIGITS   0.1.0     just now
          next        platform rollback acme/zoo DIGITS --to URL
    """)
    assert author.sees("rollback", "acme/zoo") == shown("""
          live        acme/zoo DIGITS
                      was DIGITS; go back with: platform rollback acme/zoo DIGITS --to URL
    """)
    went_back = json.loads(author.platform("releases", "acme/zoo", "--json").stdout)
    assert [release["release"] for release in went_back if release["current"]] == [releases[1]["release"]]
    author.platform("rollback", "acme/zoo", releases[0]["release"][:12])
    time.sleep(2.1)  # how long a gateway keeps a pointer (POINTER_SECONDS)


def test_an_error_id_leads_to_its_traceback_and_a_secret_cures_it(author: Any, record: dict[str, Any]) -> None:
    failed = author.platform("call", mcp(record), "try_vault", ok=False)
    assert failed.returncode == 1
    error_id = re.search(r"--error-id ([0-9a-f]{12})", failed.stderr)
    assert error_id, failed.stderr
    explained = author.sees("logs", "acme/zoo", "--error-id", error_id[1])
    assert "trying the vault" in explained
    assert "The secret 'VAULT_KEY' is not set: list it under [secrets] required and set it." in explained
    config = author.folder / "zoo" / "plugin.toml"
    config.write_text(f'{config.read_text()}\n[secrets]\nrequired = ["VAULT_KEY"]\n')
    author.platform("publish", "zoo")
    value = author.folder / "value"
    value.write_text("open sesame\n")
    assert "VAULT_KEY" in author.sees("secrets", "set", "acme/zoo", "VAULT_KEY", "--from-file", str(value))
    assert author.sees("secrets", "list", "acme/zoo") == "  VAULT_KEY"
    assert author.sees("call", mcp(record), "try_vault") == "It opens, with a key of 11 letters."


def test_a_preview_is_served_beside_what_is_live(author: Any, record: dict[str, Any]) -> None:
    source = author.folder / "zoo" / "server.py"
    source.write_text(source.read_text().replace("Rolled {dice}", "Fell {dice}"))
    shown = json.loads(author.platform("preview", "zoo", "--json").stdout)
    assert shown["mcp_url"].startswith(f"{record['url']}/t/acme/zoo/v/")
    assert author.platform("call", shown["mcp_url"], "roll_dice").stdout.startswith("Fell [")
    assert author.platform("call", mcp(record), "roll_dice").stdout.startswith("Rolled [")


def test_the_log_and_the_bill_know_what_was_called(author: Any) -> None:
    log = author.sees("logs", "acme/zoo")
    assert re.search(r"^  MOMENT  tools/call +try_vault +N ms  tool.failed  DIGITS$", log, re.MULTILINE), log
    used = json.loads(author.platform("usage", "acme", "--json").stdout)
    assert {(row["tool"], row["errors"]) for row in used} == {("roll_dice", 0), ("try_vault", 1)}


def test_a_token_of_one_tenant_reaches_no_other_and_no_platform(author: Any, operator: Any) -> None:
    operator.platform("tenants", "create", "bolt", "--to", "local")
    assert author.sees("publish", "zoo", "--tenant", "bolt", ok=False) == shown("""
        error  access.denied  This token has no right to publish for bolt.
               It is a token of acme; use one of bolt.
    """)
    assert author.sees("tenants", "create", "mine", ok=False) == shown("""
        error  access.denied  This token has no right to admin on the platform.
               It is a token of acme; this needs an operator's.
    """)
    assert operator.sees("publish", str(author.folder / "zoo"), "--to", "local", ok=False) == shown("""
        error  publish.tenant  URL/api has 2 tenants; whose plugin is this?
               Give --tenant: acme, bolt.
    """)


def test_the_operator_sees_who_did_what(operator: Any, author: Any) -> None:
    entries = json.loads(operator.platform("audit", "acme", "--to", "local", "--json").stdout)
    done = [entry["action"] for entry in entries]
    assert done[:4] == ["tenant.create", "token.issue", "release.publish", "release.publish"]
    assert {"release.rollback", "release.promote", "secret.set"} <= set(done)
    assert {entry["source"] for entry in entries} == {VIEWER}


def test_a_suspended_tenant_is_not_served_until_it_is_resumed(operator: Any, author: Any, record: Any) -> None:
    operator.platform("tenants", "suspend", "acme", "--to", "local")
    refused = author.sees("publish", "zoo", ok=False)
    assert refused == shown("""
        error  tenant.suspended  acme is suspended.
               Ask the operator.
    """)
    operator.platform("tenants", "resume", "acme", "--to", "local")
    author.platform("call", mcp(record), "roll_dice")


def test_an_erased_tenant_leaves_nothing_behind(operator: Any, cloud: Any, record: dict[str, Any]) -> None:
    hello = str(ROOT / "tenants" / "examples" / "hello")
    operator.platform("publish", hello, "--tenant", "bolt", "--to", "local")
    operator.platform("tenants", "delete", "bolt", "--grace-days", "0", "--yes", "--to", "local")
    assert "erased" in operator.sees("tenants", "erase", "bolt", "--yes", "--to", "local")
    kept = cloud.client("s3").list_object_versions(Bucket=record["store"])
    keys = {entry["Key"] for kind in ("Versions", "DeleteMarkers") for entry in kept.get(kind, ())}
    assert [key for key in keys if "acme" in key]
    assert not [key for key in keys if "bolt" in key]
    assert "tenant.taken" in operator.sees("tenants", "create", "bolt", "--to", "local", ok=False)


def test_a_revoked_token_is_refused_at_once(operator: Any, author: Any) -> None:
    (token,) = json.loads(operator.platform("tokens", "list", "acme", "--to", "local", "--json").stdout)
    operator.platform("tokens", "revoke", token["id"], "acme", "--to", "local")
    assert "token.refused" in author.sees("releases", "acme/zoo", ok=False)


async def test_a_host_without_cloudfronts_secret_is_not_believed(cloud: Any, record: Any) -> None:
    liar = {
        "host": record["outputs"]["ApiUrl"].removeprefix("https://"),
        "x-forwarded-host": "evil.cloudfront.net",
        "x-tenantry-origin": "guessed",
    }
    async with httpx2.AsyncClient() as http:
        answered = await http.get(f"{cloud.url}/t/smokeone/probe/", headers={**liar, "accept": "text/html"})
    assert answered.status_code == 200
    assert "evil" not in answered.text
