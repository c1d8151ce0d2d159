"""Evaluating the product the way a client uses it: remember every turn, ask every question."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.errors import EncoderUnavailable, InvalidInput
from memory_core.evaluation import report
from memory_core.evaluation.baselines import Baselines
from memory_core.evaluation.baselines import check as check_baseline
from memory_core.evaluation.conversation import Conversation, Turn
from memory_core.evaluation.metrics import Answer, score, without_repeats
from memory_core.evaluation.readers import LABELLED, Pair
from memory_core.evaluation.report import PRODUCT, Report
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection, normalised
from memory_core.remember.request import RememberRequest

if TYPE_CHECKING:
    from memory_core.embedding.base import Embedder
    from memory_core.memory import Memory

Progress = Callable[[int, int, str], None]
"""Called with (steps done, all steps, what is being done)."""

OpenMemory = Callable[[Path], "Memory"]
"""Opens a Memory in the directory that it is given."""

READY_SECONDS = 300.0
"""Wait for store and model before the first turn; a first start may have to fetch the weights."""

TEXT_CHARS = 20_000
"""The default limit of `remember` for one memory."""

EVALUATOR = Identity("evaluation")


def evaluate(
    conversations: Sequence[Conversation],
    open_memory: OpenMemory,
    *,
    k: int = 20,
    baselines: Sequence[str] = (),
    variants: Mapping[str, OpenMemory] | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    text_chars: int = TEXT_CHARS,
) -> Report:
    """How well recall finds the evidence in *conversations*, each in a fresh store of its own.

    *open_memory* opens a Memory in the empty directory that it is given; the directory is removed
    afterwards. Every turn goes through the public `remember` in order, then every question through
    the public `recall` with *k* and no filter; the ranking is the returned list. Nothing is tuned,
    and no question leaves a trace that could change the answer to the next.

    A turn longer than *text_chars*, which `remember` would refuse, is stored in pieces that all
    count as the turn. A turn that repeats an earlier one exactly is not stored
    again (`reinforced`): its id then means the first one's, in rankings and in the evidence.

    *baselines* are names from BASELINES, ranked over the same turns; those with vectors need the
    *embedder*. *variants* are names of further rankings, each asked through its own way of opening
    the same store, such as with other settings of recall. *seed* is for the bootstrap intervals.
    Raises InvalidInput for unknown baselines or no conversations, EncoderUnavailable when the
    model does not load.
    """
    _check(conversations, k, baselines, embedder)
    started = time.time()
    others = dict(variants or {})
    steps = _Steps(conversations, len(others) + len(baselines), progress)
    tally = _Tally()
    answers: dict[str, list[Answer]] = {name: [] for name in (PRODUCT, *others, *baselines)}
    for conversation in conversations:
        with tempfile.TemporaryDirectory(prefix="evaluation-") as folder:
            with _ready(open_memory, folder) as memory:
                stored = _store(memory, conversation, text_chars, tally, steps)
                answers[PRODUCT] += _ask(memory, conversation, stored, k, steps, tally.recall)
            for name, open_other in others.items():
                with _ready(open_other, folder) as memory:
                    answers[name] += _ask(memory, conversation, stored, k, steps, [])
        rankings = Baselines(conversation, embedder)
        for name in baselines:
            answers[name] += scored(conversation, rankings.rank(name, k), k)
            steps.did(len(conversation.questions), f"{conversation.id}: {name}")
    return Report(
        k=k,
        seed=seed,
        started=started,
        answers=answers,
        texts={c.id: {turn.id: turn.text for turn in c.turns} for c in conversations},
        times={"remember": tally.remember, "recall": tally.recall},
        counts=_counts(conversations, tally),
        versions=report.versions(embedder.name if embedder else ""),
        machine=report.machine(),
    )


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
        recollection = memory.recall(who, RecallRequest(item.query, k=k, context=0, rehearse=False))
        seconds.append(time.perf_counter() - begin)
        answers.append(_labelled_answer(item, recollection, k))
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


@contextmanager
def _ready(open_memory: OpenMemory, folder: str) -> Iterator[Memory]:
    with open_memory(Path(folder)) as memory:
        if not memory.wait_ready(READY_SECONDS):
            raise EncoderUnavailable(
                "the store and the embedding model were not ready in time", "run `anamnesis health`"
            )
        yield memory


@dataclass
class _Tally:
    """What is collected over all conversations; times in seconds."""

    remember: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    repeats: int = 0
    refused: int = 0
    in_pieces: int = 0


@dataclass
class _Stored:
    """How memory ids and turn ids of one conversation correspond."""

    turn_of: dict[str, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    """Turn id -> the turn it is counted as: itself, or the earlier one that it repeats."""


class _Steps:
    def __init__(
        self, conversations: Sequence[Conversation], others: int, progress: Progress | None
    ) -> None:
        self._total = sum(len(c.turns) + len(c.questions) * (1 + others) for c in conversations)
        self._done = 0
        self._progress = progress

    def did(self, steps: int, message: str) -> None:
        self._done += steps
        if self._progress is not None:
            self._progress(self._done, self._total, message)


def _check(
    conversations: Sequence[Conversation],
    k: int,
    baselines: Sequence[str],
    embedder: Embedder | None,
) -> None:
    if not conversations or not any(c.questions for c in conversations):
        raise InvalidInput("there is no question to ask", "give a file with labelled questions")
    if k < 1:
        raise InvalidInput(f"k is {k}", "ask for at least one memory")
    for name in baselines:
        check_baseline(name, embedder)


def _store(
    memory: Memory, conversation: Conversation, text_chars: int, tally: _Tally, steps: _Steps
) -> _Stored:
    stored = _Stored()
    for turn in conversation.turns:
        ids = []
        pieces = list(_pieces(turn.text, text_chars))
        tally.in_pieces += len(pieces) > 1
        for piece in pieces:
            begin = time.perf_counter()
            receipt = memory.remember(
                EVALUATOR,
                RememberRequest(
                    piece,
                    speaker=turn.speaker,
                    role=turn.role,
                    session=turn.session,
                    when=_iso(turn),
                ),
            )
            tally.remember.append(time.perf_counter() - begin)
            tally.repeats += receipt.status == "reinforced"
            tally.refused += receipt.status == "refused"
            if receipt.status != "refused":
                ids.append(receipt.id)
        counted = stored.turn_of.get(ids[0], turn.id) if ids else turn.id
        stored.first[turn.id] = counted
        for identifier in ids:
            stored.turn_of.setdefault(identifier, counted)
        steps.did(1, f"{conversation.id}: remember")
    return stored


def _ask(
    memory: Memory,
    conversation: Conversation,
    stored: _Stored,
    k: int,
    steps: _Steps,
    seconds: list[float],
) -> Iterator[Answer]:
    sessions = {turn.id: turn.session for turn in conversation.turns}
    for question in conversation.questions:
        begin = time.perf_counter()
        recollection = memory.recall(
            EVALUATOR, RecallRequest(question.text, k=k, context=0, rehearse=False)
        )
        seconds.append(time.perf_counter() - begin)
        ids = [hit.memory.id for hit in recollection.hits]
        ranking = without_repeats(stored.turn_of.get(i, i) for i in ids)
        evidence = without_repeats(stored.first[turn] for turn in question.evidence)
        yield Answer(
            conversation.id,
            question.text,
            question.category,
            tuple(evidence),
            tuple(ranking),
            score(ranking, evidence, sessions, k) if evidence else {},
            recollection.found,
            recollection.confidence,
        )
        steps.did(1, f"{conversation.id}: recall")


def scored(conversation: Conversation, rankings: Sequence[Sequence[str]], k: int) -> list[Answer]:
    """The answers that *rankings* give: turn ids, best first, one ranking a question in order."""
    sessions = {turn.id: turn.session for turn in conversation.turns}
    return [
        Answer(
            conversation.id,
            question.text,
            question.category,
            question.evidence,
            tuple(ranking),
            score(ranking, question.evidence, sessions, k) if question.evidence else {},
        )
        for question, ranking in zip(conversation.questions, rankings, strict=True)
    ]


def _labelled_answer(item: Pair, recollection: Recollection, k: int) -> Answer:
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
        LABELLED,
        tuple(wanted),
        tuple(ranking),
        scores,
        recollection.found,
        recollection.confidence,
    )


def _pieces(text: str, limit: int) -> Iterator[str]:
    """*text* in parts of at most *limit* characters, cut at white space where there is any."""
    while len(text) > limit:
        cut = max(text.rfind(" ", 1, limit + 1), text.rfind("\n", 1, limit + 1))
        cut = cut if cut > 0 else limit
        yield text[:cut]
        text = text[cut:].lstrip()
    if text:
        yield text


def _iso(turn: Turn) -> str:
    return "" if turn.when is None else datetime.fromtimestamp(turn.when, UTC).isoformat()


def _counts(conversations: Sequence[Conversation], tally: _Tally) -> dict[str, int]:
    return {
        "conversations": len(conversations),
        "turns": sum(len(c.turns) for c in conversations),
        "questions": sum(len(c.questions) for c in conversations),
        "skipped": sum(c.skipped for c in conversations),
        "repeats": tally.repeats,
        "refused": tally.refused,
        "in_pieces": tally.in_pieces,
    }
