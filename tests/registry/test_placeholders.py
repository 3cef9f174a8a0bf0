from __future__ import annotations

import json

import pytest
from tenantry_registry.manifest import ORIGIN, STORAGE
from tenantry_registry.placeholders import fill

HTML = f'<img src="{ORIGIN}/assets/abc/x.png">'.encode()
META = json.dumps({"resourceDomains": [ORIGIN, STORAGE], "x": [STORAGE]}, separators=(",", ":")).encode()


def test_an_asset_keeps_the_path_prefix_and_a_policy_names_the_bare_origin() -> None:
    base = "http://localhost:8787/t/acme/zoo"
    assert fill(HTML, base) == f'<img src="{base}/assets/abc/x.png">'.encode()
    assert json.loads(fill(META, base))["resourceDomains"] == ["http://localhost:8787"]


@pytest.mark.parametrize(
    ("storage", "domains"),
    [
        ("https://b.s3.eu-west-1.amazonaws.com", ["https://zoo.example", "https://b.s3.eu-west-1.amazonaws.com"]),
        ("https://zoo.example", ["https://zoo.example"]),
        ("", ["https://zoo.example"]),
    ],
)
def test_the_storage_origin_is_named_once_and_only_where_it_is_another(storage: str, domains: list[str]) -> None:
    filled = json.loads(fill(META, "https://zoo.example", storage))
    assert filled["resourceDomains"] == domains
    assert filled["x"] == [storage or "https://zoo.example"]


def test_what_has_no_placeholder_comes_back_as_it_is() -> None:
    assert fill(b"x", "https://zoo.example") == b"x"
