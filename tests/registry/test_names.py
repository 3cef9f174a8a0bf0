"""Names of tenants and plugins, and the one label they make together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import names
from tenantry_registry.errors import Conflict, PlatformError, StorageDown
from tenantry_registry.names import PLUGIN, TENANT, Name

GOOD = st.builds(
    Name, st.from_regex(TENANT, fullmatch=True), st.from_regex(PLUGIN, fullmatch=True).filter(lambda s: len(s) < 40)
)


@given(GOOD)
def test_a_label_names_exactly_one_plugin(name: Name) -> None:
    assert names.split_label(name.label) == name
    assert names.parse(str(name)) == name
    assert not name.label.startswith("xn--")


@given(GOOD, GOOD)
def test_two_plugins_never_share_a_label(one: Name, two: Name) -> None:
    assert (one.label == two.label) == (one == two)


@pytest.mark.parametrize(
    "label", ["zoo", "-acme", "zoo-", "Zoo-acme", "zoo--acme", "zoo-a", "zoo.acme", "z" * 60 + "-acme", ""]
)
def test_a_label_that_can_be_nobodys_is_nobodys(label: str) -> None:
    assert names.split_label(label) is None


@pytest.mark.parametrize("slug", ["a", "A", "acme-2", "x" * 21, "", "acme\n", "ａcme", "../etc"])
def test_what_is_no_tenant_is_refused(slug: str) -> None:
    with pytest.raises(PlatformError) as caught:
        names.tenant(slug)
    assert caught.value.code == "name.tenant"
    with pytest.raises(PlatformError):
        names.parse(f"{slug}/zoo")


@pytest.mark.parametrize("slug", ["", "-a", "a-", "a--b", "Zoo", "a_b", "a.b", "zoo\n", "x" * 64, "../x"])
def test_what_is_no_plugin_is_refused(slug: str) -> None:
    with pytest.raises(PlatformError) as caught:
        names.plugin(slug)
    assert caught.value.code == "name.plugin"


def test_a_full_name_has_a_slash() -> None:
    with pytest.raises(PlatformError) as caught:
        names.parse("acme")
    assert caught.value.code == "name.form"


@pytest.mark.row("R04")
def test_label_dot_and_base_fit_one_label_together() -> None:
    base = "plugins.example.com"
    names.check_length(Name("acme", "z" * (63 - 1 - len(base) - 5)), base)
    with pytest.raises(PlatformError) as caught:
        names.check_length(Name("acme", "z" * (63 - len(base) - 5)), base)
    assert caught.value.code == "name.too-long"
    assert "by 1" in caught.value.hint


def test_an_error_shows_all_of_itself() -> None:
    assert (
        repr(StorageDown("no")) == "StorageDown('objects.unavailable', 'no', 'Retry in a moment; nothing was changed.')"
    )
    assert Conflict("x").code == "objects.conflict"
