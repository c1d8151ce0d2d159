"""Recall: what narrows it, what comes with it, what it leaves out, and odd questions."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from memory_core.embedding.base import Embedder
from memory_core.errors import EncoderUnavailable
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.answer import LEXICAL_ONLY
from memory_core.recall.candidates import CANDIDATES
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Hit, Identity, Recollection
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
DAY = 86_400.0

OpenMemory = Callable[..., Memory]


def put(memory: Memory, id: str, **fields: Any) -> None:
    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", id, fields)))


def both(found: Recollection) -> list[Hit]:
    return [*found.hits, *found.partial]


def ids(memory: Memory, query: str, who: Identity = ME, **cues: Any) -> list[str]:
    return [
        hit.memory.id for hit in both(memory.recall(who, RecallRequest(query, **{"k": 50, **cues})))
    ]


# Filters, against a plain search through everything

KINDS = ("episode", "fact", "preference")
TAGS = ("red", "green", "blue")
SPEAKERS = ("", "Ana", "Ben")
SCOPES = ("private", "team", "shared")


def told(memory: Memory, clock: Any, count: int = 48) -> list[dict[str, Any]]:
    """Notes about the harbour with every mixture of attributes, one a day from 2024-06-01."""
    chosen = random.Random(5)
    notes = []
    for number in range(count):
        note: dict[str, Any] = {
            "text": f"Harbour note {number}: the crane lifts {number + 100} crates.",
            "kind": chosen.choice(KINDS),
            "tags": sorted(chosen.sample(TAGS, chosen.randrange(4))),
            "speaker": chosen.choice(SPEAKERS),
            "scope": chosen.choice(SCOPES),
            "when": clock.now,
        }
        note["id"] = memory.remember(ME, RememberRequest(**note)).id
        if not note["tags"]:
            note["tags"] = list(memory.get(ME, note["id"]).tags)
        notes.append(note)
        clock.pass_by(DAY)
    return notes


def test_filters_agree_with_a_search_by_hand(memory: Memory, clock: Any) -> None:
    notes = told(memory, clock)
    begin = 1_717_200_000.0
    cases = itertools.product(
        [(), ("fact",), ("fact", "episode")],
        [(), ("red",), ("red", "blue"), ("absent",)],
        ["", "Ana", "Nobody"],
        ["", "private", "shared"],
        [("", ""), ("2024-06-05", "2024-06-20"), ("", "2024-06-10T00:00:00Z")],
    )
    spans = {"": (-1.0, 1e12), "2024-06-05": (begin + 4 * DAY, begin + 20 * DAY - 1e-3)}
    for kinds, tags, speaker, scope, (since, until) in random.Random(7).sample([*cases], 120):
        first, last = spans[since]
        last = begin + 9 * DAY if until == "2024-06-10T00:00:00Z" else last
        wanted = {
            note["id"]
            for note in notes
            if (not kinds or note["kind"] in kinds)
            and set(tags) <= set(note["tags"])
            and (not speaker or note["speaker"] == speaker)
            and (not scope or note["scope"] == scope)
            and first <= note["when"] <= last
        }
        narrowed = {"kinds": kinds, "tags": tags, "speaker": speaker, "scope": scope}
        found = ids(memory, "harbour crane crates", since=since, until=until, **narrowed)
        assert (set(found), len(found)) == (wanted, len(wanted))


def test_since_and_until_are_both_inclusive(memory: Memory) -> None:
    def at(when: str) -> str:
        return memory.remember(ME, RememberRequest(f"The bell rang at {when}.", when=when)).id

    before, first, last, after = map(
        at, ("2024-05-06T23:59:59Z", "2024-05-07T00:00:00Z", "2024-05-07T23:59:59Z", "2024-05-08")
    )
    assert set(ids(memory, "bell", since="2024-05-07", until="2024-05-07")) == {first, last}
    assert set(ids(memory, "bell", since="2024-05-07T23:59:59Z")) == {last, after}
    assert set(ids(memory, "bell", until="2024-05-07T00:00:00Z")) == {before, first}
    may = set(ids(memory, "bell", since="2024-05", until="2024-05"))
    assert may == {before, first, last, after}
    exact = memory.remember(
        ME, RememberRequest("The bell rang at half past.", when="2024-06-09T00:00:00.5Z")
    ).id
    half = "2024-06-09T00:00:00.5Z"
    assert ids(memory, "bell", since=half, until=half) == [exact]


def test_a_filter_finds_what_would_never_reach_the_candidates(memory: Memory) -> None:
    for number in range(2 * CANDIDATES):
        memory.remember(
            ME, RememberRequest(f"The lighthouse keeper of the island logs ship {number}.")
        )
    rare = memory.remember(ME, RememberRequest("Lunch was soup.", tags=["meals"], kind="fact")).id
    assert rare not in ids(memory, "the lighthouse keeper of the island logs ships", k=5)
    for cues in ({"tags": ["meals"]}, {"kinds": ["fact"]}):
        assert ids(memory, "the lighthouse keeper of the island logs ships", k=5, **cues) == [rare]


def test_case_does_not_matter_to_a_filter(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The crane lifts.", speaker="Ana", tags=["Red"])).id
    for cues in ({"speaker": "ANA"}, {"tags": ["red"]}, {"tags": ["RED"], "speaker": "ana"}):
        assert ids(memory, "crane", **cues) == [id]


@pytest.mark.parametrize(
    ("cues", "note"),
    [
        ({"tags": ["rde"]}, 'no memory has the tag "rde"; there is "Red"'),
        ({"tags": ["red", "blue"]}, 'no memory has the tag "blue"'),
        ({"speaker": "Anna"}, 'no memory has the speaker "Anna"; there is "Ana"'),
        ({"speaker": "Theo"}, 'no memory has the speaker "Theo"'),
        ({"entity": "Hamburgh"}, 'no memory has the entity "Hamburgh"; there is "Hamburg"'),
        ({"topic": "x"}, 'no memory has the topic "x"'),
        ({"kinds": ["concept"]}, "no memory passes the filter kinds"),
        ({"speaker": "Ben", "tags": ["red"]}, "no memory passes all of the filters speaker, tags"),
        ({"as_of": "2020"}, "no memory was stored by then; as_of asks for that, until for when it"),
        ({"tags": ["red"]}, ""),
        ({}, ""),
    ],
)
def test_what_no_memory_passes_is_named_with_what_is_spelt_like_it(
    memory: Memory, cues: dict[str, Any], note: str
) -> None:
    """Of what the caller may read."""
    memory.remember(ME, RememberRequest("A crane of Hamburg lifts.", speaker="Ana", tags=["Red"]))
    memory.remember(ME, RememberRequest("The winch is stuck.", speaker="Ben"))
    memory.remember(OTHER, RememberRequest("A crane of Hamburgo.", speaker="Anna", tags=["rde"]))
    told = memory.recall(ME, RecallRequest("the zebra and the violin", **cues)).note
    assert told.startswith(note) if note else not told


def test_as_of_hides_what_was_not_yet_known(memory: Memory, clock: Any) -> None:
    early = memory.remember(ME, RememberRequest("The harbour opens in May.", session="s")).id
    clock.pass_by(10 * DAY)
    late = memory.remember(
        ME, RememberRequest("The harbour closes in June.", session="s", when="2020-01-01")
    ).id
    assert set(ids(memory, "harbour")) == {early, late}
    assert ids(memory, "harbour", as_of="2024-06-05") == [early]
    then = memory.recall(ME, RecallRequest("harbour", as_of="2024-06-05", session="s", context=5))
    assert [hit.after for hit in both(then)] == [()]
    assert [turn.id for turn in then.recent] == [early]


# Neighbours and the current conversation


@pytest.mark.parametrize("context", [0, 1, 2, 3, 4, 5])
def test_neighbours_come_in_order_from_the_same_conversation(memory: Memory, context: int) -> None:
    talks: dict[str, list[str]] = {"a": [], "b": []}
    for number in range(14):
        for session, turns in talks.items():
            said = f"Turn {number} of {session}, the {'heron' if number == 6 else 'weir'}."
            turns.append(memory.remember(ME, RememberRequest(said, session=session)).id)
    memory.remember(OTHER, RememberRequest("The heron of another one.", session="a"))
    memory.remember(
        ME, RememberRequest("A shared heron, in a thread of its own.", session="a", scope="shared")
    )
    hit = next(
        hit
        for hit in both(memory.recall(ME, RecallRequest("heron", k=50, context=context)))
        if hit.memory.id == talks["a"][6]
    )
    assert [n.id for n in hit.before] == talks["a"][6 - context : 6]
    assert [n.id for n in hit.after] == talks["a"][7 : 7 + context]


def test_the_ends_of_a_conversation_and_no_conversation_have_fewer(memory: Memory) -> None:
    first, last = (
        memory.remember(ME, RememberRequest(text, session="s")).id for text in ("Alpha.", "Omega.")
    )
    alone = memory.remember(ME, RememberRequest("Solo.")).id
    found = {
        hit.memory.id: hit
        for hit in both(memory.recall(ME, RecallRequest("alpha omega solo", context=5)))
    }
    assert ([n.id for n in found[first].before], [n.id for n in found[first].after]) == ([], [last])
    assert ([n.id for n in found[last].before], [n.id for n in found[last].after]) == ([first], [])
    assert (found[alone].before, found[alone].after) == ((), ())


def test_a_neighbour_that_was_replaced_is_stepped_over(memory: Memory) -> None:
    turns = [
        memory.remember(ME, RememberRequest(f"Turn {n} at the {w}.", session="s")).id
        for n, w in enumerate(["gate", "wall", "heron", "well", "barn"])
    ]
    new = memory.remember(
        ME, RememberRequest("The wall was another one.", session="s", replaces=turns[1])
    ).id
    hit = next(
        h
        for h in both(memory.recall(ME, RecallRequest("heron", context=1)))
        if h.memory.id == turns[2]
    )
    assert [n.id for n in hit.before] == [turns[0]]
    assert [n.id for n in hit.after] == [turns[3]]
    last = next(
        h
        for h in both(memory.recall(ME, RecallRequest("barn", context=2)))
        if h.memory.id == turns[4]
    )
    assert [n.id for n in last.after] == [new]


def test_recent_holds_the_last_five_turns_of_the_conversation(memory: Memory, clock: Any) -> None:
    turns = []
    for number in range(8):
        clock.pass_by(1)
        scope = "shared" if number % 3 == 0 else ""
        turns.append(
            memory.remember(ME, RememberRequest(f"Turn {number}.", session="s", scope=scope)).id
        )
    memory.remember(OTHER, RememberRequest("The other's turn.", session="s", scope="shared"))
    memory.remember(ME, RememberRequest("Elsewhere.", session="t"))
    found = memory.recall(ME, RecallRequest("turn", k=1, session="s"))
    assert [turn.id for turn in found.recent] == turns[-5:]
    assert memory.recall(ME, RecallRequest("turn")).recent == ()
    assert memory.recall(ME, RecallRequest("turn", session="unknown")).recent == ()
    nothing = memory.recall(ME, RecallRequest("zebra", session="s", kinds=["concept"]))
    assert [turn.id for turn in nothing.recent] == turns[-5:]


# k


def test_k_bounds_what_is_found(memory: Memory) -> None:
    for number in range(60):
        memory.remember(ME, RememberRequest(f"The heron number {number} waits by the weir."))
    for k in (1, 2, 8, 50):
        found = memory.recall(ME, RecallRequest("heron by the weir", k=k))
        assert len(found.hits) == k
        assert found.partial == ()
        assert len({hit.memory.id for hit in found.hits}) == k


def test_partial_is_at_most_three_and_only_when_nothing_is_found(memory: Memory) -> None:
    for number in range(9):
        memory.remember(ME, RememberRequest(f"Entry {number} about pottery glazes.", session="s"))
    found = memory.recall(ME, RecallRequest("Which zebra sleeps in Oslo?", k=9))
    assert (found.found, found.feeling, found.hits) == (False, "none", ())
    assert 0 < len(found.partial) <= 3
    assert all(not hit.before and not hit.after for hit in found.partial)


# Folding

PARAPHRASES = [
    (
        "Lena adopted a small black cat last spring.",
        "Last spring Lena adopted a small black cat.",
    ),
    ("The meeting has been moved to Friday.", "The meeting was moved to Friday."),
    ("I really love hiking in the Alps.", "I really love to go hiking in the Alps."),
]
FACTS = [
    ("The database listens on port 5432.", "The database listens on port 5433."),
    ("Ana likes green tea.", "Ana does not like green tea."),
    ("The meeting is on Monday.", "The meeting is on Tuesday."),
    ("The flight costs 120 euros.", "The flight costs 210 euros."),
    ("It was -3 degrees that night.", "It was 3 degrees that night."),
]


@pytest.mark.parametrize("pair", PARAPHRASES)
def test_real_paraphrases_fold_into_one(
    open_memory: OpenMemory, minilm: Embedder, pair: tuple[str, str]
) -> None:
    memory = open_memory(embedder=minilm)
    for text in (*pair, "Rust is a language without a garbage collector."):
        memory.remember(ME, RememberRequest(text))
    found = memory.recall(ME, RecallRequest(pair[0], explain=True))
    assert len({hit.memory.text for hit in found.hits} & set(pair)) == 1
    assert found.hits[0].why["folded"] == 1


@pytest.mark.parametrize("pair", FACTS)
def test_what_differs_in_fact_never_folds(
    open_memory: OpenMemory, minilm: Embedder, pair: tuple[str, str]
) -> None:
    memory = open_memory(embedder=minilm)
    for text in pair:
        memory.remember(ME, RememberRequest(text))
    assert {hit.memory.text for hit in memory.recall(ME, RecallRequest(pair[0])).hits} == set(pair)


def test_sinking_importance_lets_a_memory_fade_and_leaves_its_rank(memory: Memory) -> None:
    text = "The heron sleeps by the quiet weir"
    first, second = (
        memory.remember(ME, RememberRequest(f"{text}, {day}.")).id for day in ("Monday", "Tuesday")
    )
    put(memory, first, importance=0.5)
    before = memory.recall(ME, RecallRequest(text, rehearse=False)).hits
    put(memory, first, importance=0.25)
    after = memory.recall(ME, RecallRequest(text, rehearse=False)).hits
    assert [hit.score for hit in after] == [hit.score for hit in before]
    put(memory, second, importance=1.0)
    raised = memory.recall(ME, RecallRequest(text, rehearse=False)).hits
    score = {hit.memory.id: hit.score for hit in before}
    assert {hit.memory.id: hit.score for hit in raised}[second] > score[second]


def test_a_summary_that_only_retells_is_left_out_and_one_that_draws_together_is_not(
    memory: Memory,
) -> None:
    parts = (
        "The crane lifts heavy crates.",
        "The heron sleeps by the weir.",
        "The miller grinds rye at night.",
    )
    sources = [memory.remember(ME, RememberRequest(text)).id for text in parts]
    for number in range(6):
        memory.remember(ME, RememberRequest(f"Another heron sleeps near weir number {number}."))
    told = {"text": " ".join(parts), "kind": "summary", "derived_from": sources}
    summary = memory.bring_in(ME, told).id
    narrow = memory.recall(
        ME, RecallRequest("Where sleeps the heron by the weir?", k=4, explain=True)
    )
    assert narrow.hits[0].memory.id == sources[1]
    assert narrow.hits[0].why["folded"] == 1
    reasons = {hit.memory.id: hit.why["rejected"] for hit in narrow.rejected}
    assert reasons[summary] == f"retells {sources[1]}"
    broad = ids(memory, "crane lifts crates, miller grinds rye", k=4)
    assert {summary, sources[0], sources[2]} < set(broad)
    assert ids(memory, "heron by the weir", k=4, kinds=["summary"]) == [summary]


def test_what_two_people_say_does_not_fold(memory: Memory) -> None:
    text = "The heron waits every morning by the quiet weir below the mill."
    said = [
        memory.remember(ME, RememberRequest(text, speaker=name, session=name)).id
        for name in ("Ana", "Ben")
    ]
    same = memory.remember(ME, RememberRequest(text, speaker="Ana", session="other")).id
    shared = memory.remember(ME, RememberRequest(text, speaker="Ana", scope="shared")).id
    found = ids(memory, text)
    assert len(found) == 3
    assert {said[1], shared} <= set(found)
    assert len({said[0], same} & set(found)) == 1


def test_folding_makes_room_for_others(memory: Memory) -> None:
    for number in range(45):
        text = "The heron waits every morning by the quiet weir below the old mill."
        memory.remember(ME, RememberRequest(text, session=f"day {number}"))
    others = [
        memory.remember(ME, RememberRequest(f"A heron {what} at the weir.")).id
        for what in ("slept", "ate", "sang")
    ]
    found = ids(memory, "the heron waits by the weir", k=4)
    assert len(found) == 4
    assert set(others) <= set(found)


# Retired, superseded


def test_retired_memories_answer_only_when_the_others_do_not(memory: Memory, clock: Any) -> None:
    retired = memory.remember(
        ME, RememberRequest("The spare key of the boathouse hangs behind the mirror.")
    ).id
    put(memory, retired, retired_at=clock.now)
    assert ids(memory, "where does the spare key of the boathouse hang") == [retired]
    live = memory.remember(
        ME, RememberRequest("The spare key of the boathouse hangs in the shed now.")
    ).id
    found = memory.recall(ME, RecallRequest("the spare key of the boathouse hangs in the shed now"))
    assert found.feeling == "high"
    assert [hit.memory.id for hit in found.hits] == [live]
    assert memory.recall(ME, RecallRequest(retired)).hits[0].memory.id == retired
    then = ids(memory, "the spare key of the boathouse hangs in the shed now", as_of="2030")
    assert set(then) == {live, retired}


@pytest.mark.parametrize("rests", [False, True])
def test_what_a_summary_tells_together_is_found_together(
    memory: Memory, clock: Any, rests: bool
) -> None:
    texts = (
        "The spare key of the boathouse hangs in the shed.",
        "One boathouse key lies under a flower pot.",
        "A third key of the boathouse was lost in the lake.",
    )
    there, faded, alone = (memory.remember(ME, RememberRequest(text)).id for text in texts)
    told = {"text": "Two places of one key.", "kind": "summary", "derived_from": [there, faded]}
    summary = memory.bring_in(ME, told).id
    for id in (faded, alone, *([summary] if rests else ())):
        put(memory, id, retired_at=clock.now)
    found = memory.recall(
        ME, RecallRequest("Where does the spare key of the boathouse hang in the shed?")
    )
    assert found.feeling == "high"
    answered = [hit.memory.id for hit in found.hits]
    assert answered[0] == there
    assert faded in answered
    assert alone not in answered


def test_a_retired_turn_is_still_a_neighbour(memory: Memory, clock: Any) -> None:
    turns = [
        memory.remember(ME, RememberRequest(t, session="s")).id
        for t in ("Filler.", "The heron came.")
    ]
    put(memory, turns[0], retired_at=clock.now)
    hit = memory.recall(ME, RecallRequest("the heron came", context=1)).hits[0]
    assert [n.id for n in hit.before] == [turns[0]]


def test_what_is_out_of_date_comes_after_what_supersedes_it(memory: Memory, clock: Any) -> None:
    old = memory.remember(ME, RememberRequest("Ana works as a nurse in Graz.")).id
    mid = memory.remember(ME, RememberRequest("Ana works as a teacher in Linz.")).id
    new = memory.remember(ME, RememberRequest("Ana is an editor in Wels.")).id
    assert ids(memory, "Ana works as a nurse in Graz")[0] == old
    put(memory, old, superseded_by=mid, superseded_at=clock.now + DAY)
    put(memory, mid, superseded_by=new, superseded_at=clock.now + DAY)
    found = memory.recall(ME, RecallRequest("Ana works as a nurse in Graz"))
    assert [hit.memory.id for hit in found.hits] == [new, mid, old]
    assert [hit.memory.superseded_by for hit in found.hits] == ["", new, mid]
    assert ids(memory, "Ana works as a nurse in Graz", as_of="2024-06-01")[0] == old


def test_what_is_replaced_while_it_is_recalled_is_left_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    id = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    store = memory._runtime.parts().store
    read = store.indexed

    def meanwhile(wanted: Any) -> Any:
        put(memory, id, replaced=True, superseded_by="0" * 20, superseded_at=clock.now)
        return read(wanted)

    monkeypatch.setattr(store, "indexed", meanwhile)
    assert both(memory.recall(ME, RecallRequest("where is the office"))) == []
    assert both(memory.recall(ME, RecallRequest(id)))[0].memory.id == id


# Without a model


def test_without_a_model_recall_is_lexical_and_says_so(
    open_memory: OpenMemory, no_model: Any
) -> None:
    memory = open_memory(embedder=no_model)
    german = memory.remember(
        ME, RememberRequest("Der Schlüssel zum Gartentor hängt hinter der Scheune.")
    ).id
    chinese = memory.remember(ME, RememberRequest("我们把数据库迁移到了北京的新服务器。")).id
    english = memory.remember(ME, RememberRequest("The heron waits by the weir.")).id
    for query, wanted in (
        ("Wo hängt der Schlüssel zum Gartentor?", german),
        ("SCHLUSSEL Gartentor", german),
        ("数据库迁移到哪里了", chinese),
        ("the weir and its heron", english),
    ):
        found = memory.recall(ME, RecallRequest(query))
        assert found.note == LEXICAL_ONLY
        assert both(found)[0].memory.id == wanted
    nothing = memory.recall(ME, RecallRequest("entirely unrelated submarine"))
    assert (nothing.found, nothing.hits, nothing.note) == (False, (), LEXICAL_ONLY)


def test_with_a_model_nothing_is_noted(memory: Memory) -> None:
    memory.remember(ME, RememberRequest("The heron waits by the weir."))
    assert memory.recall(ME, RecallRequest("heron")).note == ""


class Slow:
    """A model that takes until it is told to be ready; nobody may wait for it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.may = threading.Event()

    @property
    def fingerprint(self) -> str:
        assert self.may.wait(60)
        return str(self.inner.fingerprint)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_nobody_waits_for_the_model(tmp_path: Any, toy: Any, clock: Any) -> None:
    from memory_core.config import Settings

    slow = Slow(toy)
    with Memory(Settings(data_dir=tmp_path / "s"), clock=clock, embedder=slow) as memory:  # type: ignore[arg-type]
        id = memory.remember(ME, RememberRequest("The heron waits by the weir.")).id
        early = memory.recall(ME, RecallRequest("heron"))
        assert ([hit.memory.id for hit in both(early)], early.note) == ([id], LEXICAL_ONLY)
        slow.may.set()
        assert memory.wait_ready(120)
        memory._runtime.parts().maintenance.round()
        late = memory.recall(ME, RecallRequest("heron by the weir", explain=True))
        assert late.note == ""
        assert late.hits[0].why["cosine"] == pytest.approx(
            float(toy.query("heron by the weir") @ toy.query("The heron waits by the weir.")),
            abs=2e-3,
        )


# Odd questions and stores

ODD = [
    "the of and is a",
    "?",
    "!!!",
    "x",
    "heron",
    "a\0b",
    "ab " * 666,
    "数",
    "\U0001f600",
    "NULL",
    "-- ' \" ; %",
    "\u202eheron",
    "1970-01-01",
    "yesterday",
    "29 February",
    "in 99999 years",
]


@pytest.mark.parametrize("count", [0, 1, 30])
@pytest.mark.parametrize("model", [True, False])
def test_odd_questions_have_sane_answers(
    open_memory: OpenMemory, toy: Any, no_model: Any, count: int, model: bool
) -> None:
    memory = open_memory(embedder=toy if model else no_model)
    known = {
        memory.remember(ME, RememberRequest(f"The heron number {n} waits.", session="s")).id
        for n in range(count)
    }
    for query in ODD:
        found = memory.recall(ME, RecallRequest(query, k=5, session="s", explain=True))
        assert found.found == (found.feeling != "none") == bool(found.hits)
        assert 0.0 <= found.confidence <= 1.0
        assert {hit.memory.id for hit in both(found)} <= known
        assert len(found.hits) <= 5
        assert len(found.partial) <= 3
        scores = [hit.score for hit in both(found)]
        assert scores == sorted(scores, reverse=True)
        assert all(score == score for score in scores)


def test_one_memory_is_found_by_its_words(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The heron waits by the weir.")).id
    found = memory.recall(ME, RecallRequest("the heron waits by the weir"))
    assert (found.found, [hit.memory.id for hit in found.hits]) == (True, [id])


def test_a_quote_from_a_long_text_finds_it(memory: Memory) -> None:
    sentences = [f"On day {n} the crew repaired part {n * 7} of the hull." for n in range(200)]
    whole = " ".join(sentences)
    id = memory.remember(ME, RememberRequest(whole)).id
    for number in range(20):
        memory.remember(ME, RememberRequest(f"Crew list {number} with hull part names."))
    found = memory.recall(ME, RecallRequest(sentences[150], k=1))
    assert (found.feeling, found.hits[0].memory.id) == ("high", id)
    assert found.hits[0].memory.text == whole


@pytest.mark.parametrize("count", [400, pytest.param(2_000, marks=pytest.mark.long)])
def test_many_near_identical_memories_answer_about_as_fast_as_others(
    open_memory: OpenMemory, no_model: Any, toy: Any, count: int
) -> None:
    def fill(name: str, text: Callable[[int], str]) -> Memory:
        memory = open_memory(name, tuning=Tuning(maintenance=MaintenanceTuning(access_seconds=1e9)))
        store = memory._runtime.parts().store
        from memory_core.records import MemoryRecord, content_hash, new_id, to_fields

        def build(tx: Any) -> None:
            for n in range(count):
                said = text(n)
                record = MemoryRecord(
                    new_id(n),
                    said,
                    agent="me",
                    session=f"s{n}",
                    position=0,
                    content_hash=content_hash(said),
                    occurred_at=1e9,
                    recorded_at=1e9,
                )
                tx.append(Change("put", record.id, to_fields(record)))
                half = toy.documents([said]).astype("float16")
                tx.put_vectors(record.id, toy.fingerprint, [0], half)

        store.commit(build)
        return memory

    def seconds(memory: Memory) -> float:
        memory.recall(ME, RecallRequest("the heron waits by the weir"))
        taken = []
        for _ in range(5):
            begin = time.thread_time()
            found = memory.recall(ME, RecallRequest("the heron waits by the weir", k=50))
            taken.append(time.thread_time() - begin)
            assert both(found)
        return sorted(taken)[2]

    same = fill("same", lambda n: "The heron waits by the quiet weir below the mill.")
    words = [f"w{n}" for n in range(400)]
    varied = fill(
        "varied", lambda n: f"The heron waits by {' '.join(random.Random(n).sample(words, 6))}."
    )
    assert [hit.memory.text[:9] for hit in same.recall(ME, RecallRequest("heron", k=50)).hits] == [
        "The heron"
    ]
    assert seconds(same) < 8 * seconds(varied)
    # what thousands say is as sure as what one says, and leads over what else is said
    alone = open_memory("alone")
    alone.remember(ME, RememberRequest("The heron waits by the quiet weir below the mill."))
    for memory in (same, alone):
        known = memory.recall(ME, RecallRequest("the heron waits by the weir", rehearse=False))
        assert known.found
        memory.remember(ME, RememberRequest("Lunch was soup with bread."))
        for number in range(22):
            memory.remember(ME, RememberRequest(f"The weir has a gate of oak, number {number}."))
    crowded, sparse = (
        memory.recall(ME, RecallRequest("the heron waits by the weir", rehearse=False))
        for memory in (same, alone)
    )
    assert crowded.feeling in ("high", "moderate")
    assert crowded.confidence == pytest.approx(sparse.confidence, abs=0.25)


class Burst:
    """A model that is there, and texts that were stored while it was not."""

    def __init__(self, open_memory: OpenMemory, toy: Any) -> None:
        self.toy = toy
        self.memory = open_memory("burst", embedder=toy)
        self.memory.remember(ME, RememberRequest("Bread rises slowly in the cold kitchen."))
        self.parts = self.memory._runtime.parts()
        self.parts.maintenance.round()

    def told(self, text: str, who: Identity = ME) -> str:
        """Stored without a vector."""
        self.memory._runtime.gate.back_off(EncoderUnavailable("busy", "wait"))
        id = self.memory.remember(who, RememberRequest(text)).id
        self.memory._runtime.gate._failure = None
        return id


@pytest.fixture
def burst(open_memory: OpenMemory, toy: Any, monkeypatch: pytest.MonkeyPatch) -> Burst:
    monkeypatch.setattr(Maintenance, "start", lambda self: None)
    return Burst(open_memory, toy)


def test_what_was_stored_just_now_is_embedded_for_the_recall(burst: Burst) -> None:
    ids = {burst.told(f"The heron number {each} waits by the weir.") for each in range(5)}
    found = burst.memory.recall(ME, RecallRequest("the heron waits by the weir", k=9))
    assert (found.found, found.note) == (True, "")
    assert ids <= {hit.memory.id for hit in found.hits}
    assert not burst.parts.store.journal.without_vectors("toy-1", 9)


def test_what_has_no_vectors_in_time_is_found_by_words_and_the_answer_is_partial(
    burst: Burst, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside other memories, the vectors of which decide what is sure enough."""
    waited: list[float] = []
    burst.parts.reader._embed_now = waited.append
    id = burst.told("The heron waits by the weir.")
    burst.told("The stork waits by the weir.", OTHER)
    found = burst.memory.recall(ME, RecallRequest("heron waits weir"))
    assert waited == [1.0]
    assert found.found
    assert found.hits[0].memory.id == id
    assert "1 memories were searched by words only" in found.note
    nothing = burst.memory.recall(ME, RecallRequest("entirely unrelated submarine"))
    assert (nothing.found, "partial" in nothing.note) == (False, True)
    assert burst.memory.recall(Identity("third"), RecallRequest("heron")).note == ""


def test_a_recall_does_not_wait_for_what_will_not_come(burst: Burst, clock: Any) -> None:
    waited: list[float] = []
    burst.parts.reader._embed_now = waited.append
    burst.told("The heron waits by the weir.")
    clock.pass_by(61.0)
    found = burst.memory.recall(ME, RecallRequest("heron waits weir"))
    assert (waited, "partial" in found.note) == ([], True)


def test_a_model_that_refuses_is_not_asked_again_and_again(burst: Burst) -> None:
    burst.toy.refuses = lambda text: "heron" in text
    burst.told("The heron waits by the weir.")
    burst.memory.recall(ME, RecallRequest("weir"))
    asked = burst.toy.asked
    assert "partial" in burst.memory.recall(ME, RecallRequest("weir")).note
    assert burst.toy.asked == asked
