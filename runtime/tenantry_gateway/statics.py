"""The methods that are answered from the release itself, without tenant code."""

from __future__ import annotations

from tenantry_gateway import notices
from tenantry_gateway.clients import remember
from tenantry_gateway.edition import supported
from tenantry_gateway.turn import Desk, Reply, Turn
from tenantry_gateway.wire import INVALID_PARAMS, METHOD_NOT_FOUND, Refusal

SESSION_SECONDS = 30 * 86_400  # that a note is believed; hosts keep a connection's session for weeks


async def initialize(desk: Desk, turn: Turn) -> Reply:
    """The handshake: our revision, and a sealed note of what is said only here."""
    asked = turn.message.params.get("protocolVersion")
    if not isinstance(asked, str):
        raise Refusal(INVALID_PARAMS, "params.protocolVersion must be a string.")
    revision = supported(asked)
    note = desk.seal.close("session", turn.bound, remember(turn.client, revision), seconds=SESSION_SECONDS)
    return Reply(turn.face.initialize(revision), session=note)


async def discover(desk: Desk, turn: Turn) -> Reply:
    return Reply(turn.face.discover())


async def empty(desk: Desk, turn: Turn) -> Reply:
    """ping, and what has no effect on a stateless server."""
    return Reply(turn.face.empty(turn.message.era))


async def set_level(desk: Desk, turn: Turn) -> Reply:
    """logging/setLevel: checked; nothing keeps it, because there is no session to keep it in."""
    notices.check_level(turn.message.params.get("level"))
    return Reply(turn.face.empty(turn.message.era))


async def subscribe(desk: Desk, turn: Turn) -> Reply:
    """resources/subscribe and unsubscribe, where the plugin says it takes them: nothing is ever sent afterwards."""
    if not turn.edition.capabilities(turn.message.era).get("resources", {}).get("subscribe"):
        raise Refusal(METHOD_NOT_FOUND, "This server has no subscriptions.")
    if not isinstance(turn.message.params.get("uri"), str):
        raise Refusal(INVALID_PARAMS, "params.uri must be a string.")
    return Reply(turn.face.empty(turn.message.era))


async def listed(desk: Desk, turn: Turn) -> Reply:
    """tools/list, resources/list, resources/templates/list, prompts/list."""
    return Reply(turn.face.page(turn.message.era, turn.message.method, turn.message.params.get("cursor")))
