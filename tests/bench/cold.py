"""One fresh process: to its first tools/list through the real handler, or through a bare route with the same bytes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench import wire


def gateway() -> str:
    from tenantry_gateway.on_lambda import handler

    response = handler(wire.modern("tools/list"), None)
    assert response["statusCode"] == 200, response
    return str(response["body"])


def bare(body: str) -> str:
    from bench.bare import handler_for

    response: dict[str, Any] = handler_for(body.encode())(wire.modern("tools/list"), None)
    assert response["statusCode"] == 200
    return str(response["body"])


if __name__ == "__main__":
    answer = gateway() if sys.argv[1] == "gateway" else bare(sys.stdin.read())
    status = Path("/proc/self/status").read_text()  # getrusage would count the process that started this one
    peak = int(status.partition("VmHWM:")[2].split()[0])
    print(json.dumps({"cpu_ms": 1000 * time.process_time(), "rss_mb": peak / 1024, "body": answer}))
