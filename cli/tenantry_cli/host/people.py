"""The people of development: nobody real, and enough of them to try a plugin with.

A plugin's user is what a token says: a subject, and where the authorization server tells them a name and an email.
Ada and Ben have both; Cyd has neither, as with servers that tell nothing but a subject. Anybody else is made up on
the spot, and remembered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody to sign in as. `id` is the subject of their tokens."""

    id: str
    name: str = ""
    email: str = ""

    def get_user_id(self) -> str:
        """The subject, as authlib asks for it."""
        return self.id

    @property
    def title(self) -> str:
        """What to call them: by what is known."""
        return self.name or self.email or self.id

    @property
    def told(self) -> str:
        """What else is known of them, in a line."""
        return " · ".join(one for one in (self.email, self.id) if one and one != self.title) or "no name, no email"

    @property
    def initials(self) -> str:
        words = re.findall(r"[^\W_]+", self.title.removeprefix("user-"))
        return "".join(word[0] for word in words[:2]).upper() or "?"

    def claims(self) -> dict[str, str]:
        """What their tokens say of them besides the subject."""
        return {key: value for key, value in (("name", self.name), ("email", self.email)) if value}


ADA = Person("user-ada", "Ada Example", "ada@people.example")  # who asks the examples of a plugin with sign-in
PEOPLE = (
    ADA,
    Person("user-ben", "Ben Example", "ben@people.example"),
    Person("user-cyd"),
)


def person(subject: str = "", email: str = "", name: str = "") -> Person:
    """Somebody new, by what is given of them; the rest is made from it, the same each time.

    `person(email="ann@example.com")` is Ann, user-ann-example-com.
    """
    subject, email, name = subject.strip(), email.strip(), name.strip()
    made = re.sub(r"\W+", "-", email or name).strip("-").lower()
    if email and not (subject or name):
        name = re.split(r"\W", email)[0].title()
    return Person(subject or f"user-{made or 'new'}", name, email)


def found(who: str, known: tuple[Person, ...]) -> Person:
    """The one of `known` with that subject or email; else somebody new with it."""
    for one in known:
        if who in (one.id, one.email):
            return one
    return person(email=who) if "@" in who else person(subject=who)
