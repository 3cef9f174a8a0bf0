"""Runs the tests as shards, two at a time, and prints what each took.

    python tests/run.py test [SHARD ...]   every shard, or those named
    python tests/run.py fast               the shards that take three minutes together
    python tests/run.py soak [SHARD ...]   the tests marked `soak`, in every shard that has some
    python tests/run.py check              style, types, imports, the house's rules, and full branch coverage

A shard is a folder of tests/; shards.toml says what differs, setup.sh in it is run first. Each runs in a process of
its own with a log at .build/tests/NAME.log. Coverage is measured where the shards of the four rooms run, and judged
once they all passed.

What `make check` proved, `make test` takes over when it comes next on the very same tree within the hour, once: so
`.ci/run` runs nothing twice, and a second `make test` runs everything.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
import xml.etree.ElementTree as xml
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build" / "tests"
AT_ONCE = 2  # the machine this must fit on has two cores
PATIENCE = 20 * 60  # seconds after which a shard is stuck, not slow
SOAK_PATIENCE = 12 * 3600
TAKEN_OVER_WITHIN = 3600  # seconds from `make check` to the `make test` that relies on it
NO_TESTS = 5  # pytest's exit code for "nothing was selected"


@dataclass(frozen=True)
class Shard:
    """One row of shards.toml."""

    name: str
    paths: tuple[str, ...] = ()
    seconds: float = 20
    cover: bool = False
    run: str = ""
    setup: str = ""
    check: bool = False
    fast: bool = False
    only: str = ""
    alone: bool = False
    env: dict[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What a shard came to. `tree` is the digest of the tree that it ran on."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    tree: str = ""
    at: float = 0.0
    taken_over: bool = False


def main() -> int:
    args = parse()
    shards = select(args.mode, args.shards, read_shards())
    tree = digest_of_tree()
    BUILD.mkdir(parents=True, exist_ok=True)
    known = take_over(tree) if args.mode == "test" and not args.shards else {}
    done = [known[s.name] for s in shards if s.name in known]
    for outcome in done:
        print(f"  proved    {outcome.name:<14} {outcome.passed:>5} passed by make check on this tree", flush=True)
    run = Run(args.mode, tree)
    done += run.all([s for s in shards if s.name not in known])
    if args.mode in ("check", "test") and not args.shards and not any(o.failed for o in done):
        done.append(judge_coverage([s.name for s in shards if s.cover]))
    if args.mode == "check":
        for outcome in done:
            (BUILD / f"{outcome.name}.proved.json").write_text(json.dumps(asdict(outcome)))
    return report(done, run.started)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the tests as shards, two at a time.")
    parser.add_argument("mode", choices=["test", "fast", "soak", "check"])
    parser.add_argument("shards", nargs="*", metavar="SHARD", help="only these")
    return parser.parse_args()


def read_shards() -> dict[str, Shard]:
    rows = tomllib.loads((ROOT / "tests" / "shards.toml").read_text())
    shards = {
        name: Shard(name, **{k: tuple(v) if k == "paths" else v for k, v in row.items()}) for name, row in rows.items()
    }
    for folder in sorted(p for p in (ROOT / "tests").iterdir() if p.is_dir()):
        if folder.name not in shards and any(folder.rglob("test_*.py")):
            shards[folder.name] = Shard(folder.name)
        own = folder / "setup.sh"
        if folder.name in shards and own.exists() and not shards[folder.name].setup:
            shards[folder.name] = replace(shards[folder.name], setup=str(own.relative_to(ROOT)))
    return {name: s for name, s in shards.items() if s.run or all((ROOT / p).exists() for p in test_paths(s))}


def test_paths(shard: Shard) -> tuple[str, ...]:
    return shard.paths or (f"tests/{shard.name}",)


def select(mode: str, names: list[str], shards: dict[str, Shard]) -> list[Shard]:
    if names:
        unknown = [n for n in names if n not in shards]
        if unknown:
            sys.exit(f"There is no shard {', '.join(unknown)}. There are: {', '.join(shards)}.")
        return [shards[n] for n in names]
    every = [s for s in shards.values() if not s.only or s.only == mode]
    if mode == "fast":
        every = [s for s in every if s.fast]
    elif mode == "check":
        every = [s for s in every if s.cover or s.check or s.only == "check"]
    elif mode == "soak":
        every = [s for s in every if not s.run]
    return sorted(every, key=lambda s: (s.alone, -s.seconds))


def digest_of_tree() -> str:
    """One digest of every file that git would commit: path and bytes."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        return ""
    digest = hashlib.sha256()
    for name in sorted(set(listed.stdout.split(b"\0")) - {b""}):
        path = ROOT / os.fsdecode(name)
        digest.update(name + b"\0" + (path.read_bytes() if path.is_file() else b"") + b"\0")
    return digest.hexdigest()


def take_over(tree: str) -> dict[str, Outcome]:
    """What `make check` proved of this tree within the hour. Each proof counts once."""
    found = {}
    for path in BUILD.glob("*.proved.json"):
        outcome = Outcome(**json.loads(path.read_text()))
        path.unlink()
        fresh = tree and outcome.tree == tree and time.time() - outcome.at < TAKEN_OVER_WITHIN
        if fresh and outcome.passed and not outcome.failed:
            outcome.taken_over = True
            found[outcome.name] = outcome
    return found


class Run:
    """One run of some shards; on Ctrl-C every shard's process group ends with it."""

    def __init__(self, mode: str, tree: str) -> None:
        self.mode = mode
        self.tree = tree
        self.started = time.monotonic()
        self.outcomes: list[Outcome] = []
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.lock = threading.Lock()
        self.stopped = False

    def all(self, shards: list[Shard]) -> list[Outcome]:
        beside = [s for s in shards if not s.alone]
        try:
            threads = [threading.Thread(target=self.work, args=(beside,), daemon=True) for _ in range(AT_ONCE)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
            self.work([s for s in shards if s.alone])
        except KeyboardInterrupt:
            self.stop()
            sys.exit(130)
        return self.outcomes

    def work(self, queue: list[Shard]) -> None:
        while not self.stopped:
            with self.lock:
                if not queue:
                    return
                shard = queue.pop(0)
            outcome = self.one(shard)
            with self.lock:
                self.outcomes.append(outcome)
                word = "failed" if outcome.failed else "ok"
                print(f"  {word:<9} {shard.name:<14} {counts(outcome):<34} {outcome.seconds:7.1f} s", flush=True)

    def one(self, shard: Shard) -> Outcome:
        started = time.monotonic()
        report_file, log = BUILD / f"{shard.name}.xml", BUILD / f"{shard.name}.log"
        report_file.unlink(missing_ok=True)
        outcome = Outcome(shard.name, tree=self.tree)
        with log.open("wb") as out:
            code = self.process(shard.setup, shard, out) if shard.setup else 0
            if code == 0:
                code = self.process(self.command(shard, report_file), shard, out)
        if shard.run:
            outcome.passed, outcome.failed = int(code == 0), int(code != 0)
        else:
            read_report(report_file, outcome)
            if code == NO_TESTS and (self.mode == "soak" or shard.only):
                code = 0
            outcome.failed += int(code != 0 and not outcome.failed)
        outcome.seconds = time.monotonic() - started
        outcome.at = time.time()
        return outcome

    def command(self, shard: Shard, report_file: Path) -> str:
        if shard.run:
            return shard.run
        pytest = "coverage run -m pytest" if self.covers(shard) else "python -m pytest"
        soak = "--soak -m soak" if self.mode == "soak" else ""
        return f"{pytest} {' '.join(test_paths(shard))} {soak} -p no:cacheprovider --junitxml={report_file}"

    def covers(self, shard: Shard) -> bool:
        return shard.cover and self.mode in ("check", "test")

    def process(self, command: str, shard: Shard, out: object) -> int:
        env = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1", **shard.env}
        if self.covers(shard):
            folder = coverage_folder(shard.name)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            env["COVERAGE_FILE"] = str(folder / ".coverage")
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self.processes.add(process)
        try:
            return process.wait(SOAK_PATIENCE if self.mode == "soak" else PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"  stuck     {shard.name:<14} ended after {PATIENCE // 60} minutes", flush=True)
            end(process)
            return 124
        finally:
            self.processes.discard(process)

    def stop(self) -> None:
        self.stopped = True
        for process in list(self.processes):
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def read_report(path: Path, outcome: Outcome) -> None:
    """Add up a JUnit file; a missing one leaves the counts at nothing."""
    if not path.exists():
        return
    for suite in xml.parse(path).getroot().iter("testsuite"):
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped = int(suite.get("skipped", 0))
        outcome.failed += failed
        outcome.skipped += skipped
        outcome.passed += int(suite.get("tests", 0)) - failed - skipped


def coverage_folder(name: str) -> Path:
    return ROOT / ".build" / "coverage" / name


def judge_coverage(names: list[str]) -> Outcome:
    """Join what the shards measured; anything below 100 % of the branches is a failure."""
    started = time.monotonic()
    folders = [str(coverage_folder(n)) for n in names if coverage_folder(n).exists()]
    env = {**os.environ, "COVERAGE_FILE": str(ROOT / ".build" / "coverage" / ".coverage")}
    outcome = Outcome("coverage", at=time.time())
    with (BUILD / "coverage.log").open("w") as log:
        for command in (["combine", "--keep", "-q", *folders], ["report", "--fail-under=100"]):
            code = subprocess.run(
                [sys.executable, "-m", "coverage", *command], cwd=ROOT, env=env, stdout=log, stderr=log, check=False
            ).returncode
            if code:
                break
    outcome.passed, outcome.failed = int(code == 0), int(code != 0)
    outcome.seconds = time.monotonic() - started
    return outcome


def counts(outcome: Outcome) -> str:
    parts = [f"{outcome.passed} passed"]
    if outcome.failed:
        parts.append(f"{outcome.failed} failed")
    if outcome.skipped:
        parts.append(f"{outcome.skipped} skipped")
    return ", ".join(parts)


def report(done: list[Outcome], started: float) -> int:
    for outcome in done:
        if outcome.failed:
            log = BUILD / f"{outcome.name}.log"
            print(f"\n--- {outcome.name}: {log.relative_to(ROOT)}")
            print("\n".join(log.read_text(errors="replace").splitlines()[-120:]))
    print("\n  suite               seconds")
    for outcome in sorted(done, key=lambda o: -o.seconds):
        note = "  (by make check)" if outcome.taken_over else ""
        print(f"  {outcome.name:<18} {outcome.seconds:8.1f}  {counts(outcome)}{note}")
    failed = sum(o.failed for o in done)
    passed, skipped = sum(o.passed for o in done), sum(o.skipped for o in done)
    tail = f", {skipped} skipped" if skipped else ""
    print(f"\n{passed} passed, {failed} failed{tail} in {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
