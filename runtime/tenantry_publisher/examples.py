"""Runs the examples of plugin.toml, as `platform check` does: is each result what the tool's schema promises?

Only tools that say they read alone are run, since an example that deletes would delete. Publishing runs none: there
the secrets are placeholders. A plugin that makes files may make them here, too; they lie in the check's own store.
Where a plugin has sign-in, a test person has signed in. One example that gets no answer is a finding like another:
the rest is run all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenantry_registry import files
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.registry import bundle_key
from tenantry_registry.report import Finding, Report, ordered
from tenantry_registry.rules import found
from tenantry_registry.rules_plugin import check_result
from tenantry_registry.runners import Call, Release, Runner, SandboxError

from tenantry_publisher.stand_ins import filled, signed_in, undeclared


async def run_examples(
    *,
    runner: Runner,
    manifest: Manifest,
    secrets: Mapping[str, str],
    env: Mapping[str, str],
    person: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """What is wrong with the examples' results. The bundle must be stored.

    Secrets that are required and not given are placeholders, as while describing. `person` are the claims of whom a
    plugin with sign-in is asked by; without them nobody has signed in.
    Raises: PlatformError `sandbox.*` when the code could not be run at all.
    """
    name = Name(manifest.tenant, manifest.plugin)
    release = Release(
        name=name,
        digest=manifest.digest,
        entrypoint=manifest.entrypoint,
        bundle=bundle_key(name, manifest.digest),
        egress=manifest.egress,
        env={**manifest.env, **env},
        secrets=filled(manifest.secrets, secrets),
        timeout=manifest.timeout,
    )
    unset = [secret for secret in manifest.secrets if secret not in secrets]
    tools = {str(tool["name"]): tool for tool in manifest.tools}
    findings: list[Finding] = []
    for example in manifest.examples:
        tool = tools.get(str(example["tool"]))
        if tool is None or (tool.get("annotations") or {}).get("readOnlyHint") is not True:
            continue
        call = Call(
            "tools/call",
            {"name": tool["name"], "arguments": example["arguments"]},
            user=signed_in(person or {}, manifest),
            widgets={widget.name: widget.uri for widget in manifest.widgets},
            uploads=files.slots(name, None, files.SLOTS if manifest.uses_files else 0),
        )
        try:
            reply = await runner.call(release, call)
        except SandboxError as error:
            if error.code == "sandbox.refused":  # no other example would be run either
                raise
            reply = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
        findings += _findings(example, tool, reply, unset)
    return ordered(findings)


def _findings(
    example: Mapping[str, Any], tool: Mapping[str, Any], reply: Mapping[str, Any], unset: Sequence[str]
) -> Iterator[Finding]:
    """What is wrong with the reply to an example; `unset` are the secrets that were placeholders."""
    name = str(tool["name"])
    if overflow := reply.get("overflow"):  # too large to return at once, so it lies in a slot
        yield found("result.large", name, f"Its result has {overflow['size'] // 1024} KB.")
        return
    error = reply.get("error") or {}
    code, trace = str(error.get("code") or ""), str(error.get("traceback") or "")
    if code.startswith(("plugin.", "sandbox.")):
        rule = "example.unloaded" if code.startswith("plugin.") else "example.unanswered"
        words = f"{str(example.get('prompt', ''))[:80]!r} got no answer: {error['message']}"
        yield found(
            rule, name, f"{words}\n{trace}" if trace else words, cure=undeclared(trace) or str(error.get("hint") or "")
        )
        return
    perhaps = f"It may be because of a placeholder: .env has no value for {', '.join(unset)}." if unset else ""
    cure = undeclared(trace) or perhaps
    for finding in check_result(example, tool, reply):
        yield replace(finding, cure=cure) if cure and finding.code == "example.failed" else finding


def with_examples(report: Report, findings: tuple[Finding, ...]) -> Report:
    """The report with the findings of the examples put in their places."""
    return replace(report, findings=ordered([*report.findings, *findings]))
