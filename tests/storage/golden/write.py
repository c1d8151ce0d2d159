"""Writes the golden journal of the current format: `python tests/storage/golden/write.py`.

It was run once for each format and refuses to write over one that is there: the files are what a
store of that format looks like for ever. `script` is also run by the tests, which compare.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from memory_core.records import Change, MemoryRecord, to_fields  # noqa: E402
from memory_core.storage.journal.journal import Journal, Transaction  # noqa: E402

A, B, C, D = ("0" * 19 + each for each in "abcd")

MEMORIES = (
    MemoryRecord(
        id=A,
        text='Zoë moved to Kraków on 7 May 2024; her port is 5432.\n\t"Quoted" \\ and \0.',
        visibility="team",
        agent="me",
        team="blue",
        session="s-1",
        position=0,
        speaker="Zoë",
        role="user",
        kind="fact",
        gist="Zoë lives in Kraków",
        tags=("move", "port"),
        topic="t1",
        entities=("Zoë", "Kraków"),
        importance=0.75,
        valence=-0.25,
        arousal=0.125,
        emotions=("joy",),
        occurred_at=1715040000.0,
        recorded_at=1715040001.5,
        dates=("2024-05-07",),
        valid_from=1715040000.0,
        content_hash="00112233445566778899aabbccddeeff",
        source="chat, line 3",
        client="desktop",
        trust="user",
        tier="recent",
    ),
    MemoryRecord(id=B, text="我喜欢咖啡。", agent="me", recorded_at=0.1),
    MemoryRecord(id=C, text="🙂 e\u0301 \u202e \x7f", agent="you", derived_from=(A, B), run="r1"),
    MemoryRecord(id=D, text="to be forgotten", agent="me", session="s-1", position=1),
)


def clock() -> Any:
    """A quarter of a second a change, from a fixed moment."""
    ticks = itertools.count()
    return lambda: 1700000000.0 + next(ticks) / 4


def script(journal: Journal) -> None:
    """One change of every kind and form, each in a transaction of its own."""
    who = {"actor": "me", "source": "stdio", "scope": "private"}
    steps: list[Any] = [Change("put", m.id, to_fields(m), **who) for m in MEMORIES]
    steps += [
        Change("meta", "embedding", {"value": {"dimension": 4, "name": "minilm"}}),
        Change("run", "r1", {"state": "started", "mode": "sleep"}, run="r1"),
        Change("put", A, {"tier": "long_term"}, run="r1", before={"tier": "recent"}, **who),
        Change("put", B, {"superseded_by": C, "superseded_at": 1e9, "replaced": True}),
        Change("put", B, {"retired_at": None, "tags": []}),
        Change("link", A, {"b": C, "kind": "updates", "weight": 0.3}, run="r1"),
        Change("link", D, {"b": A, "kind": "co_recall", "weight": 1}),
        Change("access", "", {"ids": [A, D], "counts": [2, 1], "last": [1.5, None]}),
        Change("run", "r1", {"state": "completed"}, run="r1"),
    ]
    for change in steps:
        journal.write(lambda transaction, change=change: transaction.append(change))
    for number, id in enumerate((A, C, D), start=1):
        data = (np.arange(number * 4, dtype=np.float32).reshape(number, 4) / 3).astype(np.float16)
        journal.write(
            lambda transaction, id=id, data=data: transaction.put_vectors(
                id, "model-1", range(-1, len(data) - 1), data
            )
        )
    forgotten = Change("forget", D, {"digests": ["d1", "d2"], "reason": "asked"}, **who)

    def last(transaction: Transaction) -> None:
        transaction.save_receipt("key-1", {"id": A, "status": "stored"}, [A])
        transaction.save_receipt("key-2", {"id": D, "status": "stored"}, [D])
        transaction.forget(forgotten)

    journal.write(last)


def synced(journal: Journal) -> None:
    """Changes that came from another machine, from a file, and what is known of folders of sync."""
    machine, of = "0" * 18 + "m1", "00112233445566ff"

    def told(*groups: str, folder: str = of) -> dict[str, Any]:
        return {"synced": {**{name: [1700000100.25, machine] for name in groups}, "of": folder}}

    who = {"actor": "me", "scope": "private"}
    steps = [
        Change("meta", "machine", {"value": "0" * 18 + "m2"}, source="sync"),
        Change("put", A, to_fields(MEMORIES[0]) | told("born", "tags"), source="sync", **who),
        Change("put", B, to_fields(MEMORIES[1]) | told("born", folder=""), source="import", **who),
        Change("put", A, {"tags": ["move"], **told("tags")}, source="sync", **who),
        Change("put", A, {"importance": 1.0, **told("importance", folder="")}, **who),
        Change("put", B, {"retired_at": 1.7e9, **told("retired")}, source="sync", **who),
        Change(
            "put", B, {"superseded_by": A, "replaced": True, **told("superseded")}, run="r2",
            before={"superseded_by": "", "replaced": False}, source="import", **who,
        ),
        Change("link", A, {"b": B, "kind": "updates", "weight": 0.5, **told("link")}),
        Change("meta", f"forgotten {C}", {"value": {"stamp": [1.5, machine], "of": of}}),
        Change("meta", f"sync {of}", {"value": {"after": 9, "own": {"000001.jsonl": 42}}}),
        Change("meta", "place_key", {"value": "00" * 32}, source="events"),
    ]  # fmt: skip
    for change in steps:
        journal.write(lambda transaction, change=change: transaction.append(change))


SCRIPTS = {"format_1": script, "format_1_synced": synced}
"""What wrote the journal of each folder."""


def described(journal: Journal) -> dict[str, Any]:
    """Everything that can be read from the journal, as JSON."""
    ids = [A, B, C, D]
    vectors = journal.vectors(ids, "model-1")
    return {
        "changes": [
            {name: getattr(each, name) for name in each.__slots__}
            for each in journal.changes(0, 1000)
        ],
        "folded": journal.fold(ids),
        "vectors": {id: [parts, data.tolist()] for id, (parts, data) in vectors.items()},
        "tombstones": journal.write(lambda transaction: transaction.tombstones(["d1", "d2"])),
        "receipts": {key: journal.receipt(key) for key in ("key-1", "key-2")},
        "meta": journal.meta("embedding"),
    }


def main() -> None:
    """Write journal.db and expected.json of the folders that are not there yet."""
    for name, write in SCRIPTS.items():
        folder = HERE / name
        if (folder / "journal.db").exists():
            print(f"{folder} is frozen")
            continue
        journal = Journal.open(folder, clock=clock())
        write(journal)
        text = json.dumps(described(journal), indent=1, ensure_ascii=True, sort_keys=True)
        journal.close()
        (folder / "expected.json").write_text(text + "\n")
        (folder / "write.lock").unlink()


if __name__ == "__main__":
    main()
