"""Evaluating against the user's own store with a `{query, relevant_texts}` file (seed row C7.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.errors import InvalidInput
from memory_core.evaluation import report
from memory_core.evaluation.metrics import Answer, score, without_repeats
from memory_core.evaluation.readers.pairs import CATEGORY, Pair
from memory_core.evaluation.report import PRODUCT, Report
from memory_core.records import Identity, Recollection, normalised

if TYPE_CHECKING:
    from memory_core.evaluation.runner import Progress
    from memory_core.memory import Memory


def evaluate_store(
    memory: Memory,
    who: Identity,
    items: Sequence[Pair],
    *,
    k: int = 20,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """How well recall finds the labelled texts of *items* in the store as it is; writes nothing.

    Recall is read-only here: what is found is not rehearsed.

    A recalled memory counts as a relevant text when it holds that text, up to case, white space and
    end punctuation. The second memory that holds the same text takes its place but earns nothing.
    A relevant text that is not stored at all counts as not found. Raises InvalidInput for no items.
    """
    if not items:
        raise InvalidInput("there is no query to ask", "give a list of {query, relevant_texts}")
    answers: list[Answer] = []
    texts: dict[str, dict[str, str]] = {"": {}}
    seconds: list[float] = []
    started = time.time()
    for n, item in enumerate(items, 1):
        begin = time.perf_counter()
        recollection = memory.recall(who, item.query, k=k, context=0, rehearse=False)
        seconds.append(time.perf_counter() - begin)
        answers.append(_answer(item, recollection, k))
        texts[""] |= {hit.memory.id: hit.memory.text for hit in recollection.hits}
        if progress is not None:
            progress(n, len(items), "recall")
    return Report(
        k=k,
        seed=seed,
        started=started,
        answers={PRODUCT: answers},
        texts=texts,
        times={"recall": seconds},
        counts={"questions": len(items)},
        versions=report.versions(),
        machine=report.machine(),
    )


def _answer(item: Pair, recollection: Recollection, k: int) -> Answer:
    wanted = without_repeats(map(normalised, item.relevant_texts))
    ranking: list[str] = []
    for hit in recollection.hits:
        held = [text for text in wanted if text in normalised(hit.memory.text)]
        fresh = [text for text in held if text not in ranking]
        ranking += fresh or [hit.memory.id]
    ranking = without_repeats(ranking)
    scores = score(ranking, wanted, {}, k) if wanted else {}
    return Answer(
        "",
        item.query,
        CATEGORY,
        tuple(wanted),
        tuple(ranking),
        scores,
        recollection.found,
        recollection.confidence,
    )
