"""The commands `export`, `import` and `sync`: our JSON lines, and the forms of other tools."""

from __future__ import annotations

import errno
import json
import logging
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory_core.errors import Busy, InvalidInput, NotFound, StorageError
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.interchange import local, okf, scratch
from memory_core.interchange.other_forms import FORMS
from memory_core.interchange.sources.table import FIELDS
from memory_core.records import Identity
from memory_core.storage.journal import files
from server import __version__
from server.cli import console, letters, serve
from server.cli.capture import REPEAT
from server.cli.console import Outcome
from server.cli.grammar import ERASE_SECONDS, PLACE, command, with_memory
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.importing.sync import SyncReport
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

WATCH_SECONDS = 2.0
"""Between two looks at the journal."""


@command("export", json=False, example="anamnesis export memories.jsonl")
@click.argument("file", type=PLACE, default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "okf", *FORMS]),
    default="jsonl",
    help="What is written.  [default: jsonl]",
)
@click.option("--watch", is_flag=True, help="With okf: write again what changes, until stopped.")
@with_memory(ready=False)
def export(memory: Memory, who: Identity, file: str, form: str, watch: bool) -> Outcome:
    """Write every memory.

    FILE is by default stdout. A file gets mode 0600 and is replaced whole, behind a symbolic link
    the file that it names; what is no file, such as a pipe, is written to. With the format okf it
    is a folder of Markdown; what was forgotten is not in it after the next export. jsonl and okf
    hold everything, the other forms what is current; what they cannot hold is said.
    """
    if watch and form != "okf":
        raise click.UsageError("--watch goes with --format okf")
    if form == "okf":
        return _watched(memory, who, file) if watch else _export_folder(memory, who, file)
    plain = file == "-" and not letters.takes_unicode()
    place = "" if file == "-" else files.name(Path(file).absolute())
    records, lost = memory.export(who), ""
    if form == "jsonl":
        lines: Iterator[str] = (json.dumps(each, ensure_ascii=plain) + "\n" for each in records)
    elif plain:
        raise InvalidInput("the output does not take every letter", "name a file")
    else:
        write, lost = FORMS[form]
        lines, lost = write(records), f"\nnot in it: {lost}"
    if not place:
        for line in lines:
            sys.stdout.write(line)
        _note(memory, who, place)
        return Outcome(None, "")
    count = _write(Path(file), lines)
    _note(memory, who, place)
    written = rendering.counted(count) if form == "jsonl" else form
    return Outcome(None, f"written to {file}: {written}{lost}")


def _export_folder(memory: Memory, who: Identity, name: str) -> Outcome:
    """Write what is new or changed of the folder *name*, and delete what it holds no more.

    Only files that an export wrote are deleted or replaced. Raises InvalidInput for stdout and for
    a file of somebody else in the way, StorageError when the folder cannot be written.
    """
    if name == "-":
        raise InvalidInput("the format okf is a folder", "name one: export DIR --format okf")
    root = Path(name)
    place = files.name(root.absolute())
    wanted = okf.files(memory.export(who), __version__)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = {path: (root / path) for path in _written(root)}
        changed = [path for path, text in wanted.items() if _differs(root, path, there, text)]
        for path in changed:
            (root / path).parent.mkdir(mode=0o700, exist_ok=True)
            _replace(root / path, [wanted[path]])
        gone = sorted(there.keys() - wanted.keys())
        for path in gone:
            there[path].unlink()
    except OSError as problem:
        raise StorageError(
            f"{name} cannot be written ({problem.strerror})", "choose another folder"
        ) from None
    _note(memory, who, place)
    same = len(wanted) - len(changed)
    return Outcome(
        None,
        f"written to {name}: {len(changed)} files, {same} unchanged, {len(gone)} deleted"
        "\nnot in it: nothing; imported again, the trust becomes import",
    )


def _watched(memory: Memory, who: Identity, name: str) -> Outcome:
    """Keep the folder *name* as an export would make it, until a signal."""
    outcome = None
    ended = serve.on_signal()
    reached = memory.changed(who).reached
    while outcome is None or not ended.wait(WATCH_SECONDS):
        news = memory.changed(who, reached)
        reached = news.reached
        if outcome is None or news.memories or news.gone:
            outcome = _export_folder(memory, who, name)
            click.echo(outcome.text.partition("\n")[0], err=True)
    return Outcome(None, "")


def _written(root: Path) -> Iterator[str]:
    """The paths of the files under *root* that an export wrote. Links are not followed."""
    for folder in okf.FOLDERS:
        if (root / folder).is_symlink():
            raise InvalidInput(f"{root / folder} is a symbolic link", "choose another folder")
    for path in [root / "index.md", *(p for f in okf.FOLDERS for p in (root / f).glob("*.md"))]:
        if path.is_symlink():
            raise InvalidInput(f"{path} is a symbolic link", "choose another folder")
        if path.is_file() and okf.GENERATED in path.read_text("utf-8", "replace")[:100_000]:
            yield path.relative_to(root).as_posix()


def _differs(root: Path, path: str, there: Mapping[str, Path], text: str) -> bool:
    """True when *text* is not what is at *path*. Raises InvalidInput for somebody else's file."""
    if path in there:
        return there[path].read_bytes() != text.encode()
    if (root / path).exists():
        raise InvalidInput(f"{root / path} is not of an export", "choose another folder")
    return True


def _note(memory: Memory, who: Identity, place: str) -> None:
    """Note the export in the memory; one that cannot be written is exported all the same."""
    try:
        memory.note_export(who, place)
    except StorageError as problem:
        log.warning("forget will not name this export: %s", problem)


def _write(path: Path, lines: Iterable[str]) -> int:
    """Write *lines* to *path*, as _replace does where it is a file; how many there were."""
    if not path.exists() or path.is_file():
        return _replace(Path(os.path.realpath(path)), lines)
    count = 0
    try:
        with path.open("w", encoding="utf-8") as to:
            for line in lines:
                count += 1
                to.write(line)
    except OSError as problem:
        raise _unwritable(path, problem) from None
    return count


def _unwritable(path: Path, problem: OSError) -> StorageError:
    return StorageError(f"{path} cannot be written ({problem.strerror})", "choose another file")


def _replace(path: Path, lines: Iterable[str]) -> int:
    """Write *lines* to *path*, which gets its name when all are on the disk; how many there were.

    A file without a name, where the system has such, leaves nothing behind when this is killed.
    """
    count, partial = 0, path.with_name(f".{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # of an export that was killed
        nameless = _nameless(path.parent)
        handle = _private(partial) if nameless is None else nameless
        with os.fdopen(handle, "w", encoding="utf-8") as to:
            try:
                for line in lines:
                    count += 1
                    to.write(line)
                to.flush()
                os.fsync(to.fileno())
                if nameless is not None:
                    own = to.fileno()  # as src_dir_fd it makes Python follow the symbolic link
                    os.link(f"/proc/self/fd/{own}", partial, src_dir_fd=own)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)
    except OSError as problem:
        raise _unwritable(path, problem) from None
    return count


def _nameless(folder: Path) -> int | None:
    """A private file in *folder* that has no name yet; None where the system has no such files."""
    if sys.platform != "linux":
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as problem:
        if problem.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _private(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)


def _something(ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    """*value*; a usage error when neither a file nor --found is given."""
    if not value and not ctx.params.get("found"):
        raise click.UsageError("Name a FILE, or list what is on this machine with --found.", ctx)
    return value


@command("import", example="anamnesis import conversations.json --dry-run")
@click.argument("file", type=PLACE, required=False, default="", callback=_something)
@click.option(
    "--found", is_flag=True, is_eager=True, help="List what other tools left on this machine."
)
@click.option(
    "--from", "form", default="", metavar="FORM", help="The form, instead of finding out."
)
@click.option("--dry-run", is_flag=True, help="Say what would come; store nothing.")
@click.option("--strict", is_flag=True, help="Store nothing when anything cannot be read.")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=NAME", help="The column of a table."
)
@click.option("--encoding", default="", help="The encoding of the text, such as cp1252.")
@with_memory(ready=True, begins=True)
def import_(
    memory: Memory,
    who: Identity,
    file: str,
    found: bool,
    form: str,
    dry_run: bool,
    strict: bool,
    columns: tuple[str, ...],
    encoding: str,
) -> Outcome:
    """Bring in what other tools hold, or what export wrote.

    FILE is a file, a folder or a zip archive; `-` is stdin with JSON lines. What is there already
    is not stored twice. What cannot be read is named and the rest is imported; then the exit code
    is 1. `consolidate --undo RUN` takes the import back. With --found FILE is the name of what to
    bring in of the list, or `all`.
    """
    if found:
        return _first_day(memory, who, file, dry_run)
    origin = "stdin" if file == "-" else ""
    entries = 0

    def watch(done: int, total: int, message: str) -> None:
        nonlocal entries
        entries = done + 1
        move(done, total, message)

    with _from_stdin(file) as path, console.progress("import") as move:
        request = ImportRequest(
            path, form, _mapping(columns), encoding, dry_run, strict, origin=origin
        )
        try:
            report = memory.import_files(who, request, watch)
        except KeyboardInterrupt:
            told = f"entries done: {entries}"
            raise KeyboardInterrupt(told, f"{REPEAT}, and for how to take it back") from None
    return Outcome(_data(report), _told(report), _code(report))


def _first_day(memory: Memory, who: Identity, chosen: str, dry_run: bool) -> Outcome:
    """What lies on this machine, with counts and dates; or bring in what is *chosen* of it."""
    places = local.places(Path.home(), Path.cwd())
    if chosen and chosen != "all" and chosen not in {place.name for place in places}:
        known = ", ".join(dict.fromkeys(place.name for place in places)) or "nothing"
        raise InvalidInput(f"no {chosen!r} is found here", f"found: {known}")
    rows: list[tuple[str, str, str, str]] = []
    data: list[dict[str, object]] = []
    told: list[str] = []
    code = 0
    for place in places:
        if chosen in ("", "all", place.name):
            report = _of_place(memory, who, place, dry_run or not chosen)
            span = f"{_day(report.first)} to {_day(report.last)}" if report.first else ""
            rows.append((place.name, _counted(report.counts), span, _near_home(place.path)))
            data.append({"name": place.name, "path": str(place.path), **_data(report)})
            code |= _code(report) if chosen else 0
            told += (f"{place.name}: {line}" for line in _not_taken(report, bool(chosen)))
    if not rows:
        return Outcome([], "nothing of another tool is found; name a file to import")
    text = console.table(("from", "memories", "dates", "path"), rows)
    text += "".join(f"\n{line}" for line in told)
    runs = [str(each["run"]) for each in data if each["run"]]
    text += "".join(f"\nto take it back: anamnesis consolidate --undo {run}" for run in runs)
    hint = "" if chosen else "\nto bring it in: anamnesis import --found NAME, or --found all"
    return Outcome(data, text + hint, code)


def _near_home(path: Path) -> str:
    """*path* from ~ on, where it lies there: most of them fit in a line then."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _of_place(
    memory: Memory, who: Identity, place: local.LocalPlace, dry_run: bool
) -> ImportReport:
    """The import of one *place*; that none of it can be had now is a problem of its report."""
    try:
        request = ImportRequest(str(place.path), place.form, dry_run=dry_run)
        return memory.import_files(who, request)
    except (Busy, InvalidInput, NotFound, StorageError) as problem:
        report = ImportReport("preview" if dry_run else "completed")
        report.problem(str(place.path), str(problem).partition(". Looked for")[0])
        return report


def _problems(report: ImportReport | SyncReport) -> Iterator[str]:
    yield from report.problems
    if report.problem_count > len(report.problems):
        yield f"and {report.problem_count - len(report.problems)} more problems"


def _not_taken(report: ImportReport, whole: bool) -> Iterator[str]:
    """Lines on what does not come: all of it, or how much."""
    if report.left_out:
        yield f"left out: {_counted(report.left_out)}"
    if not whole and report.problem_count > 1:
        yield f"{report.problem_count} problems, the first: {report.problems[0]}"
        return
    yield from _problems(report)


@command("sync", example="anamnesis sync ~/Cloud/memory")
@click.argument("folder", type=PLACE)
@with_memory(ready=True, begins=True)
def sync(memory: Memory, who: Identity, folder: str) -> Outcome:
    """Exchange what changed with other machines through a folder.

    FOLDER is one that any file service copies between them. What was changed last holds, what was
    forgotten on one machine goes on all, and what does not fit together is put in doubt. Repeat it
    whenever you like, on each machine.
    """
    files.name(Path(folder).absolute())
    with console.progress("sync") as move:
        report = memory.sync(who, folder, move)
    if report.counts["forgotten"]:
        memory.finish_erasing(ERASE_SECONDS)
    values = {field.name: getattr(report, field.name) for field in fields(report)}
    lines = [f"came: {_counted(report.counts)}"]
    lines.append(f"sent: {rendering.counted(report.sent)}, {report.sent_forgotten} forgotten")
    if report.erased:
        lines.append(f"erased in the folder, as forgotten: {report.erased} lines")
    if report.waiting:
        lines.append(f"waiting for memories that have not arrived: {report.waiting} links")
    lines += _problems(report)
    code = 1 if report.problem_count else 0
    return Outcome(values | {"counts": dict(report.counts)}, "\n".join(lines), code)


def _mapping(columns: Iterable[str]) -> dict[str, str]:
    """`text=Body` as the column Body of the field text. Raises InvalidInput for anything else."""
    found = {}
    for each in columns:
        field, equals, name = each.partition("=")
        if not equals or field not in FIELDS or not name:
            known = ", ".join(FIELDS)
            raise InvalidInput(f"--column {each!r}", f"give FIELD=NAME with a FIELD of {known}")
        found[field] = name
    return found


@contextmanager
def _from_stdin(name: str) -> Iterator[str]:
    """The path *name*, or that of a copy of stdin."""
    if name != "-":
        yield name
        return
    with scratch.folder() as folder:
        path = folder / "stdin.jsonl"
        with path.open("wb") as to:
            shutil.copyfileobj(sys.stdin.buffer, to)
        yield str(path)


def _code(report: ImportReport) -> int:
    return 1 if report.problem_count or report.status in ("refused", "stopped") else 0


def _data(report: ImportReport) -> dict[str, object]:
    """The report for --json: dates as days, lists of names of at most PROBLEMS_MOST."""
    values = {field.name: getattr(report, field.name) for field in fields(report)}
    plain = {name: dict(v) if isinstance(v, Mapping) else v for name, v in values.items()}
    return plain | {"first": _day(report.first), "last": _day(report.last)}


def _day(seconds: float | None) -> str:
    return "" if seconds is None else str(datetime.fromtimestamp(seconds, UTC).date())


def _told(report: ImportReport) -> str:
    verb = {"preview": "would import", "refused": "nothing was imported; it would be"}
    lines = [f"{verb.get(report.status, 'imported')}: {_counted(report.counts)}"]
    if report.first is not None:
        lines.append(f"dates: {_day(report.first)} to {_day(report.last)}{_uncertain(report)}")
    lines += (f"  {' '.join(text.split())}" for text in report.samples)
    if report.left_out:
        lines.append(f"left out: {_counted(report.left_out)}")
    for whose, count in sorted(report.elsewhere.items()):
        kind, _, name = whose.partition(" ")
        seen = f"they are with --{kind} {shlex.quote(name)}"
        lines.append(f"of the {whose}, not seen from here: {count} ({seen})")
    if report.gone:
        lines.append(f"no longer in the source, kept: {report.gone}")
    if report.doubts:
        lines.append(f"in doubt: {report.doubts} (see anamnesis review)")
    if report.unknown_count:
        some = ", ".join(report.unknown[:5]) + (", ..." if report.unknown_count > 5 else "")
        lines.append(f"not read, of no known form: {report.unknown_count} ({some})")
    lines += _problems(report)
    if report.status == "stopped":
        lines.append("an undo stopped it; nothing of it is left")
    elif report.run:
        lines.append(f"to take it back: anamnesis consolidate --undo {report.run}")
    return "\n".join(lines)


def _uncertain(report: ImportReport) -> str:
    """How many memories have the date of their file, of their conversation or of the import."""
    told = {
        "file": "from the time of the file",
        "conversation": "from the conversation",
        "today": "of today",
    }
    found = [f"{report.dated[name]} {words}" for name, words in told.items() if report.dated[name]]
    return f" ({', '.join(found)})" if found else ""


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"
