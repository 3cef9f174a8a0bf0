"""Schemathesis over the whole API: whatever it is sent, no fault of ours and no status that is not described."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tenantry_registry.tenants import Tenants
from tenantry_registry.tokens import Tokens

OPERATOR = "tno_" + "p" * 43


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, platform_app: Any) -> Any:
    """The API's own description, over a platform with one tenant."""
    folder: Path = tmp_path_factory.mktemp("store")
    app, objects = platform_app(folder)

    async def furnish() -> None:
        await Tokens(objects).adopt(OPERATOR)
        await Tenants(objects).create("acme")

    asyncio.run(furnish())
    return schemathesis.openapi.from_asgi("/v1/openapi.json", app)


@pytest.mark.parametrize("tag", ["files", "health", "publishes", "records", "releases", "secrets", "tenants", "tokens"])
def test_no_request_makes_a_fault_or_an_undescribed_answer(described: Any, tag: str) -> None:
    operations = [result.ok() for result in described.get_all_operations()]
    chosen = [operation for operation in operations if tag in operation.definition.raw["tags"]]
    assert chosen
    for operation in chosen:

        @settings(max_examples=15, deadline=None)
        @given(case=operation.as_strategy())
        def whatever_is_sent(case: Any) -> None:
            case.call_and_validate(
                headers={"Authorization": f"Bearer {OPERATOR}"},
                checks=[
                    not_a_server_error,
                    status_code_conformance,
                    content_type_conformance,
                    response_schema_conformance,
                ],
            )

        whatever_is_sent()
