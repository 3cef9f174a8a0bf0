"""Which method means what in which era: one table, and a missing row is the gate (-32601)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tenantry_gateway import calls, reads, statics
from tenantry_gateway.revisions import HANDSHAKE, STATELESS
from tenantry_gateway.turn import Handler

METERED: Final = frozenset({"tools/call", "prompts/get", "completion/complete", "resources/read"})  # usage.py's rows
METHODS: Final[Mapping[tuple[str, str], Handler]] = {
    (HANDSHAKE, "initialize"): statics.initialize,
    (HANDSHAKE, "ping"): statics.empty,
    (HANDSHAKE, "logging/setLevel"): statics.set_level,
    (HANDSHAKE, "tools/list"): statics.listed,
    (HANDSHAKE, "tools/call"): calls.call_tool,
    (HANDSHAKE, "resources/list"): statics.listed,
    (HANDSHAKE, "resources/templates/list"): statics.listed,
    (HANDSHAKE, "resources/read"): reads.read,
    (HANDSHAKE, "resources/subscribe"): statics.subscribe,
    (HANDSHAKE, "resources/unsubscribe"): statics.subscribe,
    (HANDSHAKE, "prompts/list"): statics.listed,
    (HANDSHAKE, "prompts/get"): calls.get_prompt,
    (HANDSHAKE, "completion/complete"): calls.complete,
    (STATELESS, "server/discover"): statics.discover,
    (STATELESS, "tools/list"): statics.listed,
    (STATELESS, "tools/call"): calls.call_tool,
    (STATELESS, "resources/list"): statics.listed,
    (STATELESS, "resources/templates/list"): statics.listed,
    (STATELESS, "resources/read"): reads.read,
    (STATELESS, "prompts/list"): statics.listed,
    (STATELESS, "prompts/get"): calls.get_prompt,
    (STATELESS, "completion/complete"): calls.complete,
}
