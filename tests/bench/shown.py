"""What a model is shown for its tokens: labelled questions asked through the tools of a server.

    python tests/bench/shown.py FILE ... [--only ID ...] [--keep FOLDER] [--ranking]
        [--with KEY=VALUE ...]

FILE is a conversation file of any format that `anamnesis evaluate` reads. Every turn is remembered
over stdio as a client does it: the speaker by name or, where nobody has a name, by the word for the
role. Then every question is asked with the query alone, and KEY=VALUE where given. Printed are the
share of evidence turns that the answer shows, at any length and whole; the tokens of either channel
(characters / 4, as budgets count them) and the share of them that is memory text; and the evidence
shown per 1,000 tokens of the larger channel. --ranking asks again for 20 places and prints
recall@1, @5 and @10. --keep fills stores there once and uses them again, also from another version.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from material import machine
from startup import HELLO, Talk, ours

from memory_core.evaluation.conversation import Conversation, Turn
from memory_core.evaluation.metrics import recall_at, without_repeats
from memory_core.evaluation.readers import read

TEXT_CHARS = 20_000
CHARS_PER_TOKEN = 4
PLACES = 20
DEPTHS = (1, 5, 10)
CUT = "… ["
"""Begins the mark of a text that was cut."""


@dataclass
class Shown:
    """Sums over the questions that were asked."""

    questions: int = 0
    evidence: float = 0.0
    whole: float = 0.0
    text: float = 0.0
    structure: float = 0.0
    text_share: float = 0.0
    structure_share: float = 0.0
    hits: float = 0.0

    def line(self) -> str:
        n = max(1, self.questions)
        larger = max(self.text, self.structure) / n
        return (
            f"{self.questions:4d} questions  evidence {self.evidence / n:.3f} "
            f"(whole {self.whole / n:.3f})  tokens: text {self.text / n:5.0f}, "
            f"structure {self.structure / n:5.0f}  memory text: {self.text_share / n:.0%}, "
            f"{self.structure_share / n:.0%}  hits {self.hits / n:4.1f}  "
            f"evidence per 1,000 tokens {1000 * self.evidence / n / larger:.3f}"
        )


class Client:
    """One server over stdio, with the tools that the questions need."""

    def __init__(self, folder: Path) -> None:
        self.talk = Talk(ours(folder))
        assert "result" in self.talk.ask(HELLO)
        self.talk.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.calls = 1

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.calls += 1
        answer = self.talk.call(self.calls, tool, **arguments)
        assert not answer.get("isError"), answer
        return answer

    def wait_for_vectors(self) -> None:
        """Ask until an answer does not say that it goes by words alone."""
        while "lexical" in self.call("recall", query="anything")["structuredContent"].get(
            "note", ""
        ):
            pass


def fill(folder: Path, conversation: Conversation) -> dict[str, list[str]]:
    """Remember every turn, once for each *folder*; turn id -> the ids of its memories."""
    known = folder / "ids.json"
    if known.exists():
        return dict(json.loads(known.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    client = Client(folder / "data")
    client.wait_for_vectors()
    ids = {turn.id: list(_remember(client, turn)) for turn in conversation.turns}
    client.talk.end()
    known.write_text(json.dumps(ids))
    return ids


def _remember(client: Client, turn: Turn) -> Iterator[str]:
    when = datetime.fromtimestamp(turn.when, UTC).isoformat() if turn.when is not None else ""
    for start in range(0, len(turn.text), TEXT_CHARS):
        answer = client.call(
            "remember",
            text=turn.text[start : start + TEXT_CHARS],
            speaker=turn.speaker or turn.role,
            session=turn.session,
            when=when,
        )
        yield answer["structuredContent"]["id"]


def entries(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Everything with a text in a recall's structure."""
    for hit in [*answer["memories"], *answer.get("partial", [])]:
        yield from (hit, *hit.get("before", []), *hit.get("after", []))
    yield from answer.get("recent", [])


def ask(
    folder: Path, conversation: Conversation, ids: dict[str, list[str]], options: dict[str, Any]
) -> tuple[Shown, dict[int, list[float]]]:
    """What the questions of *conversation* are shown, and recall@k of each where asked for."""
    ranking = options.pop("ranking")
    turn_of = {id: turn for turn, memories in ids.items() for id in memories}
    length = {turn.id: len(turn.text) for turn in conversation.turns}
    client = Client(folder / "data")
    client.wait_for_vectors()
    total, found = Shown(), {depth: [] for depth in DEPTHS}
    for question in conversation.questions:
        if not question.evidence:
            continue
        evidence = {turn_of[id] for turn in question.evidence for id in ids[turn]}
        answer = client.call("recall", query=question.text, **options)
        _add(total, answer, evidence, turn_of, length)
        if ranking:
            more = client.call(
                "recall", query=question.text, k=PLACES, max_tokens=10_000, context=0
            )["structuredContent"]
            listed = [turn_of[hit["id"]] for hit in more["memories"]]
            listed += [turn_of[hit["id"]] for hit in more.get("partial", [])]
            for depth in DEPTHS:
                found[depth].append(recall_at(without_repeats(listed), tuple(evidence), depth))
    client.talk.end()
    return total, found


def _add(
    total: Shown,
    answer: dict[str, Any],
    evidence: set[str],
    turn_of: dict[str, str],
    length: dict[str, int],
) -> None:
    structure = answer["structuredContent"]
    shown: dict[str, int] = {}
    chars = 0
    for entry in entries(structure):
        turn, text = turn_of[entry["id"]], entry["text"].split(CUT)[0]
        shown[turn] = max(shown.get(turn, 0), len(text))
        chars += len(text)
    text = len(answer["content"][0]["text"])
    compact = len(json.dumps(structure, ensure_ascii=False, separators=(",", ":")))
    seen = evidence & set(shown)
    total.questions += 1
    total.evidence += len(seen) / len(evidence)
    total.whole += sum(shown[t] >= length[t] for t in seen) / len(evidence)
    total.text += text / CHARS_PER_TOKEN
    total.structure += compact / CHARS_PER_TOKEN
    total.text_share += chars / text
    total.structure_share += chars / compact
    total.hits += len(structure["memories"])


def _added(parts: Sequence[Shown]) -> Shown:
    return Shown(*(sum(getattr(part, each.name) for part in parts) for each in fields(Shown)))


def measure(file: Path, only: Sequence[str], keep: Path, options: dict[str, Any]) -> None:
    """Print the figures of *file*, of each conversation and of all questions."""
    parts: list[Shown] = []
    ranks: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    print(f"\n{file.name}")
    for conversation in read(file):
        if only and conversation.id not in only:
            continue
        folder = keep / conversation.id
        shown, found = ask(folder, conversation, fill(folder, conversation), dict(options))
        parts.append(shown)
        for depth in DEPTHS:
            ranks[depth] += found[depth]
        print(f"{conversation.id:8s}{shown.line()}", flush=True)
    print(f"{'all':8s}{_added(parts).line()}")
    if options["ranking"]:
        figures = (f"@{d} {100 * sum(of) / len(of):.1f}" for d, of in ranks.items())
        print(f"{'':8s}recall {', '.join(figures)}")


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=[], metavar="ID")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--ranking", action="store_true")
    parser.add_argument("--with", dest="options", nargs="*", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    print(machine(0))
    options = {name: json.loads(value) for name, value in (o.split("=") for o in arguments.options)}
    options["ranking"] = arguments.ranking
    with tempfile.TemporaryDirectory(prefix="shown-") as temporary:
        for file in arguments.files:
            measure(file, arguments.only, arguments.keep or Path(temporary), options)


if __name__ == "__main__":
    main()
