"""Metric filters read what the gateway writes: every field they name is in a line of its log."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gateway.house import Failing, House, ask, replying
from tenantry_infra.watch import FILTERS

TERM = re.compile(r"\$\.(\w+) (=|>=|IS) ([^ &}]+)")


def matches(pattern: str, line: dict[str, object]) -> bool:
    """Whether CloudWatch's pattern takes the line, for the few forms that are used here."""
    terms = TERM.findall(pattern)
    assert len(terms) == pattern.count("$."), f"a form that this test does not know: {pattern}"
    return all(_holds(line.get(field), operator, wanted) for field, operator, wanted in terms)


def _holds(value: object, operator: str, wanted: str) -> bool:
    if operator == "IS":
        return value is True
    if operator == ">=":
        return isinstance(value, (int, float)) and value >= float(wanted)
    text = json.loads(wanted)
    return isinstance(value, str) and re.fullmatch(re.escape(text).replace(r"\*", ".*"), value) is not None


async def test_every_metric_is_made_of_lines_that_the_gateway_writes(tmp_path: Path) -> None:
    house, call = House(tmp_path), {"name": "echo", "arguments": {}}
    await house.publish()
    async with house.http() as http:
        await ask(http, "tools/call", call)
        house.runner.answer = replying(result={"content": []}, cold=True)
        await ask(http, "tools/call", call)
        crash = {"code": "sandbox.crashed", "message": "It died.", "error_id": "0" * 12, "traceback": "Traceback"}
        house.runner.answer = replying(error=crash)
        await ask(http, "tools/call", call)
    house.objects = Failing(house.objects, "plugins/")
    async with house.http() as http:
        assert (await ask(http, "tools/call", call)).status_code == 503
    counted = [{name for name, (pattern, _) in FILTERS.items() if matches(pattern, line)} for line in house.log]
    calls = {"Calls", "CallMilliseconds"}
    assert counted == [
        calls,
        calls | {"ColdSandboxes"},
        calls | {"Refusals", "SandboxFaults", "Tracebacks"},
        {"Refusals", "ServerFaults", "StorageFaults"},
    ]


def test_a_metrics_value_is_a_field_that_its_pattern_names() -> None:
    for pattern, value in FILTERS.values():
        assert value == "1" or value in pattern
