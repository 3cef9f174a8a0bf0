"""A plugin written with the kit, served by `platform dev`, in the page: the whole of it, as an author has it."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import HERE
from person import Person
from playwright.sync_api import Locator, Page, expect

CLIPBOARD = """async () => {
  let text;
  do text = await navigator.clipboard.readText(); while (!text.includes("def test_"));
  return text;
}"""
PLATFORM = Path(sys.executable).parent / "platform"


@dataclass
class Served:
    """`platform dev` on a copy of the plugin. `seconds` is how long it took to be ready."""

    origin: str
    folder: Path
    seconds: float


@contextmanager
def started(*arguments: str) -> Iterator[tuple[str, float]]:
    """`platform dev` while the block runs: its origin, and how many seconds it took to be ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(PLATFORM), "dev", *arguments, "--port", str(port), "--no-open", "--json"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        assert json.loads(process.stdout.readline())["ready"]
        yield f"http://localhost:{port}", time.monotonic() - began
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "gallery"
    shutil.copytree(HERE / "plugin", folder)
    with started(str(folder), "--tenant", "acme", "--store", str(tmp_path / "store")) as (origin, seconds):
        yield Served(origin, folder, seconds)


@pytest.fixture
def author(page: Page, dev: Served) -> Iterator[Person]:
    found = Person(page, dev.origin)
    page.goto(dev.origin)
    expect(page.locator(".status[data-status=ready]")).to_be_visible(timeout=20_000)
    yield found
    assert found.errors == []


@pytest.mark.row("O11", "R03", "S03", "T03")
def test_a_widget_shows_an_image_and_reads_a_file_that_its_tool_made(author: Person, shots: Path) -> None:
    author.page.get_by_role("button", name="Paint me a picture").click()
    widget = author.widget()
    expect(widget.at("colour")).to_have_text("teal", timeout=20_000)
    expect(widget.at("place")).to_have_css("color", "rgb(0, 90, 120)")
    expect(widget.at("got")).to_contain_text('"text":"painted teal"')
    expect(widget.at("got")).to_contain_text('"image":1')
    expect(author.pane("Policy")).to_contain_text("Nothing was refused")
    author.page.screenshot(path=shots / "real-plugin.png")


def test_the_page_stands_in_front_of_a_server_elsewhere(page: Page, dev: Served) -> None:
    with started("--url", f"{dev.origin}/t/acme/gallery/mcp") as (origin, _):
        person = Person(page, origin)
        page.goto(origin)
        expect(page.locator(".status[data-status=ready]")).to_be_visible(timeout=20_000)
        widget = person.widget(person.run("paint", {"colour": "teal"}))
        expect(widget.at("colour")).to_have_text("teal", timeout=20_000)
        expect(widget.at("place")).to_have_css("color", "rgb(0, 90, 120)")
        page.goto("about:blank")
        assert person.errors == []


def test_a_submission_gets_a_picture_of_each_example_that_has_a_widget(dev: Served, shots: Path) -> None:
    store, out = dev.folder.parent / "store", dev.folder.parent / "package"
    command = [str(PLATFORM), "submit", "acme/gallery", "--store", str(store), "--page", dev.origin, "--out", str(out)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "screenshots/1-paint.png" in json.loads(done.stdout)["files"]
    picture = out / "screenshots" / "1-paint.png"
    shutil.copy(picture, shots / "submission.png")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20]) == 2 * 768  # twice the density
    assert 250 < int.from_bytes(data[20:24]) < 600  # the widget, not the empty page below it
    assert len(set(data)) > 50


@pytest.mark.row("F03")
def test_a_file_that_the_person_gives_is_read_by_the_tool(author: Person) -> None:
    composer = author.choose("measure")
    given = {"name": "bales.txt", "mimeType": "text/plain", "buffer": b"eleven bales"}
    composer.locator("input[type=file]").set_input_files(given)  # type: ignore[arg-type]
    composer.get_by_role("button", name="Run").click()
    expect(author.pane("Model sees")).to_contain_text("bales.txt", timeout=20_000)
    card = author.page.get_by_role("article", name="Call of measure")
    expect(card.get_by_role("status")).to_have_text("Called Measure")
    expect(author.widget(card).at("colour")).to_have_text('{"name":"bales.txt","size":12}')


def test_a_saved_edit_is_in_the_widget_right_away(author: Person, dev: Served) -> None:
    author.run("paint", {"colour": "plum"})
    widget = author.widget()
    expect(widget.at("colour")).to_have_text("plum", timeout=20_000)
    page = dev.folder / "widgets" / "gallery" / "index.html"
    page.write_text(page.read_text().replace("First edition", "Second edition"))
    began = time.monotonic()
    expect(widget.at("place")).to_have_text("Second edition", timeout=20_000)
    print(f"save to screen: {time.monotonic() - began:.2f} s; ready: {dev.seconds:.2f} s")
    expect(widget.at("colour")).to_have_text("plum")
    assert author.page.locator(".call").count() == 1


def test_what_check_finds_stands_at_its_tool_and_goes_with_the_next_save(author: Person, dev: Served) -> None:
    author.run("paint", {"colour": "plum"})
    expect(author.widget().at("colour")).to_have_text("plum", timeout=20_000)
    checks, source = author.pane("Checks"), dev.folder / "server.py"
    expect(checks).to_be_visible()
    was = source.read_text()
    doubtful = was.replace('title="Paint",', 'title="Paint", meta={"openai/hue": 1},')
    assert doubtful != was
    source.write_text(doubtful)
    expect(checks).to_contain_text("openai/hue", timeout=20_000)
    expect(checks).to_contain_text(re.compile(r"server\.py:\d+"))
    source.write_text(was)
    expect(checks).not_to_contain_text("openai/hue", timeout=20_000)


def test_a_host_with_hashed_domains_is_told_one_of_the_plugins_own(author: Person) -> None:
    author.knob("Client", "hashed")
    expect(author.page.locator(".status[data-status=ready]")).to_be_visible()
    author.run("paint", {"colour": "teal"})
    expect(author.widget().at("colour")).to_have_text("teal", timeout=20_000)
    expect(author.pane("Widget gets")).to_contain_text(re.compile(r"[0-9a-f]{32}\.claudemcpcontent\.com"))


def test_calls_are_copied_as_tests_that_pass_without_any_server(author: Person, dev: Served, shots: Path) -> None:
    page = author.page
    tests = dev.folder / "tests"
    tests.mkdir()

    def copied(card: Locator, name: str) -> str:
        expect(card.get_by_role("status")).to_contain_text(re.compile("Called|error"))
        card.get_by_role("button", name="Copy as pytest").click()
        source: str = page.evaluate(CLIPBOARD)
        (tests / f"test_{name}.py").write_text(source)
        page.evaluate("navigator.clipboard.writeText('')")
        return source

    source = copied(author.run("paint", {"colour": "teal"}), "paint")
    assert 'client.call("paint", colour="teal")' in source
    assert 'called.structured == {"colour": "teal"}' in source
    composer = author.choose("measure")
    given = {"name": "bales.txt", "mimeType": "text/plain", "buffer": b'eleven "bales"\n'}
    composer.locator("input[type=file]").set_input_files(given)  # type: ignore[arg-type]
    source = copied(author.run_chosen("measure"), "measure")
    assert r'file=client.file(b"eleven \"bales\"\n", "bales.txt", "text/plain")' in source
    author.knob("Locale", "nl-NL")
    card = author.run("remember", {"name": "Ada", "place": "Delft"})
    card.get_by_role("button", name="Approve").click()
    source = copied(card, "remember")
    assert 'assert called.text == "Remembered Ada."' in source
    source = copied(author.run("recall"), "recall")
    assert 'shared={"Ada": "Delft"}' in source
    assert '"notes": [{"name": "Ada", "place": "Delft"}]' in source
    assert "ANY" in source  # a time and a random id were in it
    assert '"openai/locale": "nl-NL"' in source
    assert '"openai/subject": "v1/u_' in source  # the result shows it
    card = author.run("name_it")
    form = page.get_by_role("group", name="The plugin asks you")
    form.get_by_label("name").fill("Silo")
    form.get_by_role("button", name="Answer").click()
    assert 'answers=[{"name": "Silo"}]' in copied(card, "name_it")
    copied(author.run("recall", {"kind": "unknown"}), "refused")
    copied(author.run("recall", {"kind": 7}), "wrong_arguments")
    source = copied(author.run("crash"), "crash")
    assert "with pytest.raises(Crashed):" in source
    page.get_by_role("button", name="New conversation").click()
    source = copied(author.run("recall"), "another_conversation")  # the documents live longer than what was said
    assert 'shared={"Ada": "Delft"}' in source
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(dev.folder),
        str(tests),
    ]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout


def test_a_large_widget_is_painted_soon_after_the_call(author: Person, dev: Served) -> None:
    page = dev.folder / "widgets" / "gallery" / "index.html"
    filling = "<!-- " + "filling " * 25_000 + "-->"
    page.write_text(page.read_text().replace("</body>", f"{filling}</body>").replace("First edition", "Large edition"))
    expect(author.page.get_by_role("list", name="Tools", exact=True)).to_contain_text("paint")
    author.run("paint", {"colour": "first"})  # the worker has imported the plugin after this one
    expect(author.widget().at("place")).to_have_text("Large edition", timeout=20_000)
    began = time.monotonic()
    card = author.run("paint", {"colour": "large"})
    expect(author.widget(card).at("colour")).to_have_text("large", timeout=20_000)
    print(f"call to paint, 200 KB: {time.monotonic() - began:.2f} s")
