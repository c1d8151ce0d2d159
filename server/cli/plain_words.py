"""Plain English for the names of fields, links and sources in what a command prints for people."""

from __future__ import annotations

_WORDS = {
    # links, as they stand before the other memory
    "co_recall": "recalled with",
    "doubts_part": "doubts a part of",
    "kept_both": "holds beside",
    "suspends": "holds for a while instead of",
    "updates_part": "updates a part of",
    # fields of a memory
    "access_count": "times recalled",
    "doubted_by": "put in doubt by",
    "doubtful_since": "in doubt since",
    "last_accessed": "last recalled",
    "occurred_at": "happened",
    "recorded_at": "stored",
    "replaced": "replaced on purpose",
    "retired_at": "retired",
    "stale_since": "rests on what is out of date since",
    "superseded_at": "replaced at",
    "superseded_by": "replaced by",
    "valid_from": "holds from",
    "valid_until": "holds until",
    "visibility": "scope",
    # who or what made a change
    "amend": "by hand",
    "consolidate": "sleep",
    "doubt": "check for contradictions",
    "judge": "language model",
    "merge": "said again",
    "ring": "upkeep",
    "sweep": "upkeep",
    # figures
    "bytes": "bytes used",
    "edges": "links",
    "last_scrub": "last check of all sums",
    "live": "memories stored",
    "maintenance_holder": "does the upkeep",
    "maintenance_process": "process of the upkeep",
    "mean_access": "mean recalls",
    "merged": "merged as copies",
    "pruned": "retired as faded",
    "set_aside": "damaged files set aside",
    "topics_of_one": "topics with one memory",
    "unconsolidated": "episodes without a summary",
    "wal_bytes": "bytes not yet merged into the journal",
}


def plain(name: str) -> str:
    """What the program calls *name*, in words."""
    return _WORDS.get(name, name.replace("_", " "))
