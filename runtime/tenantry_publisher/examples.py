"""Runs the examples of plugin.toml, as `platform check` does: is each result what the tool's schema promises?

Only tools that say they read alone are run, since an example that deletes would delete. Publishing runs none: there
the secrets are placeholders. A plugin that makes files may make them here, too; they lie in the check's own store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tenantry_registry import files
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.registry import bundle_key
from tenantry_registry.report import Finding, Report, ordered
from tenantry_registry.rules import found
from tenantry_registry.rules_plugin import check_result
from tenantry_registry.runners import Call, Release, Runner

FILES: Final = 8  # that one example may make, as many as a call has
FILE_BYTES: Final = 104_857_600  # of one, as in a call


async def run_examples(
    *, runner: Runner, manifest: Manifest, secrets: Mapping[str, str], env: Mapping[str, str]
) -> tuple[Finding, ...]:
    """What is wrong with the examples' results. The bundle must be stored.

    Raises: PlatformError `sandbox.*` when no reply could be had.
    """
    name = Name(manifest.tenant, manifest.plugin)
    release = Release(
        name=name,
        digest=manifest.digest,
        entrypoint=manifest.entrypoint,
        bundle=bundle_key(name, manifest.digest),
        egress=manifest.egress,
        env={**manifest.env, **env},
        secrets=dict(secrets),
        timeout=manifest.timeout,
    )
    tools = {str(tool["name"]): tool for tool in manifest.tools}
    findings: list[Finding] = []
    for example in manifest.examples:
        tool = tools.get(str(example["tool"]))
        if tool is None or (tool.get("annotations") or {}).get("readOnlyHint") is not True:
            continue
        params = {"name": tool["name"], "arguments": example["arguments"]}
        call = Call(
            "tools/call",
            params,
            widgets={widget.name: widget.uri for widget in manifest.widgets},
            uploads=_slots(name, FILES if manifest.uses_files else 0),
        )
        reply = await runner.call(release, call)
        if overflow := reply.get("overflow"):  # too large to return at once, so it lies in a slot
            findings.append(
                found("result.large", call.params["name"], f"Its result has {overflow['size'] // 1024} KB.")
            )
        else:
            findings += check_result(example, tool, reply)
    return ordered(findings)


def _slots(name: Name, count: int) -> list[dict[str, Any]]:
    ids = [files.new_id(None) for _ in range(count)]
    place = f"pending/{name.tenant}/{name.plugin}/uploads"
    return [{"id": file_id, "key": f"{place}/{file_id}", "max_bytes": FILE_BYTES} for file_id in ids]


def with_examples(report: Report, findings: tuple[Finding, ...]) -> Report:
    """The report with the findings of the examples put in their places."""
    return replace(report, findings=ordered([*report.findings, *findings]))
