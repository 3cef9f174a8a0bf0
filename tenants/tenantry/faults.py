"""What is wrong with some data, in the words that a model and a user read."""

from __future__ import annotations

from pydantic import ValidationError

REPORTED = 10  # faults named in one answer: enough to mend a call, short enough to read


def faults(error: ValidationError) -> list[str]:
    """A line for each fault, with its place: "items.0.name: Field required"."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}".removeprefix(": ") for fault in found]
    return lines[:REPORTED] + ([f"and {len(lines) - REPORTED} more"] if len(lines) > REPORTED else [])
