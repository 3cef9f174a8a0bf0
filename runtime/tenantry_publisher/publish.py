"""The pipeline from a bundle to a release, the same on a laptop and on Lambda.

read safely -> describe in the sandbox -> compile -> rules -> compare with the published contract -> put everything
immutable -> swap the pointer. Nothing before the swap changes what is served, so a failure at any step leaves the
current release serving; repeating a publish goes on from what is stored already.

`examine` is the part without effects on releases: it is also `platform check`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tenantry_registry import bundle as bundles
from tenantry_registry import config as configs
from tenantry_registry import description as descriptions
from tenantry_registry.check import check
from tenantry_registry.compile import CompiledRelease, blobs, compile_release
from tenantry_registry.config import Config
from tenantry_registry.contract import BREAKS, Comparison, compare, gone
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP, Objects
from tenantry_registry.registry import Pointer, Registry, bundle_key
from tenantry_registry.report import Report
from tenantry_registry.runners import Release, Runner
from tenantry_registry.widgets import Compiled

from tenantry_publisher.examples import run_examples, with_examples
from tenantry_publisher.stand_ins import filled, undeclared


@dataclass(frozen=True, slots=True)
class Step:
    """Progress: a step that is done (`code` is stable), in words, with the seconds it took.

    `code`: "read", "described", "checked", "compared", "warned", "stored", "released", "previewed", "unchanged".
    """

    code: str
    text: str
    seconds: float = 0.0


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Published:
    """A release that is live (or a preview). `previous` was current before; `changed` is False for the same bytes."""

    name: Name
    digest: str
    previous: str | None
    changed: bool
    report: Report
    manifest: Manifest
    comparison: Comparison | None = None  # with the submitted release; None where none was submitted


@dataclass(frozen=True, slots=True)
class Examined:
    """A bundle that was described, compiled and checked. Errors are in the report; nothing was raised for them."""

    config: Config
    compiled: CompiledRelease
    report: Report


class RulesBroken(PlatformError):
    """`publish.rules`: the release was refused; `report` says everything that is wrong, `serving` whether another
    release is current."""

    def __init__(self, report: Report, *, serving: bool) -> None:
        count = len(report.errors)
        first = report.errors[0]
        super().__init__(
            "publish.rules",
            f"{count} {'rule is' if count == 1 else 'rules are'} broken, first {first.code}: {first.message}",
            "`platform check` shows all of them with their cures."
            + (" The current release goes on serving." if serving else ""),
        )
        self.report = report


class ContractBroken(PlatformError):
    """`publish.breaks`: the release would break the published plugin; `comparison` names each difference."""

    def __init__(self, comparison: Comparison) -> None:
        broken = [difference for difference in comparison.differences if difference.effect == BREAKS]
        first = broken[0]
        super().__init__(
            "publish.breaks",
            f"This breaks the submitted release: {first.subject}: {first.message}".replace(": :", ":"),
            "Keep what was submitted and add beside it, or publish with --force.",
        )
        self.comparison = comparison


class Files(Mapping[str, bytes]):
    """The author's part of a bundle by path, each file inflated once, when it is first looked at."""

    def __init__(self, bundle: bundles.Bundle) -> None:
        self._entries = bundle.own
        self._read: dict[str, bytes] = {}

    def __getitem__(self, path: str) -> bytes:
        if path not in self._read:
            self._read[path] = self._entries[path].read()
        return self._read[path]

    def __contains__(self, path: object) -> bool:
        return path in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


async def publish(
    *,
    objects: Objects,
    runner: Runner,
    name: Name,
    bundle: bytes,
    progress: Progress = lambda step: None,
    secrets: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    force: bool = False,
    set_current: bool = True,
    preview_until: float | None = None,
    target: str = "",
    provided: Collection[str] = (),
    development: bool = False,
    base: str = "",
    now: Callable[[], float] = time.time,
) -> Published:
    """Publish `bundle` as a release of `name` and make it current (or a preview).

    `secrets` and `env` stand in for placeholders while describing (development); `force` publishes over a broken
    contract; `target` is the platform that the vendored wheels are for, `provided` what may be imported besides,
    and under `development` an import that nothing declares is only warned of; `base` the domain that plugins live
    under.

    Raises: RulesBroken; ContractBroken; PlatformError of every room on the way (`bundle.*`, `config.*`, `describe.*`,
    `sandbox.*`, `registry.*`); StorageDown, Conflict. The pointer is untouched then.
    """
    registry = Registry(objects, now=now, base=base)
    digest = bundles.digest(bundle)
    pointer = await registry.current(name)
    if pointer is not None and pointer.current == digest and set_current and pointer.state == "active":
        manifest = await registry.manifest(name, digest)
        progress(Step("unchanged", f"{digest[:12]} is current already"))
        return Published(name, digest, digest, False, Report(str(name)), manifest)
    examined = await examine(
        objects=objects,
        runner=runner,
        name=name,
        bundle=bundle,
        progress=progress,
        secrets=secrets,
        env=env,
        target=target,
        provided=provided,
        development=development,
        now=now,
    )
    if examined.report.errors:
        raise RulesBroken(examined.report, serving=pointer is not None and pointer.current is not None)
    comparison = await _compared(registry, name, pointer, examined.compiled.manifest)
    if comparison is not None:
        progress(Step("compared", comparison.words))
        if comparison.verdict == BREAKS and not force:
            raise ContractBroken(comparison)
    elif pointer is not None and pointer.current and set_current:
        for tool, words in gone(await registry.manifest(name, pointer.current), examined.compiled.manifest):
            progress(Step("warned", f"{tool} {words}: conversations that use it break"))
    manifest = replace(
        examined.compiled.manifest, findings=tuple(finding.to_dict() for finding in examined.report.warnings)
    )
    started, began = time.perf_counter(), now()
    widgets = examined.compiled.widgets
    fresh = blobs(name, widgets, await _present(objects, name, widgets))
    result = await registry.publish(
        manifest, bundle=None, blobs=fresh, set_current=set_current, preview_until=preview_until, began=began
    )
    size = sum(len(data) for _, data, _ in fresh)
    progress(Step("stored", f"{len(fresh)} files, {size // 1024} KB", time.perf_counter() - started))
    progress(Step("released" if set_current else "previewed", digest[:12]))
    return Published(name, digest, result.previous, result.changed, examined.report, manifest, comparison)


async def examine(
    *,
    objects: Objects,
    runner: Runner,
    name: Name,
    bundle: bytes,
    progress: Progress = lambda step: None,
    secrets: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    target: str = "",
    provided: Collection[str] = (),
    development: bool = False,
    examples: bool = False,
    person: Mapping[str, str] | None = None,
    now: Callable[[], float] = time.time,
) -> Examined:
    """Describe, compile and check a bundle. Stores the bundle itself (the sandbox reads it from storage), no more.

    With `examples`, those of plugin.toml are called once the rules have found no error (`platform check`), by
    `person` (claims) where the plugin has sign-in.

    Raises: as `publish`, but for rules: those are in the report.
    """
    clock = _Clock(progress)
    read = bundles.read(bundle)
    files = Files(read)
    config = _config(files, name)
    digest = bundles.digest(bundle)
    await objects.put_once(bundle_key(name, digest), bundle, ZIP)
    clock.done("read", f"{len(bundle) // 1024 or 1} KB, {len(files)} files")
    description = await describe(
        runner=runner, name=name, digest=digest, config=config, secrets=secrets or {}, env=env or {}
    )
    clock.done(
        "described", _counted(len(description.tools), "tool") + ", " + _counted(len(description.widgets), "widget")
    )
    compiled = compile_release(
        name=name,
        digest=digest,
        config=config,
        description=description,
        files=files,
        created=now(),
        target=target,
    )
    report = check(
        config=config,
        description=description,
        compiled=compiled,
        files=files,
        bundle=read.files,
        target=target,
        provided=provided,
        development=development,
    )
    if examples and not report.errors:
        ran = await run_examples(
            runner=runner, manifest=compiled.manifest, secrets=secrets or {}, env=env or {}, person=person
        )
        report = with_examples(report, ran)
    clock.done("checked", f"{_counted(len(report.errors), 'error')}, {_counted(len(report.warnings), 'warning')}")
    return Examined(config, compiled, report)


async def describe(
    *,
    runner: Runner,
    name: Name,
    digest: str,
    config: Config,
    secrets: Mapping[str, str],
    env: Mapping[str, str],
) -> descriptions.Description:
    """Ask the code, as it will run, what it offers.

    Raises: PlatformError `describe.failed` (the code does not import, in the author's words), `describe.invalid`,
    `describe.protocol`, `sandbox.*`.
    """
    release = Release(
        name=name,
        digest=digest,
        entrypoint=config.entrypoint,
        bundle=bundle_key(name, digest),
        egress=config.egress,
        env={**config.env, **env},
        secrets=filled(config.secrets.required, secrets),
        timeout=configs.MAX_TIMEOUT,
    )
    reply = await runner.describe(release)
    if "description" not in reply:
        raise _failed(reply)
    return descriptions.read(reply["description"])


def _failed(reply: Mapping[str, Any]) -> PlatformError:
    """The author's own mistake, shown to the author: publishing is the one place where a traceback is for them."""
    error = reply.get("error") or {}
    code = str(error.get("code") or "describe.failed")
    lines = [str(error.get("message") or "The code could not be described.")]
    if trace := str(error.get("traceback") or ""):
        lines.append(trace.rstrip())
    return PlatformError(
        code, "\n".join(lines), str(error.get("hint") or undeclared(trace) or _first_aid(code, lines[0]))
    )


def _first_aid(code: str, message: str) -> str:
    """A hint where the error has none. What is wrong with a line that was named needs no running to be seen."""
    named = code == "plugin.definition" or "SyntaxError" in message or "IndentationError" in message
    return "" if named else "Run it on your machine first."


def _config(files: Files, name: Name) -> Config:
    if configs.FILE not in files:
        raise PlatformError(
            "config.missing", f"The bundle has no {configs.FILE}.", "`platform init FOLDER` writes an annotated one."
        )
    config = configs.load(files[configs.FILE])
    if config.name != name.plugin:
        raise PlatformError(
            "config.other-name",
            f"{configs.FILE}:{config.line('name')}: the name is {config.name!r}, not {name.plugin!r}.",
            f"Publish it as {name.tenant}/{config.name}, or change the name.",
        )
    return config


async def _compared(registry: Registry, name: Name, pointer: Pointer | None, manifest: Manifest) -> Comparison | None:
    """The new contract against the submitted one's, where there is one."""
    if pointer is None or not pointer.submitted:
        return None
    return compare(await registry.manifest(name, pointer.submitted), manifest)


async def _present(objects: Objects, name: Name, widgets: tuple[Compiled, ...]) -> frozenset[str]:
    """The keys of the widgets' files that storage holds already."""
    present: set[str] = set()
    for part in dict.fromkeys(part for widget in widgets for part in (widget.tree.hash, widget.hash)):
        async for listed in objects.list(f"site/{name.tenant}/{name.plugin}/{part}/"):
            present.add(listed.key)
    return frozenset(present)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


class _Clock:
    """Seconds from one step to the next."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = time.perf_counter()

    def done(self, code: str, text: str) -> None:
        moment = time.perf_counter()
        self._progress(Step(code, text, moment - self._last))
        self._last = moment
