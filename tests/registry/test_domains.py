"""Addresses in both forms, written and read."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry.domains import Address, Domains
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import PLUGIN, TENANT, Name

ZOO = Name("acme", "zoo-tools")
LIVE = Domains("https://d111.cloudfront.net", base="plugins.example.com", hosts=["Other.example.com"])
LOCAL = Domains("http://localhost:8787", base="localhost:8787", scheme="http")
BARE = Domains("https://d111.cloudfront.net")


@pytest.mark.row("P01", "P02")
def test_every_address_of_the_host_form() -> None:
    place = LIVE.place(ZOO)
    assert place.mcp_url == "https://zoo-tools-acme.plugins.example.com/mcp"
    assert (place.base, place.own_host) == ("https://zoo-tools-acme.plugins.example.com", True)
    assert LIVE.resource_metadata(place) == place.base + "/.well-known/oauth-protected-resource/mcp"
    assert LIVE.challenge(place) == place.base + "/.well-known/openai-apps-challenge"
    assert LIVE.file(place, "k.t", "Käse/1.txt") == place.base + "/files/k.t/K%C3%A4se%2F1.txt"
    assert LIVE.control == "https://api.plugins.example.com/v1"


def test_every_address_of_the_path_form() -> None:
    place = BARE.place(ZOO)
    assert place.mcp_url == "https://d111.cloudfront.net/t/acme/zoo-tools/mcp"
    assert not place.own_host
    assert BARE.resource_metadata(place) == (
        "https://d111.cloudfront.net/.well-known/oauth-protected-resource/t/acme/zoo-tools/mcp"
    )
    assert BARE.control == "https://d111.cloudfront.net/api/v1"
    with pytest.raises(PlatformError) as caught:
        BARE.place(ZOO, own_host=True)
    assert caught.value.code == "domain.base"


def test_both_forms_exist_on_one_machine() -> None:
    assert LOCAL.place(ZOO).mcp_url == "http://zoo-tools-acme.localhost:8787/mcp"
    assert LOCAL.place(ZOO, own_host=False, storage="s").mcp_url == "http://localhost:8787/t/acme/zoo-tools/mcp"
    assert LOCAL.place(ZOO, own_host=False, storage="s").storage == "s"


def test_a_preview_has_its_own_addresses() -> None:
    digest = "0123456789abcdef" * 4
    assert LIVE.place(ZOO, preview=digest).mcp_url.endswith("example.com/v/0123456789ab/mcp")
    found = LIVE.parse("zoo-tools-acme.plugins.example.com", "/v/0123456789ab/mcp/")
    assert found == Address(ZOO, "/mcp/", "0123456789ab", True)
    assert LIVE.parse("d111.cloudfront.net", "/t/acme/zoo-tools/v/0123456789ab") == Address(ZOO, "", "0123456789ab")
    well_known = "/.well-known/oauth-protected-resource"
    found = LIVE.parse("zoo-tools-acme.plugins.example.com", f"{well_known}/v/0123456789ab/mcp")
    assert found == Address(ZOO, f"{well_known}/mcp", "0123456789ab", True)
    found = LIVE.parse("zoo-tools-acme.plugins.example.com", "/v/0123/mcp")
    assert found == Address(ZOO, "/v/0123/mcp", "", True)


names = st.builds(
    Name,
    st.from_regex(TENANT, fullmatch=True),
    st.from_regex(PLUGIN, fullmatch=True).filter(lambda slug: len(slug) < 40),
)
digits = st.from_regex(r"[0-9a-f]{12}", fullmatch=True)


@given(names, st.sampled_from([LIVE, LOCAL, BARE]), st.booleans(), st.just("") | digits)
def test_what_is_written_is_read_back(name: Name, domains: Domains, own: bool, preview: str) -> None:
    place = domains.place(name, preview=preview, own_host=own and bool(domains.base))
    parts = urlsplit(place.mcp_url)
    assert domains.parse(parts.netloc.upper(), parts.path) == Address(name, "/mcp", preview, place.own_host)
    document = urlsplit(domains.resource_metadata(place)).path
    read = domains.parse(parts.netloc, document)
    assert read is not None
    assert (read.name, read.rest) == (name, "/.well-known/oauth-protected-resource/mcp")
    assert read.stem + (f"/v/{preview}" if preview else "") == urlsplit(place.base).path


NOBODYS = [
    ("zoo-tools-acme.plugins.example.com.evil.com", "/mcp"),
    ("evil.com", "/t/acme/zoo-tools/mcp"),
    ("plugins.example.com", "/t/acme/zoo-tools/mcp"),
    ("a.zoo-tools-acme.plugins.example.com", "/mcp"),
    ("acme.plugins.example.com", "/mcp"),
    ("xn--zoo-acme.plugins.example.com", "/mcp"),
    ("zoo-tools-acme.plugins.example.com:8443", "/mcp"),
    ("d111.cloudfront.net:80", "/t/acme/zoo-tools/mcp"),
    ("", "/t/acme/zoo-tools/mcp"),
    ("d111.cloudfront.net", "/mcp"),
    ("d111.cloudfront.net", "/t/acme"),
    ("d111.cloudfront.net", "/t/acme/"),
    ("d111.cloudfront.net", "/t//zoo-tools/mcp"),
    ("d111.cloudfront.net", "/t/acme/zoo--tools/mcp"),
    ("d111.cloudfront.net", "/t/acme/../evil/mcp"),
    ("d111.cloudfront.net", "/t/ACME/zoo-tools/mcp"),
    ("d111.cloudfront.net", "/t/acme%2Fzoo/x/mcp"),
    ("d111.cloudfront.net", f"/t/acme/{'z' * 64}/mcp"),
    ("d111.cloudfront.net", "/t/acme\n/zoo-tools/mcp"),
]


@pytest.mark.parametrize(("host", "path"), NOBODYS)
def test_an_address_that_is_nobodys_falls_back_to_nobody(host: str, path: str) -> None:
    assert LIVE.parse(host, path) is None


def test_further_hosts_serve_path_form() -> None:
    assert LIVE.parse("other.example.com", "/t/acme/zoo-tools/assets/x/y.css") == Address(ZOO, "/assets/x/y.css")


@pytest.mark.parametrize("origin", ["", "example.com", "ftp://x", "https://x/path", "https://x/?q", "https://"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(PlatformError) as caught:
        Domains(origin)
    assert caught.value.code == "domain.origin"


@pytest.mark.parametrize("base", ["UPPER.example.com", ".example.com", "a..b", "a/b", "a:x"])
def test_what_is_no_domain_is_refused(base: str) -> None:
    with pytest.raises(PlatformError) as caught:
        Domains("https://x", base=base)
    assert caught.value.code == "domain.base"
