"""Files as parameters, as results, and what a tool makes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel, Field
from tenantry import Context, File, FileError, Plugin, PluginError, ResourceLink, Result, ToolError
from tenantry.saved import Files
from tenantry.testing import SLOTS, Client

READS = {"read_only": True, "destructive": False, "open_world": False}
LEGAL = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("download_url", "file_id", "mime_type", "file_name")},
    "required": ["download_url", "file_id"],
}


def declared(annotation: Any, *default: Any) -> dict[str, Any]:
    plugin = Plugin()

    def take(file, n: int = 0):
        """Takes."""
        return str(file)

    take.__annotations__ |= {"file": annotation, "return": str}
    if default:
        take.__defaults__ = (*default, 0)
    plugin.tool(**READS)(take)
    tool: dict[str, Any] = Client(plugin).describe()["tools"][0]
    return tool


@pytest.mark.row("F01", "F02", "T11")
@pytest.mark.parametrize(
    ("annotation", "default", "schema", "required"),
    [
        (File, (), LEGAL, True),
        (File | None, (), LEGAL, False),
        (File | None, (None,), LEGAL, False),
        (Optional[File], (None,), LEGAL, False),  # noqa: UP045 - authors write it
        (Annotated[File, Field(description="A table")], (), LEGAL | {"description": "A table"}, True),
        (Annotated[File | None, Field(description="A table")], (None,), LEGAL | {"description": "A table"}, False),
        (Annotated[File | None, Field(description="A table")], (), LEGAL | {"description": "A table"}, False),
        (list[File], (), {"type": "array", "items": LEGAL}, True),
        (Sequence[File], ([],), {"type": "array", "items": LEGAL}, False),
        (list[File] | None, (), {"type": "array", "items": LEGAL}, False),
        (list[File] | None, (None,), {"type": "array", "items": LEGAL}, False),
        (Annotated[list[File], Field(max_length=3)], (), {"type": "array", "items": LEGAL, "maxItems": 3}, True),
    ],
)
def test_a_file_parameter_always_has_the_one_legal_schema(annotation, default, schema, required):
    tool = declared(annotation, *default)
    assert tool["inputSchema"]["properties"]["file"] == schema
    assert ("file" in tool["inputSchema"].get("required", [])) is required
    assert tool["fileParams"] == ["file"]
    assert "null" not in str(tool["inputSchema"])


class Pair(BaseModel):
    left: File


@pytest.mark.row("F01", "F02")
@pytest.mark.parametrize(
    "annotation",
    [File | str, dict[str, File], tuple[File, File], list[list[File]], list[File | None], Pair, list[Pair]],
)
def test_a_file_anywhere_else_is_refused_where_it_stands(annotation):
    with pytest.raises(PluginError, match=r"test_kit_files\.py:\d+: take: .*parameter of its own"):
        declared(annotation)


@pytest.mark.row("F03")
def test_a_file_arrives_as_the_host_sends_it():
    plugin = Plugin()

    @plugin.tool(**READS)
    def look(file: File, more: list[File] | None = None) -> str:
        """Looks."""
        return f"{file} {more}"

    call = Client(plugin).call
    bare = {"download_url": "https://f.example/1", "file_id": "file_1"}
    assert "mime_type=None" in call("look", file=bare).text
    full = {**bare, "mime_type": "text/csv", "file_name": "a.csv", "size": 3}
    assert "file_name='a.csv'" in call("look", file={**full, "mime_type": None}, more=[bare]).text
    assert "file.file_id: Field required" in call("look", file={"download_url": "x"}).text
    assert File(**bare).to_wire() == bare


@pytest.mark.row("O11", "F04")
def test_a_saved_file_is_returned_as_a_reference_that_widgets_can_open_and_links_for_the_model():
    plugin = Plugin()

    class Report(BaseModel):
        rows: int
        file: File
        more: list[File] = []

    @plugin.tool(**READS)
    def export(ctx: Context) -> Result[Report]:
        """Exports."""
        source = ctx.folder / "x.bin"
        source.write_bytes(b"\x00\x01")
        table = ctx.files.save("Größe/a b.csv", "a,b\n1,2\n", "text/csv")
        plain = ctx.files.save("..", b"%PDF-1.7")
        binary = ctx.files.save("c" * 300, source)
        return Result(Report(rows=2, file=table, more=[plain, binary]), content=["Done.", table])

    tool = Client(plugin).describe()["tools"][0]
    assert tool["outputSchema"]["properties"]["file"] == LEGAL
    assert "$defs" not in tool["outputSchema"]
    client = Client(plugin)
    called = client.call("export")
    assert called.structured["file"] == {
        "download_url": "https://origin.tenantry.invalid/files/made_0/Gr%C3%B6%C3%9Fe_a%20b.csv",
        "file_id": "made_0",
        "mime_type": "text/csv",
        "file_name": "Größe_a b.csv",
    }
    assert [file["mime_type"] for file in called.structured["more"]] == ["application/pdf", "application/octet-stream"]
    assert called.content[1] == {
        "type": "resource_link",
        "uri": called.structured["file"]["download_url"],
        "name": "Größe_a b.csv",
        "mimeType": "text/csv",
    }
    assert client.saved == {"Größe_a b.csv": b"a,b\n1,2\n", "file": b"%PDF-1.7", "c" * 120: b"\x00\x01"}


def test_a_file_alone_can_be_the_result_and_be_handed_on_to_the_next_tool():
    plugin = Plugin()

    @plugin.tool(**READS)
    def make(ctx: Context) -> File:
        """Makes."""
        return ctx.files.save("a.txt", "hello")

    @plugin.tool(**READS)
    def take(file: File, ctx: Context) -> str:
        """Takes."""
        with ctx.files.open(file, accept=["text/*"]) as stream:
            return stream.read().decode()

    client = Client(plugin)
    assert client.call("take", file=client.call("make").structured).text == "hello"


def test_a_call_makes_as_many_files_as_it_has_room_for_and_none_too_large():
    plugin = Plugin()

    @plugin.tool(**READS)
    def many(ctx: Context) -> str:
        """Many."""
        for number in range(SLOTS + 1):
            ctx.files.save(f"{number}.txt", "x")
        return ""

    assert f"make {SLOTS} files" in Client(plugin).call("many").text
    session = Client(plugin)
    slots = type("S", (), {"uploads": [{"id": "u", "max_bytes": 2}], "put": lambda *given: None})()
    with pytest.raises(ToolError, match="3 bytes; 2 at most"):
        Files(slots).save("a", b"123")
    Files(slots).save("a", b"12")
    assert slots.uploads == []
    assert session.saved == {}


def test_files_are_read_whole_saved_or_streamed_within_their_bounds(tmp_path: Path):
    plugin = Plugin()
    body = b"\x89PNG\r\n\x1a\n" + b"x" * 100_000

    @plugin.tool(**READS)
    def use(file: File, how: str, folder: str) -> str:
        """Uses."""
        if how == "read":
            return str(len(file.read(max_bytes=200_000, accept=["image/*"])))
        if how == "small":
            file.read(max_bytes=1000)
        if how == "type":
            file.read(accept=["text/csv", "application/json"])
        if how == "save":
            return file.save_to(folder).name
        if how == "save-as":
            return file.save_to(Path(folder) / "b.png").name
        if how == "save-small":
            file.save_to(folder, max_bytes=1000)
        with file.open() as stream:
            first = stream.read(4)
            with io.BufferedReader(stream) as rest:
                return f"{stream.media_type} {first!r} {len(rest.read())} {rest.readable()}"

    client = Client(plugin)
    file = client.file(body, "../../.a.png")
    call = lambda how: client.call("use", file=file, how=how, folder=str(tmp_path))  # noqa: E731
    assert call("read").text == str(len(body))
    assert call("small").text == "The file is larger than 1000 bytes."
    assert call("type").text == "The file is image/png; this takes text/csv, application/json."
    assert call("save").text == "a.png"
    assert call("save-as").text == "b.png"
    assert call("save-small").is_error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.png"]
    assert (tmp_path / "a.png").read_bytes() == body
    assert call("stream").text == f"image/png b'\\x89PNG' {len(body) - 4} True"


def test_a_file_nobody_handed_over_does_not_open_in_tests():
    plugin = Plugin()

    @plugin.tool(**READS)
    def use(file: File) -> str:
        """Uses."""
        try:
            file.read()
        except FileError as error:
            return f"no: {error}"
        return "yes"

    assert Client(plugin).call("use", file=File("https://a.example/x", "f")).text.startswith("no: ")


def test_a_link_can_be_made_of_a_file_by_hand():
    assert ResourceLink("https://a.example", "a", size=3).to_wire()["size"] == 3
