"""The options that several commands share."""

from __future__ import annotations

from shlex import quote

import click

store = click.option(
    "--store", metavar="DIR", help="Where releases are kept: a folder or s3://BUCKET. [TENANTRY_STORE, .tenantry]"
)
tenant = click.option("--tenant", metavar="NAME", help="Whose plugins these are. [TENANTRY_TENANT, dev]")
port = click.option("--port", type=click.IntRange(0, 65535), help="Port on localhost; 0 takes a free one. [8787]")
s3 = click.option("--s3", metavar="moto|URL", help="Keep releases in S3: a moto server of our own, or an endpoint.")
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON answer on standard output, nothing else.")
here_or_there = click.option(
    "--to", metavar="URL|STAGE", help="Which control plane. [TENANTRY_TO; without: the store on this machine]"
)
to = click.option("--to", metavar="URL|STAGE", help="Which control plane. [TENANTRY_TO, the last login, this machine]")


def where(store: str | None, to: str | None = None) -> str:
    """The option that a further command needs to be about the same releases: what was given here."""
    return f" --to {quote(to)}" if to else f" --store {quote(store)}" if store else ""
