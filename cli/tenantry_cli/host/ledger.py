"""What the development authorization server remembers, in a file where it may: who signed in stays signed in when
`platform dev` starts again, as it would with a real server.

The key, the clients, the grants behind refresh tokens and the people that somebody made up are kept; codes live two
minutes and stay in memory. A file that can't be read is begun anew: everybody signs in once more, no more is lost.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from tenantry_cli.host.people import PEOPLE, Person

KEPT_SECONDS = 30 * 86_400  # a refresh token that nobody used for so long is forgotten
CLIENTS = 500  # the newest are kept: each run of an author's tests registers one more
MADE_UP = 20  # people that stay in the list


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person agreed to: behind a code, then behind a refresh token. `expires` in seconds of time.time().

    `expired`: its first token is a dead one. `refreshes`: it comes with a refresh token.
    """

    client_id: str
    redirect_uri: str
    scope: str
    person: Person
    resource: str
    expires: float
    code_challenge: str = ""
    code_challenge_method: str = ""
    expired: bool = False
    refreshes: bool = True

    # authlib's names for it
    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def check_client(self, client: Any) -> bool:
        return bool(self.client_id == client.get_client_id())


class Ledger:
    """`file` is where it is kept between two runs; None: nowhere."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.key = ECKey.generate_key("P-256", {"use": "sig"}, auto_kid=True)
        self.clients: dict[str, Mapping[str, Any]] = {}
        self.codes: dict[str, Grant] = {}
        self.refreshable: dict[str, Grant] = {}
        self.made_up: list[Person] = []
        if file is not None and file.exists():
            with suppress(OSError, ValueError, KeyError, TypeError, JoseError):
                self._read(json.loads(file.read_text("utf-8")))

    @property
    def people(self) -> tuple[Person, ...]:
        """Everybody to choose from."""
        return (*PEOPLE, *self.made_up)

    def met(self, person: Person) -> None:
        """Remember somebody, with what was said of them last."""
        if person not in PEOPLE:
            others = [one for one in self.made_up if one.id != person.id]
            self.made_up = [*others, person][-MADE_UP:]
            self.keep()

    def keep(self) -> None:
        """Write the file, whole or not at all, for nobody else to read."""
        if self._file is None:
            return
        data = {
            "key": self.key.as_dict(private=True),
            "clients": dict(list(self.clients.items())[-CLIENTS:]),
            "refreshable": {token: asdict(grant) for token, grant in self.refreshable.items()},
            "people": [asdict(one) for one in self.made_up],
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(data, out)
        new.replace(self._file)

    def _read(self, data: Mapping[str, Any]) -> None:
        now = time.time()
        key = ECKey.import_key(data["key"])
        grants = {
            token: Grant(**{**grant, "person": Person(**grant["person"])})
            for token, grant in data["refreshable"].items()
            if grant["expires"] > now
        }
        people = [Person(**one) for one in data["people"]]
        self.key, self.clients, self.refreshable, self.made_up = key, dict(data["clients"]), grants, people
