"""Runs tenants' code on AWS Lambda, in tenant isolation mode: what the local ProcessRunner is measured against.

One Invoke a call, with `TenantId = "{tenant}/{plugin}/{digest12}"`, so that a release has environments of its own, and
a new release new ones. Where the release has secrets, eight digits that change with them follow: code reads secrets
when it is imported. The function has no permission; all it may reach comes signed with the event: the bundle for a
minute, and an upload slot for each file it may make.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from tenantry_registry import runner_wire
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Download, Objects, Upload
from tenantry_registry.runners import Call, Release, SandboxError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

BUNDLE_SECONDS: Final = 60  # for a signed GET that is used at once
UPLOAD_SECONDS: Final = 120  # outlives the longest call a little
DIGITS: Final = 12  # of the digest in a tenant id
CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 29  # API Gateway has given up by then
THREADS: Final = 64  # invocations in flight from one process; a gateway on Lambda has one
UPLOAD_TYPE: Final = "application/octet-stream"  # of every slot: the real type is kept beside the file
THROTTLED: Final = ("TooManyRequestsException", "EC2ThrottledException", "ThrottlingException")


class LambdaRunner:
    """A Runner on AWS. `functions`: the sandbox function's ARN or name for each egress, "public" and "none".

    `client` makes the botocore client, at the first call: botocore takes 0.1 s to start, and no connection may be made
    before a SnapStart snapshot.
    """

    def __init__(
        self, objects: Objects, *, functions: Mapping[str, str], client: Callable[[], LambdaClient] | None = None
    ) -> None:
        self._objects = objects
        self._functions = functions
        self._make_client = client or default_client
        self._client: LambdaClient | None = None
        self._threads: ThreadPoolExecutor | None = None

    async def describe(self, release: Release) -> dict[str, Any]:
        """Ask the release's code what it offers. Raises: as Runner says."""
        return await self._run(release, "describe", None)

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        """Run one call. Raises: as Runner says."""
        return await self._run(release, "call", call)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)
        if self._client is not None:
            self._client.close()

    async def _run(self, release: Release, verb: str, call: Call | None) -> dict[str, Any]:
        signed = await self._objects.sign(release.bundle, Download(BUNDLE_SECONDS))
        event = runner_wire.event(release, verb, call, {"url": signed.url})
        event["uploads"] = [await self._slot(slot) for slot in (call.uploads if call else ())]
        payload = runner_wire.encode(event)
        if self._client is None or self._threads is None:
            self._client = self._make_client()
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="invoke")
        loop, began = asyncio.get_running_loop(), time.monotonic()
        try:
            reply = await loop.run_in_executor(self._threads, self._invoke, self._client, release, payload)
        except SandboxError as error:
            error.ran_ms = (time.monotonic() - began) * 1000
            raise
        reply["ran_ms"] = (time.monotonic() - began) * 1000
        return reply

    async def _slot(self, slot: Mapping[str, Any]) -> dict[str, Any]:
        given = {key: value for key, value in slot.items() if key != "key"}
        if "url" not in given:
            upload = Upload(UPLOAD_SECONDS, int(slot["max_bytes"]), UPLOAD_TYPE, min_bytes=0)
            signed = await self._objects.sign(slot["key"], upload)
            given |= {"url": signed.url, "fields": dict(signed.fields)}
        return given

    def _invoke(self, client: LambdaClient, release: Release, payload: bytes) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

        started = time.monotonic()
        try:
            answered = client.invoke(
                FunctionName=self._functions[release.egress], TenantId=tenant_id(release), Payload=payload
            )
            data = answered["Payload"].read()
        except ReadTimeoutError as error:
            raise _timeout(release) from error
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in THROTTLED:
                raise PlatformError("sandbox.busy", "Lambda has no room for the call.", "Try again soon.") from error
            raise PlatformError("sandbox.refused", f"Lambda refused the call ({code}).", "") from error
        except BotoCoreError as error:
            raise PlatformError("sandbox.refused", f"Lambda was not reached ({type(error).__name__}).", "") from error
        if answered.get("FunctionError"):
            raise _failure(release, data, time.monotonic() - started)
        reply = runner_wire.decode(data)
        reply.pop("seq", None)
        return reply


def tenant_id(release: Release) -> str:
    """Which environments a release may use: at most 256 of [a-zA-Z0-9._:/=+@ -] (AWS: Invoke, TenantId)."""
    secrets = runner_wire.fingerprint(release)
    return f"{release.name}/{release.digest[:DIGITS]}" + (f"/{secrets}" if secrets else "")


def default_client() -> LambdaClient:
    """A client that asks once and gives up when API Gateway has."""
    from botocore.config import Config
    from botocore.session import get_session  # without boto3, which would add a third to the first call's start

    # One attempt: a call that timed out may have run, and running it again is the client's decision.
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 1},
        max_pool_connections=THREADS,
    )
    made: Any = get_session().create_client("lambda", config=config)
    client: LambdaClient = made
    return client


def _failure(release: Release, data: bytes, seconds: float) -> SandboxError:
    """What a FunctionError says (AWS: Lambda, function errors), as one of the sandbox's codes."""
    try:
        told = dict(json.loads(data))
    except (ValueError, TypeError):
        told = {}
    kind, message = str(told.get("errorType", "")), str(told.get("errorMessage", ""))
    if kind == "Sandbox.Timedout" or "Task timed out" in message or (_ended(kind) and seconds >= release.timeout):
        return _timeout(release)
    if kind == "Function.ResponseSizeTooLarge":
        return SandboxError("sandbox.too-large", "The reply is larger than Lambda returns.", "Return less.")
    if _ended(kind):
        hint = "Its last words are in the log."
        return SandboxError("sandbox.crashed", "The plugin's process ended before it answered.", hint, stderr=message)
    return SandboxError("sandbox.refused", "The sandbox could not start.", "See the log.", stderr=f"{kind}: {message}")


def _ended(kind: str) -> bool:
    return kind in ("Runtime.ExitError", "Runtime.OutOfMemory")


def _timeout(release: Release) -> SandboxError:
    return SandboxError(
        "sandbox.timeout",
        f"The tool did not answer within {release.timeout:g} seconds and was stopped.",
        "Do less in one call, or start the work in one call and ask for its result in another.",
    )
