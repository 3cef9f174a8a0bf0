"""The bundle: the zip that an author uploads, packed so that the same folder is the same bytes, and read with distrust.

`pack` walks a folder; `read` checks a zip's headers against every rule below and gives its files; `unpack` writes them.
Nothing is trusted that the zip says of itself: entries are inflated by real size, checked against their declared size
and checksum, and land in a folder only when all of them are in order. `zipfile.extractall` is never used (it renames
what it does not like). The author's part answers to the rules for upload archives (row P07); what the platform vendors
lies under `_vendor/` and has limits of its own. A zip's form is strict, so that no two readers see different files: no
comment, nothing in front, no ZIP64, no overlap, the same name in both headers.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from tenantry_registry.bundle_names import Names
from tenantry_registry.errors import PlatformError

MAX_ARCHIVE = 100_000_000  # compressed bytes of the author's part (P07)
MAX_ENTRIES = 5_000  # of the author's part (P07)
MAX_EXTRACTED = 512 * 1024**2  # bytes of the author's part (P07)
MAX_ENTRY = 100 * 1024**2  # bytes of one entry (P07)
VENDOR = "_vendor/"  # dependencies that the platform put there
MAX_VENDOR_ENTRIES = 20_000  # numpy, pandas and scipy together have 6,000
MAX_VENDOR_EXTRACTED = 250 * 1024**2  # Lambda's own limit for unzipped code
MAX_DIRECTORY = 8 * 1024**2  # bytes of the zip's central directory: 25,000 entries with long names
PIECE = 256 * 1024  # bytes inflated at a time

IGNORED = frozenset(
    {"__pycache__", ".git", ".venv", "node_modules", ".env", ".tenantry", ".tenantryignore", ".DS_Store"}
)
TESTS = ("tests", "test_*.py", "conftest.py")  # an author's tests: they run at home, and would make a release of a save
IGNORE_FILE = ".tenantryignore"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date a zip can hold: none of ours says when it was made
END = struct.Struct("<4s4H2LH")  # the end of the central directory
LOCAL = struct.Struct("<4s5H3L2H")  # the header in front of an entry


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a bundle, inflated when asked for. `size` in bytes, as declared; `pieces` holds it to that."""

    path: str
    size: int
    crc: int
    method: int
    raw: memoryview = field(repr=False)

    def pieces(self) -> Iterator[bytes]:
        """The content, piece by piece. Raises: PlatformError `bundle.corrupt`, `bundle.size`."""
        size, crc = 0, 0
        for piece in self._inflate():
            size, crc = size + len(piece), zlib.crc32(piece, crc)
            if size > self.size:
                raise _refuse("bundle.size", f"{self.path} is larger than it says.")
            yield piece
        if size != self.size:
            raise _refuse("bundle.size", f"{self.path} is smaller than it says.")
        if crc != self.crc:
            raise _refuse("bundle.corrupt", f"{self.path} does not match its checksum.")

    def read(self) -> bytes:
        """The whole content. Raises: as `pieces`."""
        return b"".join(self.pieces())

    def _inflate(self) -> Iterator[bytes]:
        if self.method == zipfile.ZIP_STORED:
            for start in range(0, len(self.raw), PIECE):
                yield bytes(self.raw[start : start + PIECE])
            return
        inflating = zlib.decompressobj(-zlib.MAX_WBITS)
        rest: bytes | memoryview = self.raw
        try:
            while not inflating.eof and (rest or inflating.unconsumed_tail):
                yield inflating.decompress(rest, PIECE)
                rest = inflating.unconsumed_tail
        except zlib.error as error:
            raise _refuse("bundle.corrupt", f"{self.path} can not be inflated.") from error
        if not inflating.eof or inflating.unused_data:
            raise _refuse("bundle.corrupt", f"{self.path} does not end where it should.")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A checked zip: its files by path, in the zip's order. `size` of all of them, inflated."""

    files: Mapping[str, Entry]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files.values())

    @property
    def own(self) -> dict[str, Entry]:
        """The author's part: everything but `_vendor/`."""
        return {path: entry for path, entry in self.files.items() if not path.startswith(VENDOR)}


def digest(data: bytes) -> str:
    """The name of a release: the sha256 of its bundle, 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def pack(folder: Path, extra: Mapping[str, bytes] | None = None) -> bytes:
    """The folder as a bundle; `extra` adds files (vendored ones under `_vendor/`) or replaces them.

    Left out: IGNORED names, TESTS, `.env.*`, compiled Python, and what `.tenantryignore` lists (one glob a line; a
    pattern with a slash is matched against the path, another against every name on it).

    Raises: PlatformError `bundle.folder`, `bundle.link`, `bundle.reserved`, and all that `read` raises.
    """
    if not folder.is_dir():
        raise _refuse("bundle.folder", f"{folder.name} is not a folder.")
    contents: dict[str, Path | bytes] = dict(_walk(folder))
    if any(path.startswith(VENDOR) for path in contents):
        raise _refuse(
            "bundle.reserved", "The folder _vendor is the platform's: dependencies are put there.", "Rename it."
        )
    contents |= extra or {}
    total = sum(len(c) if isinstance(c, bytes) else c.stat().st_size for c in contents.values())
    if total > MAX_EXTRACTED + MAX_VENDOR_EXTRACTED:  # before memory runs out; `read` words the exact rules
        raise _refuse("bundle.extracted-too-large", f"The folder holds {total} bytes.", "Leave data out.")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=False, compresslevel=6) as archive:
        for path, content in sorted(contents.items()):
            info = zipfile.ZipInfo(path, EPOCH)
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content if isinstance(content, bytes) else content.read_bytes())
    packed = buffer.getvalue()
    read(packed)
    return packed


def read(data: bytes) -> Bundle:
    """The files of a zip whose headers obey every rule. Contents are checked when they are read.

    Raises: PlatformError `bundle.*`, one code a rule.
    """
    count = _check_form(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, struct.error, OverflowError) as error:
        raise _refuse("bundle.not-a-zip", "The bundle's directory can not be read.") from error
    if len(infos) != count:
        raise _refuse("bundle.not-a-zip", "The bundle's end record does not count its entries.")
    _check_sums(infos)
    names, files = Names(), {}
    for info in infos:
        names.add(info.orig_filename)
        _check_type(info)
    for info, raw in _ranges(data, infos):
        if not info.filename.endswith("/"):
            files[info.filename] = Entry(info.filename, info.file_size, info.CRC, info.compress_type, raw)
    return Bundle({info.filename: files[info.filename] for info in infos if info.filename in files})


def unpack(data: bytes, folder: Path) -> None:
    """Write the bundle's files to `folder`, which is made; all of them or none. Modes are 0644 and 0755.

    Raises: PlatformError `bundle.*`; `bundle.target` where `folder` already holds something.
    """
    bundle = read(data)
    if folder.exists() and any(folder.iterdir()):
        raise _refuse("bundle.target", "The folder to unpack to is not empty.")
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    draft.mkdir(parents=True)
    try:
        for path, entry in bundle.files.items():
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as file:
                for piece in entry.pieces():
                    file.write(piece)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft)
        raise


def _check_form(data: bytes) -> int:
    """One end record, at the very end; the directory right before it; nothing before the first entry.

    Returns how many entries there are said to be."""
    if len(data) < END.size or data[-END.size :][:4] != b"PK\x05\x06":
        raise _refuse("bundle.not-a-zip", "The bundle is not a zip, or something follows its end.")
    _, disk, first, here, count, size, offset, comment = END.unpack(data[-END.size :])
    end = len(data) - END.size
    if (
        0xFFFF in (disk, first, here, count)
        or 0xFFFFFFFF in (size, offset)
        or data[end - 20 : end - 16] == b"PK\x06\x07"
    ):
        raise _refuse("bundle.zip64", "The bundle is a ZIP64 file.", "Nothing that may be published needs it.")
    if size > MAX_DIRECTORY:
        raise _refuse("bundle.too-many-entries", "The bundle's directory is too long.")
    if disk or first or comment or here != count or offset + size != end:
        raise _refuse("bundle.not-a-zip", "The bundle's end record does not fit its directory.")
    if not data.startswith(b"PK\x03\x04") and count:
        raise _refuse("bundle.not-a-zip", "Something stands in front of the bundle.")
    return int(count)


def _check_sums(infos: list[zipfile.ZipInfo]) -> None:
    vendored = [info for info in infos if info.orig_filename.startswith(VENDOR)]
    own = [info for info in infos if not info.orig_filename.startswith(VENDOR)]
    if len(own) > MAX_ENTRIES:
        raise _refuse(
            "bundle.too-many-entries", f"The bundle has {len(own)} entries; at most {MAX_ENTRIES} are allowed."
        )
    if len(vendored) > MAX_VENDOR_ENTRIES:
        raise _refuse(
            "bundle.vendor-too-many-entries", f"The dependencies have {len(vendored)} files.", "Depend on less."
        )
    if sum(info.compress_size for info in own) > MAX_ARCHIVE:
        raise _refuse(
            "bundle.too-large", f"The bundle is larger than {MAX_ARCHIVE} bytes compressed.", "Leave data out."
        )
    for info in infos:
        if info.file_size > MAX_ENTRY:
            raise _refuse(
                "bundle.entry-too-large", f"{info.filename[:80]!r} has {info.file_size} bytes.", "At most 100 MiB."
            )
    if sum(info.file_size for info in own) > MAX_EXTRACTED:
        raise _refuse("bundle.extracted-too-large", "The bundle is larger than 512 MiB extracted.", "Leave data out.")
    if sum(info.file_size for info in vendored) > MAX_VENDOR_EXTRACTED:
        raise _refuse(
            "bundle.vendor-too-large", "The dependencies are larger than 250 MiB extracted.", "Depend on less."
        )


def _check_type(info: zipfile.ZipInfo) -> None:
    name, mode = info.filename, info.external_attr >> 16
    kind = stat.S_IFMT(mode)
    folder = name.endswith("/")
    allowed = {0, stat.S_IFDIR} if folder else {0, stat.S_IFREG}
    if kind not in allowed or (not folder and info.external_attr & 0x10) or (folder and info.file_size):
        raise _refuse(
            "bundle.not-regular", f"{name[:80]!r} is neither a file nor a folder.", "Links can not be published."
        )
    if info.flag_bits & 0x2041:  # encrypted, strongly encrypted, masked headers
        raise _refuse("bundle.encrypted", f"{name[:80]!r} is encrypted.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refuse("bundle.method", f"{name[:80]!r} is compressed by method {info.compress_type}.", "Use deflate.")


def _ranges(data: bytes, infos: list[zipfile.ZipInfo]) -> Iterator[tuple[zipfile.ZipInfo, memoryview]]:
    """Each entry with its compressed bytes; the header in front of them must tell the same name."""
    view, end = memoryview(data), 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        start = info.header_offset
        header = data[start : start + LOCAL.size]
        if start < end or len(header) < LOCAL.size or header[:4] != b"PK\x03\x04":
            raise _refuse("bundle.corrupt", f"{info.filename[:80]!r} overlaps another entry, or has no header.")
        *_, name_length, extra_length = LOCAL.unpack(header)
        begin = start + LOCAL.size + name_length + extra_length
        end = begin + info.compress_size
        name = data[start + LOCAL.size : start + LOCAL.size + name_length]
        if name != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437") or end > len(data):
            raise _refuse("bundle.corrupt", f"{info.filename[:80]!r} has two names, or not all of its bytes.")
        yield info, view[begin:end]


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    ignore = folder / IGNORE_FILE
    lines = ignore.read_text().splitlines() if ignore.is_file() else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for base, folders, names in os.walk(folder):
        here = PurePosixPath(Path(base).relative_to(folder).as_posix())
        folders[:] = [name for name in folders if not _ignored(here / name, patterns)]
        for name in [*folders, *names]:
            path = Path(base) / name
            if name in names and _ignored(here / name, patterns):
                continue
            if path.is_symlink() and (path.is_dir() or not path.resolve().is_relative_to(folder.resolve())):
                raise _refuse(
                    "bundle.link", f"{here / name} is a link that leads elsewhere.", "Put the file itself there."
                )
            if name in names:
                if not path.is_file():
                    raise _refuse("bundle.not-regular", f"{here / name} is neither a file nor a folder.")
                yield str(here / name), path


def is_test(name: str) -> bool:
    """Whether a file or folder of that name holds an author's tests, which no bundle has."""
    return any(fnmatchcase(name, pattern) for pattern in TESTS)


def _ignored(path: PurePosixPath, patterns: list[str]) -> bool:
    name = path.name
    if name in IGNORED or name.startswith(".env.") or name.endswith((".pyc", ".pyo")) or is_test(name):
        return True
    for pattern in patterns:
        bare = pattern.strip("/")
        if fnmatchcase(str(path), bare) if "/" in pattern.rstrip("/") else fnmatchcase(name, bare):
            return True
    return False


def _refuse(code: str, message: str, hint: str = "") -> PlatformError:
    return PlatformError(code, message, hint or "Pack it again with `platform publish`.")
