"""Nothing grows with tenants or plugins: not the templates, not the policies, not the names."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tenantry_infra.stages
from tenantry_infra import costs
from tenantry_infra.place import Place
from tenantry_registry.objects import JSON
from tenantry_registry.objects_file import FileObjects

TENANTS, PLUGINS = 200, 5
ROLE_POLICIES = 10_240  # bytes of a role's inline policies, white space not counted; a quota of IAM
FUNCTION_POLICY = 20_480  # bytes of a function's resource policy; a quota of Lambda (field report R65)
TEMPLATE_RESOURCES = 500  # a quota of CloudFormation
TEMPLATE_BYTES = 51_200  # of a template that is handed over directly; through S3 it may have 1 MB
STATEMENT_BYTES = 600  # of one permission as Lambda writes it, generously


async def many_plugins(store: FileObjects) -> None:
    for tenant in range(TENANTS):
        for plugin in range(PLUGINS):
            await store.put_once(f"plugins/tenant{tenant}/plugin{plugin}.json", b"{}", JSON)


def files(folder: Path) -> dict[str, bytes]:
    """Everything in an assembly that is deployed."""
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if path.suffix == ".zip" or path.name.endswith((".template.json", ".assets.json"))}  # fmt: skip


def test_a_thousand_plugins_and_another_hash_seed_change_not_a_byte(prod: Any, zips: Path, tmp_path: Path) -> None:
    asyncio.run(many_plugins(FileObjects(str(tmp_path / "store"), origin="http://localhost")))
    out = tmp_path / "assembly"
    place = prod.place
    given = {"stage": "prod", "account": place.account, "region": place.region, "domain": place.domain,
             "zone": place.zone, "notify": place.notify, "zips": str(zips), "out": str(out)}  # fmt: skip
    subprocess.run(
        [sys.executable, "-m", "tenantry_infra.app", *(part for k, v in given.items() for part in (f"--{k}", v))],
        env={**os.environ, "PYTHONHASHSEED": "99", "TENANTRY_STORE": str(tmp_path / "store")}, cwd=tmp_path, check=True,
        capture_output=True,
    )  # fmt: skip
    assert files(out) == files(prod.out)


def test_policies_permissions_and_templates_stay_under_their_quotas(prod: Any, dev: Any) -> None:
    for synth in (prod, dev):
        for policy in synth.resources("Functions", "AWS::IAM::Policy").values():
            assert len(json.dumps(policy["Properties"]["PolicyDocument"], separators=(",", ":"))) < ROLE_POLICIES
        permissions: dict[str, int] = {}
        for permission in synth.resources("Functions", "AWS::Lambda::Permission").values():
            target = json.dumps(permission["Properties"]["FunctionName"])
            permissions[target] = permissions.get(target, 0) + STATEMENT_BYTES
        assert len(permissions) == 2
        assert max(permissions.values()) < FUNCTION_POLICY / 10
        for template in synth.templates.values():
            assert len(template["Resources"]) < TEMPLATE_RESOURCES / 4
            assert len(json.dumps(template, separators=(",", ":"))) < TEMPLATE_BYTES


def test_no_resource_names_a_tenant_and_one_permission_covers_each_api(prod: Any) -> None:
    for permission in prod.resources("Functions", "AWS::Lambda::Permission").values():
        assert json.dumps(permission["Properties"]["SourceArn"]).endswith('"/*"]]}')


def test_every_name_fits_its_service_in_the_longest_region() -> None:
    for name in tenantry_infra.stages.STAGES:
        place = Place(tenantry_infra.stages.stage(name), "123456789012", "ap-southeast-1")
        assert len(place.bucket) <= 63
        assert len(place.log_bucket) <= 63
        for part in ("sandbox-public", "sandbox-closed", "publisher", "failed-publishes", "asset-headers"):
            assert len(place.name(part)) <= 64


def test_a_bill_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = tenantry_infra.stages.stage("prod")
    whole, unknown = costs.total(costs.month(stage, 1_000_000))
    assert unknown == []
    monkeypatch.setitem(costs.PRICES, "lambda_tenant_environment_gb_arm", (None, costs.LISTED))
    known, unknown = costs.total(costs.month(stage, 1_000_000))
    assert unknown == ["Lambda new isolated environments"]
    assert known < whole


def test_a_bill_grows_with_traffic_and_is_as_old_as_its_oldest_price() -> None:
    stage = tenantry_infra.stages.stage("prod")
    small, _ = costs.total(costs.month(stage, 1_000_000))
    large, _ = costs.total(costs.month(stage, 100_000_000))
    fixed = sum(item.dollars or 0 for item in costs.month(stage, 0))
    assert 0 < fixed < small < large
    (api,) = [item for item in costs.month(stage, 1_000_000) if item.what == "HTTP API"]
    assert (api.dollars, api.of) == (1.0, costs.CHECKED)
    (watch,) = [item for item in costs.month(stage, 0) if item.what.startswith("Alarms")]
    assert watch.of == costs.QUOTED
