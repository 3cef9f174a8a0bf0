"""`platform deploy`: the whole platform on AWS, from one command."""

from __future__ import annotations

from pathlib import Path

import click

from tenantry_cli import options


@click.command("deploy")
@click.option("--stage", default="prod", show_default=True, help="Which deployment: a row of stages.py.")
@click.option("--region", help="Where everything but CloudFront stands. [AWS_REGION, the record, us-east-1]")
@click.option("--domain", help="Plugins get PLUGIN-TENANT.DOMAIN; without one, path form on CloudFront's own name.")
@click.option("--certificate", metavar="ARN", help="For *.DOMAIN, in us-east-1, where the zone is not in this account.")
@click.option("--notify", metavar="EMAIL", help="Who gets the alarms' and the budget's mail.")
@click.option("--requests", default=1_000_000.0, show_default=True, help="A month's MCP requests, for the bill.")
@click.option(
    "--zips",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Function zips that were built before (python -m tenantry_infra.builder), to deploy the same to each stage.",
)
@click.option("--plan", "plan_only", is_flag=True, help="Say what would be done, and what it costs; do nothing.")
@click.option("--rollback", is_flag=True, help="Deploy what stood before, as it was synthesised then.")
@click.option("--no-smoke", is_flag=True, help="Do not use what was deployed afterwards.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
def command(
    stage: str,
    region: str | None,
    domain: str | None,
    certificate: str | None,
    notify: str | None,
    requests: float,
    zips: Path | None,
    plan_only: bool,
    rollback: bool,
    no_smoke: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Deploy Tenantry to the AWS account whose credentials are here.

    Checks first, then says what will be added, changed, replaced and destroyed and what a month costs, asks, deploys,
    uses the result as a client would, and writes .platform/STAGE.json. Running it again is safe at any point.
    """
    from dataclasses import asdict

    from tenantry_cli.cloud import asking, checks, plan
    from tenantry_cli.cloud.deployment import Deployment
    from tenantry_cli.output import Terminal

    terminal = Terminal.beside(as_json)
    wish = asking.wish(stage, region, domain, certificate, notify, requests, yes)
    deployment = Deployment(wish, terminal, asking.ask(terminal, yes), zips=zips)
    known = deployment.records.read(stage)
    checks.show(terminal, deployment.check(), good=False)
    if rollback:
        asking.must(terminal, deployment.ask, f"Go back to what {stage} was before?")
        record = deployment.roll_back()
    else:
        planned, assembly = deployment.prepare()
        plan.show(terminal, planned)
        if plan_only:
            deployment.discard(assembly)
            if as_json:
                terminal.answer(planned.to_dict())
            return
        if not planned.empty:
            asking.must(terminal, deployment.ask, f"Deploy {stage} to {deployment.number} in {wish.region}?")
        record = deployment.carry_out(planned, assembly)
    if not no_smoke:
        deployment.smoke(record)
    terminal.step("live", record.url)
    terminal.step("api", record.api_url)
    if not record.domain:
        terminal.step("domain", "none: not submittable to ChatGPT without a domain", style="yellow")
    if as_json:
        terminal.answer({**asdict(record), "assemblies": list(record.assemblies)})
    if known is None:
        terminal.next(f"platform tenants create acme && platform publish FOLDER --to {stage}")
