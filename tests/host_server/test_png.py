"""Pictures end where what they show ends."""

from __future__ import annotations

import struct
import zlib

import pytest
from tenantry_cli.host.png import SIGNATURE, trimmed

WHITE, RED = b"\xff\xff\xff", b"\xff\x00\x00"


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(rows: list[bytes], *, colour: int = 2, depth: int = 8, interlaced: int = 0) -> bytes:
    """A picture, five pixels wide, of rows as they are filtered; in two IDATs, as browsers cut them."""
    pixels = zlib.compress(b"".join(rows))
    header = struct.pack(">IIBBBBB", 5, len(rows), depth, colour, 0, 0, interlaced)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", pixels[:9]), chunk(b"IDAT", pixels[9:]), chunk(b"IEND", b""))
    return SIGNATURE + b"".join(parts)


def height(data: bytes) -> int:
    return int.from_bytes(data[20:24])


FIRST = b"\x00" + WHITE * 2 + RED + WHITE * 2
#: A row of white below another, in each of the filters.
EMPTY = [
    b"\x00" + WHITE * 5,
    b"\x01" + WHITE + bytes(12),
    b"\x02" + bytes(15),
    b"\x03" + b"\x80\x80\x80" + bytes(12),
    b"\x04" + bytes(15),
]


@pytest.mark.parametrize("empty", EMPTY, ids=["none", "sub", "up", "average", "paeth"])
def test_what_is_empty_below_is_cut_off_but_for_a_margin(empty: bytes) -> None:
    data = png([FIRST, FIRST, EMPTY[0], *[empty] * 9])
    cut = trimmed(data, 3)
    assert height(cut) == 5
    assert trimmed(cut, 3) == cut
    assert zlib.decompress(cut[cut.index(b"IDAT") + 4 : -16]) == FIRST + FIRST + EMPTY[0] + empty * 2


@pytest.mark.parametrize(
    "data",
    [
        png([FIRST, FIRST]),
        png([FIRST, EMPTY[0], EMPTY[2]]),
        png([EMPTY[0]] * 9),
        png([FIRST, *[EMPTY[0]] * 9], interlaced=1),
        png([FIRST, *[EMPTY[0]] * 9], depth=16),
        png([FIRST, *[EMPTY[0]] * 9], colour=3),
    ],
    ids=["full", "margin", "empty", "interlaced", "deep", "palette"],
)
def test_anything_else_is_left_as_it_is(data: bytes) -> None:
    assert trimmed(data, 3) == data
