"""`check`: every rule over one compiled release. Pure: it looks at what it is given and never at a network."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tenantry_registry.compile import CompiledRelease
from tenantry_registry.config import Config
from tenantry_registry.description import Description, place
from tenantry_registry.report import Finding, Report, ordered
from tenantry_registry.rules import found
from tenantry_registry.rules_assets import check_assets
from tenantry_registry.rules_bundle import check_bundle
from tenantry_registry.rules_imports import check_egress, check_imports
from tenantry_registry.rules_plugin import check_plugin
from tenantry_registry.rules_tools import Surroundings, Tool, check_tools
from tenantry_registry.rules_widgets import check_widgets


def check(
    *,
    config: Config,
    description: Description,
    compiled: CompiledRelease,
    files: Mapping[str, bytes],
    bundle: Mapping[str, Any],
    target: str = "",
    provided: Collection[str] = (),
    development: bool = False,
) -> Report:
    """The report on a release. `files` is the author's part; `bundle` all entries by path, vendored ones included;
    `target` the platform that dependencies must be built for; `provided` what may be imported though it is not in the
    bundle (the author's own environment, under development). `development`: it runs on this machine only, for now."""
    findings: list[Finding] = [*compiled.findings]
    manifest = compiled.manifest
    declared = {str(tool["name"]): tool for tool in reversed(description.tools)}
    findings += check_tools(
        [_tool(entry, declared.get(str(entry["name"]), {})) for entry in manifest.tools],
        Surroundings(
            templates=frozenset(str(resource["uri"]) for resource in manifest.resources),
            scopes=frozenset(config.auth.scopes) if config.auth else None,
            signs_in=config.auth is not None,
            egress=config.egress,
            kind=description.kind,
        ),
    )
    findings += _unknown_widgets(description)
    own = {widget.uri for widget in compiled.widgets}
    others = [resource for resource in manifest.resources if resource.get("uri") not in own]
    findings += check_plugin(config, description, files, others)
    findings += check_widgets(compiled.widgets)
    findings += check_assets(compiled.widgets)
    findings += check_bundle(config, files, bundle, target)
    findings += check_imports(config, files, bundle, provided, development=development)
    findings += check_egress(config, files)
    return Report(
        name=config.name,
        findings=ordered(findings),
        tools=len(manifest.tools),
        widgets=len(compiled.widgets),
        files=len(files),
        bytes=sum(entry.size for entry in bundle.values()),
        widget_bytes={widget.name: len(widget.html) for widget in compiled.widgets},
    )


def _unknown_widgets(description: Description) -> Iterator[Finding]:
    """Tools that name a widget which the plugin does not declare."""
    names = {widget["name"] for widget in description.widgets}
    for tool in description.tools:
        if tool.get("widget") and tool["widget"] not in names:
            yield found("tool.widget-unknown", tool["name"], f"There is no widget {tool['widget']!r}.", place(tool))


def _tool(entry: Mapping[str, Any], declared: Mapping[str, Any]) -> Tool:
    return Tool(entry, declared.get("meta") or {}, place(declared))
