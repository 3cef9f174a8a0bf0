"""`platform destroy`: take a deployment down; its data stays unless one says so, twice."""

from __future__ import annotations

import click


@click.command("destroy")
@click.option("--stage", required=True, help="Which deployment.")
@click.option("--region", help="Where it stands. [the record, AWS_REGION, us-east-1]")
@click.option("--data", is_flag=True, help="The data too: every bundle, release, secret and file of every tenant.")
@click.option("--yes", is_flag=True, help="Do not ask, but for the data.")
@click.option("--yes-delete-data-of", metavar="STAGE", help="The second yes, for scripts: the stage's name again.")
def command(stage: str, region: str | None, data: bool, yes: bool, yes_delete_data_of: str | None) -> None:
    """Take STAGE down: functions, API, CloudFront, alarms.

    The bucket, the tables, the keys and the secrets stay, and a later deployment serves from them again. With --data
    they go as well, after the stage's name was typed; nothing brings them back.
    """
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.cloud import asking
    from tenantry_cli.cloud.deployment import BASICS, Deployment
    from tenantry_cli.output import Terminal

    terminal = Terminal()
    if data and yes_delete_data_of is None and not terminal.interactive:
        raise PlatformError("deploy.unconfirmed", "Deleting data needs a second yes.", "--yes-delete-data-of STAGE")
    deployment = Deployment(asking.wish(stage, region), terminal, asking.ask(terminal, yes))
    deployment.check(only=BASICS)
    standing = deployment.standing()
    if not standing:
        terminal.step("nothing", f"no part of {stage} stands in {deployment.wish.region}")
        return
    gone = [part for part in standing if part != "Storage"]
    if not gone and not data:
        terminal.step("nothing", f"only {stage}'s data stands; --data takes it down, too")
        return
    asking.must(terminal, deployment.ask, f"Take {stage} down, {'and all its data' if data else 'but for its data'}?")
    if data:
        typed = yes_delete_data_of or click.prompt(f"  Type {stage} to delete the data of every tenant", default="")
        if typed != stage:
            raise PlatformError("deploy.unconfirmed", f"{typed!r} is not {stage!r}: nothing was touched.", "")
    if gone:
        deployment.destroy()
        terminal.step("destroyed", f"{stage}'s functions, API, CloudFront and alarms")
    if data:
        deployment.destroy_data()
        terminal.step("destroyed", f"{stage}'s data")
    else:
        terminal.step("kept", "bucket, tables, keys and secrets; `platform deploy` serves from them again")
        terminal.next(f"platform deploy --stage {stage}")
