"""Shared libraries lose what no process loads, and nothing else.

The host's libraries run afterwards (test_builder.py, test_zips_speak.py). The arm64 ones can't run here, as no emulator
of that processor is installed: they are read as a dynamic loader would read them.
"""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tenantry_infra import builder, elf

CACHE = Path(__file__).resolve().parents[2] / ".build" / "zips"
LOAD, DYNAMIC = 1, 2  # p_type
ADDRESSES = {4: "HASH", 5: "STRTAB", 6: "SYMTAB", 7: "RELA", 12: "INIT", 13: "FINI", 23: "JMPREL", 25: "INIT_ARRAY",
             26: "FINI_ARRAY", 0x6FFFFEF5: "GNU_HASH", 0x6FFFFFF0: "VERSYM", 0x6FFFFFFE: "VERNEED"}  # fmt: skip
SIZES = {"RELA": 8, "JMPREL": 2, "INIT_ARRAY": 27, "FINI_ARRAY": 28, "STRTAB": 10}


class Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    length: int


class Library:
    """As much of a dynamic loader as there is to a file: its segments and its dynamic table."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        (self.machine,) = struct.unpack_from("<H", data, 18)
        start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
        rows = [elf.SEGMENT.unpack_from(data, start + number * 56) for number in range(count)]
        self.segments = [Segment(row[0], row[2], row[3], row[5]) for row in rows]
        self.table = dict(self._table())

    def at(self, address: int) -> int:
        """Where in the file what is loaded at an address stands."""
        for segment in self.segments:
            if segment.kind == LOAD and segment.address <= address < segment.address + segment.length:
                return segment.offset + address - segment.address
        raise AssertionError(f"nothing in the file is loaded at {address:#x}")

    def _table(self) -> Iterator[tuple[int, int]]:
        (dynamic,) = [segment for segment in self.segments if segment.kind == DYNAMIC]
        for place in range(dynamic.offset, dynamic.offset + dynamic.length, 16):
            tag, value = struct.unpack_from("<QQ", self.data, place)
            if tag:
                yield tag, value

    def exported(self) -> set[str]:
        """The names of defined dynamic symbols, by the hash table that the loader looks them up in."""
        symbols, strings = self.at(self.table[6]), self.at(self.table[5])
        names = set()
        for index in self._hashed():
            name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, symbols + 24 * index)
            if section:
                names.add(self.data[strings + name : self.data.index(b"\0", strings + name)].decode())
        return names

    def _hashed(self) -> Iterator[int]:
        if 0x6FFFFEF5 not in self.table:
            yield from range(1, struct.unpack_from("<2I", self.data, self.at(self.table[4]))[1])
            return
        gnu = self.at(self.table[0x6FFFFEF5])
        buckets, first, words, _ = struct.unpack_from("<4I", self.data, gnu)
        chains = gnu + 16 + 8 * words + 4 * buckets
        for index in filter(None, struct.unpack_from(f"<{buckets}I", self.data, gnu + 16 + 8 * words)):
            ended = 0
            while not ended:
                yield index
                ended = struct.unpack_from("<I", self.data, chains + 4 * (index - first))[0] & 1
                index += 1


def library(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec
    assert spec.origin
    return Path(spec.origin)


NAMES = ("_brotli", "_cffi_backend", "obstore._obstore", "cryptography.hazmat.bindings._rust",
         "pydantic_core._pydantic_core", "jsonschema_rs.jsonschema_rs")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_of_a_library_is_its_beginning_but_for_where_its_sections_were(name: str) -> None:
    whole = library(name).read_bytes()
    kept = elf.cut(whole)
    assert len(kept) < len(whole)
    assert kept[:40] == whole[:40]
    assert kept[48:60] == whole[48:60]
    assert kept[64:] == whole[64 : len(kept)]
    assert kept[40:48] + kept[60:64] == bytes(12)
    assert Library(kept).segments == Library(whole).segments
    assert elf.cut(kept) is kept


@pytest.mark.parametrize("name", ["_brotli", "obstore._obstore"])
def test_a_library_that_was_cut_is_loaded_and_works(name: str, tmp_path: Path) -> None:
    """With what its linker left behind it: 4 MB in each of these."""
    place = tmp_path / library(name).name
    whole = library(name).read_bytes()
    place.write_bytes(elf.cut(whole))
    assert place.stat().st_size < len(whole) - 2_000_000
    script = (
        "import importlib.machinery, importlib.util, sys\n"
        f"loader = importlib.machinery.ExtensionFileLoader({name!r}, {str(place)!r})\n"
        f"module = importlib.util.module_from_spec(importlib.util.spec_from_loader({name!r}, loader))\n"
        "assert module.__file__.startswith(sys.argv[1])\n"
        "loader.exec_module(module)\n"
        "if hasattr(module, 'compress'):\n    assert module.decompress(module.compress(b'ha' * 999)) == b'ha' * 999\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


@pytest.mark.parametrize("room", sorted(builder.RECIPES))
@pytest.mark.parametrize("target", ["lambda", "host"])
def test_everything_that_a_loader_looks_for_is_in_the_libraries_of_a_zip(
    room: str, target: builder.Target, tmp_path: Path
) -> None:
    made = builder.build(room, target, tmp_path, cache=CACHE)
    with zipfile.ZipFile(made.path) as archive:
        libraries = {name: archive.read(name) for name in archive.namelist() if name.endswith(".so")}
    assert libraries
    for name, data in libraries.items():
        found = Library(data)
        assert found.machine == (elf.AARCH64 if target == "lambda" else elf.X86_64), name
        assert struct.unpack_from("<QHH", data[40:48] + data[60:64]) == (0, 0, 0), name
        assert max(segment.offset + segment.length for segment in found.segments) == len(data), name
        for tag, called in ADDRESSES.items():
            if tag in found.table:
                start = found.at(found.table[tag])
                assert start + found.table.get(SIZES.get(called, -1), 1) <= len(data), (name, called)
        assert any(symbol.startswith("PyInit_") for symbol in found.exported()), name


def test_a_library_whose_last_bytes_are_loaded_is_left_whole() -> None:
    """As patchelf leaves one: it puts what it changed into a further segment at the end, behind the symbols."""
    whole = bytearray(library("_cffi_backend").read_bytes())
    (start,) = struct.unpack_from("<Q", whole, 32)
    row = list(elf.SEGMENT.unpack_from(whole, start))
    row[2], row[5] = len(whole) - 16, 16
    whole[start : start + 56] = elf.SEGMENT.pack(*row)
    assert elf.cut(bytes(whole)) == bytes(whole)


def test_a_library_with_a_loaded_section_behind_its_segments_is_left_whole() -> None:
    whole = bytearray(library("_cffi_backend").read_bytes())
    (table,) = struct.unpack_from("<Q", whole, 40)
    row = list(elf.SECTION.unpack_from(whole, table + 64))
    row[2], row[4] = row[2] | elf.ALLOC, len(whole) - int(row[5])
    whole[table + 64 : table + 128] = elf.SECTION.pack(*row)
    assert elf.cut(bytes(whole)) == bytes(whole)


@pytest.mark.parametrize(
    ("at", "byte"),
    [(0, 0), (4, 1), (5, 2), (16, 2), (18, 40), (54, 32), (56, 0), (58, 0)],
    ids=["no ELF", "32 bits", "big-endian", "a program", "another machine", "other headers", "none", "no sections"],
)
def test_a_file_that_is_not_understood_is_left_whole(at: int, byte: int) -> None:
    whole = bytearray(library("_cffi_backend").read_bytes())
    whole[at] = byte
    assert elf.cut(bytes(whole)) == bytes(whole)


def test_a_file_that_ends_before_its_tables_is_left_whole() -> None:
    whole = library("_cffi_backend").read_bytes()
    for length in (5, 30, 100, len(whole) - 100):
        assert elf.cut(whole[:length]) == whole[:length]


@pytest.mark.parametrize("field", [32, 40], ids=["segments", "sections"])
@pytest.mark.parametrize("place", [2**63 - 1, 2**63, 2**64 - 1])
def test_a_table_beyond_all_files_is_no_table(field: int, place: int) -> None:
    whole = bytearray(library("_cffi_backend").read_bytes())
    struct.pack_into("<Q", whole, field, place)
    assert elf.cut(bytes(whole)) == bytes(whole)
