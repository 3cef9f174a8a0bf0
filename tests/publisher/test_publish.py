from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tenantry_registry.registry import Registry

HTML = "<!doctype html><link rel=stylesheet href=a.css><script type=module src=./a.js></script><img src=cat.png>"
FILES: dict[str, str | bytes] = {
    "widgets/animals/index.html": HTML,
    "widgets/animals/a.css": "body{background:url(cat.png)}",
    "widgets/animals/a.js": "import './b.js'",
    "widgets/animals/b.js": "export const b = 1;" * 200,
    "widgets/animals/cat.png": b"\x89PNG\r\n\x1a\n",
}


async def test_a_published_widget_is_on_the_wire_and_in_storage(workshop: Any, make: SimpleNamespace) -> None:
    published = await workshop.publish(make.description(make.tool(widget="animals"), widgets=(make.widget(),)), FILES)
    assert published.changed
    assert published.previous is None
    pointer = await Registry(workshop.objects).current(make.name)
    assert pointer is not None
    assert pointer.current == published.digest
    manifest = await Registry(workshop.objects).manifest(make.name, published.digest)
    (widget,) = manifest.widgets
    assert manifest.tools[0]["_meta"]["ui"]["resourceUri"] == widget.uri == manifest.resources[0]["uri"]
    html = await workshop.objects.get(widget.key)
    assert f"/assets/{widget.tree}/a.css".encode() in html.data
    script = await workshop.objects.get(f"site/acme/zoo/{widget.tree}/b.js")
    assert script.kind.content_type == "text/javascript; charset=utf-8"
    assert script.kind.content_encoding == "br"
    assert [step.code for step in workshop.steps] == ["read", "described", "checked", "stored", "released"]
