"""A deployment from beginning to end: check, build, plan, ask, deploy, smoke-test, record. And back again.

Decided first, done afterwards: the assembly that was compared is the assembly that is deployed. CloudFormation rolls a
failed stack back by itself, so the old version serves on; running again is safe at any point.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tenantry_registry.errors import PlatformError

from tenantry_cli.cloud import checks, plan, smoke
from tenantry_cli.cloud.account import EDGE_REGION, Account
from tenantry_cli.cloud.record import KEPT, Record, Records
from tenantry_cli.cloud.toolkit import EVENT, Toolkit
from tenantry_cli.output import Terminal

PARTS: Final = ("Storage", "Functions", "Edge", "Watch")
NO_TENANCY: Final = "Tenancy configuration is not supported"
BASICS: Final = ("node", "cdk", "credentials", "region")  # what taking a deployment down needs, too


@dataclass(frozen=True, slots=True)
class Wish:
    """What the operator asked for."""

    stage: str
    region: str
    domain: str = ""
    certificate: str = ""
    notify: str = ""
    requests: float = 1_000_000
    yes: bool = False


class Deployment:
    """One stage in one account. `ask(question)` says whether to go on."""

    def __init__(
        self,
        wish: Wish,
        terminal: Terminal,
        ask: Callable[[str], bool],
        *,
        records: Records | None = None,
        zips: Path | None = None,
    ) -> None:
        self.wish, self.terminal, self.ask = wish, terminal, ask
        self.records = records or Records()
        self.toolkit = Toolkit()
        self.account = Account(wish.region)
        self.target = ""
        self.built = zips or self.records.folder / "zips"
        self.given = zips is not None
        self.zips: list[dict[str, Any]] = []

    def check(self, *, only: Container[str] = ()) -> list[checks.Check]:
        """Install the toolkit where it is missing, then check everything; where `only` names checks, no other stops it.

        Raises: PlatformError `deploy.stage`, `aws.credentials`, `aws.region`, `aws.unreachable`, or `deploy.check` with
        the cure.
        """
        self.target = self.toolkit.target(self.wish.stage)
        if not self.toolkit.ready():
            with self.terminal.bar("installing the CDK CLI"):
                self.toolkit.install()
        found = [
            *checks.tools(self.toolkit),
            *checks.account(
                self.account, stage=self.wish.stage, domain=self.wish.domain, certificate=self.wish.certificate
            ),
        ]
        for check in found:
            if check.state == "fail" and (not only or check.name in only):
                raise check.refusal()
        return found

    def prepare(self) -> tuple[plan.Plan, Path]:
        """Build, synthesise and compare; returns the plan and the assembly it is of."""
        self.number, _ = self.account.identity()
        zone = self.account.zone(self.wish.domain) if self.wish.domain else None
        self.zone = zone.id if zone else ""
        if self.given:
            self.zips = found_zips(self.built, self.target)
        else:
            with self.terminal.bar("building the functions"):
                self.zips = self.toolkit.build(self.target, self.built, self.toolkit.cache)
        assembly = self._assembly(self._url())
        pairs = [
            {"stack": stack, "old": self.account.template(stack, region), "new": _template(assembly, stack)}
            for stack, region in self._stacks()
        ]
        wanted = {self.wish.region, EDGE_REGION}
        missing = sorted(r for r in wanted if self.account.bootstrap(r) < checks.NEEDED_BOOTSTRAP)
        found = plan.read(
            self.wish.stage,
            self.toolkit.compare(pairs),
            zips=tuple(self.zips),
            bill=self.toolkit.costs(self.wish.stage, self.wish.requests),
            bootstrap=tuple(missing),
        )
        return found, assembly

    def discard(self, assembly: Path) -> None:
        """Forget an assembly that was only planned."""
        shutil.rmtree(assembly)

    def carry_out(self, found: plan.Plan, assembly: Path) -> Record:
        """Deploy what was planned. Raises: PlatformError `deploy.failed`, `deploy.no-tenancy`, `deploy.bootstrap`."""
        for region in found.bootstrap:
            self._cdk(["bootstrap", f"aws://{self.number}/{region}"], "deploy.bootstrap", f"bootstrap {region}")
        self._deploy(assembly, ["--all"])
        known, url = self._url_of(assembly), self._url()
        if url and url != known:  # the first time: only now does CloudFront have a name
            shutil.rmtree(assembly)
            assembly = self._assembly(url)
            self.terminal.step("address", f"telling the functions that they are {url}")
            self._deploy(assembly, ["--exclusively", self._stack("Functions")])
        return self._record(assembly)

    def roll_back(self) -> Record:
        """Deploy the assembly that stood before. Raises: PlatformError `deploy.nothing-before`, as `carry_out`."""
        record = self.records.read(self.wish.stage)
        folder = self.records.assemblies(self.wish.stage)
        if record is None or len(record.assemblies) < 2 or not (folder / record.assemblies[-2]).is_dir():
            hint = "Deployed elsewhere? Check out the commit that stood and deploy it: the same source, the same zips."
            raise PlatformError("deploy.nothing-before", "No earlier deployment is kept here.", hint)
        assembly = folder / record.assemblies[-2]
        self._deploy(assembly, ["--all"])
        back = replace(record, assemblies=record.assemblies[:-1], zips={}, at=time.time())
        self.records.write(back)
        return back

    def smoke(self, record: Record) -> None:
        """Use what stands. Raises: PlatformError `smoke.failed`."""
        stands = smoke.Stands(
            url=record.url,
            api_url=record.api_url,
            store=record.store,
            region=record.region,
            functions={"public": record.outputs["SandboxPublicArn"], "none": record.outputs["SandboxClosedArn"]},
            target=self.target if self.target == "lambda" else "",
        )

        def told(step: str, text: str, seconds: float) -> None:
            self.terminal.step(step, text, f"{seconds:.2f} s")

        asyncio.run(smoke.smoke(stands, told))

    def standing(self) -> list[str]:
        """The parts that stand, Storage first."""
        return [part for part, (stack, region) in zip(PARTS, self._stacks(), strict=True)
                if self.account.status(stack, region)]  # fmt: skip

    def destroy(self) -> None:
        """Take everything down but Storage. Raises: PlatformError `deploy.failed`."""
        assembly = self._standing_assembly()
        names = [self._stack(part) for part in ("Watch", "Edge", "Functions")]
        self._cdk(["destroy", "--app", str(assembly), "--force", "--exclusively", *names], "deploy.failed", "destroy")

    def destroy_data(self) -> None:
        """Take Storage down and everything in it, every version. Raises: PlatformError `deploy.failed`."""
        stack = self._stack("Storage")
        assembly = self._standing_assembly()
        held = self.account.resources(stack) if self.account.status(stack, self.wish.region) else []
        self.account.unprotect(stack)
        self._cdk(["destroy", "--app", str(assembly), "--force", "--exclusively", stack], "deploy.failed", "destroy")
        for kind, name in held:
            if kind == "AWS::S3::Bucket":
                for gone in self.account.empty(name):
                    self.terminal.step("emptied", f"{name}: {gone} versions")
            else:
                self.account.forget(kind, name)
        self.records.forget(self.wish.stage)

    def _standing_assembly(self) -> Path:
        record = self.records.read(self.wish.stage)
        folder = self.records.assemblies(self.wish.stage)
        if record and record.assemblies and (folder / record.assemblies[-1]).is_dir():
            return folder / record.assemblies[-1]
        return self.prepare()[1]

    def _stack(self, part: str) -> str:
        return f"Tenantry-{self.wish.stage}-{part}"

    def _stacks(self) -> list[tuple[str, str]]:
        return [(self._stack(part), EDGE_REGION if part == "Edge" else self.wish.region) for part in PARTS]

    def _url(self) -> str:
        return self.account.outputs(self._stack("Edge"), EDGE_REGION).get("Url", "")

    def _url_of(self, assembly: Path) -> str:
        note = assembly / "public-url"
        return note.read_text() if note.exists() else ""

    def _assembly(self, url: str) -> Path:
        folder = self.records.assemblies(self.wish.stage)
        self.records.tidy(self.wish.stage)
        folder.mkdir(parents=True, exist_ok=True)
        taken = [int(path.name) for path in folder.iterdir() if path.name.isdigit()]
        out = folder / f"{max(taken, default=0) + 1:04d}"
        arguments = {
            "stage": self.wish.stage,
            "account": self.number,
            "region": self.wish.region,
            "domain": self.wish.domain,
            "zone": self.zone,
            "certificate": self.wish.certificate,
            "notify": self.wish.notify,
            "public-url": url,
        }
        with self.terminal.bar("synthesising"):
            self.toolkit.synthesise(arguments, self.built, out)
        (out / "public-url").write_text(url)
        return out

    def _deploy(self, assembly: Path, what: Sequence[str]) -> None:
        options = ["--require-approval", "never", "--progress", "events", "--concurrency", "1"]
        self._cdk(["deploy", "--app", str(assembly), *options, *what], "deploy.failed", "deploy")

    def _cdk(self, arguments: Sequence[str], code: str, text: str) -> None:
        failed: list[str] = []
        last: list[str] = []
        with self.terminal.bar(text) as bar:

            def on_line(line: str) -> None:
                event = EVENT.match(line)
                last.append(line)
                del last[:-20]
                if event:
                    total = int(event["total"]) if event["total"] else None
                    bar.at(int(event["done"]), total, f"{event['stack']}  {event['type']}")
                    if event["status"].endswith("_FAILED"):
                        failed.append(event["rest"].strip())
                    elif event["status"].endswith("_COMPLETE") and event["type"] == "AWS::CloudFormation::Stack":
                        self.terminal.step(event["status"].partition("_")[0].lower() + "d", event["stack"])

            try:
                ended = self.toolkit.cdk(arguments, on_line)
            except KeyboardInterrupt:
                bar.close()
                verb = "destroy" if arguments[0] == "destroy" else "deploy"
                self.terminal.step("stopped", "CloudFormation finishes or undoes by itself what it has begun")
                self.terminal.next(
                    f"platform {verb} --stage {self.wish.stage}   with the same options goes on from there"
                )
                raise
        if ended == 0:
            return
        said = failed[0] if failed else next((line for line in reversed(last) if "failed" in line), "\n".join(last))
        if any(NO_TENANCY in line for line in [*failed, *last]):
            raise PlatformError(
                "deploy.no-tenancy",
                "This account has no tenant isolation mode on Lambda, and tenants' code is not run without it.",
                "Ask AWS to enable it for the account, or use another region or account.",
            )
        raise PlatformError(code, said, "What stood before serves on. Cure the reason and run it again.")

    def _record(self, assembly: Path) -> Record:
        outputs: dict[str, str] = {}
        for stack, region in self._stacks():
            outputs |= {k: v for k, v in self.account.outputs(stack, region).items() if not k.startswith("Exports")}
        old = self.records.read(self.wish.stage)
        url = outputs.get("Url", outputs["ApiUrl"])
        record = Record(
            stage=self.wish.stage,
            account=self.number,
            region=self.wish.region,
            url=url,
            api_url=f"https://api.{self.wish.domain}" if self.wish.domain else f"{url}/api",
            store=outputs["StoreBucket"],
            at=time.time(),
            domain=self.wish.domain,
            certificate=self.wish.certificate,
            notify=self.wish.notify,
            outputs=outputs,
            zips={made["room"]: made["sha256"] for made in self.zips},
            assemblies=self._kept(old, assembly),
        )
        self.records.write(record)
        return record

    def _kept(self, old: Record | None, assembly: Path) -> tuple[str, ...]:
        """The assemblies to go back to, this one last. What stood already is no step that one could go back."""
        before = old.assemblies if old else ()
        if before and same(self.records.assemblies(self.wish.stage) / before[-1], assembly):
            return before
        return (*before, assembly.name)[-KEPT:]


def same(one: Path, other: Path) -> bool:
    """Whether two assemblies deploy the same: the templates name every asset by its hash."""
    here, there = ({path.name: path.read_bytes() for path in folder.glob("*.template.json")} for folder in (one, other))
    return here == there


def found_zips(folder: Path, target: str) -> list[dict[str, Any]]:
    """The zips in `folder`, described as the builder describes them. Raises: PlatformError `deploy.no-zips`."""
    found = [
        {"room": path.name.removesuffix(f"-{target}.zip"), "target": target, "path": str(path),
         "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
        for path in sorted(folder.glob(f"*-{target}.zip"))
    ]  # fmt: skip
    if not found:
        hint = f"Build them: python -m tenantry_infra.builder --target {target} --out {folder}"
        raise PlatformError("deploy.no-zips", f"There is no *-{target}.zip in {folder}.", hint)
    return found


def _template(assembly: Path, stack: str) -> Any:
    return json.loads((assembly / f"{stack}.template.json").read_text(encoding="utf-8"))
