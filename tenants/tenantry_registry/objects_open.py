"""Opens the store that a setting names: `s3://bucket/prefix`, or a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tenantry_registry.credentials import CredentialSource, from_environment
from tenantry_registry.objects import Objects

REGION = "us-east-1"  # where nothing else is said, as in AWS's own tools


def open_objects(
    store: str | Path,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    origin: str = "http://localhost:8787",
    kms_key: str = "",
    credentials: CredentialSource | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Objects:
    """The store. `endpoint`, `region` and `kms_key` are S3's; `origin` is where a folder's signed links are served.

    Only the adapter that is needed is imported. Raises: PlatformError `objects.credentials`; StorageDown.
    """
    text = str(store)
    if text.startswith("s3://"):
        from tenantry_registry.objects_s3 import S3Objects

        bucket, _, prefix = text.removeprefix("s3://").partition("/")
        return S3Objects(
            bucket,
            prefix=prefix,
            credentials=credentials or from_environment(environment),
            region=region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or REGION,
            endpoint=endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or "",
            kms_key=kms_key,
        )
    from tenantry_registry.objects_file import FileObjects

    return FileObjects(text, origin=origin)
