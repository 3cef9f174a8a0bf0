"""A widget's picture without the empty page below it.

How high a widget is shows only once it is drawn, and a headless browser is told its window's height before. So the
window is as high as a widget may be, and what stayed empty is cut off: rows of a PNG can be dropped from the end
without decoding the others (PNG specification, 9: a row's filter looks at itself and the row above).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
CHANNELS: Final = {0: 1, 2: 3, 4: 2, 6: 4}  # of a pixel, by colour type; palettes are left alone


def trimmed(data: bytes, margin: int) -> bytes:
    """`data` without its last rows of one colour, but for `margin` of them.

    A picture that is empty altogether, or of a kind that no browser makes (16 bits, a palette, interlaced), is returned
    as it is.
    """
    chunks = list(_chunks(data))
    width, height, depth, colour, *_, interlaced = struct.unpack(">IIBBBBB", dict(chunks)[b"IHDR"])
    if depth != 8 or interlaced or colour not in CHANNELS:
        return data
    pixel = CHANNELS[colour]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    size = 1 + width * pixel
    rows = [raw[at : at + size] for at in range(0, size * height, size)]
    empty = sum(1 for _ in takewhile(lambda row: _plain(row, pixel), reversed(rows)))
    kept = height - max(0, empty - margin)
    if empty == height or kept == height:
        return data
    header = struct.pack(">II", width, kept) + dict(chunks)[b"IHDR"][8:]
    pixels = zlib.compress(b"".join(rows[:kept]), 9)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _plain(row: bytes, pixel: int) -> bool:
    """Whether a filtered row is of one colour, below a row of the same: then nothing differs after its first pixel."""
    if row[0] == 0:  # not filtered
        return row[1 + pixel :] == row[1:-pixel]
    return not any(row[1 + pixel :])


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        yield name, data[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
