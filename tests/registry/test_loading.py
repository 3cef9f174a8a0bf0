"""Loading a function's modules without the garbage collector in the way."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from tenantry_registry.loading import loading


@pytest.fixture
def collected() -> Iterator[None]:
    """What was set apart is collected again afterwards: other tests look for what leaks."""
    yield
    gc.unfreeze()


def test_a_function_collects_nothing_while_it_loads_and_never_what_it_loaded(
    monkeypatch: pytest.MonkeyPatch, collected: None
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000


def test_collections_go_on_after_a_module_that_can_not_be_loaded(
    monkeypatch: pytest.MonkeyPatch, collected: None
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")
    with pytest.raises(ImportError), loading():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_anywhere_else_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_LAMBDA_RUNTIME_API", raising=False)
    kept = gc.get_freeze_count()
    with loading():
        assert gc.isenabled()
    assert gc.get_freeze_count() == kept
