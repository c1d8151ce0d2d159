"""The command line where the terminal, a pipe or the locale knows few letters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.cli import letters

ROOT = Path(__file__).parents[2]
TEXT = "Größe → 漢字 im Café 🎉"
SYSTEMS = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(os.name != "posix", reason="locales of POSIX"),
]


def anamnesis(folder: Path, system: str, *words: str | bytes, stdin: bytes = b"") -> bytes:
    """What the command prints to stdout; fails on a traceback or another exit code than 0."""
    environment = {"PATH": os.defpath, "HOME": str(folder), "ANAMNESIS_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "server", *words, "--data-dir", str(folder / "data")],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**environment, "ANAMNESIS_EMBEDDER": "none", **SYSTEMS[system]},
        timeout=120,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("system", ["C locale", pytest.param("cp1252", marks=pytest.mark.long)])
def test_every_letter_that_was_typed_is_stored_and_none_ends_the_program(
    tmp_path: Path, system: str
) -> None:
    anamnesis(tmp_path, system, "remember", TEXT.encode())
    lines = b"Die F\xe4hre nach Sm\xe5land legt um neun ab.\n" + "Der Kai heißt Süd.\n".encode()
    anamnesis(tmp_path, system, "seed", "-", stdin=lines)
    exported = [json.loads(line) for line in anamnesis(tmp_path, system, "export").splitlines()]
    assert {each["text"] for each in exported} >= {
        TEXT,
        "Die Fähre nach Småland legt um neun ab.",
        "Der Kai heißt Süd.",
    }
    assert b"im Caf" in anamnesis(tmp_path, system, "recall", "Größe im Café".encode())


@pytest.mark.long
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_pipe_carries_every_letter_in_and_out(tmp_path: Path, system: str) -> None:
    anamnesis(tmp_path, system, "remember", "-", stdin=TEXT.encode())
    answer = json.loads(anamnesis(tmp_path, system, "recall", "Größe im Café".encode(), "--json"))
    assert [each["text"] for each in answer["memories"]] == [TEXT]


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_path_keeps_its_bytes_and_a_text_is_decoded(tmp_path: Path) -> None:
    file, other = tmp_path / "facts\udce9.jsonl", tmp_path / "factsé.jsonl"
    file.write_text('{"text": "The tea is in the tin."}\n')
    other.write_text('{"text": "The key is under the pot."}\n')
    said = anamnesis(tmp_path, "cp1252", "import", os.fsencode(file), "--agent", b"J\xfcrg")
    assert b"1 stored" in said
    assert b"1 stored" in anamnesis(tmp_path, "cp1252", "seed", os.fsencode(other))
    exported = anamnesis(tmp_path, "cp1252", "export", "--agent", "Jürg").splitlines()
    assert [json.loads(line)["text"] for line in exported] == ["The tea is in the tin."]


def test_a_data_directory_is_found_in_a_locale_that_lacks_its_letters(tmp_path: Path) -> None:
    (tmp_path / "Büro").mkdir()
    anamnesis(tmp_path / "Büro", "C locale", "remember", "The tea is in the tin.")
    assert b"tea" in anamnesis(tmp_path / "Büro", "cp1252", "list")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        ("Größe".encode(), "Größe"),
        (b"Gr\xf6\xdfe", "Größe"),
        (b"\x81\xf6", "\x81ö"),  # no letter of cp1252
    ],
)
def test_bytes_are_read_as_what_they_are_most_likely(raw: bytes, text: str) -> None:
    assert letters.typed(raw.decode("ascii", "surrogateescape")) == text


def test_a_surrogate_that_is_no_byte_is_left_to_the_memory() -> None:
    assert letters.typed("a\ud83d\udcffb") == "a\ud83d\udcffb"
    assert letters.typed("a\ud83d") == "a\ud83d"
