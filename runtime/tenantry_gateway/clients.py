"""Who the client is, as far as it says: what it may be asked, and which kind of host it is.

Its kind comes from `openai/*` keys of `_meta`, clientInfo, the note sealed into its session id, or User-Agent (the
table is registry's hosts.py). It changes presentation only, never what is allowed: all of it can be forged (row M07).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tenantry_registry import hosts

from tenantry_gateway.request import Request
from tenantry_gateway.revisions import CAPABILITIES_KEY, CLIENT_KEY, HANDSHAKE
from tenantry_gateway.wire import Message

NOTE_CHARACTERS: Final = 200  # of a client's name, version or locale in a note: a header stays small


class Client(NamedTuple):
    """The client of one request. `kind` is hosts.py's word for it, "" where it can't be told."""

    kind: str = ""
    info: Mapping[str, Any] = {}
    capabilities: Mapping[str, Any] = {}
    locale: str = ""

    def may(self, method: str) -> bool:
        """Whether it declared that it answers `method` (elicitation/create, sampling/createMessage, roots/list)."""
        return method.partition("/")[0] in self.capabilities


def recognise(request: Request, message: Message, note: Mapping[str, Any]) -> Client:
    """The client behind `message`. `note` is what `remember` sealed at initialize, or empty."""
    meta = message.meta
    if message.method == "initialize":
        info, capabilities = message.params.get("clientInfo"), message.params.get("capabilities")
    elif message.era == HANDSHAKE:
        info, capabilities = note.get("info"), note.get("capabilities")
    else:
        info, capabilities = meta.get(CLIENT_KEY), meta.get(CAPABILITIES_KEY)
    info = info if isinstance(info, dict) else {}
    openai = any(key.startswith("openai/") for key in meta)
    kind = hosts.recognise(str(info.get("name", "")), "", openai)
    kind = kind or note.get("kind") or hosts.recognise("", request.headers.get("user-agent", ""))
    locale = meta.get("openai/locale") or meta.get("webplus/i18n") or note.get("locale")
    return Client(
        kind, info, capabilities if isinstance(capabilities, dict) else {}, locale if isinstance(locale, str) else ""
    )


def remember(client: Client, revision: str) -> dict[str, Any]:
    """What only initialize says, small enough for a header: the rest of a 2025 session repeats none of it."""
    return {
        "kind": client.kind,
        "revision": revision,
        "locale": client.locale[:NOTE_CHARACTERS],
        "info": {key: str(client.info[key])[:NOTE_CHARACTERS] for key in ("name", "version") if key in client.info},
        "capabilities": _outline(client.capabilities),
    }


def _outline(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The capabilities that decide anything here, without what else a client may have written into them."""
    kept: dict[str, Any] = {}
    for key, inner in (("elicitation", ("form", "url")), ("sampling", ("tools", "context")), ("roots", ())):
        value = capabilities.get(key)
        if isinstance(value, dict):
            kept[key] = {name: {} for name in inner if name in value}
    return kept
