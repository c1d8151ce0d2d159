"""Which form a file has: the readers in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping

from memory_core.errors import InvalidInput
from memory_core.interchange.files import File
from memory_core.interchange.found import SourceForm
from memory_core.interchange.sources import (
    chat_log,
    chatgpt,
    claude,
    claude_code,
    codex,
    cursor,
    gemini,
    markdown,
    mcp_memory_service,
    mem0,
    mempalace,
    okf,
    ours,
    server_memory,
    table,
)

_FORMS = (
    chatgpt.FORM,
    claude.FORM,
    cursor.FORM,
    mempalace.FORM,
    mem0.FORM,
    mcp_memory_service.FORM,
    server_memory.FORM,
    claude_code.FORM,
    codex.FORM,
    gemini.FORM,
    ours.FORM,
    okf.FORM,
    markdown.FORM,
    chat_log.FORM,
)
"""What is recognised by more comes before what is recognised by less."""

NAMES = (*(form.name for form in _FORMS), "csv")

_PROSE = frozenset({".md", ".markdown", ".mdc", ".txt", ".csv", ".tsv"})
"""Files that are never JSON, whatever they quote."""


def forms(name: str, columns: Mapping[str, str]) -> tuple[SourceForm, ...]:
    """The forms to look for: all, or the one called *name*.

    *columns* are the names of the columns of a table by what they hold. Raises InvalidInput for an
    unknown name.
    """
    known = (*_FORMS, table.form(columns))
    if not name:
        return known
    chosen = tuple(form for form in known if form.name == name)
    if not chosen:
        raise InvalidInput(f"no form {name[:40]!r}", f"give one of {', '.join(NAMES)}")
    return chosen


def form_of(file: File, asked: tuple[SourceForm, ...]) -> SourceForm | None:
    """The first of the *asked* forms that *file* has; None for none."""
    prose = file.suffix in _PROSE
    for form in asked:
        if prose and form.name not in ("mempalace", "okf", "markdown", "chat-log", "csv"):
            continue
        if form.reads(file):
            return form
    return None
