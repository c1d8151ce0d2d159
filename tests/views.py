"""The indexes of a store for a test in which nobody else reads or writes at the same time."""

from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View


def view_of(store: MemoryStore) -> View:
    """The view of this moment, without its lock; take it anew after a write."""
    with store.reading() as view:
        return view
