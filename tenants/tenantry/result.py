"""What a tool returns: plain data, text, content blocks, or a `Result` that says which part is for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenantry.content import Content

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """Rows S01 to S03: `structured` is for the model and the widget, `content` too, `meta` for the widget alone.

    Annotate the tool with `-> Result[Animals]`: that is where the output schema comes from. Without `content` the
    structured data also go out as JSON text.
    """

    structured: T | None = None
    content: Content | str | Sequence[Content | str] | None = None
    meta: Mapping[str, Any] | None = None
