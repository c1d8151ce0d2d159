"""What is done to a journal while it is hindered. Every step has a key under which it can be
repeated, as a client does that got no answer: the whole scenario may be run again at any time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from memory_core.errors import MemoryCoreError
from memory_core.records import Change, MemoryRecord, new_id, to_fields
from memory_core.storage.journal import files
from memory_core.storage.journal.format import FORMAT
from memory_core.storage.journal.journal import Journal, Transaction

Say = Callable[..., None]
MODEL = "toy"


def text_of(key: str) -> str:
    """The text that belongs to *key*; some are longer than a page of the database."""
    return f"text of {key} " * (1 + 700 * (key[-1] == "0") + sum(map(ord, key)) % 30)


def number_of(key: str) -> int:
    return sum(map(ord, key)) % 90 + 1


class Client:
    """Does keyed steps on a journal and says what was acknowledged, or which error it got."""

    def __init__(self, journal: Journal, say: Say) -> None:
        self.journal, self.say = journal, say
        self.ids: dict[str, str] = {}

    def _do(self, word: str, key: str, build: Callable[[Transaction], Any], id: str = "-") -> Any:
        self.say("trying", word, key, id)
        try:
            result = self.journal.write(build)
        except MemoryCoreError as problem:
            self.say("failed", word, key, problem.code)
            return None
        self.say(word, key, result)
        return result

    def put(self, key: str) -> None:
        fields = to_fields(MemoryRecord(id=new_id(time.time()), text=text_of(key), session=key[0]))
        vectors = np.full((1 + number_of(key) % 3, 64), number_of(key), np.float16)

        def build(tx: Transaction) -> str:
            if (kept := tx.receipt(key)) is not None:
                return str(kept["id"])
            id = fields["id"]
            tx.append(Change("put", id, fields))
            tx.put_vectors(id, MODEL, range(len(vectors)), vectors)
            tx.save_receipt(key, {"id": id}, [id])
            return str(id)

        if id := self._do("put", key, build):
            self.ids[key] = id

    def tag(self, key: str) -> None:
        """A partial put, an access and a link, in one transaction, all of them absolute."""

        def build(tx: Transaction) -> str:
            id = self.ids[key]
            if tx.accesses([id]):
                tx.append(Change("put", id, {"tags": [key]}))
                tx.append(Change("access", "", {"ids": [id], "counts": [7], "last": [5.0]}))
                for other in [other for other in self.ids.values() if other != id][:1]:
                    tx.append(Change("link", id, {"b": other, "kind": "near", "weight": 0.5}))
            return id

        if key in self.ids:
            self._do("tag", key, build)

    def consolidate(self, key: str) -> None:
        """A run: its beginning, a new memory, a change with its before-image, its end."""
        fields = to_fields(MemoryRecord(id=new_id(time.time()), text=text_of(key), kind="summary"))

        def build(tx: Transaction) -> str:
            if (kept := tx.receipt(key)) is not None:
                return str(kept["id"])
            run, id = new_id(time.time()), fields["id"]
            tx.append(Change("run", run, {"state": "started"}, run=run))
            tx.append(Change("put", id, fields, run=run))
            for other in list(self.ids.values())[:2]:
                if tx.accesses([other]):
                    body, before = {"topic": key}, {"topic": ""}
                    tx.append(Change("put", other, body, run=run, before=before))
            tx.append(Change("run", run, {"state": "completed"}, run=run))
            tx.save_receipt(key, {"id": id}, [id])
            return str(id)

        if id := self._do("put", key, build):
            self.ids[key] = id

    def forget(self, key: str) -> None:
        if (id := self.ids.pop(key, None)) is None:
            return

        def build(tx: Transaction) -> str:
            if tx.accesses([id]):
                tx.forget(Change("forget", id, {"digests": [key], "reason": "asked"}))
            return id

        self._do("forget", key, build, id)

    def look(self) -> None:
        """Read everything that was acknowledged and not forgotten; an error is said."""
        try:
            rows = self.journal.fold(list(self.ids.values()))
        except MemoryCoreError as problem:
            self.say("failed", "read", "-", problem.code)
        else:
            missing = [key for key, id in self.ids.items() if id not in rows]
            assert not missing, f"not read: {missing}"

    def checkpoint(self, *, truncate: bool) -> None:
        try:
            self.journal.checkpoint(truncate=truncate)
        except MemoryCoreError as problem:
            self.say("failed", "checkpoint", "-", problem.code)


def opened(directory: Path, say: Say) -> Journal | None:
    try:
        return Journal.open(directory, clock=time.time, lock_seconds=60.0)
    except MemoryCoreError as problem:
        say("failed", "open", "-", problem.code)
        return None


def all_kinds(directory: Path, say: Say) -> None:
    """Every kind of change once or twice, both checkpoints, a clean close."""
    if (journal := opened(directory, say)) is None:
        return
    client = Client(journal, say)
    for key in ("a1", "a2"):
        client.put(key)
    client.tag("a1")
    client.checkpoint(truncate=False)
    client.put("b10")
    client.consolidate("s1")
    client.forget("a1")
    client.checkpoint(truncate=True)
    client.put("c1")
    client.look()
    client.forget("b10")
    client.put("c2")
    client.look()
    journal.close()


def at_random(
    directory: Path, say: Say, seed: int, steps: int, known: dict[str, str] | None = None
) -> None:
    """*steps* steps in an order that *seed* decides; *known* are keys and ids of earlier runs."""
    if (journal := opened(directory, say)) is None:
        return
    order, client = random.Random(seed), Client(journal, say)
    client.ids.update(known or {})
    for step in range(steps):
        keys = list(client.ids)
        way = order.random()
        if way < 0.6 or not keys:
            client.put(f"{seed}.{step}")
        elif way < 0.7:
            client.tag(order.choice(keys))
        elif way < 0.76:
            client.consolidate(f"s{seed}.{step}")
        elif way < 0.9:
            client.forget(order.choice(keys))
        else:
            client.checkpoint(truncate=order.random() < 0.5)
    journal.close()


class Account:
    """What clients were told, over any number of runs on one directory."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        """Acknowledged keys and their ids."""
        self.tried: set[str] = set()
        self.forgot: set[str] = set()
        self.forgetting: set[str] = set()
        """Ids whose forgetting was begun; it may or may not have happened."""

    def take(self, said: Iterable[list[str]]) -> None:
        """Add what a run said; an answer that contradicts an earlier one is an error."""
        for words in said:
            if words[0] == "trying" and words[1] == "put":
                self.tried.add(words[2])
            elif words[0] == "trying" and words[1] == "forget":
                self.forgetting.add(words[3])
            elif words[0] == "put":
                key, id = words[1:]
                first = self.ids.setdefault(key, id)
                assert first in (id, *self.forgetting), f"{key} was stored twice"
                self.ids[key] = id  # a receipt goes with its memory: a retry then stores anew
            elif words[0] == "forget":
                self.forgot.add(words[2])

    def verify(self, directory: Path) -> int:
        """Everything acknowledged is there, whole and once, what was forgotten is not; how many."""
        journal = Journal.open(directory, clock=time.time)
        try:
            changes = journal.changes(0, 1_000_000)
            assert [change.seq for change in changes] == list(range(1, len(changes) + 1))
            rows = journal.fold(list(dict.fromkeys(c.target for c in changes if c.kind == "put")))
            texts = [row["text"] for row in rows.values()]
            assert len(set(texts)) == len(texts), "stored twice"
            assert set(texts) <= {text_of(key) for key in self.tried}
            assert not self.forgot & rows.keys()
            for key, id in self.ids.items():
                self._one(journal, key, id, rows)
            assert journal.check() == []
        finally:
            journal.close()
        return len(rows)

    def _one(self, journal: Journal, key: str, id: str, rows: dict[str, Any]) -> None:
        if id in self.forgetting and id not in rows:
            assert journal.vectors([id], MODEL) == {}
            assert journal.receipt(key) is None
            assert all(change.body is None for change in journal.history(id)[:-1])
            return
        assert id in rows, f"{key} was lost"
        assert rows[id]["text"] == text_of(key), f"{key} says something else"
        assert journal.receipt(key) == {"id": id}
        if not key.startswith("s"):
            data = journal.vectors([id], MODEL)[id][1]
            assert np.unique(data).tolist() == [number_of(key)]


def add_colour(connection: Any) -> None:
    """What a next format might bring: a column, filled for what is there."""
    connection.execute("ALTER TABLE heads ADD COLUMN colour TEXT NOT NULL DEFAULT ''")
    connection.execute("UPDATE heads SET colour = 'grey'")


def migrate(directory: Path, say: Say) -> None:
    """Open the journal in *directory* with a program that is one format on."""
    following = FORMAT + 1
    with (
        mock.patch.object(files, "FORMAT", following),
        mock.patch.object(files.migrate, "__defaults__", ({FORMAT: add_colour}, following)),
    ):
        journal = Journal.open(directory, clock=time.time, lock_seconds=60.0)
        say("whole", *journal.check())
        journal.close()
