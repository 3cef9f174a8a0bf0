"""What a month costs at a given traffic, from dated prices; "unknown" where there is none.

Public list prices of us-east-1 in US dollars, without the free tier. Each line of the bill carries the date of its
oldest price: one checked for this platform, or AWS's list as it stood in REMEMBERED and not looked up again. A price
that nobody here has is None, and the sum says which lines it lacks. Other regions are dearer by up to a half.

    python -m tenantry_infra.costs --stage prod --requests 1000000
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tenantry_infra.stages import MEMORY, STAGES, Stage

CHECKED: Final = "2026-11"
REMEMBERED: Final = "2025-01"

MILLION: Final = 1_000_000
PRICES: Final[dict[str, float | None]] = {
    "http_api_million": 1.00,
    "lambda_million": 0.20,
    "lambda_gb_second_arm": 0.0000133334,
    "lambda_tenant_environment": None,  # billed for each new isolated environment; the amount was not verified
    "snapstart_restore_gb": 0.0001397998,
    "snapstart_cache_gb_second": 0.0000015046,
    "s3_get_million": 0.40,
    "s3_put_million": 5.00,
    "s3_gb_month": 0.023,
    "dynamodb_write_million": 0.625,
    "cloudfront_million": 1.00,
    "cloudfront_gb": 0.085,
    "kms_key_month": 1.00,
    "kms_million": 3.00,
    "secret_month": 0.40,
    "logs_gb": 0.50,
    "alarm_month": 0.10,
    "metric_month": 0.30,
    "dashboard_month": 3.00,
    "waf_month": 5.00,
    "waf_rule_month": 1.00,
    "waf_million": 0.60,
    "dns_firewall_million": 0.60,
    "hosted_zone_month": 0.50,
}

# Of one MCP request in this design, measured or by construction.
GATEWAY_SECONDS: Final = 0.02
CALLS: Final = 0.4  # of the requests are tool calls; the rest are answered from the manifest
TOOL_SECONDS: Final = 0.3
READS: Final = 1.2  # of S3: the pointer is believed for two seconds, releases stay in memory
WRITES: Final = 0.1  # state, files, pending calls
COUNTS: Final = 2  # of a tool call in DynamoDB: one write going in, one going out (turnstile_dynamodb.py)
ANSWER_GB: Final = 20e3 / 1e9
LOG_GB: Final = 600 / 1e9
NEW_ENVIRONMENTS: Final = 0.02  # of the tool calls; docs/scale.md has the simulation


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the bill: `dollars` a month, None where a price is unknown; `fixed` without any traffic; `of` is the
    date of its prices."""

    what: str
    dollars: float | None
    fixed: bool = False
    of: str = REMEMBERED


def month(stage: Stage, requests: float, *, keys: int = 3, secrets: int = 2) -> list[Item]:
    """A month's bill of `stage` at `requests` MCP requests a month."""
    price = PRICES
    memory = {**MEMORY, **stage.memory}
    calls = requests * CALLS

    def times(amount: float, name: str, per: float = 1.0) -> float | None:
        each = price[name]
        return None if each is None else amount / per * each

    gateway = requests * GATEWAY_SECONDS * memory["gateway"] / 1024
    sandbox = calls * TOOL_SECONDS * memory["sandbox-public"] / 1024
    return [
        Item("HTTP API", times(requests, "http_api_million", MILLION), of=CHECKED),
        Item("CloudFront requests", times(requests, "cloudfront_million", MILLION)),
        Item("CloudFront traffic", times(requests * ANSWER_GB, "cloudfront_gb")),
        Item("Lambda gateway", _sum(times(requests, "lambda_million", MILLION),
                                    times(gateway, "lambda_gb_second_arm"))),
        Item("Lambda sandboxes", _sum(times(calls, "lambda_million", MILLION),
                                      times(sandbox, "lambda_gb_second_arm"))),
        Item("Lambda new isolated environments", times(calls * NEW_ENVIRONMENTS, "lambda_tenant_environment")),
        Item("S3 requests", _sum(times(requests * READS, "s3_get_million", MILLION),
                                 times(requests * WRITES, "s3_put_million", MILLION))),
        Item("DynamoDB", times(calls * COUNTS, "dynamodb_write_million", MILLION)),
        Item("Logs", times(requests * LOG_GB, "logs_gb")),
        Item("KMS keys", times(keys, "kms_key_month"), fixed=True),
        Item("Secrets", times(secrets, "secret_month"), fixed=True),
        Item("Alarms, metrics, dashboard", _sum(times(10, "alarm_month"), times(8, "metric_month"),
                                                times(1, "dashboard_month")), fixed=True),
        *_snapshots(stage, memory),
        *([Item("WAF", _sum(times(1, "waf_month"), times(2, "waf_rule_month"),
                            times(requests, "waf_million", MILLION)), fixed=True)] if stage.waf else []),
    ]  # fmt: skip


def total(items: Iterable[Item]) -> tuple[float, list[str]]:
    """The sum of what is known, and the names of what is not."""
    items = list(items)
    return sum(item.dollars or 0.0 for item in items), [item.what for item in items if item.dollars is None]


def _snapshots(stage: Stage, memory: dict[str, int]) -> list[Item]:
    each = PRICES["snapstart_cache_gb_second"]
    if not stage.snapstart or each is None:
        return []
    seconds = 30 * 24 * 3600
    gigabytes = (memory["gateway"] + memory["control"]) / 1024
    return [Item("SnapStart snapshots kept", gigabytes * seconds * each, fixed=True)]


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def main(arguments: list[str] | None = None) -> int:
    """Print the bill as JSON: {"requests", "items": [{"what", "dollars", "fixed", "of"}], "total", "unknown"}."""
    parser = argparse.ArgumentParser(prog="python -m tenantry_infra.costs")
    parser.add_argument("--stage", choices=sorted(STAGES), required=True)
    parser.add_argument("--requests", type=float, default=MILLION)
    given = parser.parse_args(arguments)
    items = month(STAGES[given.stage], given.requests)
    known, unknown = total(items)
    print(
        json.dumps(
            {
                "requests": given.requests,
                "items": [{"what": i.what, "dollars": i.dollars, "fixed": i.fixed, "of": i.of} for i in items],
                "total": round(known, 2),
                "unknown": unknown,
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
