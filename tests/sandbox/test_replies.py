"""What a sandbox says, read: anything may come, and whoever reads it serves others too."""

from __future__ import annotations

import json

import pytest
from tenantry_registry.runner_wire import PARTS, WHOLE_BYTES, decode, read
from tenantry_registry.runners import SandboxError

SAID = b'{"protocol":1,"result":{"got":%s}}'


def test_a_reply_is_read() -> None:
    assert decode(SAID % b'[1,2.5,"\\u00fc"]') == {"protocol": 1, "result": {"got": [1, 2.5, "ü"]}}


@pytest.mark.parametrize("got", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"'x'", b"\xff", b"[" * 5_000, b""])
def test_what_json_has_not_is_no_reply(got: bytes) -> None:
    assert read(SAID % got) is None
    with pytest.raises(SandboxError) as refused:
        decode(SAID % got)
    assert refused.value.code == "sandbox.crashed"


@pytest.mark.parametrize(
    "got", [b"[%s0]" % (b"{}," * PARTS), b"[%s0]" % (b"[]," * PARTS), b'"%s"' % (b"x" * WHOLE_BYTES)]
)
def test_what_would_keep_the_reader_busy_is_not_read(got: bytes) -> None:
    assert json.loads(SAID % got), "JSON it is"
    with pytest.raises(SandboxError) as refused:
        decode(SAID % got)
    assert refused.value.code == "sandbox.too-large"
