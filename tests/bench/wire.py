"""The requests of the bench as API Gateway v2 events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ORIGIN = "https://bench.example.com"
PATH = "/t/acme/bench/mcp"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


def event(body: bytes | str, headers: Mapping[str, str]) -> dict[str, Any]:
    """One POST as the HTTP API sends it to a function."""
    text = body.decode() if isinstance(body, bytes) else body
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": PATH,
        "rawQueryString": "",
        "headers": {"host": "bench.example.com", "content-type": "application/json", **headers},
        "requestContext": {
            "http": {
                "method": "POST",
                "path": PATH,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "bench",
            },
            "stage": "$default",
            "requestId": "bench",
            "domainName": "bench.example.com",
        },
        "body": text,
        "isBase64Encoded": False,
    }


def modern(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A stateless request of 2026-07-28."""
    told = dict(params or {})
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    if subject := told.get("name") or told.get("uri"):
        headers["mcp-name"] = str(subject)
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**told, "_meta": MODERN}}
    return event(json.dumps(message), headers)


def initialize() -> dict[str, Any]:
    """The handshake of 2025-11-25."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return event(json.dumps(message), {"accept": "application/json, text/event-stream"})
