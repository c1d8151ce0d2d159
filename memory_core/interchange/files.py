"""The files of what is imported: one file, a folder or a zip archive, which stays packed.

Symbolic links are not followed, names that climb out of an archive are refused, and so is what
unpacks to far more than it should. Each is named.
"""

from __future__ import annotations

import codecs
import io
import lzma
import os
import shutil
import sqlite3
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any

from memory_core.errors import InvalidInput, NotFound, StorageError
from memory_core.interchange import scratch

HEAD = 64 * 1024
"""Bytes at the beginning of a file by which its form is known."""

WHOLE_MOST = 8 * 2**20
"""Bytes of a note, which is read whole and takes twenty times as much meanwhile; other forms
stream. A zip archive of 90 kB may hold one of 60 MiB."""

LINE_MOST = 64 * 2**20
"""Characters of one line; what is longer is no line."""

RATIO_MOST = 200
BOMB_BYTES = 64 * 2**20
"""A packed file that is larger than this may unpack to RATIO_MOST times its size at most; deflate
reaches 1,000, text 20."""

FILES_MOST = 200_000

LAST = "logs.json"
"""Files of this name come last: Gemini CLI's log repeats what its conversations hold."""

OPERATIONS = 100
"""Steps of SQLite for each byte of a database, or of STEPS_FLOOR bytes: a row takes about forty."""
STEPS_FLOOR = 2**20
_STEPS = 100_000
"""Between two looks."""

PASSED_OVER = frozenset(
    {".git", ".hg", "node_modules", ".obsidian", ".trash", ".venv", "__pycache__", "__MACOSX"}
)
"""Folders that hold nothing that somebody wrote down."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class File:
    """A file to read. `name` is relative to what is imported, with slashes; `origin` is whole."""

    name: str
    origin: str
    size: int
    modified: float
    opened: Callable[[], IO[bytes]]
    encoding: str = ""
    """The encoding that the caller names; "" to tell from the bytes."""

    @cached_property
    def head(self) -> bytes:
        """The first HEAD bytes."""
        with self.opened() as stream:
            return stream.read(HEAD)

    @cached_property
    def beginning(self) -> str:
        """The first HEAD bytes as text, without a byte order mark; wrong bytes are U+FFFD."""
        return self.head.decode(self.charset, "replace").removeprefix("\ufeff")

    @cached_property
    def first_lines(self) -> list[str]:
        """The lines that begin in the head; also the last one is whole, as far as it is an object.

        The first line of a transcript may hold all that somebody pasted.
        """
        lines = self.beginning.split("\n")
        if self.size > len(self.head) and lines[-1].startswith("{"):
            with suppress(InvalidInput):
                lines[-1] = next(islice(self.lines(), len(lines) - 1, None), (0, None))[1] or ""
        return lines

    @property
    def suffix(self) -> str:
        """The end of the name, in lower case, with its dot."""
        return Path(self.name).suffix.lower()

    @cached_property
    def charset(self) -> str:
        """The encoding: as named, by the byte order mark, by zeros between the letters, UTF-8."""
        if self.encoding:
            return self.encoding
        for mark, name in _BOMS:
            if self.head.startswith(mark):
                return name
        even, odd = self.head[:4096:2], self.head[1:4096:2]
        if len(odd) > 1 and odd.count(0) * 2 > len(odd) > even.count(0) * 2:
            return "utf-16-le"
        if len(odd) > 1 and even.count(0) * 2 > len(even) > odd.count(0) * 2:
            return "utf-16-be"
        return "utf-8"

    def lines(self) -> Iterator[tuple[int, str | None]]:
        """The lines with their numbers from 1, None for one that is not in the encoding.

        Raises InvalidInput for a line of more than LINE_MOST.
        """
        if not self.charset.startswith("utf-8"):
            with self.opened() as raw, io.TextIOWrapper(raw, self.charset, "replace") as reader:
                try:
                    for number, text in enumerate(iter(lambda: reader.readline(LINE_MOST), ""), 1):
                        self._bound(number, len(text))
                        yield number, None if "\ufffd" in text else text.rstrip("\r\n")
                except UnicodeError as problem:
                    raise self.misread(problem) from None
            return
        with self.opened() as stream:
            for number, line in enumerate(iter(lambda: stream.readline(LINE_MOST), b""), 1):
                self._bound(number, len(line))
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                try:
                    yield number, line.decode("utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    yield number, None

    @property
    def not_in_it(self) -> str:
        """What to say of a line that is not in the encoding."""
        return f"it is not {self.charset.upper()}; name another with --encoding, such as cp1252"

    def _bound(self, number: int, length: int) -> None:
        if length >= LINE_MOST:
            raise InvalidInput(f"{self.name} line {number} is over {LINE_MOST} long", "split it")

    def chunks(self) -> Iterator[str]:
        """The text in pieces of about a megabyte. Raises InvalidInput for a wrong encoding."""
        decoder = codecs.getincrementaldecoder(self.charset)("strict")
        with self.opened() as stream:
            first = True
            while True:
                data = stream.read(2**20)
                try:
                    text = decoder.decode(data, final=not data)
                except UnicodeError as problem:
                    raise self.misread(problem) from None
                yield text.removeprefix("\ufeff") if first else text
                if not data:
                    return
                first = False

    def text(self) -> str:
        """The whole text. Raises InvalidInput for a wrong encoding or over WHOLE_MOST bytes."""
        if self.size > WHOLE_MOST:
            raise InvalidInput(
                f"{self.name} has {self.size} bytes, at most {WHOLE_MOST} are read at once",
                "export it in parts",
            )
        return "".join(self.chunks())

    def misread(self, problem: UnicodeError) -> InvalidInput:
        """The error for bytes that are not in the encoding."""
        at = ""
        if isinstance(problem, UnicodeDecodeError):
            at = f" (byte 0x{problem.object[problem.start]:02X})"
        return InvalidInput(
            f"{self.name} is not {self.charset.upper()}{at}",
            "convert it, or name its encoding with --encoding, such as cp1252",
        )

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """A copy of this SQLite file, read-only; the file itself is only read.

        Its write-ahead log is copied too, so what its program wrote last is there. Only tables are
        read: no view, no virtual table, no column that is computed. Raises InvalidInput when it is
        damaged, and when reading it takes more steps than its size explains.
        """
        with scratch.folder() as folder:
            copy = folder / "copy.db"
            with self.opened() as stream, copy.open("wb") as to:
                shutil.copyfileobj(stream, to)
            log = Path(self.origin + "-wal")
            if log.is_file() and not log.is_symlink():
                shutil.copyfile(log, f"{copy}-wal")
            connection = sqlite3.connect(copy)
            connection.row_factory = sqlite3.Row
            try:
                connection.execute("PRAGMA query_only = 1")
                connection.execute("PRAGMA trusted_schema = 0")
                _confine(connection, copy.stat().st_size)
                yield connection
            except (sqlite3.Error, UnicodeDecodeError, OverflowError) as problem:
                raise InvalidInput(
                    f"{self.name} cannot be read ({problem})", "export it from its program"
                ) from None
            finally:
                connection.close()

    @property
    def is_sqlite(self) -> bool:
        """True when the file is an SQLite database."""
        return self.head.startswith(b"SQLite format 3\0")

    def tables(self) -> dict[str, set[str]]:
        """The columns of each table of an SQLite file; {} for any other or a damaged one."""
        if not self.is_sqlite:
            return {}
        try:
            with self.database() as db:
                names = [row[0] for row in db.execute(_TABLES)]
                return {name: _columns(db, name) for name in names}
        except InvalidInput:
            return {}


_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
_READ = frozenset({"sqlite_schema", "sqlite_master"})
_FUNCTIONS = frozenset({"coalesce", "glob"})
"""That the queries of the forms call."""
_ASKED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_PRAGMA})


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    quoted = table.replace('"', '""')
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{quoted}")')}


def _confine(connection: sqlite3.Connection, size: int) -> None:
    """Let *connection* read the tables of its file alone, and for no longer than *size* explains.

    A view may never end, and a computed column may be a gigabyte of each row.
    """
    readable = _READ | {row[0] for row in connection.execute(_TABLES)}
    left = OPERATIONS * max(size, STEPS_FLOOR) // _STEPS

    def allowed(action: int, one: str | None, two: str | None, _: object, inside: object) -> int:
        if action == sqlite3.SQLITE_READ:
            fine = inside is None and (one in readable or not one)
        elif action == sqlite3.SQLITE_FUNCTION:
            fine = two in _FUNCTIONS
        else:
            fine = action in _ASKED
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    def over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LINE_MOST)
    connection.set_progress_handler(over, _STEPS)
    connection.set_authorizer(allowed)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is not read, and why."""

    name: str
    why: str


def unreadable(problem: OSError) -> str:
    """What to say of a file that the system does not give."""
    return f"it cannot be read ({problem.strerror})"


def files(given: str, encoding: str = "", origin: str = "") -> Iterator[File | Unread]:
    """The files of *given*, a file, folder or zip archive, by their names, LAST at the end.

    *origin* stands for its path in theirs and in what is said of it. Raises NotFound when there is
    none, InvalidInput for an unknown *encoding* and a broken archive, StorageError when it cannot
    be read.
    """
    if encoding:
        try:
            io.TextIOWrapper(io.BytesIO(), encoding)
            b"\xff".decode(encoding, "replace")
        except (LookupError, UnicodeError):
            raise InvalidInput(f"no encoding {encoding!r}", "give one such as cp1252") from None
    path, named = Path(given).expanduser(), origin or given
    origin = origin or _shown(str(path.absolute()))
    try:
        if not path.exists():
            raise NotFound(f"no file {given}", "check the path")
        if path.is_dir():
            yield from _folder(path, encoding, origin)
        elif path.suffix.lower() == ".zip" or _is_zip(path):
            yield from _archive(path, encoding, origin)
        elif path.is_file():
            yield _of_path(path, _shown(path.name), encoding, origin)
        else:
            raise InvalidInput(f"{named} is no file", "give a file, a folder or a zip archive")
    except zipfile.BadZipFile as problem:
        raise InvalidInput(f"{named} is a broken archive ({problem})", "fetch it again") from None
    except OSError as problem:
        raise StorageError(f"{named} cannot be read ({problem.strerror})", "check it") from None


def _is_zip(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


def _of_path(path: Path, name: str, encoding: str, origin: str) -> File:
    about = path.stat()
    return File(name, origin, about.st_size, about.st_mtime, lambda: path.open("rb"), encoding)


def _folder(root: Path, encoding: str, origin: str) -> Iterator[File | Unread]:
    count, wrong, last = 0, list[OSError](), list[File]()
    for folder, folders, names in os.walk(root, onerror=wrong.append):
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER)
        for name in list(folders):
            if Path(folder, name).is_symlink():
                yield Unread(_within(root, folder, name), "a symbolic link is not followed")
        for name in sorted(names):
            path, inner = Path(folder, name), _within(root, folder, name)
            try:
                mode = path.lstat().st_mode
            except OSError as problem:
                yield Unread(inner, unreadable(problem))
                continue
            if stat.S_ISLNK(mode):
                yield Unread(inner, "a symbolic link is not followed")
            elif stat.S_ISREG(mode):
                count += 1
                if count > FILES_MOST:
                    raise InvalidInput(f"{origin} has over {FILES_MOST} files", "import its parts")
                file = _of_path(path, inner, encoding, f"{origin}/{inner}")
                if name == LAST:
                    last.append(file)
                else:
                    yield file
    yield from last
    for each in wrong:
        yield Unread(_within(root, str(each.filename), ""), unreadable(each))


def _within(root: Path, folder: str, name: str) -> str:
    return _shown(Path(folder, name).relative_to(root).as_posix())


def _shown(path: str) -> str:
    """*path* as text: bytes that are no UTF-8, which Python keeps as surrogates, are U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _archive(path: Path, encoding: str, origin: str) -> Iterator[File | Unread]:
    with zipfile.ZipFile(path) as archive:
        entries = sorted(archive.infolist(), key=lambda each: (_is_last(each), each.filename))
        if len(entries) > FILES_MOST:
            raise InvalidInput(f"{origin} has over {FILES_MOST} files", "import its parts")
        named = [(entry, entry.filename.replace("\\", "/")) for entry in entries]
        read = [entry for entry, name in named if not _unsafe(entry, name, set())]
        size, whole = path.stat().st_size, sum(entry.file_size for entry in read)
        if whole > max(BOMB_BYTES, RATIO_MOST * size):
            raise InvalidInput(
                f"{origin} unpacks to {whole} bytes from {size}",
                "unpack it, then import its folder",
            )
        seen: set[str] = set()
        for entry, name in named:
            if entry.is_dir() or PASSED_OVER & set(name.split("/")):
                continue
            if why := _unsafe(entry, name, seen):
                yield Unread(name[:200], why)
                continue
            seen.add(name)

            def opened(entry: zipfile.ZipInfo = entry) -> IO[bytes]:
                return io.BufferedReader(_Packed(archive, entry))

            yield File(name, f"{origin}!{name}", entry.file_size, _moment(entry), opened, encoding)


def _is_last(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.replace("\\", "/").rpartition("/")[2] == LAST


class _Packed(io.RawIOBase):
    """The bytes of an entry of an archive; InvalidInput is raised where they are damaged."""

    def __init__(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
        self._name = entry.filename
        with self._told():
            self._stream = archive.open(entry)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._told():
            data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as problem:
            why = str(problem)
        except (NotImplementedError, RuntimeError) as problem:  # a method that Python lacks
            why = str(problem)
        else:
            return
        raise InvalidInput(f"{self._name[:200]} is damaged ({why})", "fetch the archive again")


def _unsafe(entry: zipfile.ZipInfo, name: str, seen: set[str]) -> str:
    """Why an *entry* of an archive is not read; "" for one that is."""
    if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
        return "its path leads out of the archive"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "a symbolic link is not followed"
    if entry.flag_bits & 1:
        return "it is encrypted"
    if entry.file_size > max(BOMB_BYTES, RATIO_MOST * entry.compress_size):
        return f"it unpacks to {entry.file_size} bytes from {entry.compress_size}"
    return "the archive holds it twice" if name in seen else ""


def _moment(entry: zipfile.ZipInfo) -> float:
    try:
        return datetime(*entry.date_time).timestamp()
    except ValueError:
        return 0.0
