"""Notes in Markdown: basic-memory, Obsidian, files that instruct agents, memory banks.

A bullet, with what is nested in it, or a paragraph is one memory; the path of its headings stands
before it, so that it can be understood alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from memory_core.errors import InvalidInput
from memory_core.interchange import front_matter
from memory_core.interchange.files import File
from memory_core.interchange.found import (
    CONVERSATION,
    FILE,
    OWN,
    Entry,
    Incoming,
    LeftOut,
    Problem,
    SourceForm,
)
from memory_core.interchange.parsing import moment, strings
from memory_core.records import PROJECT

_HEADING = re.compile(r"(#{1,6})\s(.*)")
_BULLET = re.compile(r"(\s*)(?:[-*+]|\d{1,4}[.)])\s+(.*)")
_UNDERLINE = re.compile(r" {0,3}([=-])\1+\s*")
_RULE = re.compile(r"\s{0,3}(?:-\s*-\s*-[-\s]*|\*\s*\*\s*\*[*\s]*|_\s*_\s*_[_\s]*)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_OBSERVATION = re.compile(r"\[([^\[\]\s][^\[\]]{0,60})\]\s+(.+)", re.DOTALL)
_RELATION = re.compile(
    r"(?P<verb>[^\[\]]{0,80}?)\s*\[\[(?P<target>[^\[\]]{1,200})\]\]\s*(?:\(.*\))?"
)
_LINK = re.compile(r"!?\[\[([^\[\]|#]{1,200})(?:#[^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\W\d][\w/-]{0,60})")
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->|%%.*?%%", re.DOTALL)
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:\D|$)")
_AGENTS = frozenset({"claude", "claude.local", "agents", "gemini", "copilot-instructions"})
"""Names of files with which a project instructs agents."""
_NAMELESS = frozenset({*_AGENTS, "readme", "index", "memory", "stdin"})
"""Names of files that say nothing of what they are about; their folder does."""
_DATES = ("created", "created_at", "date", "timestamp", "updated", "updated_at", "modified")


@dataclass(slots=True)
class Part:
    """A bullet or a paragraph of a note: its headings, its text, and its first line."""

    headings: tuple[str, ...]
    line: int
    bullet: bool
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its text, without comments."""
        return _COMMENT.sub("", "\n".join(self.lines)).strip()


def _reads(file: File) -> bool:
    return file.suffix in (".md", ".markdown", ".mdc") or file.name.endswith("cursorrules")


def _read(file: File) -> Iterator[Entry]:
    try:
        text = file.text().replace("\r\n", "\n").replace("\r", "\n")
    except InvalidInput as problem:
        yield Problem(file.name, str(problem))
        return
    about, body, before = front_matter.split(text)
    note = _Note(file, about)
    said = [part for part in parts(body, before) if part.text]
    if not said:
        yield LeftOut("note without text", file.name)
    elif note.wrong_date:
        yield Problem(file.name, f"its {note.wrong_date} is no date such as 2024-05-07")
    for part in said:
        yield note.memory(part)


def parts(body: str, before: int = 0) -> Iterator[Part]:
    """The bullets and paragraphs of *body*, which *before* lines precede, in their order."""
    headings: list[tuple[int, str]] = []
    part: Part | None = None
    fence, indent = "", 0
    for number, line in enumerate(_plain(body.split("\n")), before + 1):
        mark = _FENCE.match(line)
        if fence or mark:
            fence = _fenced(fence, mark)
        elif (heading := _HEADING.fullmatch(line)) is not None:
            if part is not None:
                yield part
            part, level = None, len(heading[1])
            title = heading[2].strip().rstrip("#").rstrip()
            headings = [each for each in headings if each[0] < level] + [(level, title)]
            continue
        elif not line.strip() and not (part is not None and part.bullet):
            if part is not None:
                yield part
            part = None
            continue
        bullet = None if fence or mark else _BULLET.fullmatch(line)
        begins = bullet is not None and (
            part is None or not part.bullet or len(bullet[1]) <= indent
        )
        ends = part is not None and part.bullet and bullet is None and _leaves(part, line, indent)
        if part is not None and (begins or ends):
            yield part
            part = None
        if part is None:
            if not line.strip():
                continue
            indent = len(bullet[1]) if bullet else 0
            part = Part(tuple(text for _, text in headings), number, bullet is not None)
            line = bullet[2] if bullet else line
        part.lines.append(line)
    if part is not None:
        yield part


def _plain(lines: list[str]) -> list[str]:
    """As many *lines*, with underlined titles as headings, and without rules and comments that
    go over several lines."""
    ends = [number for number, line in enumerate(lines) if "-->" in line]
    plain: list[str] = []
    fence, hidden = "", False
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if hidden:
            _, end, line = line.partition("-->")
            hidden = not end
        elif fence or mark:
            fence = _fenced(fence, mark)
        elif line.lstrip().startswith("<!--") and "-->" not in line and ends and ends[-1] > number:
            line, hidden = "", True
        elif plain and _underlines(line, plain[-1], plain[-2] if len(plain) > 1 else ""):
            plain[-1] = f"{'#' if '=' in line else '##'} {plain[-1].strip()}"
            line = ""
        elif _RULE.fullmatch(line):
            line = ""
        plain.append(line)
    return plain


def _fenced(fence: str, mark: re.Match[str] | None) -> str:
    """The fence that is open after a line with the *mark* of one, "" for none."""
    if not fence:
        return mark[1] if mark else ""
    return "" if mark and mark[1].startswith(fence) else fence


def _underlines(line: str, title: str, before: str) -> bool:
    """True when *line* makes the paragraph *title* a heading. Three dashes may be a rule."""
    said = title.strip()
    if not said or before.strip() or said[0] in "#>|" or _BULLET.fullmatch(title):
        return False
    rule = line.strip() == "---" and len(said) != 3
    return not rule and _UNDERLINE.fullmatch(line) is not None


def _leaves(part: Part, line: str, indent: int) -> bool:
    """True when *line* is a paragraph after the bullet *part*, and does not continue it."""
    after_blank = bool(part.lines) and not part.lines[-1].strip()
    return after_blank and bool(line.strip()) and len(line) - len(line.lstrip()) <= indent


class _Note:
    """What the memories of one note share."""

    def __init__(self, file: File, about: dict[str, str | list[str]]) -> None:
        self._file = file
        path = PurePosixPath(file.origin.replace("\\", "/").replace("!", "/"))
        stem = PurePosixPath(file.name).name.rpartition(".")[0] or path.name
        named = about.get("title")
        own = named if isinstance(named, str) and named else ""
        nameless = stem.casefold() in _NAMELESS
        self._title = own or (nameless and path.parent.name) or stem
        self._place = "" if nameless and not path.parent.name else file.origin
        """The note as one that changes: of an upload the folder is not known, so a name that many
        notes have does not make it the same one."""
        tags = about.get("tags")
        if isinstance(tags, str) and all(each.startswith("#") for each in tags.split()):
            tags = tags.split()
        self._tags = tuple(tag.strip("#,") for tag in strings(tags))
        if stem.casefold() in _AGENTS and path.parent.name:
            self._tags = (*self._tags, PROJECT + _project(path))
            self._title = own or _project(path)
        self._when, self._dated = self._date(about, stem)
        unread = [f"{name} {about[name]!r}" for name in _DATES if about.get(name)]
        self.wrong_date = unread[0][:60] if unread and self._dated != OWN else ""
        """A date in the front matter that cannot be read."""

    def _date(self, about: dict[str, str | list[str]], stem: str) -> tuple[float, str]:
        for name in _DATES:
            said = about.get(name, "")
            text = said if isinstance(said, str) else ", ".join(said)
            if (at := moment(text.strip("[]"))) is not None:  # a link to the note of a day
                return at, OWN
        day = _DAY.match(stem)
        at = moment(day[1]) if day else None
        return (self._file.modified, FILE) if at is None else (at, CONVERSATION)

    def memory(self, part: Part) -> Incoming:
        """The memory of *part*."""
        said, tags, kind = part.text, list(self._tags), "fact" if part.bullet else "episode"
        place = f"{self._file.name} line {part.line}"
        relation = _RELATION.fullmatch(said) if part.bullet else None
        if relation is not None:
            return self._relation(place, relation)
        observed = _OBSERVATION.fullmatch(said) if part.bullet else None
        if said[:4] in ("[ ] ", "[x] ", "[X] "):
            said = said[4:] if said[1] == " " else f"{said[4:]} (done)"
        elif observed is not None and not observed[2].startswith("("):
            tags.append(observed[1].strip())
            said = observed[2].strip()
        tags += _TAG.findall(said)
        if observed is not None:
            said = re.sub(r"[ \t]{2,}", " ", _TAG.sub("", said)).strip()
        linked = [match[1].strip() for match in _LINK.finditer(said)]
        said = _LINK.sub(lambda match: match[2] or match[1], said)
        return self._found(place, self._alone(part.headings, said), kind, tags, linked)

    def _relation(self, place: str, relation: re.Match[str]) -> Incoming:
        verb = relation["verb"].strip(" *_").replace("_", " ") or "links to"
        target = relation["target"].partition("|")[0].strip()
        text = f"{self._title} {verb} {target}."
        return self._found(place, text, "relationship", list(self._tags), [self._title, target])

    def _alone(self, headings: tuple[str, ...], said: str) -> str:
        path = [self._title, *(each for each in headings if each != self._title)]
        return f"{' > '.join(each for each in path if each)}: {said}"

    def _found(
        self, place: str, text: str, kind: str, tags: list[str], entities: list[str]
    ) -> Incoming:
        return Incoming(
            text,
            f"{self._file.origin}\x1f{text}",
            place,
            self._when,
            self._dated,
            kind,
            tags=tuple(dict.fromkeys(tags)),
            entities=tuple(dict.fromkeys(entities)),
            source=self._file.origin,
            slot=self._place,
            many=bool(self._place),
        )


def _project(path: PurePosixPath) -> str:
    """The folder that a file for agents belongs to; .claude and its like belong to their parent."""
    folder = path.parent
    return folder.parent.name if folder.name.startswith(".") else folder.name


FORM = SourceForm("markdown", "notes that end in .md, and files for agents", _reads, _read)
