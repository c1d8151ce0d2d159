"""The indexes and the journal of a store, for tests."""

from memory_core.memory import Memory
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View


def view_of(store: MemoryStore) -> View:
    """The view of this moment, without its lock; take it anew after a write."""
    with store.reading() as view:
        return view


def asked_for(memory: Memory) -> int:
    """How many changes of calls the journal holds; maintenance adds its own at any time."""
    journal = memory._runtime.parts().store.journal
    changes = journal.changes(0, journal.last())
    return sum(change.source != "maintenance" for change in changes)
