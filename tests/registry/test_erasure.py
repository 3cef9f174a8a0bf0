"""When a tenant is erased, nothing of it is left anywhere: not older versions, not what was deleted before."""

from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry import files
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects import ANY, JSON
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.secrets import Drawer
from tenantry_registry.tenants import Tenants

ZOO = Name("acme", "zoo")


async def test_erasure_leaves_no_version_of_anything_but_the_tombstone(bucket: Any, distant: S3Objects) -> None:
    clock = [1_800_000_000.0]
    tenants = Tenants(distant, now=lambda: clock[0])
    for slug in ("acme", "acme2"):
        await tenants.create(slug)
    drawer = Drawer(distant, None)
    await drawer.put(ZOO, "KEY", "1")
    await drawer.put(ZOO, "KEY", "2")
    for _ in range(2):
        await distant.swap("state/acme/zoo/_shared.json", b"{}", expected=ANY)
    gone = files.file_key(ZOO, files.new_id(None), "a.csv")
    await distant.put_once(gone, b"1", JSON)
    await distant.delete(gone)  # in no list any more, but its versions are there
    await distant.put_once("state/acme2/zoo/_shared.json", b"{}", JSON)
    await tenants.delete("acme", grace_days=1)
    clock[0] += 86_401
    await tenants.erase("acme")
    left = bucket.list_object_versions(Prefix=distant._prefix)
    keys = {entry["Key"].removeprefix(distant._prefix) for entry in left["Versions"]}
    assert not [key for key in keys if "acme/" in key or key.endswith("/acme.json")]
    assert "DeleteMarkers" not in left
    assert {"tenants/acme2.json", "state/acme2/zoo/_shared.json"} <= keys
    assert [key.startswith("audit/_erased/") for key in keys].count(True) == 1
    with pytest.raises(PlatformError) as caught:
        await tenants.create("acme")
    assert caught.value.code == "tenant.taken"
