"""Our own export: JSON lines, one memory a line with all its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator

from memory_core.interchange.files import File
from memory_core.interchange.found import Entry, Incoming, Problem, SourceForm
from memory_core.interchange.parsing import json_lines


def _reads(file: File) -> bool:
    for line in file.first_lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        return isinstance(record, dict) and isinstance(record.get("text"), str)
    return False


def _read(file: File) -> Iterator[Entry]:
    for entry in json_lines(file):
        if isinstance(entry, Problem):
            yield entry
        else:
            place, record = entry
            yield Incoming("", "", place, file.modified, record=record)


FORM = SourceForm("anamnesis", "JSON lines with a text each, as export writes them", _reads, _read)
