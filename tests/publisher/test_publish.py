"""The pipeline: what is stored and in which order, what a failure leaves behind, and what is not done twice."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_publisher.publish import ContractBroken, RulesBroken, examine, publish
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import ORIGIN
from tenantry_registry.names import Name
from tenantry_registry.objects import Kind
from tenantry_registry.registry import Registry

HTML = "<!doctype html><link rel=stylesheet href=a.css><script type=module src=./a.js></script><img src=cat.png>"
FILES: dict[str, str | bytes] = {
    "widgets/animals/index.html": HTML,
    "widgets/animals/a.css": "body{background:url(cat.png)}",
    "widgets/animals/a.js": "import './b.js'",
    "widgets/animals/b.js": "export const b = 1;" * 200,
    "widgets/animals/cat.png": b"\x89PNG\r\n\x1a\n",
}
OUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DEFAULT_TOML = 'name = "zoo"\nentrypoint = "server:plugin"\n'


@pytest.fixture
def zoo(make: SimpleNamespace) -> dict[str, Any]:
    """A plugin of one tool and one widget."""
    described: dict[str, Any] = make.description(
        make.tool(widget="animals", outputSchema=OUT), widgets=(make.widget(),)
    )
    return described


async def keys(workshop: Any, prefix: str) -> list[str]:
    return [listed.key async for listed in workshop.objects.list(prefix)]


@pytest.mark.row("R01", "T03")
async def test_a_published_widget_is_on_the_wire_and_in_storage(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    published = await workshop.publish(zoo, FILES)
    assert (published.changed, published.previous, published.comparison) == (True, None, None)
    registry = Registry(workshop.objects)
    pointer = await registry.current(make.name)
    assert pointer is not None
    assert pointer.current == published.digest
    manifest = await registry.manifest(make.name, published.digest)
    (widget,) = manifest.widgets
    assert manifest.tools[0]["_meta"]["ui"]["resourceUri"] == widget.uri == manifest.resources[0]["uri"]
    assert manifest.resources[0]["mimeType"] == "text/html;profile=mcp-app"
    html = await workshop.objects.get(widget.key)
    assert f'src="{ORIGIN}/assets/{widget.tree}/cat.png"'.encode() in html.data
    script = await workshop.objects.get(f"site/acme/zoo/{widget.tree}/b.js")
    assert script.kind == Kind("text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "br")
    assert [step.code for step in workshop.steps] == ["read", "described", "checked", "stored", "released"]
    assert await registry.widget(make.name, widget.uri) == widget


async def test_the_same_bytes_are_published_once(workshop: Any, zoo: dict[str, Any]) -> None:
    first = await workshop.publish(zoo, FILES)
    again = await workshop.publish(zoo, FILES)
    assert (again.changed, again.digest, again.previous) == (False, first.digest, first.digest)
    assert again.manifest == first.manifest
    assert workshop.steps[-1].code == "unchanged"


async def test_files_that_storage_holds_are_not_put_again(workshop: Any, zoo: dict[str, Any]) -> None:
    await workshop.publish(zoo, FILES)
    before = set(await keys(workshop, "site/acme/zoo/"))
    workshop.steps.clear()
    second = await workshop.publish(zoo, {**FILES, "server.py": "plugin = 2\n"})
    assert second.changed
    stored = next(step for step in workshop.steps if step.code == "stored")
    assert stored.text.startswith("0 files")
    assert set(await keys(workshop, "site/acme/zoo/")) == before


@pytest.mark.row("P03")
async def test_every_widget_ever_published_goes_on_being_there(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    first = await workshop.publish(zoo, FILES)
    second = await workshop.publish(zoo, {**FILES, "widgets/animals/a.css": "body{background:url('cat.png')}"})
    (old,), (new,) = first.manifest.widgets, second.manifest.widgets
    assert old.uri != new.uri
    registry = Registry(workshop.objects)
    for widget, style in ((old, b"body{background:url(cat.png)}"), (new, b"body{background:url('cat.png')}")):
        assert await registry.widget(make.name, widget.uri) == widget
        assert widget.tree.encode() in (await workshop.objects.get(widget.key)).data
        assert (await workshop.objects.get(f"site/acme/zoo/{widget.tree}/a.css")).data == style
    third = await workshop.publish(zoo, {**FILES, "server.py": "plugin = 3\n"})
    assert third.manifest.widgets == first.manifest.widgets


@pytest.mark.row("R03")
async def test_a_change_of_the_policy_alone_makes_another_uri(workshop: Any, make: SimpleNamespace) -> None:
    def described(*connect: str) -> Any:
        return make.description(make.tool(), widgets=(make.widget(csp={"connect": list(connect)}),))

    first = await workshop.publish(described(), FILES)
    second = await workshop.publish(described("https://a.example"), {**FILES, "x.txt": "x"})
    assert first.manifest.widgets[0].uri != second.manifest.widgets[0].uri
    assert first.manifest.widgets[0].tree == second.manifest.widgets[0].tree


async def test_two_widgets_of_one_folder_share_a_tree(workshop: Any, make: SimpleNamespace) -> None:
    widgets = (make.widget(), make.widget("detail", "widgets/animals/detail.html"))
    published = await workshop.publish(
        make.description(make.tool(), widgets=widgets), {**FILES, "widgets/animals/detail.html": HTML}
    )
    first, second = published.manifest.widgets
    assert first.tree == second.tree
    assert first.uri != second.uri


async def test_a_widget_given_as_text_is_published_without_files(workshop: Any, make: SimpleNamespace) -> None:
    widget = {"name": "note", "html": "<p>hello"}
    published = await workshop.publish(make.description(make.tool(), widgets=(widget,)))
    assert await keys(workshop, "site/acme/zoo/") == [published.manifest.widgets[0].key]


async def test_broken_rules_refuse_the_release_and_the_old_one_goes_on(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    first = await workshop.publish(zoo, FILES)
    with pytest.raises(RulesBroken) as refused:
        await workshop.publish(zoo, {**FILES, "widgets/animals/index.html": "<img src=gone.png><img src=lost.png>"})
    assert refused.value.code == "publish.rules"
    assert refused.value.message.startswith("2 rules are broken, first asset.missing")
    assert [finding.code for finding in refused.value.report.errors] == ["asset.missing", "asset.missing"]
    pointer = await Registry(workshop.objects).current(make.name)
    assert pointer is not None
    assert pointer.current == first.digest
    assert refused.value.hint.endswith("The current release goes on serving.")


async def test_a_first_release_that_is_refused_names_no_other(workshop: Any, zoo: dict[str, Any]) -> None:
    with pytest.raises(RulesBroken) as refused:
        await workshop.publish(zoo, {**FILES, "widgets/animals/index.html": "<img src=gone.png>"})
    assert refused.value.hint == "`platform check` shows all of them with their cures."


async def test_warnings_go_with_the_release(workshop: Any, zoo: dict[str, Any]) -> None:
    published = await workshop.publish(zoo, {**FILES, "widgets/animals/a.xyz": "x"})
    assert [finding["code"] for finding in published.manifest.findings] == ["asset.type"]
    assert published.report.warnings[0].to_dict() == published.manifest.findings[0]
    assert published.report.to_dict()["findings"] == [dict(published.manifest.findings[0])]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"plugin.toml": 'name = "other"\nentrypoint = "a:b"'}, "config.other-name"),
        ({"plugin.toml": "name ="}, "config.syntax"),
    ],
)
async def test_a_plugin_toml_that_is_wrong_refuses_the_release(
    workshop: Any, zoo: dict[str, Any], files: dict[str, str | bytes], code: str
) -> None:
    with pytest.raises(PlatformError) as refused:
        await workshop.publish(zoo, files)
    assert refused.value.code == code


async def test_a_bundle_without_plugin_toml_is_refused(workshop: Any, make: SimpleNamespace, tmp_path: Any) -> None:
    from tenantry_registry.bundle import pack

    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "server.py").write_text("x = 1")
    with pytest.raises(PlatformError) as refused:
        await publish(
            objects=workshop.objects, runner=make.runner(make.description()), name=make.name, bundle=pack(folder)
        )
    assert refused.value.code == "config.missing"


@pytest.mark.parametrize(
    ("reply", "code", "says"),
    [
        (
            {"error": {"code": "plugin.import", "message": "No module x", "hint": "h", "traceback": "T\n"}},
            "plugin.import",
            "No module x\nT",
        ),
        ({}, "describe.failed", "could not be described"),
        ({"description": {"kind": "kit", "protocol": 9}}, "describe.protocol", "9"),
    ],
)
async def test_code_that_can_not_be_described_is_refused_in_its_own_words(
    workshop: Any, make: SimpleNamespace, reply: dict[str, Any], code: str, says: str
) -> None:
    runner = make.runner({})
    runner.reply = reply
    with pytest.raises(PlatformError) as refused:
        await publish(objects=workshop.objects, runner=runner, name=make.name, bundle=workshop.bundle({}))
    assert refused.value.code == code
    assert says in refused.value.message
    assert refused.value.hint


async def test_secrets_are_placeholders_unless_they_are_given(workshop: Any, make: SimpleNamespace) -> None:
    toml = DEFAULT_TOML + 'timeout = 3\n[env]\nA = "1"\nB = "2"\n[secrets]\nrequired = ["K", "L"]\n'
    runner = make.runner(make.description(make.tool()))
    await examine(
        objects=workshop.objects,
        runner=runner,
        name=make.name,
        bundle=workshop.bundle({"plugin.toml": toml}),
        secrets={"K": "real", "MORE": "x"},
        env={"B": "3"},
    )
    (release,) = runner.described
    assert release.secrets == {"K": "real", "L": "placeholder-for-L", "MORE": "x"}
    assert release.env == {"A": "1", "B": "3"}
    assert release.timeout == 25.0


async def test_checking_changes_nothing_that_is_served(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    await workshop.examine(zoo, FILES)
    assert await keys(workshop, "plugins/acme/") == await keys(workshop, "site/acme/") == []


@pytest.mark.row("P03")
async def test_a_release_is_compared_with_the_submitted_one(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    first = await workshop.publish(zoo, FILES)
    await Registry(workshop.objects).submit(make.name, first.digest)
    same = await workshop.publish(zoo, {**FILES, "server.py": "plugin = 2\n"})
    assert same.comparison is not None
    assert same.comparison.verdict == "deploy"
    assert "deploy only" in next(step.text for step in workshop.steps if step.code == "compared")
    broken = make.description(make.tool("renamed", widget="animals", outputSchema=OUT), widgets=(make.widget(),))
    with pytest.raises(ContractBroken) as refused:
        await workshop.publish(broken, {**FILES, "server.py": "plugin = 3\n"})
    assert refused.value.code == "publish.breaks"
    assert "animals: The tool was renamed to renamed." in refused.value.message
    forced = await workshop.publish(broken, {**FILES, "server.py": "plugin = 3\n"}, force=True)
    assert forced.comparison is not None
    assert forced.comparison.verdict == "breaks"
    assert forced.changed


async def test_a_tool_that_goes_before_anything_was_submitted_is_a_warning(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    await workshop.publish(zoo, FILES)
    renamed = make.description(make.tool("renamed", widget="animals", outputSchema=OUT), widgets=(make.widget(),))
    published = await workshop.publish(renamed, {**FILES, "server.py": "plugin = 2\n"})
    assert published.changed
    told = [step.text for step in workshop.steps if step.code == "warned"]
    assert told == ["animals was renamed to renamed: conversations that use it break"]


async def test_a_preview_leaves_the_current_release_alone(
    workshop: Any, make: SimpleNamespace, zoo: dict[str, Any]
) -> None:
    first = await workshop.publish(zoo, FILES)
    second = await workshop.publish(zoo, {**FILES, "x.txt": "x"}, set_current=False, preview_until=9e9)
    assert workshop.steps[-1].code == "previewed"
    pointer = await Registry(workshop.objects).current(make.name)
    assert pointer is not None
    assert pointer.current == first.digest
    assert second.digest in pointer.previews


async def test_two_publishes_at_once_both_come_through(workshop: Any, zoo: dict[str, Any]) -> None:
    results = await asyncio.gather(*(workshop.publish(zoo, {**FILES, "x.txt": str(number)}) for number in range(4)))
    assert len({published.digest for published in results}) == 4
    pointer = await Registry(workshop.objects).current(Name("acme", "zoo"))
    assert pointer is not None
    assert pointer.current in {published.digest for published in results}


@pytest.mark.row("O11", "F01", "R03", "T11")
@pytest.mark.parametrize(
    ("toml", "tool", "server", "expected"),
    [
        (DEFAULT_TOML, {}, "x = 1", False),
        (DEFAULT_TOML + "files = true", {}, "x = 1", True),
        (DEFAULT_TOML, {}, "def f(ctx):\n    ctx.files.save('a', b'')\n", True),
        (DEFAULT_TOML + "files = false", {}, "ctx.files.save(1)", False),
        (DEFAULT_TOML, {}, "# ctx.files.save\nfiles.save(x)", False),
        (DEFAULT_TOML, {}, "ctx.files.save(", False),
        (DEFAULT_TOML + 'egress = "public"', {"fileParams": ["f"]}, "x = 1", True),
    ],
)
async def test_a_plugin_that_handles_files_may_load_them_in_its_widgets(
    workshop: Any, make: SimpleNamespace, toml: str, tool: dict[str, Any], server: str, expected: bool
) -> None:
    file = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("download_url", "file_id", "mime_type", "file_name")},
        "required": ["download_url", "file_id"],
    }
    described = make.description(
        make.tool(**tool, inputSchema={"type": "object", "properties": {"f": file}}), widgets=(make.widget(),)
    )
    published = await workshop.publish(described, {**FILES, "plugin.toml": toml, "server.py": server})
    assert published.manifest.uses_files is expected
    domains = published.manifest.widgets[0].meta["ui"]["csp"]["connectDomains"]
    assert (ORIGIN in domains) is expected


async def test_resources_templates_and_prompts_reach_the_manifest(workshop: Any, make: SimpleNamespace) -> None:
    described = make.description(
        resources=[
            {"uri": "docs://a", "name": "a", "text": "hello", "mimeType": "text/plain", "meta": {"m": 1}},
            {"uri": "docs://b", "name": "b", "blob": "aGk="},
            {"uri": "docs://c", "name": "c"},
        ],
        templates=[{"uriTemplate": "docs://{x}", "name": "t"}],
        prompts=[{"name": "p", "arguments": [{"name": "x"}]}],
        completion=True,
        subscribe=True,
    )
    manifest = (await workshop.publish(described)).manifest
    assert manifest.contents == {
        "docs://a": {"uri": "docs://a", "text": "hello", "mimeType": "text/plain", "_meta": {"m": 1}},
        "docs://b": {"uri": "docs://b", "blob": "aGk="},
    }
    assert manifest.resources[0] == {"uri": "docs://a", "name": "a", "mimeType": "text/plain", "_meta": {"m": 1}}
    assert manifest.templates == ({"uriTemplate": "docs://{x}", "name": "t"},)
    assert manifest.prompts == ({"name": "p", "arguments": [{"name": "x"}]},)
    assert manifest.dynamic == ("resources/read", "prompts/get", "completion/complete")
    assert manifest.capabilities == {
        "logging": {},
        "resources": {"subscribe": True, "listChanged": False},
        "prompts": {"listChanged": False},
        "completions": {},
    }


@pytest.mark.row("T03", "T05")
async def test_a_template_named_by_hand_is_published_by_its_hashed_uri(workshop: Any, make: SimpleNamespace) -> None:
    tool = make.tool(outputSchema=OUT, meta={"openai/outputTemplate": "ui://widget/animals.html"})
    manifest = (await workshop.publish(make.description(tool, widgets=(make.widget(),)), FILES)).manifest
    meta = manifest.tools[0]["_meta"]
    assert meta["ui"]["resourceUri"] == meta["openai/outputTemplate"] == manifest.widgets[0].uri


@pytest.mark.row("T02", "N01", "N02", "N03", "N04", "N05", "T01")
async def test_descriptors_are_complete_with_false_values(workshop: Any, make: SimpleNamespace) -> None:
    tool = make.tool(title="T", outputSchema=OUT, annotations={**make.tool()["annotations"], "idempotentHint": False})
    toml = (
        DEFAULT_TOML
        + 'title = "Zoo"\nversion = "2"\nwebsite = "https://zoo.example"\n'
        + '[auth]\nissuer = "https://i.example"\nscopes = ["r"]\n'
    )
    manifest = (await workshop.publish(make.description(tool), {"plugin.toml": toml})).manifest
    oauth = [{"type": "oauth2", "scopes": ["r"]}]
    assert manifest.tools[0] == {
        "name": "animals",
        "title": "T",
        "description": tool["description"],
        "inputSchema": tool["inputSchema"],
        "outputSchema": OUT,
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "openWorldHint": False,
            "idempotentHint": False,
        },
        "securitySchemes": oauth,
        "_meta": {"securitySchemes": oauth},
    }
    assert manifest.server == {"name": "zoo", "version": "2", "title": "Zoo", "websiteUrl": "https://zoo.example"}
    assert manifest.auth is not None
    assert manifest.auth["issuer"] == "https://i.example"


async def test_the_manifest_knows_which_tools_see_no_documents(workshop: Any, make: SimpleNamespace) -> None:
    published = await workshop.publish(make.description(make.tool("look", plain=True), make.tool("write")))
    assert published.manifest.plain == ("look",)
