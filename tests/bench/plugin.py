"""The plugin that is measured: 20 tools, one of them structured, and a widget of 200 KB."""

from __future__ import annotations

from pathlib import Path

from tenantry_registry import bundle
from tenantry_registry.names import Name
from tenantry_registry.objects_open import open_objects
from tenantry_registry.process_runner import ProcessRunner

NAME = Name("acme", "bench")
WIDGET_BYTES = 200_000
SERVER = '''
from pydantic import BaseModel
from tenantry import Plugin, Widget

plugin = Plugin()
page = Widget("widgets/page/index.html", description="A page.")


class Answer(BaseModel):
    text: str
    count: int


@plugin.tool(read_only=True, destructive=False, open_world=False, widget=page)
def echo(text: str, count: int = 1) -> Answer:
    """Use this to hear the same again."""
    return Answer(text=text, count=count)


def make(number: int) -> None:
    @plugin.tool(read_only=True, destructive=False, open_world=False, name=f"tool_{number}")
    def tool(text: str, count: int = 1) -> str:
        """Use this when the user wants something of the kind that this tool does well."""
        return text


for number in range(19):
    make(number)
'''
CONFIG = 'name = "bench"\ntitle = "Bench"\nversion = "1.0.0"\nentrypoint = "server:plugin"\n'


def write(folder: Path) -> Path:
    """The plugin's folder."""
    page = folder / "bench" / "widgets" / "page"
    page.mkdir(parents=True)
    lines = "<p>A line of a widget that is large, as widgets built by bundlers are.</p>\n"
    body = lines * (WIDGET_BYTES // len(lines))
    (page / "index.html").write_text(f"<!doctype html><html><head><title>Page</title></head><body>{body}</body></html>")
    (folder / "bench" / "server.py").write_text(SERVER)
    (folder / "bench" / "plugin.toml").write_text(CONFIG)
    return folder / "bench"


async def publish(endpoint: str, folder: Path) -> None:
    """Publish it into the bucket at `endpoint`, as any plugin is."""
    from tenantry_cli.store import BUCKET, KEYS
    from tenantry_publisher.publish import publish

    objects = open_objects(f"s3://{BUCKET}", endpoint=endpoint, environment=KEYS)
    runner = ProcessRunner(objects, folder=folder / "cache", isolate="none")
    try:
        await publish(objects=objects, runner=runner, name=NAME, bundle=bundle.pack(write(folder)))
    finally:
        await runner.aclose()
