"""Packing is deterministic; reading believes nothing that a zip says of itself (row P07)."""

from __future__ import annotations

import io
import os
import stat
import struct
import tempfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import bundle
from tenantry_registry.bundle import MAX_DIRECTORY, MAX_ENTRIES, MAX_VENDOR_ENTRIES, digest, pack, read, unpack
from tenantry_registry.bundle_names import Names
from tenantry_registry.errors import PlatformError


def zipped(*names: str, data: bytes = b"x", **attributes: int) -> bytes:
    """A zip as an honest tool would write it, whatever the names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, b"" if name.endswith("/") else data)
    return buffer.getvalue()


def refused(data: bytes, tmp_path: Path) -> str:
    """The code that `data` is refused with; nothing may have been written."""
    target = tmp_path / "out"
    with pytest.raises(PlatformError) as caught:
        unpack(data, target)
    assert list(tmp_path.iterdir()) == []
    assert caught.value.hint
    return caught.value.code


# -- packing -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "zoo"
    for name, text in {"server.py": "x = 1\n", "widgets/a/index.html": "<p>", "plugin.toml": ""}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_same_folder_is_the_same_bytes_whenever_and_wherever(folder: Path, tmp_path: Path) -> None:
    first = pack(folder)
    copy = tmp_path / "elsewhere"
    for path in sorted(folder.rglob("*"), reverse=True):  # made in another order, with other times and modes
        if path.is_file():
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            target.chmod(0o755)
            os.utime(target, (0, time.time() - 1e6))
    assert pack(copy) == first
    assert digest(first) == digest(pack(folder))


def test_other_content_is_another_digest(folder: Path) -> None:
    before = digest(pack(folder))
    (folder / "server.py").write_text("x = 2\n")
    assert digest(pack(folder)) != before


def test_what_is_not_the_plugin_is_left_out(folder: Path) -> None:
    before = pack(folder)
    for name in (
        "__pycache__/server.pyc",
        "lib/x.pyc",
        ".git/config",
        ".venv/bin/python",
        "web/node_modules/react/index.js",
        ".env",
        ".env.local",
        ".tenantry/cache",
        ".DS_Store",
        "notes.md",
        "drafts/a.txt",
        "data/raw/big.csv",
        ".tenantryignore",
        "tests/test_server.py",
        "lib/test_x.py",
        "conftest.py",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    (folder / ".tenantryignore").write_text("# what nobody needs\n\n*.md\ndrafts/\ndata/raw/*.csv\n")
    assert pack(folder) == before


def test_extra_files_are_added_and_unpacked(folder: Path, tmp_path: Path) -> None:
    data = pack(folder, {"_vendor/six.py": b"six = 6\n"})
    unpack(data, tmp_path / "out")
    assert (tmp_path / "out" / "_vendor" / "six.py").read_bytes() == b"six = 6\n"
    assert sorted(read(data).own) == ["plugin.toml", "server.py", "widgets/a/index.html"]
    assert read(data).size == len("x = 1\n") + len("<p>") + len("six = 6\n")


def test_packing_what_is_not_there_or_not_the_authors_is_refused(folder: Path) -> None:
    for broken, code in ((folder / "server.py", "bundle.folder"), (folder / "nowhere", "bundle.folder")):
        with pytest.raises(PlatformError) as caught:
            pack(broken)
        assert caught.value.code == code
    (folder / "_vendor").mkdir()
    (folder / "_vendor" / "x.py").write_text("")
    with pytest.raises(PlatformError) as caught:
        pack(folder)
    assert caught.value.code == "bundle.reserved"


def test_a_link_inside_the_folder_is_packed_as_its_file_and_one_that_leaves_is_refused(folder: Path) -> None:
    (folder / "alias.py").symlink_to("server.py")
    assert read(pack(folder)).files["alias.py"].read() == b"x = 1\n"
    for target in ("/etc/passwd", "..", "widgets", "missing.py"):
        (folder / "alias.py").unlink()
        (folder / "alias.py").symlink_to(target)
        with pytest.raises(PlatformError) as caught:
            pack(folder)
        assert caught.value.code in {"bundle.link", "bundle.not-regular"}


def test_a_pipe_in_the_folder_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(PlatformError) as caught:
        pack(folder)
    assert caught.value.code == "bundle.not-regular"


def test_a_folder_that_would_be_refused_is_refused_when_packed(folder: Path) -> None:
    (folder / "Server.py").write_text("")
    with pytest.raises(PlatformError) as caught:
        pack(folder)
    assert caught.value.code == "bundle.case-collision"


def test_a_folder_larger_than_any_bundle_is_refused_before_memory_runs_out(folder: Path) -> None:
    for number in range(8):
        with open(folder / f"big{number}", "wb") as file:
            file.truncate(100 * 1024**2)
    with pytest.raises(PlatformError) as caught:
        pack(folder)
    assert caught.value.code == "bundle.extracted-too-large"


# -- what may be unpacked ------------------------------------------------------------------------------------


def test_a_bundle_is_unpacked_whole_with_plain_modes(folder: Path, tmp_path: Path) -> None:
    unpack(pack(folder), tmp_path / "out")
    found = {p.relative_to(tmp_path / "out").as_posix(): p for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert sorted(found) == ["plugin.toml", "server.py", "widgets/a/index.html"]
    assert all(stat.S_IMODE(p.stat().st_mode) & 0o111 == 0 for p in found.values())


def test_an_empty_zip_a_stored_file_and_folder_entries_are_fine(tmp_path: Path) -> None:
    unpack(zipped(), tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []
    large = os.urandom(bundle.PIECE * 2 + 1)
    unpack(zipped("a/", "a/b.bin", data=large), tmp_path / "stored")
    assert (tmp_path / "stored" / "a" / "b.bin").read_bytes() == large


def test_a_folder_that_holds_something_is_not_unpacked_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    unpack(zipped("a"), tmp_path / "out")
    with pytest.raises(PlatformError) as caught:
        unpack(zipped("b"), tmp_path / "out")
    assert caught.value.code == "bundle.target"
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["a"]


NAMES = [
    ("bundle.parent-path", ["../evil.py"]),
    ("bundle.parent-path", ["a/../../evil.py"]),
    ("bundle.absolute-path", ["/etc/evil.py"]),
    ("bundle.absolute-path", ["C:/evil.py"]),
    ("bundle.backslash", ["a\\b.py"]),
    ("bundle.empty-segment", ["a//b.py"]),
    ("bundle.empty-segment", ["./a.py"]),
    ("bundle.empty-segment", [""]),
    ("bundle.white-space", [" a.py"]),
    ("bundle.white-space", ["a.py "]),
    ("bundle.white-space", ["a /b.py"]),
    ("bundle.white-space", ["a\u00a0/b.py"]),
    ("bundle.control-character", ["a\x07.py"]),
    ("bundle.control-character", ["a\x00.py"]),
    ("bundle.duplicate", ["a.py", "a.py"]),
    ("bundle.duplicate", ["a/", "a/"]),
    ("bundle.case-collision", ["Tools.py", "tools.py"]),
    ("bundle.case-collision", ["A/x.py", "a/y.py"]),
    ("bundle.case-collision", ["straße.py", "STRASSE.py"]),
    ("bundle.unicode-collision", ["\u00e9.py", "e\u0301.py"]),
    ("bundle.unicode-collision", ["\u00e9/a.py", "e\u0301/b.py"]),
    ("bundle.file-and-folder", ["a", "a/b"]),
    ("bundle.file-and-folder", ["a/b", "a"]),
    ("bundle.file-and-folder", ["a", "a/"]),
    ("bundle.file-and-folder", ["a/", "a"]),
    ("bundle.too-deep", ["/".join("abcdefghijklmnopqrstu")]),
    ("bundle.name-too-long", ["ü" * 128]),
]


@pytest.mark.row("P07")
@pytest.mark.parametrize(("code", "names"), NAMES, ids=[f"{code}-{names}" for code, names in NAMES])
def test_a_name_that_could_mean_something_else_is_refused(tmp_path: Path, code: str, names: list[str]) -> None:
    with pytest.warns(UserWarning, match="Duplicate") if len(names) != len(set(names)) else nullcontext():
        data = zipped(*names)
    assert refused(data, tmp_path) == code


@pytest.mark.row("P07")
def test_twenty_segments_and_neighbours_of_every_rule_are_allowed(tmp_path: Path) -> None:
    deep = "/".join("abcdefghijklmnopqrst")
    names = [deep, "a..b/..c", "x y/z w.py", ".hidden", "é.py", "a.py", "b/a.py", "ü" * 127]
    unpack(zipped(*names), tmp_path / "out")
    assert sorted(read(zipped(*names)).files) == sorted(names)


TYPES = [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR]


@pytest.mark.row("P07")
@pytest.mark.parametrize("system", [0, 3])
@pytest.mark.parametrize("mode", TYPES)
def test_what_is_no_regular_file_is_refused_whatever_system_wrote_it(tmp_path: Path, mode: int, system: int) -> None:
    data = zipped("a", external_attr=(mode | 0o777) << 16, create_system=system)
    assert refused(data, tmp_path) == "bundle.not-regular"


def test_a_file_that_says_it_is_a_folder_and_a_folder_with_content_are_refused(tmp_path: Path) -> None:
    assert refused(zipped("a", external_attr=0x10), tmp_path) == "bundle.not-regular"
    assert refused(zipped("a/", external_attr=(stat.S_IFREG | 0o644) << 16), tmp_path) == "bundle.not-regular"
    assert refused(patched(zipped("a/"), central={24: 5, 20: 5}), tmp_path) == "bundle.not-regular"


def patched(data: bytes, central: dict[int, int] | None = None, local: dict[int, int] | None = None) -> bytes:
    """The first entry's headers with 32-bit values (16-bit below offset 14) put at offsets."""
    raw = bytearray(data)
    for start, changes in ((raw.index(b"PK\x01\x02"), central or {}), (0, local or {})):
        for offset, value in changes.items():
            struct.pack_into("<H" if offset < 14 else "<L", raw, start + offset, value)
    return bytes(raw)


@pytest.mark.row("P07")
@pytest.mark.parametrize("flag", [0x1, 0x40 | 0x1, 0x2000])
def test_an_encrypted_entry_is_refused(tmp_path: Path, flag: int) -> None:
    assert refused(patched(zipped("a"), central={8: flag}), tmp_path) == "bundle.encrypted"


@pytest.mark.parametrize("method", [1, 12, 14, 93])
def test_a_way_of_compressing_that_is_not_deflate_is_refused(tmp_path: Path, method: int) -> None:
    assert refused(patched(zipped("a"), central={10: method}), tmp_path) == "bundle.method"


@pytest.mark.row("P07")
def test_the_numbers_of_the_authors_part_are_held(tmp_path: Path) -> None:
    assert (
        refused(zipped(*(f"{n}.py" for n in range(MAX_ENTRIES + 1)), data=b""), tmp_path) == "bundle.too-many-entries"
    )
    assert len(read(zipped(*(f"{n}.py" for n in range(MAX_ENTRIES)), data=b"")).files) == MAX_ENTRIES
    mib = 1024**2
    assert refused(patched(zipped("a"), central={24: 100 * mib + 1}), tmp_path) == "bundle.entry-too-large"
    assert refused(patched(zipped("a"), central={20: 100_000_001}), tmp_path) == "bundle.too-large"
    six = with_sizes([100 * mib] * 5 + [12 * mib + 1])
    assert refused(six, tmp_path) == "bundle.extracted-too-large"
    assert len(read(with_sizes([100 * mib] * 5 + [12 * mib])).files) == 6


def test_the_numbers_of_the_vendored_part_are_its_own(tmp_path: Path) -> None:
    names = [f"_vendor/{n}.py" for n in range(MAX_VENDOR_ENTRIES)]
    assert len(read(zipped("server.py", *names, data=b"")).files) == MAX_VENDOR_ENTRIES + 1
    data = zipped(*names, "_vendor/one-more.py", data=b"")
    assert refused(data, tmp_path) == "bundle.vendor-too-many-entries"
    mib = 1024**2
    assert refused(with_sizes([100 * mib, 100 * mib, 51 * mib], "_vendor/"), tmp_path) == "bundle.vendor-too-large"


def with_sizes(sizes: list[int], prefix: str = "") -> bytes:
    """A zip whose directory claims these sizes."""
    raw = bytearray(zipped(*(f"{prefix}{n}" for n in range(len(sizes)))))
    at = -1
    for size in sizes:
        at = raw.index(b"PK\x01\x02", at + 1)
        struct.pack_into("<L", raw, at + 24, size)
    return bytes(raw)


# -- what a zip says of itself -------------------------------------------------------------------------------


def deflated(content: bytes, claimed: int | None = None, crc: int | None = None, tail: bytes = b"") -> bytes:
    """A zip of one entry `a` that claims another size or checksum than its content has."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw = deflate.compress(content) + deflate.flush() + tail
    size, check = len(content) if claimed is None else claimed, zlib.crc32(content) if crc is None else crc
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, 0, 8, 0, 33, check, len(raw), size, 1, 0) + b"a" + raw
    central = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 8, 0, 33, check, len(raw), size, 1, 0, 0, 0, 0, 0, 0)
    central += b"a"
    return local + central + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(central), len(local), 0)


@pytest.mark.row("P07")
def test_a_bomb_is_stopped_by_its_real_size_however_small_it_says_it_is(tmp_path: Path) -> None:
    bomb = deflated(bytes(200_000_000), claimed=10, crc=zlib.crc32(bytes(10)))
    assert len(bomb) < 200_000
    begun = time.process_time()
    assert refused(bomb, tmp_path) == "bundle.size"
    assert time.process_time() - begun < 0.2  # the first piece was enough


def test_sizes_and_checksums_that_are_not_true_are_refused(tmp_path: Path) -> None:
    assert refused(deflated(b"abc", claimed=4), tmp_path) == "bundle.size"
    assert refused(deflated(b"abc", crc=1), tmp_path) == "bundle.corrupt"
    assert refused(deflated(b"abc", tail=b"more"), tmp_path) == "bundle.corrupt"
    assert refused(patched(zipped("a", data=b"abc"), central={24: 2}), tmp_path) == "bundle.size"


def test_content_that_can_not_be_inflated_is_refused(tmp_path: Path) -> None:
    good = deflated(b"abc" * 1000)
    broken = bytearray(good)
    broken[31] ^= 0xFF
    assert refused(bytes(broken), tmp_path) == "bundle.corrupt"
    cut = deflated(os.urandom(1000))
    short = struct.unpack_from("<L", cut, cut.index(b"PK\x01\x02") + 20)[0] - 10
    assert refused(patched(cut, central={20: short}), tmp_path) == "bundle.corrupt"


Change = Callable[[bytes], bytes]


def end(**values: int) -> Change:
    """Puts values into the end record."""
    at = {"disk": (4, "<H"), "here": (8, "<H"), "count": (10, "<H"), "size": (12, "<L"), "offset": (16, "<L")}

    def change(data: bytes) -> bytes:
        raw = bytearray(data)
        for name, value in values.items():
            offset, form = at[name]
            struct.pack_into(form, raw, len(raw) - 22 + offset, value)
        return bytes(raw)

    return change


FORMS: list[tuple[str, Change]] = [
    ("bundle.not-a-zip", lambda data: b""),
    ("bundle.not-a-zip", lambda data: b"PK"),
    ("bundle.not-a-zip", lambda data: b"x" * 100),
    ("bundle.not-a-zip", lambda data: data + b"\0"),
    ("bundle.not-a-zip", lambda data: data[:-2] + b"\5\0hello"),
    ("bundle.not-a-zip", lambda data: b"#!/bin/sh\n" + data),
    ("bundle.not-a-zip", end(disk=1)),
    ("bundle.not-a-zip", end(here=0)),
    ("bundle.not-a-zip", end(here=2, count=2)),
    ("bundle.not-a-zip", end(size=10)),
    ("bundle.zip64", end(count=0xFFFF)),
    ("bundle.zip64", end(offset=0xFFFFFFFF)),
    ("bundle.zip64", lambda data: data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:]),
    ("bundle.too-many-entries", end(size=MAX_DIRECTORY + 1)),
    ("bundle.not-a-zip", lambda data: b"x" + data[1:]),
    ("bundle.corrupt", lambda data: data[:30] + b"b" + data[31:]),
    ("bundle.corrupt", lambda data: patched(data, central={42: 2})),
    ("bundle.corrupt", lambda data: patched(data, central={20: 5000})),
    ("bundle.not-a-zip", lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x03")),
    ("bundle.not-a-zip", lambda data: patched(data, central={6: 99})),
]


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_a_zip_that_two_readers_could_read_differently_is_refused(tmp_path: Path, number: int) -> None:
    code, change = FORMS[number]
    assert refused(change(zipped("a")), tmp_path) == code


def test_entries_that_share_bytes_are_refused(tmp_path: Path) -> None:
    raw = bytearray(zipped("a", "b"))
    second = raw.index(b"PK\x01\x02", raw.index(b"PK\x01\x02") + 1)
    struct.pack_into("<L", raw, second + 42, 0)
    assert refused(bytes(raw), tmp_path) == "bundle.corrupt"


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    data = zipped("aé").replace("é".encode(), b"\xff\xfe")
    assert refused(data, tmp_path) == "bundle.not-a-zip"


def test_a_name_in_the_old_code_page_is_read_as_such() -> None:
    raw = bytearray(zipped("ab"))
    for at in (raw.index(b"ab"), raw.rindex(b"ab")):
        raw[at : at + 2] = b"a\x81"  # ü in code page 437
    assert list(read(bytes(raw)).files) == ["aü"]


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_a_zip_with_any_bytes_changed_is_refused_or_read_but_never_breaks_the_reader(junk: bytes, at: int) -> None:
    data = bytearray(zipped("a/", "a/b", "c", data=b"hello" * 9))
    at %= len(data)
    data[at : at + len(junk)] = junk
    with suppress(PlatformError):
        for entry in read(bytes(data)).files.values():
            assert len(entry.read()) == entry.size


segment = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


@given(st.lists(st.lists(segment, min_size=1, max_size=3).map("/".join), max_size=6))
def test_names_that_are_accepted_together_are_apart_on_every_file_system(paths: list[str]) -> None:
    names = Names()
    try:
        for path in paths:
            names.add(path)
    except PlatformError:
        return
    folded = [unicodedata.normalize("NFC", path.casefold()) for path in paths]
    assert len(folded) == len(set(folded))
    for one in folded:
        assert not any(
            other.startswith(one.removesuffix("/") + "/") and other != one for other in folded if not one.endswith("/")
        )


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,3}\.py", fullmatch=True), st.binary(max_size=300), max_size=8
    )
)
def test_what_is_packed_is_what_is_read(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        try:
            for name, content in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
        except OSError:
            return  # a.py and a.py/b.py
        found = {path: entry.read() for path, entry in read(pack(root)).files.items()}
    assert found == files
