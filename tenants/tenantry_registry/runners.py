"""The port behind which tenants' code runs, and protocol 1 that is spoken across it.

A runner starts one environment per release (tenant, plugin, digest) and never lets two releases share one:
`process_runner.ProcessRunner` on one machine, `lambda_runner.LambdaRunner` on AWS. Both hand the sandbox the same
JSON event and get the same JSON reply (all keys below are always allowed to be absent unless marked *):

event (platform -> sandbox)
    protocol*  1
    verb*      "describe" | "call"
    tenant*, plugin*, digest*, entrypoint* ("module:object", or "script.py")
    bundle     {"url": signed GET} on AWS, {"folder": unpacked} on one machine; the zip's sha256 = digest
    env        {name: value}: [env] and the secrets, set before the code is imported
    secrets    {name: value}: what ctx.secrets holds (a placeholder for each required one when describing)
    timeout*   seconds
    call       for verb "call", see `Call`
    uploads    [{"id", "max_bytes", "url", "fields"}]: where files and overflow may be put, one object each; without a
               url the bytes go back to the runner, which stores them (a worker needs neither network nor a folder)

reply (sandbox -> platform), exactly one of result, input_required, protocol_error, error, description:
    protocol*  1
    description     for verb "describe": what tenantry.describe documents
    result          the MCP result of the call as JSON
    input_required  {"inputRequests": {key: {"method", "params"}}}: ask the client, then call again with `answers`
    protocol_error  {"code", "message", "data"}: a JSON-RPC error (unknown prompt, a missing argument)
    error           {"code", "message", "hint", "error_id", "traceback"}: the tool failed; traceback: for the log only
    notifications   [{"method", "params"}]: progress and log messages, in the order they were made
    state, shared   {"set": {key: value}, "delete": [key], "read": [key] | true}: what it did to the document
    files           [{"id", "name", "mime_type", "size"}]: uploads that were used by ctx.files.save
                    (its link stands in the result as ORIGIN/files/{id}/{name, percent-encoded} until the gateway
                    signs it; a mcp/www_authenticate challenge without resource_metadata gets it from the gateway)
    overflow        {"id", "size"}: the whole reply was put there instead, because it was too large to return
    stdout, stderr  text, at most 64 KB each; truncated: true where more was written
    ms              wall milliseconds inside the tool; cold: true when this call imported the code
and, by the runner, whatever the sandbox says:
    ran_ms          wall milliseconds from handing the event over until the reply was there

A server object that was not made with the kit describes itself as
    {"kind": "asgi", "protocol": 1, "dynamic": [methods], "answers": {era: {method: {"result"} | {"error"}}}}
era "2025" (initialize, asked as 2025-11-25) always, "2026" (server/discover) where the server speaks it; lists are
whole (all pages joined), and "resources/read" holds {uri: {"result"} | {"error"}} of every ui:// and HTML resource.
It is called like a kit plugin (Call.method an MCP method; replies are `result` or `protocol_error`) in the era of
Call.revision, or with method "http", whose `result` is {"status", "headers": [[name, value]], "body"}. Its requests to
the client are an `input_required`, and each of its answers is the client's whole
response: {key: {"result"} | {"error"}}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name

PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class Release:
    """One release as a runner needs it. `timeout` in seconds; `bundle` is the Objects key of the zip."""

    name: Name
    digest: str
    entrypoint: str
    bundle: str
    egress: str = "none"
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 25.0


@dataclass(frozen=True, slots=True)
class Call:
    """One request into tenant code, all of it JSON.

    `method` is tools/call, prompts/get, resources/read, completion/complete, or "http" (an ASGI server: `params` is
    then {"method", "path", "headers", "body"}). `params` are the MCP params with the client's own `_meta`.
    `revision` is the MCP revision; `client` {"info", "capabilities"}; `user` the verified claims or None; `answers`
    what the client answered to input requests, by key; `state` and `shared` the two documents. `uploads` are slots
    {"id", "key", "max_bytes", "url", "fields"}: a runner uses the key or the signed request, as suits it. `headers` are
    the request's Mcp-Param-* headers, for a server of another kind, which checks them itself.
    """

    method: str
    params: Mapping[str, Any]
    revision: str = "2026-07-28"
    client: Mapping[str, Any] = field(default_factory=dict)
    user: Mapping[str, Any] | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] | None = None
    shared: Mapping[str, Any] | None = None
    widgets: Mapping[str, str] = field(default_factory=dict)  # widget name -> its published ui:// URI
    uploads: Sequence[Mapping[str, Any]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class SandboxError(PlatformError):
    """No reply could be had. `stdout` and `stderr` are the last words of what ran, for the log, where there are any;
    `ran_ms` is how long it ran, as the runner saw it."""

    def __init__(self, code: str, message: str, hint: str = "", *, stdout: str = "", stderr: str = "") -> None:
        super().__init__(code, message, hint)
        self.stdout = stdout
        self.stderr = stderr
        self.ran_ms = 0.0


class Runner(Protocol):
    """Runs tenant code where no other tenant can reach it.

    Both verbs return the reply documented above and raise PlatformError only when no reply could be had:
    `sandbox.timeout` (killed after its wall-clock budget), `sandbox.crashed` (the worker died), `sandbox.refused`
    (the platform could not start it), `sandbox.busy` (nothing was free for a while), `sandbox.too-large` (request or
    reply over Lambda's cap of 6,291,556 bytes). Those of code that ran are SandboxErrors.
    """

    async def describe(self, release: Release) -> dict[str, Any]: ...

    async def call(self, release: Release, call: Call) -> dict[str, Any]: ...

    async def aclose(self) -> None:
        """Stop everything that was started."""
        ...
