from __future__ import annotations

import random

import pytest
from tenantry_registry.media import TYPES, UNKNOWN, decode, encode, media

TEXT = b"const a = 1;\n" * 500


@pytest.mark.parametrize(
    ("path", "type_"),
    [
        ("a/b.woff2", "font/woff2"),
        ("x.webp", "image/webp"),
        ("x.mjs", "text/javascript; charset=utf-8"),
        ("x.wasm", "application/wasm"),
        ("x.js.map", "application/json"),
        ("x.avif", "image/avif"),
        ("X.PNG", "image/png"),
    ],
)
def test_types_come_from_a_table_of_our_own(path: str, type_: str) -> None:
    assert media(path).type == type_


def test_an_unknown_ending_is_plain_bytes() -> None:
    assert media("a.what") is UNKNOWN
    assert media("Makefile") is UNKNOWN


def test_documents_that_could_run_scripts_are_sandboxed() -> None:
    assert {ending for ending, kind in TYPES.items() if kind.sandbox} == {"html", "htm", "svg", "xhtml", "xml"}


@pytest.mark.parametrize(("path", "encoding"), [("a.js", "br"), ("a.json", "gzip"), ("a.png", "")])
def test_the_encoding_follows_the_type_and_can_be_undone(path: str, encoding: str) -> None:
    stored, chosen = encode(TEXT, media(path))
    assert chosen == encoding
    assert (len(stored) < len(TEXT)) == bool(encoding)
    assert decode(stored, chosen) == TEXT


def test_equal_files_are_stored_as_equal_bytes() -> None:
    assert encode(TEXT, media("a.json")) == encode(TEXT, media("b.json"))


def test_what_is_short_or_does_not_shrink_stays_plain() -> None:
    assert encode(b"x" * 1000, media("a.js")) == (b"x" * 1000, "")
    noise = random.Random(7).randbytes(4000)
    assert encode(noise, media("a.js")) == (noise, "")
