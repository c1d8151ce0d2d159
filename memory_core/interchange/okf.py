"""A folder of Markdown in the Open Knowledge Format 0.2: a file a conversation, topic or name.

A memory stands in one file, that of its conversation, else of its topic, project or first name; the
other files link to it. The same memories give the same bytes. A comment before each memory holds
its other fields, so that reading the folder gives all of it back.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory_core.interchange import front_matter
from memory_core.records import PROJECT, content_hash

Record = Mapping[str, Any]
Home = tuple[str, str]
"""A folder and the name of what its file is about."""

SESSIONS, TOPICS, PROJECTS, NAMES, OTHERS = "sessions", "topics", "projects", "names", "memories"
FOLDERS = {
    SESSIONS: "conversation",
    TOPICS: "topic",
    PROJECTS: "project",
    NAMES: "entity",
    OTHERS: "collection",
}
"""The folders, and the type of the files in each."""

UNSORTED = "unsorted"
_SLUG_CHARS = 60
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d|index|log)")
_TITLE_CHARS = 70

_ENTRY = re.compile(r"^<!-- anamnesis (\{.*\}) -->\n((?:^>.*(?:\n|\Z))*)", re.MULTILINE)
_WRITTEN = re.compile(
    r"# |## .{0,300} <a id=|## (?:Elsewhere|[A-Z][a-z]+)$"
    r"|- \[.{0,200}\]\([^()]{0,300}\.md(?:#\w+\)|\): \d+)$"
    r"|Lifecycle: superseded by |Valid: |\d+ memories\.$"
)
"""How the lines begin that an export writes around the memories."""
GENERATED = 'by: "anamnesis/'
"""In the front matter of every file."""


def files(records: Iterable[Record], version: str) -> dict[str, str]:
    """The text of each file of *records* by its path in the folder; all are held in memory."""
    found = list(records)
    homes = {record["id"]: _homes(record) for record in found}
    by_home: dict[Home, list[Record]] = {}
    for record in found:
        for home in homes[record["id"]]:
            by_home.setdefault(home, []).append(record)
    first = {id: path(home[0]) for id, home in homes.items()}
    texts = {
        path(home): _file(home, [*_sorted(held)], first, version)
        for home, held in sorted(by_home.items())
    }
    return {"index.md": _index(by_home, version, found), **texts}


def path(home: Home) -> str:
    """The path of the file about *home*: lower case letters, digits and dashes."""
    folder, name = home
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_SLUG_CHARS].strip("-")
    if slug != name or _RESERVED.fullmatch(slug):
        slug = f"{slug}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}".strip(
            "-"
        )
    return f"{folder}/{slug}.md"


def entries(text: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """The records in the *text* of a file, each with its line and whether its text was edited.

    An entry whose comment is no record is {}.
    """
    line, counted = 1, 0
    for match in _ENTRY.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        try:
            record = json.loads(match[1])
        except (ValueError, RecursionError):
            yield line, {}, False
            continue
        if not isinstance(record, dict) or not isinstance(record.get("text", ""), str):
            yield line, {}, False
            continue
        shown = "\n".join(each[2:] for each in match[2].rstrip("\n").split("\n"))
        if "text" in record:  # a text that lines cannot show
            edited = _quoted(record["text"]) != match[2].rstrip("\n")
        else:
            edited = content_hash(shown) != record.get("content_hash")
        yield line, record if "text" in record and not edited else {**record, "text": shown}, edited


def others(text: str) -> Iterator[int]:
    """The numbers of the lines of a file that no export writes and that are in no entry."""
    _, body, before = front_matter.split(
        _ENTRY.sub(lambda entry: "\n" * entry[0].count("\n"), text)
    )
    for number, line in enumerate(body.split("\n"), before + 1):
        if line.strip() and not _WRITTEN.match(line):
            yield number


def _homes(record: Record) -> list[Home]:
    """Where *record* is told, first the file that holds its text."""
    found = [(SESSIONS, record["session"]), (TOPICS, record["topic"])]
    found += [(PROJECTS, t.removeprefix(PROJECT)) for t in record["tags"] if t.startswith(PROJECT)]
    found += [(NAMES, name) for name in record["entities"]]
    kept = [(folder, name) for folder, name in dict.fromkeys(found) if name]
    return kept or [(OTHERS, UNSORTED)]


def _sorted(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda r: (str(r["occurred_at"]), r["position"], r["id"]))


def _file(home: Home, held: list[Record], first: Mapping[str, str], version: str) -> str:
    own = path(home)
    lines = [*_front_matter(FOLDERS[home[0]], home[1], held, version), f"# {_line(home[1])}", ""]
    elsewhere = [record for record in held if first[record["id"]] != own]
    for record in held:
        if first[record["id"]] == own:
            lines += _entry(record, first)
    if elsewhere:
        lines += ["## Elsewhere", ""]
        lines += [f"- {_link(record, first)}" for record in elsewhere] + [""]
    return "\n".join(lines)


def _front_matter(kind: str, title: str, held: list[Record], version: str) -> list[str]:
    sources = sorted({record["source"] for record in held if record["source"]})
    newest = max((str(record["recorded_at"]) for record in held), default="")
    lines = ["---", 'okf: "0.2"', f"type: {_text(kind)}", f"title: {_text(title)}"]
    lines += ["generated:", f"  by: {_text('anamnesis/' + version)}", f"  at: {_text(newest)}"]
    if sources:
        lines += ["sources:", *(f"  - {_text(source)}" for source in sources)]
    return [*lines, "---", ""]


def _entry(record: Record, first: Mapping[str, str]) -> list[str]:
    """A memory: its heading, the comment with its fields, its text as a quotation."""
    day, who = str(record["occurred_at"])[:10], record["speaker"] or record["role"]
    about = {name: value for name, value in record.items() if name != "text"}
    quoted = _quoted(record["text"])
    shown = "\n".join(line[2:] for line in quoted.split("\n"))
    if shown != record["text"] or "\r" in shown:
        about["text"] = record["text"]
    about["content_hash"] = content_hash(record["text"])
    comment = json.dumps(about, ensure_ascii=False, sort_keys=True)
    for sign in ("-->", "--", "\u2028", "\u2029", "\u0085"):
        comment = comment.replace(sign, "".join(f"\\u{ord(char):04x}" for char in sign))
    lines = [f'## {day}{" · " + _line(who) if who else ""} <a id="{record["id"]}"></a>', ""]
    lines += [f"<!-- anamnesis {comment} -->", quoted, ""]
    if record["superseded_by"]:
        lines += [f"Lifecycle: superseded by {_mark(record['superseded_by'], first)}.", ""]
    if record["valid_from"] or record["valid_until"]:
        start, end = (str(record[name] or "")[:10] for name in ("valid_from", "valid_until"))
        lines += [f"Valid: {start or '...'} to {end or '...'}.", ""]
    return lines


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.replace("\r", " ").split("\n"))


def _link(record: Record, first: Mapping[str, str]) -> str:
    title = _line(record["text"])[:_TITLE_CHARS]
    return f"[{title}](../{first[record['id']]}#{record['id']})"


def _mark(id: str, first: Mapping[str, str]) -> str:
    return f"[{id}](../{first[id]}#{id})" if id in first else id


def _index(by_home: Mapping[Home, list[Record]], version: str, found: list[Record]) -> str:
    lines = [*_front_matter("index", "Memories", [], version), "# Memories", ""]
    for folder in FOLDERS:
        named = sorted(home for home in by_home if home[0] == folder)
        if named:
            lines += [f"## {folder.capitalize()}", ""]
            lines += [f"- [{_line(h[1])}]({path(h)}): {len(by_home[h])}" for h in named] + [""]
    return "\n".join([*lines, f"{len(found)} memories.", ""])


def _line(text: str) -> str:
    """*text* on one line, without what Markdown reads as a mark."""
    return re.sub(r"([\\\[\]<>*_`#|])", r"\\\1", " ".join(text.split()))


def _text(value: str) -> str:
    """*value* as YAML, always in quotes."""
    return json.dumps(value, ensure_ascii=False)
