"""A simulated life: conversations captured on their days, recalls between, sweeps, consolidation.

    .venv/bin/python tests/evals/life.py [FILE ...] [--days 182] [--plot life.png]
    .venv/bin/python tests/evals/life.py [FILE ...] --ablation

Without a file it takes the project's own dialogue. The life goes through the public façade with a
clock that is set by hand, so that half a year takes a minute. `--ablation` leaves out one feature
after the other and prints recall@10 with it and without. `--plot` draws retention and tier of six
memories.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import add
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals.cached import Cached
from matplotlib.figure import Figure

from memory_core.config import ConsolidationSettings, DecaySettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.embedding.embedder import choose
from memory_core.errors import EncoderUnavailable, InvalidInput
from memory_core.evaluation import metrics, readers
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.metrics import without_repeats
from memory_core.lifecycle import retention
from memory_core.lifecycle.tiers import TierTuning
from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.recall.signals import cognition
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Tuning
from memory_core.scoring import decay
from memory_core.scoring.tiers import Bounds
from server.cli import console

DAYS = 182
"""Half a year."""

CUT = 10
K = 20
"""Memories asked for when the life is measured."""

RECALLS_A_DAY, RECALL_K = 2, 8
"""Questions asked while the life goes on, and memories asked for with each (the tool's default)."""

SLEEP_EVERY_DAYS = 7
TURN_SECONDS = 45.0
WATCHED = 6
"""Memories whose retention is followed for the plot."""

READY_SECONDS = 300.0

_WHO = Identity("evaluation")
NEVER = 1e15
STILL = TierTuning(
    ring=10**9,
    silence_s=NEVER,
    bounds=Bounds(cold_retention=0.0, recent_most=10**9, long_term_most=10**9),
)
"""Tiers between which nothing moves, neither by a sweep nor in a run."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Habits:
    """Which features take part; what is False is left out."""

    gate: bool = True
    tiers: bool = True
    cognition: bool = True
    priming: bool = True
    rehearsal: bool = True
    sleep: bool = True

    def tuning(self) -> Tuning:
        """The constants of such a life: sweeps and runs begin only when the life says so."""
        tiers = TierTuning() if self.tiers else STILL
        return Tuning(
            maintenance=MaintenanceTuning(round_seconds=60.0),
            tiers=replace(tiers, sweep_s=NEVER, check_turns=10**9),
        )


NEVER_SLEEPS = Habits(tiers=False, sleep=False)
FEATURES = tuple(each.name for each in fields(Habits))


@dataclass(frozen=True, slots=True)
class Point:
    """A watched memory on one day: its retention (0-1) and its tier, or "retired"."""

    day: float
    id: str
    text: str
    retention: float
    tier: str


@dataclass(slots=True)
class Lived:
    """What came of one life: recall@10 of each answerable question, rows, the watched memories.

    *active* counts rows that recall searches in its first pass, *rows* all that are kept, *skipped*
    turns that the gate kept out. *topics* are the figures of Memory.stats on topics at the end.
    """

    recalls: list[float] = field(default_factory=list)
    active: int = 0
    rows: int = 0
    skipped: int = 0
    course: list[Point] = field(default_factory=list)
    topics: dict[str, int] = field(default_factory=dict)

    @property
    def recall(self) -> float:
        """Mean recall@10 over the questions, 0-1."""
        return sum(self.recalls) / len(self.recalls) if self.recalls else 0.0


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def live(
    conversations: Sequence[Conversation],
    embedder: Embedder,
    habits: Habits,
    *,
    days: float = DAYS,
    progress: Progress | None = None,
) -> Lived:
    """A life of *days* with each of *conversations* in a store of its own; 0 is one pass.

    One pass stores everything, sweeps and consolidates once, asks. Raises InvalidInput without a
    question that has an answer, EncoderUnavailable when the model does not load.
    """
    if not any(question.evidence for c in conversations for question in c.questions):
        raise InvalidInput("there is no question to ask", "give a file with labelled questions")
    lived = Lived()
    for number, conversation in enumerate(conversations):
        clock = _Clock()
        with tempfile.TemporaryDirectory(prefix="life-") as folder:
            still = ConsolidationSettings(automatic=False)
            settings = Settings(data_dir=Path(folder), consolidation=still)
            bound = cognition.BOUND if habits.cognition else 0.0
            with (
                patch.object(cognition, "BOUND", bound),
                Memory(settings, clock=clock, embedder=embedder, tuning=habits.tuning()) as memory,
            ):
                if not memory.wait_ready(READY_SECONDS):
                    raise EncoderUnavailable("the model is not ready", "run `anamnesis health`")
                _Life(memory, conversation, habits, clock, lived).run(days)
        if progress is not None:
            progress(number + 1, len(conversations), "life")
    return lived


def ablation(
    conversations: Sequence[Conversation],
    embedder: Embedder,
    *,
    days: float = DAYS,
    progress: Progress | None = None,
) -> dict[str, dict[str, Lived]]:
    """Name of what is left out ("" for nothing, "never sleeps") -> {"one pass", "life"}."""
    chosen = {"": Habits(), **{name: replace(Habits(), **{name: False}) for name in FEATURES}}
    chosen["never sleeps"] = NEVER_SLEEPS
    found: dict[str, dict[str, Lived]] = {}
    for done, (name, habits) in enumerate(chosen.items()):
        if progress is not None:
            progress(done, len(chosen), f"without {name}" if name else "everything")
        found[name] = {
            "one pass": live(conversations, embedder, habits, days=0),
            "life": live(conversations, embedder, habits, days=days),
        }
    return found


class _Life:
    """One conversation in one store."""

    def __init__(
        self,
        memory: Memory,
        conversation: Conversation,
        habits: Habits,
        clock: _Clock,
        lived: Lived,
    ) -> None:
        self._memory = memory
        self._conversation = conversation
        self._habits = habits
        self._clock = clock
        self._lived = lived
        self._turn_of: dict[str, str] = {}
        self._first: dict[str, str] = {}
        self._asked = 0

    def run(self, days: float) -> None:
        sessions = list(_sessions(self._conversation))
        start = self._clock.now = sessions[0][0].when or 0.0
        last = max(turn.when or 0.0 for turn in self._conversation.turns)
        end = max(last, start + days * decay.DAY) if days else last
        for day in range(int((end - start) // decay.DAY) + 1):
            while sessions and (sessions[0][0].when or 0.0) < start + (day + 1) * decay.DAY:
                self._store(sessions.pop(0))
            if days:
                self._clock.now = max(self._clock.now, start + (day + 0.9) * decay.DAY)
                self._day(day)
        if not days:
            self._clock.now += decay.DAY
            self._rest()
        self._measure()

    def _store(self, turns: list[Turn]) -> None:
        self._clock.now = max(self._clock.now, turns[0].when or 0.0)
        for turn in turns:
            self._clock.now += TURN_SECONDS
            id = self._observe(turn) if self._habits.gate else self._remember(turn)
            self._first[turn.id] = self._turn_of.setdefault(id, turn.id) if id else turn.id

    def _observe(self, turn: Turn) -> str:
        said = ConversationTurn(turn.role, turn.text, turn.when, turn.session, turn.speaker)
        seen = self._memory.observe(_WHO, said)
        self._lived.skipped += len(seen.skipped)
        return seen.receipt.id if seen.receipt is not None else ""

    def _remember(self, turn: Turn) -> str:
        when = "" if turn.when is None else turn.when
        return self._memory.remember(
            _WHO,
            RememberRequest(
                turn.text,
                speaker=turn.speaker,
                role=turn.role,
                session=turn.session,
                when=when,
            ),
        ).id

    def _day(self, day: int) -> None:
        known = [q for q in self._conversation.questions if self._answerable(q)]
        for _ in range(RECALLS_A_DAY if known else 0):
            question = known[self._asked % len(known)]
            self._recall(question, f"day {day}", RECALL_K, rehearse=self._habits.rehearsal)
            self._asked += 1
        self._memory.sweep(_WHO)  # without tiers it only journals what was recalled
        if self._habits.sleep and day % SLEEP_EVERY_DAYS == SLEEP_EVERY_DAYS - 1:
            self._memory.consolidate(_WHO)
        self._watch(day)

    def _rest(self) -> None:
        self._memory.sweep(_WHO)
        if self._habits.sleep:
            self._memory.consolidate(_WHO)

    def _answerable(self, question: Question) -> bool:
        return bool(question.evidence) and all(turn in self._first for turn in question.evidence)

    def _recall(self, question: Question, session: str, k: int, *, rehearse: bool) -> list[str]:
        found = self._memory.recall(
            _WHO,
            RecallRequest(
                question.text,
                k=k,
                context=0,
                session=session if self._habits.priming else "",
                rehearse=rehearse,
            ),
        )
        ids = [hit.memory.id for hit in found.hits]
        return without_repeats(self._turn_of.get(id, id) for id in ids)

    def _measure(self) -> None:
        for question in self._conversation.questions:
            if question.evidence:
                ranking = self._recall(question, "the end", K, rehearse=self._habits.rehearsal)
                evidence = without_repeats(self._first.get(t, t) for t in question.evidence)
                self._lived.recalls.append(metrics.recall_at(ranking, evidence, CUT))
        for name, count in self._memory.stats(_WHO).items():
            if "topic" in name:
                many = max if name == "largest_topic" else add
                self._lived.topics[name] = many(self._lived.topics.get(name, 0), count)
        rows = list(self._memory.export(_WHO))
        self._lived.rows += len(rows)
        self._lived.active += sum(not row["retired_at"] and not row["replaced"] for row in rows)

    # The watched memories

    def _watch(self, day: int) -> None:
        for id in self._watched():
            row = self._memory.get(_WHO, id)
            tier = "retired" if row.retired_at is not None else row.tier
            (retained,) = retention.of_memories([row], DecaySettings(), self._clock.now).tolist()
            self._lived.course.append(Point(day, id, row.text, retained, tier))

    def _watched(self) -> list[str]:
        """Of the first turns, the same on each day: half of them evidence, half not."""
        turns = [turn.id for turn in self._conversation.turns[:40]]
        asked = {turn for q in self._conversation.questions[:40] for turn in q.evidence}
        used = [turn for turn in turns if turn in asked][: WATCHED // 2]
        chosen = used + [turn for turn in turns if turn not in asked][: WATCHED - len(used)]
        return [id for id, turn in self._turn_of.items() if turn in chosen]


def _sessions(conversation: Conversation) -> Iterator[list[Turn]]:
    """The turns of each session, in order."""
    groups: dict[str, list[Turn]] = {}
    for turn in conversation.turns:
        groups.setdefault(turn.session, []).append(turn)
    yield from sorted(groups.values(), key=lambda turns: turns[0].when or 0.0)


# The plot: retention of the watched memories, with their tiers as colours

COLOURS = {"active": "tab:red", "recent": "tab:orange", "long_term": "tab:blue", "retired": "black"}
TITLE_CHARS = 100


def draw(course: Sequence[Point], file: Path) -> None:
    """Write *course* as a PNG to *file*: one panel a memory, days to the right."""
    ids = list(dict.fromkeys(point.id for point in course))
    figure = Figure(figsize=(9, 1.6 * max(1, len(ids))), layout="constrained")
    axes = figure.subplots(max(1, len(ids)), 1, sharex=True, squeeze=False)[:, 0]
    for panel, id in zip(axes, ids, strict=False):
        points = [point for point in course if point.id == id]
        panel.plot([p.day for p in points], [p.retention for p in points], color="0.8")
        for tier, colour in COLOURS.items():
            inside = [p for p in points if p.tier == tier]
            days, kept = [p.day for p in inside], [p.retention for p in inside]
            panel.scatter(days, kept, s=6, color=colour, label=tier)
        panel.set_ylim(0, 1.05)
        panel.set_ylabel("retention")
        panel.set_title(_headed(points[0].text), fontsize=8, loc="left", parse_math=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4, fontsize=7)
    axes[-1].set_xlabel(
        "days; a rise is a recall, or the move to long_term with its longer half-life"
    )
    figure.savefig(file, format="png", dpi=120)


def _headed(text: str) -> str:
    """The beginning of *text* on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 3]}..."


# The table


def rows(found: Mapping[str, Mapping[str, Lived]]) -> list[dict[str, Any]]:
    """One row for each life; *change* is in points of recall@10 against the life with all."""
    return [
        {
            "without": without or "nothing",
            "life": name,
            "n": len(lived.recalls),
            "recall@10": f"{100 * lived.recall:.1f}",
            "change": f"{100 * (lived.recall - found[''][name].recall):+.1f}",
            "active rows": lived.active,
            "rows": lived.rows,
            "skipped": lived.skipped,
        }
        for without, lives in found.items()
        for name, lived in lives.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", default=[readers.DIALOGUE])
    parser.add_argument("--ablation", action="store_true", help="leave out each feature in turn")
    parser.add_argument("--days", type=float, default=DAYS, metavar="N")
    parser.add_argument("--plot", type=Path, metavar="PNG")
    args = parser.parse_args()
    conversations = [found for file in args.files for found in readers.read(file)]
    given = conversations, Cached(choose(Settings()))
    with console.progress("life") as move:
        if args.ablation:
            found = ablation(*given, days=args.days, progress=move)
        else:
            lived = live(*given, Habits(), days=args.days, progress=move)
            found = {"": {"life": lived}}
    table = rows(found)
    print(console.table(list(table[0]), [list(row.values()) for row in table], title="recall@10"))
    print(console.pairs(found[""]["life"].topics, title="topics"))
    if args.plot:
        draw(found[""]["life"].course, args.plot)
        print(f"written to {args.plot}")


if __name__ == "__main__":
    main()
