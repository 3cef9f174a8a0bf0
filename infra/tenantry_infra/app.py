"""The composition root: a place in, a cloud assembly out.

    python -m tenantry_infra.app --stage prod --account 123456789012 --region us-east-1 --zips .build --out cdk.out

The assembly holds the templates and the zips, so what was planned is exactly what is deployed, and an old one kept
aside is what a rollback deploys. Synthesis asks no network and no clock: twice gives the same bytes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aws_cdk as cdk
import cdk_nag
from tenantry_registry.errors import PlatformError

from tenantry_infra import nag
from tenantry_infra.edge import Edge
from tenantry_infra.failure import told
from tenantry_infra.functions import Functions
from tenantry_infra.place import Place
from tenantry_infra.stages import STAGES, stage
from tenantry_infra.storage import Storage
from tenantry_infra.watch import Watch

# Of the CDK's flags for new projects, those that change what we make: statements merged, access logs let in by a policy
# instead of an ACL.
FLAGS: Final = {"@aws-cdk/aws-iam:minimizePolicies": True, "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True}


@dataclass(frozen=True, slots=True)
class Stacks:
    """The app and its four stacks."""

    app: cdk.App
    storage: Storage
    functions: Functions
    edge: Edge
    watch: Watch


def compose(place: Place, zips: Path, *, out: Path | None = None, check: bool = True) -> Stacks:
    """The app for `place`, of the function zips in `zips`. `check`: cdk-nag's rules are errors of the synthesis."""
    app = cdk.App(
        analytics_reporting=False,
        outdir=str(out) if out else None,
        context=dict(FLAGS),
        default_stack_synthesizer=cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False),
    )
    storage = Storage(app, place)
    functions = Functions(app, place, storage, zips)
    edge = Edge(app, place, functions)
    watch = Watch(app, place, functions)
    cdk.Tags.of(app).add("tenantry-stage", place.stage.name)
    if check:
        cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app), cdk_nag.ServerlessChecks(app))
        nag.acknowledge(place, (storage, functions, edge, watch))
    return Stacks(app, storage, functions, edge, watch)


def main(arguments: list[str] | None = None) -> int:
    """The command line. A PlatformError goes to stderr as JSON, exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m tenantry_infra.app")
    parser.add_argument("--stage", required=True, choices=sorted(STAGES))
    parser.add_argument("--account", required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--zips", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    for option in ("domain", "zone", "certificate", "public-url", "notify"):
        parser.add_argument(f"--{option}", default="")
    given = parser.parse_args(arguments)
    try:
        place = Place(
            stage(given.stage), given.account, given.region, given.domain, given.zone, given.certificate,
            given.public_url, given.notify,
        )  # fmt: skip
        compose(place, given.zips, out=given.out).app.synth()
    except PlatformError as error:
        return told(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
