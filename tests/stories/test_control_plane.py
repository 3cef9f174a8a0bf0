"""A platform's day through the command itself: two tenants, three plugins, from creation to erasure."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from stories.served import COMMAND, Served, request, versioned


class Desk:
    """Somebody at a terminal, who is logged in with `token` (the machine's own operator without one)."""

    def __init__(self, folder: Path, api: str, token: str = "") -> None:
        self.folder, self.api, self.token = folder, api, token

    def __call__(self, *args: str | Path, code: int = 0, given: str = "") -> str:
        env = {**os.environ, "TENANTRY_TO": self.api, "XDG_CONFIG_HOME": str(self.folder / "config")}
        if self.token:
            env["TENANTRY_TOKEN"] = self.token
        done = subprocess.run(
            [COMMAND, *args],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            input=given,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    def json(self, *args: str | Path) -> Any:
        return json.loads(self(*args, "--json"))

    def publish(self, folder: Path, *more: str) -> Any:
        return self.json("publish", folder, "--to", self.api, *more)


@pytest.fixture
def platform_served(start: Callable[..., Served], tmp_path: Path) -> tuple[str, Desk]:
    """A running platform with nothing published, and its operator."""
    served = start("serve", "--trust-tenants")
    origin = served.origin
    return origin, Desk(tmp_path, f"{origin}/api")


def said(origin: str, plugin: str, tool: str, arguments: dict[str, Any]) -> tuple[int, Any]:
    answer = httpx.post(f"{origin}/t/{plugin}/mcp", **request(tool, arguments), timeout=30)
    return answer.status_code, answer.json()


REPORT = '''
from tenantry import Context, Plugin

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False)
def report(ctx: Context) -> str:
    """Writes the secret's length into a file."""
    return ctx.files.save("report.txt", f"{len(ctx.secrets['KEY'])} characters".encode(), "text/plain").download_url
'''


def test_a_file_and_a_secret_of_a_published_plugin(platform_served: tuple[str, Desk], tmp_path: Path) -> None:
    origin, operator = platform_served
    operator("tenants", "create", "acme")
    source = tmp_path / "reports"
    source.mkdir()
    (source / "plugin.toml").write_text(
        'name = "reports"\nentrypoint = "server:plugin"\n[secrets]\nrequired = ["KEY"]\n'
    )
    (source / "server.py").write_text(REPORT)
    operator.publish(source, "--tenant", "acme")
    (tmp_path / "value").write_text("seventeen letters")
    operator("secrets", "set", "acme/reports", "KEY", "--from-file", "value")
    link = said(origin, "acme/reports", "report", {})[1]["result"]["content"][0]["text"]
    fetched = httpx.get(link, follow_redirects=True)
    assert (fetched.status_code, fetched.text) == (200, "17 characters")
    (kept,) = operator.json("files", "list", "acme/reports")
    assert kept["name"] == "report.txt"
    operator("files", "revoke", "acme/reports", kept["file_id"])
    assert httpx.get(link, follow_redirects=True).status_code == 404
    logged = operator("logs", "acme/reports", "--json")
    assert '"tool":"report"' in logged.replace(" ", "")
    assert "seventeen" not in logged
    assert operator.json("usage", "acme")[0]["calls"] == 1


def test_a_platforms_day(platform_served: tuple[str, Desk], example: Callable[[str], Path], tmp_path: Path) -> None:
    origin, operator = platform_served
    tenants = {}
    for slug in ("acme", "beta"):
        operator("tenants", "create", slug)
        tenants[slug] = Desk(tmp_path, operator.api, operator.json("tokens", "issue", slug)["token"])
    hello, groceries = example("hello"), example("groceries")

    # Three plugins, two of them with the same name: each is its own tenant's.
    versioned(hello, 1)
    first = tenants["acme"].publish(hello)["release"]
    versioned(hello, 2)
    tenants["beta"].publish(hello)
    tenants["acme"].publish(groceries)
    assert said(origin, "acme/hello", "hello", {"name": "you"})[1]["result"]["content"][0]["text"] == "1 you"
    assert said(origin, "beta/hello", "hello", {"name": "you"})[1]["result"]["content"][0]["text"] == "2 you"
    refused = tenants["beta"]("publish", hello, "--tenant", "acme", "--to", operator.api, code=1)
    assert "access.denied" in refused
    assert "Give --tenant: acme, beta." in operator("publish", hello, "--to", operator.api, code=1)

    # A new release, and back.
    second = tenants["acme"].publish(hello)["release"]
    assert said(origin, "acme/hello", "hello", {"name": "you"})[1]["result"]["content"][0]["text"] == "2 you"
    tenants["acme"]("rollback", "acme/hello", "--to", operator.api)
    assert said(origin, "acme/hello", "hello", {"name": "you"})[1]["result"]["content"][0]["text"] == "1 you"
    listed = tenants["acme"].json("releases", "acme/hello", "--to", operator.api)
    assert {row["release"]: row["current"] for row in listed} == {first: True, second: False}

    # A broken release is refused in the terminal's words, and what is live stays live.
    server = hello / "server.py"
    server.write_text(server.read_text().replace(", open_world=False", ""))
    assert "open_world" in tenants["acme"]("publish", hello, "--to", operator.api, code=1)
    assert said(origin, "acme/hello", "hello", {"name": "you"})[0] == 200

    # Suspended, and back; then deleted, and erased when its time has come.
    operator("tenants", "suspend", "acme")
    assert said(origin, "acme/hello", "hello", {"name": "you"})[0] == 403
    assert said(origin, "beta/hello", "hello", {"name": "you"})[0] == 200
    assert "tenant.suspended" in tenants["acme"]("publish", groceries, "--to", operator.api, code=1)
    operator("tenants", "resume", "acme")
    assert said(origin, "acme/hello", "hello", {"name": "you"})[0] == 200
    operator("tenants", "delete", "acme", "--grace-days", "0", "--yes")
    assert said(origin, "acme/hello", "hello", {"name": "you"})[0] == 403
    operator("tenants", "erase", "acme", "--yes")
    assert said(origin, "acme/hello", "hello", {"name": "you"})[0] == 404
    assert "token.refused" in tenants["acme"]("releases", "acme/hello", "--to", operator.api, code=1)
    assert "tenant.taken" in operator("tenants", "create", "acme", code=1)
    left = [path for path in (tmp_path / ".tenantry" / "objects").rglob("*@") if "acme" in str(path)]
    assert left == []
    assert said(origin, "beta/hello", "hello", {"name": "you"})[0] == 200


def test_the_platforms_own_address_is_enough_and_a_publish_says_where_it_went(
    platform_served: tuple[str, Desk], example: Callable[[str], Path], tmp_path: Path
) -> None:
    origin, _ = platform_served
    person = Desk(tmp_path, origin)  # without /api
    token = (tmp_path / ".tenantry" / "operator-token").read_text()
    assert f"logged in   {origin}/api" in person("login", origin, given=token)
    assert "acme" in person("tenants", "create", "acme")
    assert f"TENANTRY_TOKEN=… platform publish FOLDER --to {origin}/api" in person("tokens", "issue", "acme")
    shown = person("tenants", "show", "acme")
    assert "file bytes: 5.0 GB" in shown
    assert "tenant rate: 6,000 calls a minute" in shown
    person("tenants", "suspend", "acme")
    assert "platform tenants show acme" in person("tenants", "resume", "acme")

    hello = example("hello")
    port = origin.rpartition(":")[2]
    previewed = person.json("preview", hello, "--tenant", "acme")
    own = f"http://hello-acme.localhost:{port}"
    assert previewed["mcp_url"] == f"{own}/v/{previewed['release'][:12]}/mcp"
    assert previewed["preview_until"] > 0
    preview = person("preview", hello, "--tenant", "acme")
    assert previewed["mcp_url"] in preview
    assert f"platform publish {hello} --to {origin}/api --tenant acme" in preview
    published = person("publish", hello, "--tenant", "acme")  # TENANTRY_TO says where
    assert f"  on          {origin}/api" in published
    assert f"  at          {own}/mcp" in published
    on_preview = previewed["mcp_url"].replace(f"hello-acme.localhost:{port}", f"localhost:{port}/t/acme/hello")
    assert httpx.post(on_preview, **request("hello", {"name": "you"}), timeout=30).status_code == 200
    nowhere = person("login", f"{origin}/nowhere", given=token, code=1)
    assert "/api" in nowhere


def test_the_address_that_serve_announces_says_what_it_is_and_names_nobodys_plugins(
    platform_served: tuple[str, Desk], example: Callable[[str], Path]
) -> None:
    origin, operator = platform_served
    operator("tenants", "create", "acme")
    operator("publish", example("hello"), "--tenant", "acme")
    shown = httpx.get(origin)
    assert shown.status_code == 200
    assert shown.headers["content-type"].startswith("text/plain")
    assert f"{origin}/t/TENANT/PLUGIN/mcp" in shown.text
    assert f"{origin}/api/v1" in shown.text
    assert "acme" not in shown.text
    assert httpx.get(f"{origin}/nowhere").status_code == 404
    assert httpx.post(origin).status_code != 200
    own = httpx.get(origin, headers={"Host": f"hello-acme.localhost:{origin.rpartition(':')[2]}"})
    assert "TENANT/PLUGIN" not in own.text  # below a plugin's host, / is the plugin's


def test_what_is_not_there_is_said_to_be_not_there(
    platform_served: tuple[str, Desk], example: Callable[[str], Path], tmp_path: Path
) -> None:
    origin, operator = platform_served
    operator("tenants", "create", "acme")
    operator("publish", example("hello"), "--tenant", "acme")
    assert "Nothing of acme/hello is in the log." in operator("logs", "acme/hello")
    said(origin, "acme/hello", "hello", {"name": "you"})
    wrong = operator("logs", "acme/hello", "--error-id", "WRONG", "--session", "s")
    assert "No line of acme/hello in the log has the error id WRONG and the session s." in wrong
    assert "registry.unknown" in operator("logs", "acme/nope", code=1)
    assert "registry.unknown" in operator("logs", "acme/nope", "--follow", code=1)
    assert "no plugin acme/nope yet" in operator("secrets", "set", "acme/nope", "KEY", given="v\n")
    assert "yet" not in operator("secrets", "set", "acme/hello", "KEY", given="v\n")
    assert "secret.value" in operator("secrets", "set", "acme/hello", "KEY", given="\n", code=1)
    assert "secret.unknown" in operator("secrets", "delete", "acme/hello", "NOPE", code=1)
    assert "removed" in operator("secrets", "delete", "acme/hello", "KEY")
    reader = operator("tokens", "issue", "acme", "--scope", "read")
    assert f"platform usage acme --to {operator.api}" in reader
    assert "publish" not in reader
    assert "See: platform tokens list acme\n" in operator("tokens", "revoke", "zzz", "acme", code=1)
    wrongly = Desk(tmp_path, operator.api, "tnt_acme_wrong")("logs", "acme/hello", code=1)
    assert "TENANTRY_TOKEN" in wrongly
    assert "platform login" not in wrongly
    assert "No token was given." in operator("login", operator.api, given="\n", code=1)


def test_platform_dev_is_said_to_have_no_control_plane(
    start: Callable[..., Served], example: Callable[[str], Path], tmp_path: Path
) -> None:
    developer = Desk(tmp_path, start("dev", str(example("hello"))).origin)
    for command in (["logs", "dev/hello"], ["preview", "hello"], ["login"], ["secrets", "set", "dev/hello", "KEY"]):
        refused = developer(*command, given="tnt_dev_x\n", code=1)
        assert "is no control plane" in refused
        assert "`platform dev` has none" in refused


def test_a_secret_without_a_value_is_said_until_it_has_one(start: Callable[..., Served], tmp_path: Path) -> None:
    source = tmp_path / "reports"
    source.mkdir()
    (source / "plugin.toml").write_text(
        'name = "reports"\nentrypoint = "server:plugin"\n[secrets]\nrequired = ["KEY"]\n'
    )
    (source / "server.py").write_text(REPORT)
    need = "needs       KEY: platform secrets set dev/reports KEY"
    local = subprocess.run([COMMAND, "publish", source], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert need in local.stdout
    served = start("serve", "--trust-tenants")
    operator = Desk(tmp_path, f"{served.origin}/api")
    served.wait_for(f"{need} --to {served.origin}/api")
    # A publish on this machine makes no tenant: the refusal says what does.
    assert "platform tenants create dev" in operator("secrets", "set", "dev/reports", "KEY", given="v\n", code=1)
    operator("tenants", "create", "dev")
    assert need in operator("publish", source, "--to", operator.api)
    set_it = [COMMAND, "secrets", "set", "dev/reports", "KEY", "--to", operator.api]
    done = subprocess.run(set_it, cwd=tmp_path, input="seventeen letters\n", capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "needs  " not in operator("publish", source, "--to", operator.api)
    link = said(served.origin, "dev/reports", "report", {})[1]["result"]["content"][0]["text"]
    assert httpx.get(link, follow_redirects=True).text == "17 characters"
