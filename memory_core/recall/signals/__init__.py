"""The signals that ranking adds up, one a file: taking one out is deleting a file and its line."""

from memory_core.recall.candidates import Signal
from memory_core.recall.signals.asks import Asks
from memory_core.recall.signals.cognition import Cognition
from memory_core.recall.signals.elsewhere import Elsewhere
from memory_core.recall.signals.facts import Facts
from memory_core.recall.signals.order import Order
from memory_core.recall.signals.preferences import Preferences
from memory_core.recall.signals.role import Role
from memory_core.recall.signals.session import Session
from memory_core.recall.signals.temporal import Temporal
from memory_core.recall.signals.thread import Thread
from memory_core.recall.signals.wished import Wished

SIGNALS: tuple[Signal, ...] = (
    Thread(),
    Session(),
    Role(),
    Asks(),
    Temporal(),
    Elsewhere(),
    Preferences(),
    Order(),
    Facts(),
    Wished(),
    Cognition(),  # the last one: its bound is a share of the spread of all others together
)
"""In the order in which their columns are added."""
