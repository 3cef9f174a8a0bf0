"""Where nothing keeps tenants' code apart, `platform serve` refuses a second tenant, unless told to trust them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attacks.village import Village, refuses_a_second_tenant
from tenantry_cli.hosting import OneTenant
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.runners import Call, Release

pytestmark = pytest.mark.asyncio(loop_scope="session")

COMMAND = Path(sys.executable).with_name("platform")
HELLO = Path(__file__).resolve().parents[2] / "tenants" / "examples" / "hello"


@pytest.mark.attack("apart")
async def test_without_bubblewrap_the_command_serves_one_tenant(tmp_path: Path) -> None:
    shutil.copytree(HELLO, tmp_path / "hello")
    (tmp_path / "no-programs").mkdir()
    environ = {**os.environ, "PATH": str(tmp_path / "no-programs")}

    def platform(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *args], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False
        )

    for tenant in ("alpha", "beta"):
        assert platform("publish", "hello", "--tenant", tenant).returncode == 0
    refused = platform("serve", "--port", "0", "--json")
    assert refused.returncode == 1
    assert "serve.tenants-apart" in refused.stdout + refused.stderr
    assert "bubblewrap" in refused.stdout + refused.stderr


@pytest.mark.attack("apart-later")
async def test_a_second_tenant_that_comes_later_is_refused_too(village: Village) -> None:
    await refuses_a_second_tenant(village.runner)
    runner = OneTenant(village.runner, {"acme"})
    stranger = Release(Name("bank", "vault"), "0" * 64, "server:plugin", "bundles/x.zip")
    for asked in (runner.describe(stranger), runner.call(stranger, Call("tools/call", {}))):
        with pytest.raises(PlatformError) as refused:
            await asked
        assert refused.value.code == "serve.tenants-apart"
