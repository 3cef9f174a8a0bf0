"""What the operator said: options, else the stage's record, else the environment; and whether to go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

import click
from tenantry_registry.errors import PlatformError

from tenantry_cli.cloud.account import EDGE_REGION
from tenantry_cli.cloud.deployment import Wish
from tenantry_cli.cloud.record import Records
from tenantry_cli.output import Terminal


def wish(
    stage: str,
    region: str | None = None,
    domain: str | None = None,
    certificate: str | None = None,
    notify: str | None = None,
    requests: float = 1_000_000,
    yes: bool = False,
    *,
    environment: Mapping[str, str] = os.environ,
    records: Records | None = None,
) -> Wish:
    """What is meant. What was said once is remembered: a second deployment needs no options.

    Raises: PlatformError `deploy.moved` where the stage stands in another region.
    """
    record = (records or Records()).read(stage)
    here = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    found = Wish(stage, region or (record.region if record else "") or here or EDGE_REGION, requests=requests, yes=yes)
    if record and found.region != record.region:
        raise PlatformError(
            "deploy.moved",
            f"{stage} stands in {record.region}; a bucket can't move to {found.region}.",
            "Add another stage to infra/tenantry_infra/stages.py.",
        )
    kept = record or found
    return replace(
        found,
        domain=(kept.domain if domain is None else domain).lower().strip("."),
        certificate=kept.certificate if certificate is None else certificate,
        notify=kept.notify if notify is None else notify,
    )


def ask(terminal: Terminal, yes: bool) -> Callable[[str], bool]:
    """Asks on a terminal; `yes` answers everything; where nobody can answer, it is refused.

    Raises: PlatformError `deploy.unconfirmed`.
    """

    def asked(question: str) -> bool:
        if yes:
            return True
        if not terminal.interactive:
            raise PlatformError("deploy.unconfirmed", "There is nobody to ask here.", "Add --yes.")
        return click.confirm(f"  {question}", default=False)

    return asked


def must(terminal: Terminal, asked: Callable[[str], bool], question: str) -> None:
    """Go on, or say that nothing was done and end as Ctrl-C does."""
    if not asked(question):
        terminal.step("stopped", "nothing was changed")
        raise click.Abort
