"""The command `platform`: finds the command that was asked for, and words every refusal.

Commands are imported when they are used, so `platform --help` costs click and nothing else. A PlatformError ends
here: its code, sentence and hint go to standard error, and the exit code is 1 (2 is click's own, for a wrong
option; 130 is Ctrl-C).
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

COMMANDS = {  # name -> its one line in --help; the file is commands/{name}.py
    "init": "Write a new plugin's folder, or a plugin.toml for a server you have.",
    "dev": "Publish folders, serve them, publish again when a file is saved.",
    "check": "Say what ChatGPT would refuse in a plugin's folder or at an MCP address.",
    "publish": "Publish a plugin's folder as a new release.",
    "releases": "List a plugin's releases, newest first.",
    "rollback": "Serve an older release again.",
    "call": "Call one tool of an MCP server and print what it answers.",
    "serve": "Serve what is published, on this machine.",
    "preview": "Publish a folder at an address of its own, beside what is live.",
    "login": "Keep a token for a control plane.",
    "tenants": "Create, list, suspend and delete tenants.",
    "tokens": "Issue, list and revoke tokens.",
    "secrets": "Set, list and remove what a plugin must know and nobody else may.",
    "logs": "Show what a plugin's calls did, one line each.",
    "usage": "Show what a tenant's plugins did and used.",
    "files": "List and revoke the files that a plugin's tools made.",
    "audit": "Show who changed what, when and from where.",
    "submit": "Write what the directory's form asks for, and what is still missing.",
    "challenge": "Serve the token by which ChatGPT verifies a plugin's host.",
    "deploy": "Deploy the whole platform to AWS, or say what that would do.",
    "destroy": "Take a deployment down; its data stays unless told twice.",
    "doctor": "Say what this machine has, and what is missing for what.",
}
REFUSED = 1


class Commands(click.Group):
    """A group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"tenantry_cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, 1)
            if close:
                ctx.fail(f"No such command {args[0]!r}. Do you mean {close[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        click.echo(f"platform {version('tenantry')}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, help="Print it.")
def platform() -> None:
    """Tenantry hosts ChatGPT plugins: MCP servers with widgets, written in Python.

    Begin with `platform init zoo`, then `platform dev zoo`.
    """


def main() -> None:
    """Run the command line and exit."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run one command; returns its exit code. Refusals are worded on standard error."""
    try:
        code = platform.main(args=args, prog_name="platform", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        from tenantry_registry.errors import PlatformError

        if not isinstance(error, PlatformError):
            raise
        from tenantry_cli.output import Terminal

        Terminal.for_errors().refusal(error)
        return REFUSED
    return code if isinstance(code, int) else 0
