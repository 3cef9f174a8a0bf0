"""A large plugin is published in seconds, and published again without putting what is there.

Measured in CPU seconds: other suites run beside this one, and nothing here waits for anything but the disk.
"""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any

SECONDS = 10.0  # issue: 50 tools, 20 widgets, 2,000 assets of 50 MB together
OUT = {"type": "object", "properties": {"n": {"type": "integer"}}}


def large(make: SimpleNamespace) -> tuple[Any, dict[str, str | bytes]]:
    """50 tools, 20 widgets with 100 files each, 25 KB a file: pictures, scripts, styles."""
    chance = random.Random(1)
    files: dict[str, str | bytes] = {}
    words = " ".join(f"const name{number} = {number} / 2;" for number in range(600)).encode()
    for widget in range(20):
        folder = f"widgets/w{widget}"
        files[f"{folder}/index.html"] = (
            "<!doctype html>"
            + "".join(f"<img src=pictures/{number}.png>" for number in range(70))
            + "<link rel=stylesheet href=a0.css><script type=module src=m0.js></script>"
        )
        for number in range(70):
            files[f"{folder}/pictures/{number}.png"] = b"\x89PNG\r\n\x1a\n" + chance.randbytes(25_000)
        for number in range(27):
            files[f"{folder}/m{number}.js"] = (
                b"import './m0.js'; // %d\n" % number + words + chance.randbytes(20).hex().encode()
            )
        for number in range(2):
            rules = "".join(f".c{index}{{background:url(pictures/{index % 70}.png)}}\n" for index in range(500))
            files[f"{folder}/a{number}.css"] = rules + f"/* {chance.random()} */"
    tools = [make.tool(f"tool{number}", widget=f"w{number % 20}", outputSchema=OUT) for number in range(50)]
    widgets = tuple(make.widget(f"w{number}", f"widgets/w{number}/index.html") for number in range(20))
    return make.description(*tools, widgets=widgets), files


async def test_fifty_tools_and_two_thousand_files_are_published_in_time(workshop: Any, make: SimpleNamespace) -> None:
    description, files = large(make)
    assert len(files) == 2000
    began = time.process_time()
    published = await workshop.publish(description, files)
    took = time.process_time() - began
    assert published.report.findings == ()
    assert took < SECONDS, [(step.code, round(step.seconds, 1)) for step in workshop.steps]
    workshop.steps.clear()
    began = time.process_time()
    again = await workshop.publish(description, {**files, "widgets/w3/m1.js": "export {}"})
    assert again.changed
    stored = next(step for step in workshop.steps if step.code == "stored")
    assert stored.text.startswith("101 files")
    assert time.process_time() - began < SECONDS
