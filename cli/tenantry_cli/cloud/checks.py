"""What must hold before anything is touched, each with its cure. `platform doctor` runs these alone and shows them
all; a deployment shows what is not as it should be.

A check answers ok, warn, fail or unknown; what can't be known beforehand says so instead of guessing.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final, Literal

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import LABEL_OCTETS

from tenantry_cli.cloud.account import EDGE_REGION, Account, emulated
from tenantry_cli.cloud.toolkit import NODE_MAJOR, Toolkit
from tenantry_cli.output import Terminal

State = Literal["ok", "warn", "fail", "unknown"]
STYLES: Final[Mapping[State, str]] = {"ok": "", "warn": "yellow", "fail": "bold red", "unknown": "yellow"}

NEEDED_BOOTSTRAP = 6  # the version that `cdk deploy` of this toolkit asks for
RESERVED_IN_PROD = 900  # what stages.py reserves for prod at most
UNRESERVED = 100  # AWS keeps these free of reservations
SHORTEST_LABEL = 10  # of plugin, hyphen and tenant: less room than this is of no use
HOST = re.compile(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")


@dataclass(frozen=True, slots=True)
class Check:
    """One answer: `text` says what was found, `cure` what to do about it ("" where nothing), `code` what the refusal
    of a deployment is called."""

    name: str
    state: State
    text: str
    cure: str = ""
    code: str = "deploy.check"

    def refusal(self) -> PlatformError:
        """As an error."""
        text = self.text if self.code != "deploy.check" else f"{self.name}: {self.text}."
        return PlatformError(self.code, text, self.cure)


def show(terminal: Terminal, found: Iterable[Check], *, good: bool = True) -> None:
    """The checks as a person reads them, each cure below; `good`: those too that found nothing amiss."""
    for check in found:
        if check.state == "ok":
            if good:
                terminal.step(check.name, check.text)
            continue
        terminal.step(check.name, check.text, style=STYLES[check.state])
        if check.cure:
            terminal.step("", check.cure)


def tools(toolkit: Toolkit, *, lambda_python: str = "3.13") -> Iterator[Check]:
    """Node, the CDK CLI, uv, and a Python to make the functions' bytecode with."""
    found = toolkit.versions()
    right = found["node"].startswith(f"v{NODE_MAJOR}.")
    yield Check("node", "ok" if right else "fail", found["node"] or "missing", "" if right else "Run `make setup`.")
    yield (
        Check("cdk", "ok", found["cdk"])
        if found["cdk"]
        else Check("cdk", "warn", "not installed yet", "The first deployment installs it from infra/package-lock.json.")
    )
    python = _python(lambda_python)
    yield Check(
        "python",
        "ok" if python else "fail",
        f"{lambda_python} for the functions: {python or 'missing'}",
        "" if python else f"Install one, for example with `uv python install {lambda_python}`.",
    )


def account(found: Account, *, stage: str, domain: str, certificate: str) -> Iterator[Check]:
    """Credentials, region, bootstrap, quotas, tenant isolation, and what a domain needs. Ends where nothing answers."""
    try:
        number, caller = found.identity()
    except PlatformError as error:
        yield Check("credentials", "fail", error.message, error.hint, error.code)
        return
    yield Check("credentials", "ok", f"{number} as {caller.rpartition('/')[2]}")
    region = _region(found)
    yield region
    if region.state == "fail":
        return
    for name in sorted({found.region, EDGE_REGION}):
        yield _guarded("bootstrap", partial(_bootstrap, found, name))
    yield _guarded("quota", lambda: _quota(found, stage))
    yield _guarded("isolation", lambda: _isolation(found, stage))
    if domain:
        label = label_of(domain)
        yield label
        if label.state == "ok":
            yield _guarded("zone", lambda: _zone(found, domain, certificate))
    else:
        yield Check("domain", "warn", "none: path-form addresses on CloudFront's name", "Not submittable to ChatGPT.")


def label_of(domain: str) -> Check:
    """Whether plugins' hosts under `domain` fit the one label that ChatGPT makes of an origin."""
    if not HOST.fullmatch(domain):
        return Check("domain", "fail", f"{domain!r} is not a domain name", "Use a name such as plugins.example.com.")
    room = LABEL_OCTETS - 1 - len(domain)
    state: State = "ok" if room >= SHORTEST_LABEL else "fail"
    cure = "" if state == "ok" else f"Use a domain of at most {LABEL_OCTETS - 1 - SHORTEST_LABEL} characters."
    return Check("domain", state, f"{domain}: {max(room, 0)} characters are left for PLUGIN-TENANT", cure)


def _region(found: Account) -> Check:
    known = found.regions()
    if found.region in known:
        return Check("region", "ok", found.region)
    close = get_close_matches(found.region, known, 3) or known[:3]
    cure = f"Do you mean {' or '.join(close)}? A region newer than this boto3 needs a newer boto3."
    return Check("region", "fail", f"AWS Lambda is in no region {found.region!r}.", cure, "aws.region")


def _bootstrap(found: Account, region: str) -> Check:
    version = found.bootstrap(region)
    if version >= NEEDED_BOOTSTRAP:
        return Check("bootstrap", "ok", f"{region} has version {version}")
    return Check("bootstrap", "warn", f"{region} has none", "The deployment makes it (`cdk bootstrap`) after asking.")


def _quota(found: Account, stage: str) -> Check:
    limit = found.concurrency()
    if stage != "prod" or limit >= RESERVED_IN_PROD + UNRESERVED:
        return Check("quota", "ok", f"{limit} concurrent executions")
    return Check(
        "quota",
        "fail",
        f"{limit} concurrent executions; prod reserves {RESERVED_IN_PROD} and AWS keeps {UNRESERVED} free",
        "Ask AWS for a higher quota, or lower `reserved` in infra/tenantry_infra/stages.py.",
    )


def _isolation(found: Account, stage: str) -> Check:
    if emulated():
        return Check("isolation", "unknown", "an emulator stands in for AWS, and has none")
    stands = found.isolates(f"tenantry-{stage}-sandbox-public")
    if stands is None:
        text = "tenant isolation mode is tried when the sandboxes are made; some accounts don't have it"
        return Check("isolation", "unknown", text, "If AWS refuses it, nothing is deployed and the error says so.")
    if stands:
        return Check("isolation", "ok", "the sandboxes isolate tenants")
    return Check("isolation", "fail", "a sandbox function without tenant isolation stands", "Destroy it and deploy.")


def _zone(found: Account, domain: str, certificate: str) -> Check:
    zone = found.zone(domain)
    if zone:
        return Check("zone", "ok", f"{zone.name} ({zone.id})")
    if certificate:
        return Check("zone", "warn", "not in this account", f"Point *.{domain} at the distribution with a CNAME.")
    return Check(
        "zone",
        "fail",
        f"no hosted zone of this account holds {domain}",
        "Make one, or give --certificate ARN (us-east-1, for the wildcard) and point a CNAME yourself.",
    )


def _guarded(name: str, ask: Callable[[], Check]) -> Check:
    try:
        return ask()
    except PlatformError as error:
        return Check(name, "unknown", error.message, error.hint)


def _python(version: str) -> str:
    uv = shutil.which("uv")
    if uv is None:
        try:
            from uv import find_uv_bin

            uv = find_uv_bin()
        except (ImportError, FileNotFoundError):
            return ""
    script = "from tenantry_infra.builder import interpreter; print(interpreter('lambda'))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
