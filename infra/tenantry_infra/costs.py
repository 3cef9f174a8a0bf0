"""What a month costs at a given traffic, from dated prices; "unknown" where there is none.

Public list prices of us-east-1 in US dollars, without the free tier. Each price has the month of which it is known, and
each line of the bill the oldest of its prices'. None of them was read from AWS here: LISTED is AWS's own price list as
others quote it with its dates of publication, QUOTED what pages of 2026-02 to 2026-06 say of AWS's, and REMEMBERED was
not looked up again. A price that nobody here has is None, and the sum says which lines it lacks. Other
regions are dearer by up to a half.

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
LISTED: Final = "2026-09"
QUOTED: Final = "2026-02"
REMEMBERED: Final = "2025-01"

MILLION: Final = 1_000_000
PRICES: Final[dict[str, tuple[float | None, str]]] = {
    "http_api_million": (1.00, CHECKED),
    "lambda_million": (0.20, LISTED),
    "lambda_gb_second_arm": (0.0000133334, LISTED),
    "lambda_tenant_environment_gb_arm": (0.000133333, LISTED),  # each time one is made, by its memory; of one source
    "snapstart_restore_gb": (0.0001397998, LISTED),
    "snapstart_cache_gb_second": (0.0000015046, LISTED),
    "s3_get_million": (0.40, LISTED),
    "s3_put_million": (5.00, LISTED),
    "s3_gb_month": (0.023, LISTED),
    "dynamodb_write_million": (0.625, LISTED),
    "cloudfront_million": (1.00, LISTED),
    "cloudfront_gb": (0.085, LISTED),
    "kms_key_month": (1.00, QUOTED),
    "kms_million": (3.00, QUOTED),
    "secret_month": (0.40, LISTED),
    "logs_gb": (0.50, LISTED),
    "alarm_month": (0.10, LISTED),
    "metric_month": (0.30, QUOTED),
    "dashboard_month": (3.00, QUOTED),
    "waf_month": (5.00, QUOTED),
    "waf_rule_month": (1.00, QUOTED),
    "waf_million": (0.60, QUOTED),
    "dns_firewall_million": (0.60, REMEMBERED),
    "hosted_zone_month": (0.50, LISTED),
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
MONTH_SECONDS: Final = 30 * 24 * 3600
NEW_ENVIRONMENTS: Final = 0.02  # of the tool calls; docs/scale.md has the simulation


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the bill: `dollars` a month, None where a price is unknown; `fixed` without any traffic; `of` is the
    month of its oldest price."""

    what: str
    dollars: float | None
    of: str
    fixed: bool = False


def item(what: str, *parts: tuple[str, float], fixed: bool = False) -> Item:
    """A line of `parts`, each a price's name and how many of its unit there are."""
    prices = [(*PRICES[name], amount) for name, amount in parts]
    known = [each * amount for each, _, amount in prices if each is not None]
    dollars = sum(known) if len(known) == len(prices) else None
    return Item(what, dollars, min(of for _, of, _ in prices), fixed)


def month(stage: Stage, requests: float, *, keys: int = 3, secrets: int = 2) -> list[Item]:
    """A month's bill of `stage` at `requests` MCP requests a month."""
    memory = {room: size / 1024 for room, size in {**MEMORY, **stage.memory}.items()}  # GB
    calls = requests * CALLS
    millions = requests / MILLION
    sandbox = memory["sandbox-public"]
    return [
        item("HTTP API", ("http_api_million", millions)),
        item("CloudFront requests", ("cloudfront_million", millions)),
        item("CloudFront traffic", ("cloudfront_gb", requests * ANSWER_GB)),
        item("Lambda gateway", ("lambda_million", millions),
             ("lambda_gb_second_arm", requests * GATEWAY_SECONDS * memory["gateway"])),
        item("Lambda sandboxes", ("lambda_million", calls / MILLION),
             ("lambda_gb_second_arm", calls * TOOL_SECONDS * sandbox)),
        item("Lambda new isolated environments",
             ("lambda_tenant_environment_gb_arm", calls * NEW_ENVIRONMENTS * sandbox)),
        item("S3 requests", ("s3_get_million", millions * READS), ("s3_put_million", millions * WRITES)),
        item("DynamoDB", ("dynamodb_write_million", calls * COUNTS / MILLION)),
        item("Logs", ("logs_gb", requests * LOG_GB)),
        item("KMS keys", ("kms_key_month", keys), fixed=True),
        item("Secrets", ("secret_month", secrets), fixed=True),
        item("Alarms, metrics, dashboard", ("alarm_month", 10), ("metric_month", 8), ("dashboard_month", 1),
             fixed=True),
        *([item("SnapStart snapshots kept", ("snapstart_cache_gb_second",
                (memory["gateway"] + memory["control"]) * MONTH_SECONDS), fixed=True)] if stage.snapstart else []),
        *([item("WAF", ("waf_month", 1), ("waf_rule_month", 2), ("waf_million", millions), fixed=True)]
          if stage.waf else []),
    ]  # fmt: skip


def total(items: Iterable[Item]) -> tuple[float, list[str]]:
    """The sum of what is known, and the names of what is not."""
    items = list(items)
    return sum(item.dollars or 0.0 for item in items), [item.what for item in items if item.dollars is None]


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
