"""Explain: every signal adds up, the path is named, and what was rejected says why."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.recall import reader
from memory_core.recall.request import RecallRequest
from memory_core.recall.signals import SIGNALS
from memory_core.records import Change, Hit, Identity, Recollection
from memory_core.remember.request import RememberRequest

ME = Identity("me", "crew")
OTHER = Identity("other", "crew")
DAY = 86_400.0
PARTS = ("fused", *(signal.name for signal in SIGNALS), "links")


def reasons(found: Recollection) -> dict[str, str]:
    return {hit.memory.id: str(hit.why["rejected"]) for hit in found.rejected}


def talk(memory: Memory) -> list[str]:
    texts = (
        "What did you buy at the market?",
        "A kettle with a broken whistle.",
        "The ferry to the island leaves at nine.",
        "Rain again, so the picnic waits.",
    )
    return [
        memory.remember(ME, RememberRequest(text, session="walk", speaker=("Ann", "Bo")[n % 2])).id
        for n, text in enumerate(texts)
    ]


def test_the_parts_of_a_score_add_up_and_no_signal_is_missing(memory: Memory, clock: Any) -> None:
    talk(memory)
    clock.pass_by(15 * DAY)
    found = memory.recall(
        ME, RecallRequest("what did you buy at the market in June", k=4, explain=True)
    )
    hits: tuple[Hit, ...] = (*found.hits, *found.rejected)
    assert hits
    for hit in hits:
        assert sum(float(hit.why.get(part, 0)) for part in PARTS) == pytest.approx(
            hit.score, abs=1e-3
        )
        assert {"cosine", "lexical", "retention", "importance"} <= set(hit.why)
        assert hit.why["recency"] == pytest.approx(0.5**0.5, abs=1e-3)
        assert 0 < float(hit.why["retention"]) < 1
    assert float(found.hits[0].why["temporal"]) > 0


@pytest.mark.parametrize("left_out", [signal.name for signal in SIGNALS])
def test_recall_works_without_any_one_signal(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    ids = talk(memory)
    query = RecallRequest("How do I get to the ferry of Ann in June?", k=4, explain=True)
    rest = tuple(signal for signal in SIGNALS if signal.name != left_out)
    monkeypatch.setattr(reader, "SIGNALS", rest)
    found = memory.recall(ME, query)
    hits = (*found.hits, *found.partial, *found.rejected)
    assert {hit.memory.id for hit in hits} == set(ids)
    parts = ("fused", *(signal.name for signal in rest), "links")
    for hit in hits:
        assert left_out not in hit.why
        assert sum(float(hit.why.get(part, 0)) for part in parts) == pytest.approx(
            hit.score, abs=1e-3
        )


def test_modifiers_move_a_score_by_five_per_cent_of_the_spread_at_most(memory: Memory) -> None:
    ferry = talk(memory)[2]
    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", ferry, {"importance": 1.0})))
    memory.recall(
        ME, RecallRequest("ferry to the island", session="walk")
    )  # it is primed; nothing faded yet
    found = memory.recall(
        ME, RecallRequest("ferry to the island", k=4, session="walk", explain=True)
    )
    hits = [*found.hits, *found.partial, *found.rejected]
    assert len(hits) == 4
    moved = {hit.memory.id: float(hit.why["cognition"]) for hit in hits}
    bare = [hit.score - moved[hit.memory.id] - float(hit.why.get("links", 0)) for hit in hits]
    bound = 0.05 * (max(bare) - min(bare))
    assert 0.85 * bound < moved[ferry] <= bound + 1e-3  # everything speaks for it
    assert all(0 < each < 0.85 * bound for id, each in moved.items() if id != ferry)


def test_the_path_names_the_turn_that_led_there(memory: Memory) -> None:
    asked, answered, after, _ = talk(memory)
    found = memory.recall(ME, RecallRequest("what did you buy at the market", k=4, explain=True))
    paths = {hit.memory.id: hit.why.get("path") for hit in (*found.hits, *found.partial)}
    assert paths[answered] == f"answers {asked}"
    assert paths[after] == f"two after {asked}"


def test_what_does_not_fit_into_k_is_shown_below_it(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"The heron number {n} sleeps by the weir.")).id
        for n in range(6)
    ]
    found = memory.recall(ME, RecallRequest("heron by the weir", k=2, explain=True))
    assert len(found.hits) == 2
    assert {hit.memory.id for hit in (*found.hits, *found.rejected)} == set(ids)
    assert set(reasons(found).values()) == {"below_k"}
    scores = [hit.score for hit in (*found.hits, *found.rejected)]
    assert scores == sorted(scores, reverse=True)


def test_a_near_duplicate_names_what_stands_for_it(memory: Memory) -> None:
    text = "The heron waits every morning by the quiet weir below the old mill."
    ids = [memory.remember(ME, RememberRequest(text, session=name)).id for name in ("a", "b")]
    found = memory.recall(ME, RecallRequest(text, explain=True))
    (kept,) = [hit.memory.id for hit in found.hits]
    (other,) = set(ids) - {kept}
    assert reasons(found) == {other: f"near_duplicate of {kept}"}
    assert found.hits[0].why["folded"] == 1


def test_too_weak_evidence_is_below_confidence(memory: Memory) -> None:
    ids = {
        memory.remember(ME, RememberRequest(f"Entry {n} about pottery glazes.")).id
        for n in range(6)
    }
    found = memory.recall(ME, RecallRequest("Which zebra sleeps in Oslo?", explain=True))
    assert (found.found, found.hits) == (False, ())
    assert {hit.why["rejected"] for hit in found.partial} == {"below_confidence"}
    assert set(reasons(found).values()) == {"below_confidence"}
    assert {hit.memory.id for hit in (*found.partial, *found.rejected)} == ids


def test_what_a_filter_kept_out_says_which(memory: Memory, clock: Any) -> None:
    def note(who: str, **fields: Any) -> str:
        return memory.remember(
            ME, RememberRequest(f"{who} fed the heron.", speaker=who, **fields)
        ).id

    wanted = note("Ana", tags=["birds"])
    cases = {
        "speaker": (note("Ben", tags=["birds"]), {"speaker": "Ana"}),
        "tags": (note("Cem"), {"tags": ["birds"]}),
        "kinds": (note("Dov", kind="fact"), {"kinds": ["episode"]}),
        "since": (note("Eve", when="2001-01-01"), {"since": "2024-05-01"}),
        "until": (note("Fay", when="2030-01-01"), {"until": "2024-07-01"}),
        "scope": (note("Gus", scope="shared"), {"scope": "private"}),
    }
    for name, (id, cues) in cases.items():
        found = memory.recall(ME, RecallRequest(memory.get(ME, id).text, explain=True, **cues))  # type: ignore[arg-type]
        assert reasons(found)[id] == f"not {name}"
        assert wanted in {hit.memory.id for hit in (*found.hits, *found.partial)}


def test_replaced_retired_and_not_yet_known_say_so(memory: Memory, clock: Any) -> None:
    old = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    new = memory.remember(ME, RememberRequest("The office is in Milan.", replaces=old)).id
    away = memory.remember(ME, RememberRequest("The office is in Milan on the third floor.")).id
    retire = Change("put", away, {"retired_at": clock.now})
    memory._runtime.parts().store.commit(lambda tx: tx.append(retire))
    found = memory.recall(ME, RecallRequest("The office is in Milan.", explain=True))
    assert found.hits[0].memory.id == new
    assert reasons(found) == {old: "replaced", away: "retired"}
    then = memory.recall(
        ME, RecallRequest("The office is in Milan.", as_of="2024-01-01", explain=True)
    )
    assert set(reasons(then).values()) == {"not yet known"}


def test_what_others_may_not_read_is_not_even_rejected(memory: Memory) -> None:
    secret = memory.remember(OTHER, RememberRequest("The heron nests behind the mill.")).id
    mine = memory.remember(ME, RememberRequest("The heron nests by the weir.", speaker="Ana")).id
    found = memory.recall(
        ME, RecallRequest("where does the heron nest", speaker="Nobody", explain=True)
    )
    assert reasons(found) == {mine: "not speaker"}
    assert secret not in reasons(found)


def test_nothing_is_explained_unless_asked(memory: Memory) -> None:
    for number in range(12):
        memory.remember(ME, RememberRequest(f"The heron number {number} waits."))
    found = memory.recall(ME, RecallRequest("heron waits", k=3))
    assert found.rejected == ()
    assert all(hit.why == {} for hit in found.hits)
    assert memory.recall(ME, RecallRequest(found.hits[0].memory.id)).hits[0].why == {}


def test_a_recall_without_rehearsal_leaves_no_trace(memory: Memory) -> None:
    ids = {
        memory.remember(ME, RememberRequest(f"The heron number {n} waits.", session="s")).id
        for n in range(3)
    }
    found = memory.recall(ME, RecallRequest("heron waits", session="s", rehearse=False))
    assert {hit.memory.id for hit in found.hits} == ids
    assert not memory.in_mind(ME, "s").working
    memory._runtime.parts().maintenance.accesses.flush()
    assert {memory.get(ME, id).access_count for id in ids} == {0}
    memory.recall(ME, RecallRequest("heron waits", session="s"))
    assert set(memory.in_mind(ME, "s").working) == ids
