"""`make bench`: what the gateway costs beside a bare FastAPI route behind Mangum that returns the same bytes.

Prints JSON lines, each with "name" and "ratio" (ours over the bare route's, in the same run) and, where there is one,
"aim". Carry the ratios over, not the milliseconds. Cold is the CPU of a fresh process from its start to its first
tools/list, the reads from S3 (a moto server) included, and its peak memory; warm is the CPU of a call.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import plugin, wire, zipped

HERE = Path(__file__).parent
ROUNDS = 9  # fresh processes of each kind, in turn
COLD_AIM = 1.25
WARM_AIM = 2.0
LIST_AIM = 1.0  # tools/list of 20 tools is no slower than initialize
HOSTED_AIM = 1.5
READY_AIM = 1.5  # seconds on an idle machine with two cores, 10 tools
SAVE_AIM = 1000  # milliseconds there, from saving a widget until the one that is shown is the new one
PAINT_AIM = 300  # milliseconds there, from submitting a call to the first paint of its 200 KB widget
COLD_NOTE = (
    "beyond the bare route: obstore with the first two reads from S3, pydantic-settings, our own modules; "
    "run with -X importtime to see each"
)
NOTES = {
    "tools/call": "no aim: arguments and result are validated, and a runner is asked; a tool that takes no ctx reads "
    "no document for it, and nothing is counted here"
}


def main() -> None:
    from tenantry_cli.store import KEYS, moto

    with moto() as endpoint, tempfile.TemporaryDirectory() as folder:
        asyncio.run(plugin.publish(endpoint, Path(folder)))
        environment = {
            **os.environ,
            **KEYS,
            "PYTHONPATH": str(HERE.parent),
            "TENANTRY_STORE": "s3://tenantry",
            "TENANTRY_STORE_ENDPOINT": endpoint,
            "TENANTRY_ORIGIN": wire.ORIGIN,
            "TENANTRY_SEAL_KEYS": "k1:" + "A" * 43 + "=",
        }
        cold(environment)
        beside_peers(environment)
        warm(environment)
    hosted()
    page()


def cold(environment: Mapping[str, str]) -> None:
    """Fresh processes of both kinds in turn; medians."""
    measured: dict[str, list[dict[str, Any]]] = {"gateway": [], "bare": []}
    environment = {
        **environment,
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",
    }  # the handler is composed at import, as there
    answer = child("cold.py", ["gateway"], environment)["body"]
    child("cold.py", ["bare"], environment, answer)  # the first of each compiles; it does not count
    for _ in range(ROUNDS):
        for kind in measured:
            measured[kind].append(child("cold.py", [kind], environment, answer))
    ours, bare = (
        {key: statistics.median(one[key] for one in measured[kind]) for key in ("cpu_ms", "rss_mb")}
        for kind in ("gateway", "bare")
    )
    show("cold.cpu", ours["cpu_ms"], bare["cpu_ms"], "ms", COLD_AIM, COLD_NOTE)
    show("cold.peak-rss", ours["rss_mb"], bare["rss_mb"], "MB")


def beside_peers(environment: Mapping[str, str]) -> None:
    """The gateway's zip under the official runtime, beside servers built with the SDK and with fastmcp."""
    floor, peers = zipped.measure(environment, ROUNDS)
    for name, (ours, theirs, aim) in peers.items():
        note = f"a bare FastAPI route on Mangum, with the same libraries, is {floor / theirs:.2f} of it"
        show(f"cold.zip-beside-{name}", ours, theirs, "ms", aim, note)


def warm(environment: Mapping[str, str]) -> None:
    """One process, both kinds in turn, call by call."""
    for name, (ours, bare) in child("warm.py", [], environment).items():
        aim = WARM_AIM if name in ("tools/list", "resources/read", "initialize") else None
        show(f"warm.{name}", ours, bare, "us", aim, NOTES.get(name, "reading, answering and logging one request"))
        if name == "initialize":
            first = ours
        if name == "tools/list":
            show("warm.tools/list-beside-initialize", ours, first, "us", LIST_AIM, "both are prepared bytes")


def hosted() -> None:
    """A server of the SDK's, hosted and alone, as processes of their own; ratio of the wall time of a call."""
    measured = child("guest.py", [], {**os.environ, "PYTHONPATH": str(HERE.parent)})
    ours, alone = measured["wall"]
    cpu, cpu_alone = measured["cpu"]
    note = (
        f"CPU {cpu:.0f} us of {cpu_alone:.0f} us alone (x{measured['cpu_ratio']:.2f}): the gateway's process "
        f"{measured['gateway_us']:.0f}, the worker's {measured['worker_us']:.0f}, which holds the server itself"
    )
    show("hosted tools/call", ours, alone, "us", HOSTED_AIM, note, ratio=measured["wall_ratio"])


def page() -> None:
    """The local host beside what libraries and browser take by themselves; the aims hold for an idle machine."""
    measured = child("page.py", [], os.environ)
    aims = (
        ("dev.ready", "s", READY_AIM),
        ("dev.call-to-paint", "ms", PAINT_AIM),
        ("dev.save-to-screen", "ms", SAVE_AIM),
    )
    for name, unit, aim in aims:
        pairs = measured[name.rpartition(".")[2].rpartition("-")[2]]
        ours, bare = (statistics.median(pair[n] for pair in pairs) for n in (0, 1))
        note = f"{name}: {ours:.2f} {unit} for an aim of {aim} {unit}, at a load of {os.getloadavg()[0]:.1f}"
        show(name, ours, bare, unit, note=note)


def show(
    name: str,
    ours: float,
    bare: float,
    unit: str,
    aim: float | None = None,
    note: str = "",
    ratio: float | None = None,
) -> None:
    ratio = round(ours / bare if ratio is None else ratio, 2)
    line: dict[str, Any] = {"name": name, "ratio": ratio, unit: round(ours, 1), f"bare_{unit}": round(bare, 1)}
    if aim is not None:
        line["aim"] = aim
    if note and (aim is None or ratio > aim):
        line["note"] = note
    print(json.dumps(line), flush=True)


def child(script: str, args: list[str], environment: Mapping[str, str], told: str = "") -> Any:
    """Run a script to its end; its last line is JSON."""
    done = subprocess.run(
        [sys.executable, HERE / script, *args],
        env=dict(environment),
        input=told,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
