"""A function's cold start without garbage collections: nothing that a module makes while it is loaded is garbage.

Python's collector does not know that, and walks all of it again and again while it grows: that was 7 % of the
gateway's cold start. What was loaded is then set apart for good (`gc.freeze`), so that no later collection walks it
either; under SnapStart the pages it lies on are then not even fetched for that.

    with loading():
        from mangum import Mangum

For the same reason the values that a cold list meets are named tuples: a frozen dataclass compiles six methods when its
module is loaded, which is 0.5 ms each.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Collect no garbage inside, and never what is alive at the end. Does nothing outside a Lambda function."""
    if not os.environ.get("AWS_LAMBDA_RUNTIME_API"):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
