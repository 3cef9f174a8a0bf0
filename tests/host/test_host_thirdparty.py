"""Widgets nobody here wrote run in the host as they are: the examples of the MCP Apps SDK, as published on npm."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import HERE, House
from person import Person
from playwright.sync_api import Route, expect
from scripted import Scripted

MODULES = HERE / "thirdparty" / "node_modules"
NODE = Path(sys.executable).parent / "node"

#: Package, the tool that shows its widget, a text (or CSS selector) that only the drawn widget has.
IN_CI = [
    ("basic-react", "get-time", "text=Server Time"),
    ("basic-vue", "get-time", "text=Server Time"),
    ("basic-svelte", "get-time", "text=Server Time"),
    ("basic-preact", "get-time", "text=Server Time"),
    ("budget-allocator", "get-budget-data", "canvas"),
    ("threejs", "show_threejs_scene", "canvas[data-engine]"),  # which a renderer writes on it
]
IN_SOAK = [
    ("basic-solid", "get-time", "text=Server Time"),
    ("basic-vanillajs", "get-time", "text=Server Time"),
    ("cohort-heatmap", "get-cohort-data", "text=Retention"),
    ("scenario-modeler", "get-scenario-data", "canvas"),
    ("system-monitor", "get-system-info", "canvas"),
    ("wiki-explorer", "get-first-degree-links", "canvas"),
    ("pdf", "display_pdf", "canvas"),
]
WIDGETS = [pytest.param(*w, id=w[0]) for w in IN_CI] + [
    pytest.param(*w, id=w[0], marks=pytest.mark.soak) for w in IN_SOAK
]
#: Without a network these say so themselves, on the console too.
OFFLINE = {"wiki-explorer"}
WORKER = 'Setting up fake worker failed: "Failed to fetch dynamically imported module: data:text/javascript'
#: What these are refused under their own published metadata (code that comes as text; a worker from a blob, then from
#: a data URL): the words the widget shows, the errors it prints, and what the page says was refused.
REFUSED = {
    "threejs": ("violates the following Content Security Policy", [], ["script-src refused eval"]),
    "pdf": (
        WORKER,
        [f"[PDF-VIEWER] Error loading PDF{what}: Error: {WORKER}" for what in (" document", "")],
        ["script-src refused eval", "script-src-elem refused data", "worker-src refused blob"],
    ),
}
THREE = """<!doctype html><title>Three</title><body><pre id=place></pre><script type=module>
import * as THREE from "https://cdn.zoo.example/three.module.min.js";
const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true });
renderer.setSize(200, 100);
document.body.append(renderer.domElement);
const scene = new THREE.Scene();
scene.background = new THREE.Color(0x2050c0);
const box = new THREE.Mesh(new THREE.BoxGeometry(), new THREE.MeshBasicMaterial({ color: 0xffd000 }));
scene.add(box);
const camera = new THREE.PerspectiveCamera(50, 2, 0.1, 10);
camera.position.z = 2;
renderer.render(scene, camera);
const gl = renderer.getContext(), pixel = new Uint8Array(4);
const at = (x, y) => (gl.readPixels(x, y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel), [...pixel].slice(0, 3));
document.getElementById("place").textContent = JSON.stringify([at(100, 50), at(2, 2)]);
</script>"""
PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>
%%EOF
"""


@pytest.fixture
def serve(house: House) -> Iterator[Callable[..., None]]:
    """Start one package's own server and list it as a plugin."""
    started: list[subprocess.Popen[str]] = []

    def start(package: str, *arguments: str) -> None:
        entry = MODULES / "@modelcontextprotocol" / f"server-{package}" / "dist" / "index.js"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        node = str(NODE) if NODE.exists() else "node"
        environment = {**os.environ, "PORT": str(port)}
        process = subprocess.Popen(
            [node, str(entry), *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        assert process.stdout
        for line in process.stdout:
            if "listening" in line:
                break
        house.elsewhere[package] = f"http://localhost:{port}/mcp"

    yield start
    house.elsewhere.clear()
    for process in started:
        process.kill()  # asked politely, it waits for the browser to let go of its connections
        process.communicate()


def errors_printed(person: Person) -> list[str]:
    """The errors in the console, each up to the bytes of a data URL."""
    lines = person.pane("Console").locator("[data-level=error] .pre").all_inner_texts()
    return [line.partition(";base64,")[0] for line in lines]


def refusals(person: Person) -> list[str]:
    """What the policy refused, in the page's words: `worker-src refused blob`. How often is left out."""
    lines = person.pane("Policy").get_by_role("list", name="Refused requests").locator("li > p:first-child")
    return sorted(re.sub(r" \d+ times$", "", line) for line in lines.all_inner_texts())


@pytest.mark.parametrize(("package", "tool", "drawn"), WIDGETS)
def test_a_published_widget_draws_itself(
    person: Person, serve: Callable[..., None], shots: Path, tmp_path: Path, package: str, tool: str, drawn: str
) -> None:
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(PDF)
    serve(package, *([str(paper)] if package == "pdf" else []))
    person.open(package)
    if package == "pdf":
        person.run(tool, {"url": paper.as_uri()})
    else:
        person.choose(tool).get_by_role("button", name="Run").click()
    card = person.page.get_by_role("article", name=f"Call of {tool}")
    approve = card.get_by_role("button", name="Approve")  # most of them set no annotations: a host asks then
    expect(approve.or_(card.get_by_text("Called"))).to_be_visible()
    if approve.is_visible():
        approve.click()
    expect(card.get_by_role("status")).to_contain_text("Called")
    inside = person.widget(card).inside
    if package == "pdf":  # its widget reads the bytes by a tool that sets no annotations either
        card.get_by_role("button", name="Always allow").click()
    if package in REFUSED:
        words, errors, refused = REFUSED[package]
        expect(inside.get_by_text(words).first).to_be_visible(timeout=20_000)
        expect(inside.locator(drawn).first).to_be_hidden()
        expect(person.pane("Console").locator("[data-level=error]")).to_have_count(len(errors))
        assert errors_printed(person) == errors
        expect(person.pane("Policy").get_by_role("listitem")).to_have_count(len(refused))
        assert refusals(person) == refused
        person.pane("Console").get_by_role("button", name="Clear").click()
        person.pane("Policy").get_by_label("As in developer mode: no policy at all").check()
        expect(inside.get_by_text(words)).to_have_count(0)
    try:
        expect(inside.locator(drawn).first).to_be_visible(timeout=20_000)
    finally:
        person.page.screenshot(path=shots / f"thirdparty-{package}.png")
    if package in OFFLINE:
        return
    assert errors_printed(person) == []
    probed = [] if package in REFUSED else ["script-src refused eval"]  # the SDK asks once; nothing is refused any more
    assert [line for line in refusals(person) if line not in probed] == []


@pytest.mark.row("R03")
def test_three_js_draws_from_modules_under_a_published_policy(person: Person, probe: Scripted, shots: Path) -> None:
    def module(route: Route) -> None:
        path = MODULES / "three" / "build" / route.request.url.rpartition("/")[2]
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(body=path.read_bytes(), content_type="text/javascript", headers=headers)

    person.page.context.route("https://cdn.zoo.example/**", module)
    meta = {"ui": {"csp": {"resourceDomains": ["https://cdn.zoo.example"]}}}
    probe.widget("ui://widget/three.html", THREE, meta)
    probe.tool("draw", _meta={"ui": {"resourceUri": "ui://widget/three.html"}})
    person.open("probe")
    widget = person.widget(person.run("draw"))
    expect(widget.at("place")).to_contain_text("]]", timeout=30_000)
    box, background = widget.read("place")
    person.page.screenshot(path=shots / "three.png")
    assert box == [0xFF, 0xD0, 0x00]
    assert background == [0x20, 0x50, 0xC0]
    expect(person.pane("Policy")).to_contain_text("Nothing was refused")
