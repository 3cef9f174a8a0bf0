"""Calls the tools as a host does, in this process: run `pytest`. Tests stay at home, no release has them."""

from __future__ import annotations

from tenantry.testing import Client, load

client = Client(load(__file__))


def test_dice_fall_between_one_and_their_sides() -> None:
    roll = client.call("roll_dice", count=5, sides=8).structured
    assert len(roll["dice"]) == 5
    assert all(1 <= value <= 8 for value in roll["dice"])
    assert roll["total"] == sum(roll["dice"])


def test_too_many_dice_are_refused_in_words_for_the_model() -> None:
    refused = client.call("roll_dice", count=99)
    assert refused.is_error
    assert "count" in refused.text
