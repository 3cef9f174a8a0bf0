"""The page for a server that somebody else runs."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from stories.served import Served


def test_the_page_can_stand_in_front_of_a_server_elsewhere(
    start: Callable[..., Served], platform: Callable[..., str]
) -> None:
    served = start("dev", "--url", "https://example.com/mcp")
    assert httpx.get(f"{served.origin}/").status_code == 200
    assert httpx.get(f"{served.origin}/_host/state").json()["url"] == "https://example.com/mcp"
    assert "dev.url" in platform("dev", "--url", "example.com", code=1)
