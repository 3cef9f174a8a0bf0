"""What differs between one deployment and another, as data. Add a row to have another stage.

`prod` serves people, `dev` is the same for a few users and little money, `local` is what the emulators in the tests
can carry: functions for this machine, and none of the resource types that they do not have.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tenantry_registry.errors import PlatformError

from tenantry_infra.builder import Target
from tenantry_infra.failure import told


@dataclass(frozen=True, slots=True)
class Stage:
    """One deployment's numbers.

    `reserved`: reserved concurrency by function; what is not named shares the account's pool. `memory`: MB by
    function. `rate`, `burst`: requests a second through the HTTP API. `log_days`, `file_days`, `pending_days`: how
    long each is kept. `budget`: US dollars a month at which mail is sent. `guarded_dns`: the closed network resolves
    the bucket's name and no other. `flow_logs`: what the closed network refused is logged. `tls`: plain http is
    refused (emulators speak nothing else). `key_ids`: the keys in use of the rings for sealed notes and signed
    downloads, the one that signs first (docs/aws.md: rotating keys).
    """

    name: str
    target: Target = "lambda"
    memory: Mapping[str, int] = field(default_factory=dict)
    reserved: Mapping[str, int] = field(default_factory=dict)
    snapstart: bool = True
    rate: int = 1000
    burst: int = 2000
    log_days: int = 30
    file_days: int = 30
    pending_days: int = 1
    budget: int = 200
    waf: bool = False
    guarded_dns: bool = True
    flow_logs: bool = True
    protected: bool = False
    tls: bool = True
    price_class: str = "PriceClass_All"
    key_ids: tuple[str, ...] = ("k1",)


# Reserved: the sandboxes can never take the concurrency that the gateway answers lists with. The sum stays 100 below
# the account's default quota of 1,000, which AWS keeps unreserved.
STAGES: Final[Mapping[str, Stage]] = {
    "prod": Stage(
        "prod",
        memory={"gateway": 1024, "sandbox-public": 1024, "sandbox-closed": 1024},
        reserved={"gateway": 350, "control": 50, "publisher": 20, "sandbox-public": 240, "sandbox-closed": 240},
        waf=True,
        protected=True,
        log_days=90,
    ),
    "dev": Stage("dev", rate=50, burst=100, log_days=7, budget=20, price_class="PriceClass_100"),
    "local": Stage(
        "local", target="host", rate=500, burst=500, log_days=1, guarded_dns=False, flow_logs=False, tls=False, budget=0
    ),
}  # fmt: skip

MEMORY: Final[Mapping[str, int]] = {
    "gateway": 512,
    "control": 512,
    "publisher": 2048,
    "sandbox-public": 512,
    "sandbox-closed": 512,
}


def stage(name: str) -> Stage:
    """The stage called `name`. Raises: PlatformError `deploy.stage`."""
    if name not in STAGES:
        raise PlatformError(
            "deploy.stage", f"There is no stage {name!r}.", f"Use one of {', '.join(STAGES)}, or add it to stages.py."
        )
    return STAGES[name]


def main(arguments: list[str] | None = None) -> int:
    """Print what a stage's functions are built for, as JSON. A PlatformError goes to stderr as JSON, exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m tenantry_infra.stages")
    parser.add_argument("stage")
    try:
        found = stage(parser.parse_args(arguments).stage)
    except PlatformError as error:
        return told(error)
    print(json.dumps({"stage": found.name, "target": found.target}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
