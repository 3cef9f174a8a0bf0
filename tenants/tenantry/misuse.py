"""Calling a decorator wrongly, explained: what Python would say as a bare TypeError, with place and cure."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tenantry import signature, source
from tenantry.errors import PluginError

M = TypeVar("M", bound=Callable[..., Any])

HINTS = ("read_only", "destructive", "open_world")


def explained(method: M) -> M:
    """A decorator method of Plugin whose wrong calls raise PluginError."""
    name = method.__name__
    expected = inspect.signature(method)
    options = [parameter for parameter in expected.parameters if parameter not in {"self", "function"}]

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **given: Any) -> Any:
        unknown = next((option for option in given if option not in options), None)
        if unknown is not None:
            import difflib

            close = difflib.get_close_matches(unknown, options, 1)
            hint = f"Do you mean {close[0]}?" if close else f"It has {', '.join(options)}."
            raise PluginError(f"{name}() has no option {unknown}.", hint)
        missing = [hint for hint in HINTS if hint in options and hint not in given]
        if missing and not args:
            return _refuse(missing)
        if missing and len(args) == 1 and signature.is_function(args[0]):
            return _refuse(missing)(args[0])
        try:
            expected.bind(self, *args, **given)
        except TypeError as error:
            raise PluginError(f"{name}(): {error}.") from None
        return method(self, *args, **given)

    return wrapper  # type: ignore[return-value]


def _refuse(missing: list[str]) -> Callable[[Any], Any]:
    def refuse(function: Any) -> Any:
        place = source.of(function) if signature.is_function(function) else None
        raise PluginError(
            f"{getattr(function, '__name__', function)}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
            "not set.",
            "Hosts refuse a plugin that leaves a hint out: say True or False.",
            code="annotations_required",
            source=place,
        )

    return refuse
