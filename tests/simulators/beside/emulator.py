"""The emulator, with two properties of AWS that this platform's safety rests on and that the emulator lacks.

    python emulator.py     # in MiniStack's own environment, in place of its command

An environment of a function serves one tenant id (`Invoke(TenantId=...)`; Lambda developer guide, "Tenant isolation
mode"): MiniStack keeps a pool of workers for each function and qualifier, and here the tenant id counts as part of the
qualifier, so a new release finds no worker and gets one of its own. And a policy may ask under which key an object is
put (`s3:x-amz-server-side-encryption-aws-kms-key-id`; service authorization reference, Amazon S3).
"""

from contextvars import ContextVar

from ministack import app
from ministack.core import iam_actions, lambda_runtime
from ministack.services import lambda_svc

KEY_ID = "x-amz-server-side-encryption-aws-kms-key-id"
TENANT: ContextVar[str] = ContextVar("TENANT", default="")

handle_request, acquire_worker = lambda_svc.handle_request, lambda_runtime.acquire_worker
object_context = iam_actions._s3_object_context


async def of_a_tenant(method, path, headers, body, query_params):
    TENANT.set(headers.get("x-amz-tenant-id", ""))
    return await handle_request(method, path, headers, body, query_params)


def of_its_own(func_name, config, code_zip, qualifier="$LATEST", max_concurrency=None):
    tenant = TENANT.get()
    return acquire_worker(
        func_name, config, code_zip, f"{qualifier}@{tenant}" if tenant else qualifier, max_concurrency
    )


def with_its_key(iam_action, query_params, path, headers):
    context = object_context(iam_action, query_params, path, headers)
    return {**context, f"s3:{KEY_ID}": headers[KEY_ID]} if headers.get(KEY_ID) else context


if __name__ == "__main__":
    lambda_svc.acquire_worker = of_its_own
    lambda_svc.handle_request = of_a_tenant
    iam_actions._s3_object_context = with_its_key
    app.main()
