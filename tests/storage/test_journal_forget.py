"""Forgetting: nothing that a memory said is left in any file; what it was called remains."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memory_core.forget import PastValues
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal.journal import Journal, Transaction

ROOT = Path(__file__).parents[2]
A, B, C = ("a" * 20, "b" * 20, "c" * 20)

SEARCH = """
import sys
from pathlib import Path
directory, *needles = sys.argv[1:]
for path in sorted(Path(directory).iterdir()):
    content = path.read_bytes()
    for needle in needles:
        if bytes.fromhex(needle) in content:
            print(path.name, needle)
"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    ticks = itertools.count(1000)
    opened = Journal.open(tmp_path, clock=lambda: float(next(ticks)))
    yield opened
    opened.close()


def found(directory: Path, *needles: bytes) -> list[str]:
    """File and needle (hex) of every needle found; in a process of its own, which opens them."""
    arguments = [sys.executable, "-c", SEARCH, str(directory), *(each.hex() for each in needles)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def store(journal: Journal, id: str, text: str, **fields: Any) -> None:
    def build(transaction: Transaction) -> None:
        memory = MemoryRecord(id=id, text=text, agent="me", **fields)
        transaction.append(Change("put", id, to_fields(memory), source="about " + text))
        transaction.put_vectors(id, "fp", [0], np.full((1, 384), 0.1234, np.float16))

    journal.write(build)


def forget(journal: Journal, id: str) -> None:
    change = Change("forget", id, {"digests": ["d"], "reason": "asked"}, before={"text": "never"})
    journal.write(lambda transaction: transaction.forget(change))


def append(journal: Journal, *changes: Change) -> None:
    journal.write(lambda transaction: [transaction.append(each) for each in changes])


@pytest.mark.usefixtures("processes")
def test_no_byte_of_the_text_is_left_in_any_file(journal: Journal, tmp_path: Path) -> None:
    secret = "the vault opens at nine"
    floats = np.full((1, 384), 0.1234, "<f2").tobytes()[:64]
    store(journal, A, secret, gist="gist: " + secret)
    append(journal, Change("put", A, {"text": secret + "!"}, run="r", before={"text": secret}))
    journal.write(lambda t: t.save_receipt("key", {"id": A, "gist": secret}, [A]))
    assert len(found(tmp_path, secret.encode())) == 1
    assert len(found(tmp_path, floats)) == 1
    forget(journal, A)
    assert journal.checkpoint(truncate=True)
    assert found(tmp_path, secret.encode(), b"vault", floats) == []
    assert journal.check() == []


@pytest.mark.usefixtures("processes")
def test_texts_of_neighbours_survive_and_leave_no_copies_when_they_go(tmp_path: Path) -> None:
    """Pages are merged and cells move as entries shrink; a moved cell must not stay behind."""
    order = random.Random(7)
    journal = Journal.open(tmp_path, clock=lambda: 1.0)
    ids = [f"{n:020d}" for n in range(300)]
    texts = {id: f"secret<{id}>" * order.randint(1, 150) for id in ids}
    access = Change("access", "", {"ids": ids[:9], "counts": [1] * 9, "last": [1.0] * 9})

    def fill(transaction: Transaction) -> None:
        for id in ids:
            transaction.append(Change("put", id, to_fields(MemoryRecord(id=id, text=texts[id]))))
            transaction.append(access)

    journal.write(fill)
    order.shuffle(ids)
    gone, kept = ids[:250], ids[250:]
    for id in gone:
        forget(journal, id)
    assert journal.checkpoint(truncate=True)
    assert found(tmp_path, *(f"secret<{id}>".encode() for id in gone)) == []
    assert {id: row["text"] for id, row in journal.fold(ids).items()} == {
        id: texts[id] for id in kept
    }
    assert journal.check() == []
    journal.close()


def test_a_forgotten_memory_answers_nothing(journal: Journal) -> None:
    store(journal, A, "one", session="s", position=0)
    store(journal, B, "two", session="s", position=1)
    thread = MemoryRecord(id=A, text="", agent="me", session="s").thread
    forget(journal, B)
    assert journal.fold([A, B]).keys() == {A}
    assert journal.vectors([A, B], "fp").keys() == {A}
    assert [ids for ids, _, _ in journal.all_vectors("fp")] == [[A]]
    assert journal.without_vectors("other", 10) == [A]
    assert journal.write(lambda t: t.next_position(thread)) == 1
    assert journal.write(lambda t: t.accesses([B])) == {}


def test_its_changes_stay_in_their_place_without_what_they_said(journal: Journal) -> None:
    store(journal, A, "one")
    append(journal, Change("put", A, {"gist": "g"}, run="r", before={"gist": ""}, actor="me"))
    forget(journal, A)
    history = journal.history(A)
    assert [(c.seq, c.kind, c.body, c.before, c.source, c.run) for c in history] == [
        (1, "put", None, None, "", ""),
        (2, "vectors", None, None, "", ""),
        (3, "put", None, None, "", "r"),
        (4, "forget", {"digests": ["d"], "reason": "asked"}, None, "", ""),
    ]
    assert journal.changes(0) == history
    assert [c.at for c in history] == [1000.0, 1000.0, 1001.0, 1002.0]


def test_changes_that_name_it_no_longer_do(journal: Journal) -> None:
    for id in (A, B, C):
        store(journal, id, f"text {id}")
    append(
        journal,
        Change("access", "", {"ids": [A, B, C], "counts": [1, 2, 3], "last": [7.0, None, 9.0]}),
        Change("access", "", {"ids": [A, C], "counts": [5, 6], "last": [10.0, 11.0]}),
        Change("link", A, {"b": C, "kind": "updates", "weight": 1.0}),
        Change("link", A, {"b": B, "kind": "updates", "weight": 1.0}),
        Change("link", B, {"b": C, "kind": "updates", "weight": 1.0}),
    )
    forget(journal, B)
    bodies = [(c.kind, c.body) for c in journal.changes(6)]
    assert bodies[:-1] == [
        ("access", {"ids": [A, C], "counts": [1, 3], "last": [7.0, 9.0]}),
        ("access", {"ids": [A, C], "counts": [5, 6], "last": [10.0, 11.0]}),
        ("link", {"b": C, "kind": "updates", "weight": 1.0}),
        ("link", None),
        ("link", None),
    ]
    assert journal.check() == []


@pytest.mark.parametrize("kind", ["access", "link"])
def test_damaged_changes_that_name_it_are_scrubbed_whole(tmp_path: Path, kind: str) -> None:
    body = {
        "access": {"ids": [A, B], "counts": [1, 2], "last": [7.0, 8.0]},
        "link": {"b": B, "kind": "updates", "weight": 1.0},
    }[kind]
    journal = Journal.open(tmp_path, clock=lambda: 1.0)
    store(journal, A, "one")
    store(journal, B, "two")
    append(journal, Change(kind, A if kind == "link" else "", body))
    journal.close()
    connection = apsw.Connection(str(tmp_path / "journal.db"))
    connection.execute("UPDATE changes SET body = body || '}' WHERE seq = 5")
    connection.close()
    journal = Journal.open(tmp_path, clock=lambda: 1.0)
    forget(journal, B)
    assert journal.changes(4)[0].body is None
    assert journal.check() == []
    journal.close()


def test_a_failed_forget_changes_nothing(journal: Journal) -> None:
    store(journal, A, "one")
    before = journal.changes(0), journal.fold([A])

    def build(transaction: Transaction) -> None:
        transaction.forget(Change("forget", A, {"digests": ["d"], "reason": ""}))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        journal.write(build)
    assert (journal.changes(0), journal.fold([A])) == before
    assert journal.write(lambda t: t.tombstones(["d"])) == []
    assert journal.vectors([A], "fp").keys() == {A}


def test_a_field_is_emptied_where_it_was_found_and_in_what_came_since(journal: Journal) -> None:
    def topic(text: str) -> Change:
        return Change("put", A, {"topic": text}, run="r", before={"topic": "the vault"})

    def goes(id: str, value: str) -> bool:
        return id != C and "vault" in value

    for id in (A, B, C):
        store(journal, id, f"a text of {id}", topic=f"the vault of {id}")
    append(journal, topic("the weir"), topic("a vault"))
    past = PastValues(journal, "topic", batch=2)
    known, after = past.puts(lambda value: "vault" in value, goes)
    assert (known, after) == ([1, 3, 7, 8], 8)
    append(journal, Change("put", B, {"topic": "a second vault"}), Change("put", B, {"gist": "g"}))
    forget(journal, A)  # what was found is scrubbed meanwhile
    journal.write(lambda tx: tx.blank("topic", goes, known, after))
    assert journal.check() == []
    assert past.puts(lambda value: "vault" in value, goes) == ([], journal.last())
    kept = journal.fold([B, C])
    assert (kept[B]["topic"], kept[B]["gist"]) == ("", "g")
    assert kept[C]["topic"] == f"the vault of {C}"
