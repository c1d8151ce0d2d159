"""What the program says in English, the page says in German too: by the form of the sentence."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import server.page
from memory_core import errors
from memory_core.beliefs import change
from memory_core.interchange.sources import registry
from tests.server.page.sentences import modules, read

STATIC = Path(server.page.__file__).parent / "static"
SAYS = (
    "memory_core",
    "server/chat",
    "server/engine/operations.py",
    "server/gate.py",
    "server/http",
    "server/identity.py",
    "server/page",
    "server/protocol/lazy_memory.py",
    "server/protocol/long_runs.py",
    "server/rest",
)
"""Where the sentences come from that the page shows."""

NEVER = (
    # said to who starts a program, or on the command line
    "memory_core.config",
    "memory_core.evaluation",
    "memory_core.importing.sync",
    "memory_core.interchange.folder",
    "memory_core.storage.backup.backup",
    "memory_core.storage.backup.salvage",
    "memory_core.text.names",
    "server.http.listener",
    # said of a call that the page does not make, or of a mistake of the program
    "memory_core.lifecycle.places",
    "memory_core.lifecycle.stamps",
    "memory_core.storage.index.vector_entries",
    "memory_core.storage.index.vector_source",
    "memory_core.storage.index.vectors",
    "memory_core.storage.journal.format",
    "memory_core.storage.journal.transaction",
    "memory_core.storage.table.rows",
    "server.rest.compat",
)
"""What no reader of the page is told."""

CALLS: dict[str, tuple[int | str, ...]] = {
    **{name: (0, 1) for name, of in vars(errors).items() if inspect.isclass(of)},
    **dict.fromkeys(("ServiceFailure", "AnswerFailure", "__init__"), (0, 1)),
    **dict.fromkeys(("unusable", "TooMuch", "not_allowed"), (0,)),
    **dict.fromkeys(("_disk", "_translated", "lance_errors", "damaged"), (0,)),
    **dict.fromkeys(("from_errno", "from_os_error", "_or_close", "HTTPException"), (1,)),
    **dict.fromkeys(("Problem", "Unread"), (0, 1)),
    **dict.fromkeys(("problem", "_problem"), (0, 1, 2)),
    **dict.fromkeys(("RunReport", "replace"), ("note",)),
    "Check": (2, 3),
    "_joined": (0, 1, 2, 3, 4, 5),
    "Finding": (1,),
    "Contradiction": (4,),
}
"""The calls that say something, with the places or names of the arguments that are sentences."""

PUT = ("note", "details", "doubt", "_NEXT")
RETURNED = (
    ("memory_core.forget", "_listed"),
    ("memory_core.interchange.files", "not_in_it"),
    ("memory_core.lifecycle.doubts", "_verdict"),
    ("memory_core.storage.journal.files", "prepare"),
    ("memory_core.interchange.sources.chat_log", "_order"),
    ("memory_core.storage.backup.copies", "in_words"),
)
"""What is said through a property, or by more than one step."""

LEFT_OUT = ("LeftOut", "left_out")
ENDS = {"stopped", "killed", "interrupted"}
"""Why a run came to nothing; a word that says so may be one alone."""

AS_IT_IS = re.compile(r"`[^`]*`|(?:pip|python) .*|[^a-z]*")
"""A command, or a form without a word, needs no German."""


def test_each_sentence_of_the_program_has_its_german() -> None:
    told, german = said(), table()
    assert len(told) > 450
    assert sorted(told - german.keys()) == [], "give these to words/said-de.js, or -import"
    assert sorted(german.keys() - told) == [], "nothing says these forms any more"


def test_what_is_left_out_is_there() -> None:
    names = [module.it.__name__ for module in modules(*SAYS, "memory_core/config.py")]
    for each in NEVER:
        assert any(name == each or name.startswith(each + ".") for name in names), each


def test_each_german_sentence_has_the_values_of_its_form() -> None:
    for form, words in table().items():
        values = {str(n) for n in range(form.count("{}"))}
        assert set(re.findall(r"\{(\d)\}", words)) == values, form


def test_forms_are_read_from_names_joins_and_functions() -> None:
    """What finds the forms: with a way of saying it left out, a sentence stays English unseen."""
    health = set(read("memory_core.health").calls(CALLS))
    assert {"kept by {}", "process {}", "nobody yet"} <= health, "a list, a conditional, a name"
    assert "; every checksum matches" in health, "a sum"
    assert "{} belongs to {}" in health, "what a function of another file returns"
    assert "call health with repair, or run `anamnesis health --repair`" in health, "a constant"


TOLD = {
    "every memory is indexed": "jede Erinnerung ist im Index",
    "kept by process 12, 3 changes to apply, checksums compared 5 s ago; files: check it": (
        "gepflegt von Prozess 12, 3 Änderungen anzuwenden, Prüfsummen verglichen vor 5 s; "
        "files: prüfen"
    ),
    "1,234 changes, sequence 7; every checksum matches": (
        "1.234 Änderungen, Nummer 7; jede Prüfsumme stimmt"
    ),
    "a.jsonl line 3: invalid_input: importance is 12; give a number from 0.0 to 1.0": (
        "a.jsonl Zeile 3: importance ist 12; eine Zahl von 0.0 bis 1.0 angeben"
    ),
    'the later text says "every memory is indexed"': "das Spätere sagt „every memory is indexed“",
    "x.zip is a broken archive (File is not a zip file)": (
        "x.zip ist ein kaputtes Archiv (File is not a zip file)"
    ),
    "gone from every answer and erased from every file; still in copies that were made before, "
    "delete them too: the backup of 2026-01-02 in /a/b, which is no longer there": (
        "aus jeder Antwort verschwunden und aus jeder Datei gelöscht; noch in früheren Kopien, die "
        "auch zu löschen sind: Sicherung vom 2026-01-02 in /a/b, nicht mehr dort"
    ),
    "the sky is blue, it seems": "",
    "constructor": "",
    "x: " * 5000: "",
}
"""What the program may say, and how the German page says it; "" is what it leaves in English."""


def test_sentences_of_several_parts_are_said_and_others_left(opened: Any) -> None:
    """What somebody wrote, in quotes, stays; a number is written as German does."""
    page = opened(locale="de-DE").page
    say = "async all => { const { said } = await import('/ui/said.js'); return all.map(said); }"
    assert dict(zip(TOLD, page.evaluate(say, list(TOLD)), strict=True)) == TOLD


@pytest.mark.long
def test_an_import_and_the_checks_are_told_in_german(
    server: Any, opened: Any, tmp_path: Path
) -> None:
    server.remember("The ferry to Amrum leaves at nine.")
    lines = ['{"text": "It is stormy.", "importance": 12}', '{"text": 3}', "none", "[1]"]
    named, unknown = tmp_path / "some.jsonl", tmp_path / "some.bin"
    named.write_text("\n".join([*lines, '{"text": "The kiosk on the pier is blue."}']), "utf-8")
    unknown.write_bytes(b"\0\1")
    page = opened(locale="de-DE").expects("status of 422").page
    page.evaluate("location.hash = '#/health'")
    page.get_by_text("geschrieben, gefunden und entfernt").wait_for()
    assert page.locator("main bdi[lang=en]").all_inner_texts() == []
    assert page.locator("main dl[lang]").count() == 0
    told = page.locator("main .part:not(.versions) dt").all_text_contents()
    english = table("en")
    assert {"Ordner", "Prozess", "Verbundene Clients"} <= set(told)
    assert set(told) <= {each for key, each in WORDS.items() if key.startswith("field.")}
    differ = {english[key] for key in english if english[key] != WORDS.get(key)}
    assert differ.isdisjoint(told)
    page.evaluate("location.hash = '#/import'")
    page.locator("input[type=file]").set_input_files(named)
    page.get_by_text("some.jsonl Zeile 4: kein JSON-Objekt").wait_for()
    page.get_by_text("some.jsonl Zeile 2: text ist 3; einen Text angeben").wait_for()
    assert page.locator("main bdi[lang=en]").all_inner_texts() == []
    page.locator("input[type=file]").set_input_files(unknown)
    page.get_by_text("hat eine bekannte Form. Gesucht wurde nach").wait_for()
    assert page.locator("main bdi[lang=en]").all_inner_texts() == []
    looked = page.locator("main [role=alert]").inner_text()
    german = {table()[form.about] for form in registry.forms("", {})}
    assert [each for each in german if each not in looked] == []


def said() -> set[str]:
    """Every form that the page may be told."""
    found = {*ENDS, *(f"{of.code}: {{}}" for of in vars(errors).values() if hasattr(of, "code"))}
    found |= {form.about for form in registry.forms("", {})}
    for kind in (change.WORDS, change.ORDER, change.PRESUMED):
        found |= {change.Found(kind, words).reason for words in (("{}", "{}"), ("{}",))}
    for module in modules(*SAYS):
        name = module.it.__name__
        if not any(name == each or name.startswith(each + ".") for each in NEVER):
            found |= set(sentences((*module.calls(CALLS), *module.set(*PUT))))
            found |= left_out(module)
    config = read("memory_core.config")
    found |= set(sentences((*config.set("hint"), *config.calls({"append": (0,)}))))
    for name in ("backup", "copies"):
        found |= set(read(f"memory_core.storage.backup.{name}").calls({"Copy": (0,)}))
    for name, function in RETURNED:
        found |= set(sentences(read(name).returned(function)))
    known = {key.removeprefix("skip.") for key in WORDS if key.startswith("skip.")}
    return found - known


def sentences(forms: Any) -> Iterator[str]:
    """Those of *forms* that are more than a word, without what joins them to the one before."""
    for form in forms:
        alone = re.sub(r"^[;,:] ", "", form.strip())
        if " " in alone and not AS_IT_IS.fullmatch(alone):
            yield alone


def left_out(module: Any) -> set[str]:
    """The reasons for which an import leaves something out."""
    found = set(module.calls({LEFT_OUT[0]: (0,)}))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(LEFT_OUT[1]):
            found |= set(module.forms(node.slice))
    return {each for each in found if not AS_IT_IS.fullmatch(each)}


_LINE = re.compile(r'^  ("(?:[^"\\]|\\.)+"): ("(?:[^"\\]|\\.)*"),$', re.MULTILINE)


def table(*names: str) -> dict[str, str]:
    files = [STATIC / "words" / f"{name}.js" for name in names or ("said-de", "said-de-import")]
    found = [_LINE.findall(file.read_text("utf-8")) for file in files]
    assert len({key for each in found for key, _ in each}) == sum(map(len, found)), "one twice"
    return {json.loads(key): json.loads(value) for each in found for key, value in each}


WORDS = table("de")
