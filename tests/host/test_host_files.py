"""Files: uploads, the library, download URLs, and file parameters with real bytes."""

from __future__ import annotations

import base64
from typing import Any
from urllib.request import urlopen

import pytest
from conftest import House
from person import Person, Widget
from playwright.sync_api import Route, expect
from scripted import Scripted, result

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
FILE = {
    "type": "object",
    "properties": {k: {"type": "string"} for k in ("download_url", "file_id", "mime_type", "file_name")},
    "required": ["download_url", "file_id"],
}

ONE = {"type": "object", "properties": {"file": FILE}, "required": ["file"]}


def upload(widget: Widget, name: str, mime: str, data: bytes, *, library: bool = False) -> str:
    widget.at("file").set_input_files({"name": name, "mimeType": mime, "buffer": data})
    widget.at("library").set_checked(library)
    widget.at("upload").click()
    answer = widget.answer()
    assert answer["ok"], answer
    assert answer["value"]["fileId"].startswith("file_")
    found: str = answer["value"]["fileId"]
    return found


def fetched(widget: Widget, url: str, button: str = "fetch") -> dict[str, Any]:
    widget.at("url").fill(url)
    widget.at(button).click()
    return widget.answer("fetched")


@pytest.mark.row("O09", "O11", "H08", "H10")
def test_an_uploaded_file_comes_back_by_a_url_that_expires_under_the_published_policy(
    person: Person, probe: Scripted, house: House
) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    file_id = upload(widget, "hay & straw.txt", "text/plain", b"eleven bales")
    url = widget.call("getFileDownloadUrl", {"fileId": file_id})["value"]["downloadUrl"]
    assert fetched(widget, url)["value"] == {"status": 200, "text": "eleven bales"}
    house.clock[0] += 61
    assert fetched(widget, url)["value"]["status"] == 410
    fresh = widget.call("getFileDownloadUrl", {"fileId": file_id})["value"]["downloadUrl"]
    assert fetched(widget, fresh)["value"]["status"] == 200
    assert not widget.call("getFileDownloadUrl", {"fileId": "file_unknown"})["ok"]


@pytest.mark.row("O09", "O11", "H08", "H10")
def test_an_uploaded_image_is_shown_from_its_url(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    file_id = upload(widget, "dot.png", "image/png", PNG)
    url = widget.call("getFileDownloadUrl", {"fileId": file_id})["value"]["downloadUrl"]
    assert fetched(widget, url, "show") == {"image": 1}


@pytest.mark.row("O09", "O10", "O11", "H08", "H09", "H10")
def test_a_library_file_is_picked_by_another_plugin_and_only_then_its_own(
    person: Person, probe: Scripted, house: House, probe_html: str
) -> None:
    other = Scripted("other")
    other.widget("ui://widget/probe.html", probe_html)
    other.tool("look", _meta={"ui": {"resourceUri": "ui://widget/probe.html"}})
    house.add(other)
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    file_id = upload(widget, "kept.csv", "text/csv", b"a,b\n1,2\n", library=True)
    person.open("other")
    widget = person.widget(person.run("look")).ready()
    assert not widget.call("getFileDownloadUrl", {"fileId": file_id})["ok"]
    widget.begin("selectFiles")
    library = person.page.get_by_role("dialog", name="File library")
    library.get_by_label("kept.csv").first.check()
    library.get_by_role("button", name="Use 1 file").click()
    assert widget.answer()["value"] == [{"fileId": file_id, "fileName": "kept.csv", "mimeType": "text/csv"}]
    url = widget.call("getFileDownloadUrl", {"fileId": file_id})["value"]["downloadUrl"]
    assert fetched(widget, url)["value"]["text"].startswith("a,b")


@pytest.mark.row("O10", "H09")
def test_without_a_library_select_files_is_not_even_there(person: Person, probe: Scripted) -> None:
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    has = "'selectFiles' in window.openai"
    assert widget.frame().evaluate(has) is True
    person.knob("File library", False)
    widget.frame().wait_for_function(f"!({has})")
    person.knob("File library", True)
    widget.frame().wait_for_function(has)
    widget.begin("selectFiles")
    person.page.get_by_role("dialog", name="File library").get_by_role("button", name="Cancel").click()
    assert widget.answer()["value"] == []


@pytest.mark.row("F03", "F04", "O11", "H10", "H35")
def test_a_file_parameter_reaches_the_tool_with_bytes_it_can_fetch(person: Person, probe: Scripted) -> None:
    seen: list[bytes] = []

    def read(arguments: dict[str, Any]) -> dict[str, Any]:
        return result({"file": arguments["file"]})

    schema = {
        "type": "object",
        "properties": {"file": {"$ref": "#/$defs/File"}, "note": {"type": "string"}},
        "$defs": {"File": FILE},
        "required": ["file"],
    }
    meta = {"openai/fileParams": ["file"], "ui": {"resourceUri": "ui://widget/probe.html"}}
    probe.tool("read", read, inputSchema=schema, _meta=meta)
    person.open("probe")
    composer = person.choose("read")
    composer.locator("input[type=file]").set_input_files({"name": "r.csv", "mimeType": "text/csv", "buffer": b"1,2,3"})
    composer.get_by_role("button", name="Run").click()
    widget = person.widget(person.page.get_by_role("article", name="Call of read")).ready()
    expect(widget.at("globals")).to_contain_text('"toolOutput":{')
    sent = probe.calls[-1]["arguments"]["file"]
    assert set(sent) == {"download_url", "file_id", "mime_type", "file_name"}
    assert (sent["mime_type"], sent["file_name"]) == ("text/csv", "r.csv")
    with urlopen(sent["download_url"]) as response:
        seen.append(response.read())
    assert seen == [b"1,2,3"]
    url = widget.call("getFileDownloadUrl", {"fileId": sent["file_id"]})["value"]["downloadUrl"]
    assert fetched(widget, url)["value"]["text"] == "1,2,3"


def test_a_form_waits_for_the_files_that_are_on_their_way(person: Person, probe: Scripted) -> None:
    probe.tool("read", inputSchema=ONE, _meta={"openai/fileParams": ["file"]})
    held: list[Route] = []
    person.open("probe")
    composer = person.choose("read")
    person.page.route("**/_host/files/**", lambda route: held.append(route))
    composer.locator("input[type=file]").set_input_files({"name": "r.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(composer.get_by_role("button", name="Uploading…")).to_be_disabled()
    person.page.keyboard.press("Control+Enter")
    person.page.unroute("**/_host/files/**")  # what was held goes on
    person.run_chosen("read")
    expect(person.page.get_by_text("Called read")).to_be_visible()
    assert [c["arguments"]["file"]["file_name"] for c in probe.calls] == ["r.txt"]


@pytest.mark.row("F01", "F03", "H35")
def test_a_list_of_files_is_a_file_parameter_too(person: Person, probe: Scripted) -> None:
    schema = {"type": "object", "properties": {"files": {"type": "array", "items": FILE}}}
    probe.tool("read_all", inputSchema=schema, _meta={"openai/fileParams": ["files"]})
    person.open("probe")
    composer = person.choose("read_all")
    files = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": n.encode()} for n in ("one", "two")]
    composer.locator("input[type=file]").set_input_files(files)  # type: ignore[arg-type]
    expect(composer.get_by_role("button", name="Remove two.txt")).to_be_visible()
    composer.get_by_role("button", name="Run").click()
    expect(person.page.get_by_text("Called read_all")).to_be_visible()
    sent = probe.calls[-1]["arguments"]["files"]
    assert [urlopen(f["download_url"]).read() for f in sent] == [b"one", b"two"]


@pytest.mark.row("O11", "H10")
def test_a_file_that_a_tool_returned_by_reference_has_a_url(person: Person, probe: Scripted, house: House) -> None:
    reference = {
        "file_id": "made_1",
        "download_url": f"{house.origin}/_host/download/none/made.csv",
        "mime_type": "text/csv",
    }
    probe.handlers["look"] = lambda _: result({"report": reference})
    person.open("probe")
    widget = person.widget(person.run("look")).ready()
    expect(widget.at("globals")).to_contain_text("made_1")
    assert widget.call("getFileDownloadUrl", {"fileId": "made_1"})["value"] == {
        "downloadUrl": reference["download_url"]
    }
