"""Environments, cold starts and cost under a Zipf load: a small simulation that docs/scale.md quotes.

A plugin's share of the traffic falls with its rank (exponent 1.0). Each release, preview and description has a tenant
id of its own, and each id has its own environments: the popular plugins keep theirs warm, the long tail starts cold
almost every time. An environment serves one call at a time and is dropped after IDLE seconds without one. What the
simulation leaves out is said in docs/scale.md.

    python -m tenantry_infra.simulation --plugins 1000 --rate 100 [--seconds 900] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import random
from collections import deque
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final

from tenantry_infra import costs
from tenantry_infra.stages import MEMORY

IDLE: Final = 420  # seconds an unused environment lives; AWS does not say, five to seven minutes were measured
COLD_SECONDS: Final = 0.9  # of a sandbox: start, fetch the bundle, import it
CALLS: Final = costs.CALLS  # of the requests reach a sandbox
TOOL_SECONDS: Final = costs.TOOL_SECONDS
RELEASES_A_DAY: Final = 0.2  # a plugin; each has new environments, and one more for its description
PER_THOUSAND: Final = 2_500  # isolated environments that Lambda allows for each 1,000 of concurrency


@dataclass(frozen=True, slots=True)
class Result:
    """Of one run. `cold` and `warm` count calls, `peak` environments at once, `concurrent` calls at once; `quota` is
    the concurrency that an account needs for both; `minted` environments a day by releases alone."""

    plugins: int
    rate: float
    calls: int
    cold: int
    cold_share: float
    peak: int
    concurrent: int
    quota: int
    minted: float
    sandbox_dollars_a_day: float


def simulate(plugins: int, rate: float, *, seconds: int = 900, seed: int = 1) -> Result:
    """`rate` requests a second over `plugins` for `seconds`; the first IDLE seconds fill the pools and don't count."""
    chance = random.Random(seed)
    weights = list(accumulate(1 / rank for rank in range(1, plugins + 1)))
    idle: dict[int, deque[float]] = {}  # plugin -> since when each of its idle environments is idle, oldest first
    busy: list[tuple[float, int]] = []  # a heap of (until, plugin)
    calls = cold = peak = concurrent = 0
    billed = 0.0
    for second in range(seconds + IDLE):
        counted = second >= IDLE
        arrivals = _poisson(chance, rate * CALLS)
        times = sorted(second + chance.random() for _ in range(arrivals))
        for now, plugin in zip(times, chance.choices(range(plugins), cum_weights=weights, k=arrivals), strict=True):
            while busy and busy[0][0] <= now:
                until, freed = heappop(busy)
                idle.setdefault(freed, deque()).append(until)
            lasts = chance.expovariate(1 / TOOL_SECONDS)
            warm = idle.get(plugin)
            while warm and warm[0] <= now - IDLE:
                warm.popleft()
            if warm:
                warm.pop()  # the one used last: the others may age out
            else:
                lasts += COLD_SECONDS
                cold += counted
            heappush(busy, (now + lasts, plugin))
            concurrent = max(concurrent, len(busy) if counted else 0)
            calls += counted
            billed += lasts * counted
        alive = len(busy) + _alive(idle, second + 1 - IDLE)
        peak = max(peak, alive if counted else 0)
    each = costs.PRICES["lambda_gb_second_arm"][0] or 0.0
    a_day = 86_400 / seconds
    return Result(
        plugins=plugins,
        rate=rate,
        calls=calls,
        cold=cold,
        cold_share=round(cold / calls, 3) if calls else 0.0,
        peak=peak,
        concurrent=concurrent,
        quota=max(concurrent, -(-peak * 1000 // PER_THOUSAND)),
        minted=plugins * RELEASES_A_DAY * 2,
        sandbox_dollars_a_day=round(billed * a_day * MEMORY["sandbox-public"] / 1024 * each, 2),
    )


def _alive(idle: dict[int, deque[float]], since: float) -> int:
    """Drop what was idle before `since`; how many environments are left."""
    for plugin in [plugin for plugin, lasts in idle.items() if not lasts or lasts[0] <= since]:
        lasts = idle[plugin]
        while lasts and lasts[0] <= since:
            lasts.popleft()
        if not lasts:
            del idle[plugin]
    return sum(map(len, idle.values()))


def _poisson(chance: random.Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(chance.gauss(mean, mean**0.5)))
    count, left = 0, chance.expovariate(1.0)
    while left < mean:
        count += 1
        left += chance.expovariate(1.0)
    return count


def main(arguments: list[str] | None = None) -> int:
    """Print one run as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tenantry_infra.simulation")
    parser.add_argument("--plugins", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    print(json.dumps(asdict(simulate(given.plugins, given.rate, seconds=given.seconds, seed=given.seed))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
