"""The authorization server of `platform dev`, where anybody is whoever they say: nobody else gets to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tenantry_cli.host import create_host
from tenantry_gateway.app import create_app
from tenantry_gateway.settings import GatewaySettings
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects_file import FileObjects

PAGE = "http://localhost:8787"
ISSUER = f"{PAGE}/_host/oauth"
RESOURCE = f"{PAGE}/t/dev/zoo/mcp"
SITES = ["https://evil.example", "null", "http://localhost:9999", "http://zoo-dev.widgets.localhost:8787"]


@pytest.mark.attack("test-people-production")
@pytest.mark.parametrize("issuer", [ISSUER, "https://auth.example", "x"])
def test_a_gateway_in_production_that_is_told_of_test_people_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, issuer: str
) -> None:
    monkeypatch.setenv("TENANTRY_DEVELOPMENT_ISSUER", issuer)
    monkeypatch.setenv("TENANTRY_ORIGIN", "https://plugins.example")
    nobody: Any = None
    with pytest.raises(PlatformError) as refused:
        create_app(objects=FileObjects(tmp_path), runner=nobody, settings=GatewaySettings())
    assert refused.value.code == "settings.issuer"


@pytest.mark.attack("test-people-web-site")
@pytest.mark.parametrize("site", SITES)
async def test_another_web_site_signs_nobody_in(site: str) -> None:
    transport = httpx2.ASGITransport(create_host(list))
    async with httpx2.AsyncClient(transport=transport, headers={"Origin": site}) as evil:
        form = {"grant_type": "urn:tenantry:person", "person": "user-ada", "resource": RESOURCE}
        refused = await evil.post(f"{ISSUER}/token", data=form)
        assert (refused.status_code, refused.headers.get("access-control-allow-origin")) == (403, None)
        back = "https://evil.example/back"
        registered = await evil.post(f"{ISSUER}/register", json={"client_name": "Evil", "redirect_uris": [back]})
        asked = {
            "client_id": registered.json()["client_id"],
            "redirect_uri": back,
            "response_type": "code",
            "code_challenge": "x" * 43,
            "code_challenge_method": "S256",
            "resource": RESOURCE,
        }
        answered = await evil.post(f"{ISSUER}/authorize", params=asked, data={"person": "user-ada"})
        assert answered.status_code == 403
        assert "location" not in answered.headers
        page = await evil.get(f"{ISSUER}/authorize", params=asked)
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]  # nobody's click is borrowed
