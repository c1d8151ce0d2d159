"""Both channels carry the same facts, and each keeps within the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memory_core.config import LimitSettings
from memory_core.records import (
    Check,
    Contradiction,
    ForgetReport,
    HealthReport,
    Hit,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    Removal,
    RunReport,
    Similar,
    Step,
    Summary,
    new_id,
)
from server.protocol import budget, rendering, schemas, structure

NOW = 1_717_200_000.0

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Cn", "Zl", "Zp")),
    max_size=400,
)
labels = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Cn", "Zl", "Zp")),
    max_size=30,
)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Neighbour, ...]:
    texts = draw(st.lists(words, max_size=2))
    return tuple(Neighbour(new_id(NOW), draw(labels), text, NOW) for text in texts)


doubts = st.sampled_from([("", None), (new_id(NOW), NOW - 60)])


@st.composite
def hits(draw: st.DrawFn) -> Hit:
    memory = MemoryRecord(
        id=new_id(NOW),
        text=draw(words.filter(str.strip)) * draw(st.sampled_from([1, 1, 1, 30])),
        gist=draw(words),
        speaker=draw(labels),
        session=draw(labels),
        source=draw(labels),
        tags=tuple(draw(st.lists(labels, max_size=3))),
        entities=tuple(draw(st.lists(labels, max_size=3))),
        topic=draw(labels),
        trust=draw(st.sampled_from(["user", "agent", "import", "web"])),
        occurred_at=NOW - draw(st.integers(0, 10**8)),
        superseded_by=draw(st.sampled_from(["", new_id(NOW)])),
        derived_from=tuple(new_id(NOW) for _ in range(draw(st.integers(0, 2)))),
        importance=draw(st.floats(0, 1)),
    )
    score = draw(st.floats(-5, 5))
    doubt = ("", None) if memory.superseded_by else draw(doubts)
    return Hit(memory, score, draw(neighbours()), draw(neighbours()), {"dense": score}, *doubt)


anything = st.text(max_size=300).map(lambda text: text * 8) | words
ids = st.lists(st.integers(0, 99).map(lambda n: new_id(NOW + n)), max_size=60).map(tuple)
recollections = st.builds(
    Recollection,
    found=st.booleans(),
    confidence=st.floats(0, 1),
    feeling=st.sampled_from(["high", "moderate", "low", "none"]),
    hits=st.lists(hits(), max_size=6).map(tuple),
    recent=neighbours(),
    partial=st.lists(hits(), max_size=2).map(tuple),
    note=labels,
)


def facts(value: Any, name: str = "") -> list[str]:
    """Every string of a structure as the text channel shows it."""
    if isinstance(value, dict):
        return [fact for key, inner in value.items() for fact in facts(inner, key)]
    if isinstance(value, list):
        return [fact for inner in value for fact in facts(inner, name)]
    if isinstance(value, str):
        if name == "text":
            return [f"> {part}" for part in value.split("\n")]
        quoted = name in {"speaker", "session", "source", "topic", "tags", "entities", "gist"}
        return [json.dumps(value, ensure_ascii=False) if quoted else " ".join(value.split())]
    return [str(value)] if isinstance(value, float) else []


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recollections, st.integers(schemas.MIN_TOKENS, 3000))
def test_both_channels_fit_the_budget_and_carry_the_same_facts(
    found: Recollection, max_tokens: int
) -> None:
    built = structure.recollection(found, NOW, max_tokens)
    text = rendering.recall(built)
    assert len(text) <= max_tokens * 4
    assert len(budget.compact_json(built)) <= max_tokens * 4
    for fact in facts(built):
        assert fact in text
    schemas.RecallResult.model_validate(built)
    ids = [hit.memory.id for hit in found.hits]
    given_ids = [memory["id"] for memory in built["memories"]]
    assert given_ids == ids[: len(given_ids)]
    assert given_ids or not ids
    if built["truncated"] is False:
        assert given_ids == ids
        assert [memory["text"] for memory in built["memories"]] == [
            hit.memory.text for hit in found.hits
        ]


receipts = st.builds(
    Receipt,
    id=st.just(new_id(NOW)),
    status=st.sampled_from(["stored", "reinforced", "replaced", "refused"]),
    kind=st.sampled_from(["episode", "fact"]),
    importance=st.floats(0, 1),
    gist=anything,
    similar=st.lists(
        st.builds(
            Similar, st.just(new_id(NOW + 1)), anything, st.sampled_from(["updates", "similar"])
        ),
        max_size=5,
    ).map(tuple),
    replaced=ids,
    warnings=st.lists(labels.filter(str.strip), max_size=3).map(tuple),
)
runs = st.builds(
    RunReport,
    run=st.just(new_id(NOW)),
    status=st.sampled_from(["completed", "preview", "failed"]),
    steps=st.lists(st.builds(Step, labels, st.integers(0, 99), labels), max_size=6).map(tuple),
    summaries=st.lists(
        st.builds(Summary, st.just(new_id(NOW + 2)), anything, ids), max_size=40
    ).map(tuple),
    contradictions=st.lists(
        st.builds(
            Contradiction,
            st.just(new_id(NOW + 3)),
            st.just(new_id(NOW + 4)),
            st.sampled_from(["updates", "contradicts"]),
            labels,
            labels,
            st.just(("me", "you")),
        ),
        max_size=40,
    ).map(tuple),
    retired=ids,
    kept=ids,
    note=labels,
)
removals = st.lists(st.builds(Removal, st.just(new_id(NOW + 5)), anything), max_size=60).map(tuple)
forgets = st.builds(
    ForgetReport, st.sampled_from(["preview", "forgotten"]), removals, removals, labels
)
reports = st.builds(
    HealthReport,
    status=st.sampled_from(["ok", "degraded", "failing"]),
    checks=st.lists(
        st.builds(Check, labels, st.sampled_from(["ok", "failing"]), labels, labels), max_size=15
    ).map(tuple),
    counts=st.builds(
        lambda n, by: {"memories": n, "by_agent": by},
        st.integers(0, 10**6),
        st.dictionaries(labels, st.integers(0, 10**6), max_size=300),
    ),
    storage=st.just({"bytes": 1}),
    model=st.just({"name": "m", "ready": True}),
    encoder=st.just({}),
    jobs=st.just({"queued": 0}),
    last_run=st.just({}),
    versions=st.just({"python": "3"}),
)
answers = st.one_of(
    receipts.map(lambda done: (structure.receipt(done), rendering.remember)),
    runs.map(
        lambda done: (structure.run_report(done, "What {} says.".format), rendering.consolidate)
    ),
    forgets.map(lambda done: (structure.forget_report(done), rendering.forget)),
    reports.map(
        lambda done: (
            structure.health_report(done, {"shared": False}),
            lambda a, _: rendering.health(a),
        )
    ),
    recollections.map(lambda found: (structure.recollection(found, NOW, 2000), rendering.recall)),
)


def leaves(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in *value* that is not a container."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else None
    )
    if items is None:
        yield path
        return
    for key, inner in items:
        yield from leaves(inner, *path, key)


def altered(built: Any, path: tuple[Any, ...]) -> Any:
    """*built* with another value at *path*."""
    if not path:
        if isinstance(built, str):
            return built + "Q"
        return not built if isinstance(built, bool) else built + 1
    inner = altered(built[path[0]], path[1:])
    if isinstance(built, dict):
        return built | {path[0]: inner}
    return [*built[: path[0]], inner, *built[path[0] + 1 :]]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=set(Phase) - {Phase.shrink, Phase.explain},  # minutes, for a path that says it all
)
@given(answers, st.data())
def test_no_fact_is_in_one_channel_only(answer: Any, data: st.DataObject) -> None:
    built, draw = answer
    assert len(budget.compact_json(built)) <= budget.DEFAULT_CHARS
    text = draw(built, lambda: "recalled-00000000")
    assert len(text) <= budget.DEFAULT_CHARS
    paths = list(leaves(built))
    for path in data.draw(st.lists(st.sampled_from(paths), max_size=20, unique=True)):
        other = altered(built, path)
        assert draw(other, lambda: "recalled-00000000") != text, path


LONGEST = LimitSettings().text_chars
HARD = {
    "words": "word " * 3999 + "end!!",
    "lines": "a\n" * (LONGEST // 2),
    "quotes": '"\\' * (LONGEST // 2),
    "steering": "x" + "\u202e" * (LONGEST - 2) + "y",
    "emoji": "\U0001f600" * LONGEST,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_a_memory_asked_for_by_its_id_comes_whole(hit: Any, text: str) -> None:
    """Also the longest one, of what a channel writes longer than it is; neighbours then go."""
    found = Recollection(True, 1.0, "high", (hit(text, before=["b" * 900], after=["a" * 19_000]),))
    built = structure.whole(found, NOW)
    (memory,) = built["memories"]
    assert memory["text"] == rendering.visible(text)
    assert built["truncated"] is False
    assert "clipped" not in rendering.recall(built)


def test_a_memory_asked_for_by_its_id_keeps_its_neighbours_where_there_is_room(hit: Any) -> None:
    found = Recollection(True, 1.0, "high", (hit("tea " * 3000, before=["b" * 900]),))
    built = structure.whole(found, NOW)
    assert built == structure.recollection(found, NOW, schemas.MAX_TOKENS, full=True)
    assert built["memories"][0]["before"][0]["text"] == "b" * 900


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recollections)
def test_a_hit_says_its_trust_and_source_unless_it_is_the_callers_own(
    found: Recollection,
) -> None:
    built = structure.recollection(found, NOW, schemas.DEFAULT_TOKENS)
    text = rendering.recall(built)
    hits = {hit.memory.id: hit.memory for hit in (*found.hits, *found.partial)}
    for shown in (*built["memories"], *built.get("partial", ())):
        memory = hits[shown["id"]]
        head = next(line for line in text.split("\n") if f" · {memory.id}" in line)
        own = memory.trust in ("user", "agent")
        assert shown.get("trust", "") == ("" if own else memory.trust)
        assert (f" · trust {memory.trust}" in head) is not own
        if not own and memory.source and not built["truncated"]:
            assert shown["source"] == memory.source
            assert f"source {json.dumps(memory.source, ensure_ascii=False)}" in head


def test_neighbours_go_before_texts_are_clipped(hit: Any) -> None:
    found = Recollection(
        True,
        0.9,
        "high",
        tuple(hit("t" * 300, before=["b" * 300], after=["a" * 300]) for _ in "12"),
    )
    built = structure.recollection(found, NOW, 400)
    assert built["truncated"] is True
    assert [memory["text"] for memory in built["memories"]] == ["t" * 300] * 2
    kept = ["before" in memory for memory in built["memories"]]
    assert kept == sorted(kept, reverse=True), "the lowest hit loses its neighbours first"
    assert not all(kept)


def test_a_clipped_text_names_the_id_to_ask_for_more(hit: Any) -> None:
    found = Recollection(True, 0.9, "high", (hit("word " * 4000),))
    built = structure.recollection(found, NOW, 500)
    (memory,) = built["memories"]
    assert memory["text"].endswith(f"… [clipped: {memory['id']}]")
    assert len(memory["text"]) > 900, "the budget is used"
    assert built["truncated"] is True
    assert "recall that id" in built["note"]


def test_texts_are_clipped_before_memories_are_dropped(hit: Any) -> None:
    found = Recollection(True, 0.9, "high", tuple(hit("x" * 1000) for _ in range(4)))
    built = structure.recollection(found, NOW, 700)
    assert len(built["memories"]) == 4
    assert all("[clipped: " in memory["text"] for memory in built["memories"])


def test_one_memory_is_given_even_in_the_smallest_budget(hit: Any) -> None:
    tall = hit(
        "x" * 20_000,
        speaker="s" * 200,
        session="t" * 200,
        source="u" * 500,
        tags=("v" * 200,) * 20,
        entities=("w" * 200,) * 20,
        derived_from=("0" * 20,) * 60,
        topic="z" * 300,
    )
    built = structure.recollection(
        Recollection(True, 0.9, "high", (tall,), note="n" * 300), NOW, schemas.MIN_TOKENS
    )
    (memory,) = built["memories"]
    assert memory["id"] == tall.memory.id
    assert len(budget.compact_json(built)) <= schemas.MIN_TOKENS * 4
    assert len(rendering.recall(built)) <= schemas.MIN_TOKENS * 4
    assert built["notice"] == schemas.NOTICE


def test_a_brief_memory_has_only_what_is_out_of_the_ordinary(hit: Any) -> None:
    ordinary = hit("tea", speaker="user", tags=("a",), entities=("Ann",), gist="hot tea", topic="t")
    other = hit(
        "green tea", kind="fact", role="assistant", visibility="shared", agent="you", trust="web"
    )
    found = Recollection(True, 0.5, "low", (ordinary, other))
    built = structure.recollection(found, NOW, 2000)
    assert built["memories"] == [
        {"id": ordinary.memory.id, "text": "tea", "when": "2024-05-11"},
        {
            "id": other.memory.id,
            "text": "green tea",
            "kind": "fact",
            "speaker": "assistant",
            "when": "2024-05-11",
            "scope": "shared",
            "trust": "web",
            "agent": "you",
        },
    ]
    assert "recent" not in built


def test_no_turn_is_shown_twice(hit: Any) -> None:
    """A neighbour that is a hit itself, or stands beside another one, is left out."""
    first, second = hit("one", before=("a",), after=("b",)), hit("two")
    itself = Neighbour(second.memory.id, "", "two", NOW)
    first = replace(first, after=(itself, *first.after))
    second = replace(second, before=first.before, after=first.after[1:])
    built = structure.recollection(Recollection(True, 0.5, "low", (first, second)), NOW, 2000)
    one, two = built["memories"]
    assert [turn["text"] for turn in (*one["before"], *one["after"])] == ["a", "b"]
    assert not {"before", "after"} & set(two)


def test_of_many_sources_the_count_and_one_link_are_told(hit: Any) -> None:
    many = tuple(new_id(NOW + n) for n in range(412))
    summary = hit("All of it.", kind="summary", derived_from=many)
    for built in (
        structure.whole(Recollection(True, 1.0, "high", (summary,)), NOW),
        structure.recollection(Recollection(True, 1.0, "high", (summary,)), NOW, 2000, full=True),
    ):
        (memory,) = built["memories"]
        assert "derived_from" not in memory
        link = f"memory://item/{summary.memory.id}"
        assert memory["sources"] == f"412 memories, listed in {link}"
        assert link in rendering.recall(built)
        assert len(rendering.recall(built)) < 600
    run = RunReport(many[0], "completed", summaries=(Summary(many[1], "All.", many),), retired=many)
    report = structure.run_report(run, "All of {} is in it.".format)
    assert report["summaries"][0]["sources"] == f"412 memories, listed in memory://item/{many[1]}"
    assert len(report["retired"]) == structure.LISTED_IDS
    assert "retired: 412 in all" in report["note"]
    assert report["truncated"] is False
    assert report["retired"][0] == {"id": many[0], "text": f"All of {many[0]} is in it."}
    assert len(budget.compact_json(report)) < 3_000


@pytest.mark.parametrize(
    ("arousal", "valence", "shown"),
    [(0.601, 0.1, "valence +0.10, arousal 0.60"), (0.6, 1.0, ""), (0.0, -1.0, ""), (0.0, 0.0, "")],
)
def test_feelings_are_shown_only_when_strong(
    hit: Any, arousal: float, valence: float, shown: str
) -> None:
    felt = hit("tea", arousal=arousal, valence=valence, emotions=("joy",))
    built = structure.whole(Recollection(True, 0.5, "low", (felt,)), NOW)
    (memory,) = built["memories"]
    assert memory.get("affect", "") == shown
    assert memory.get("emotions", []) == (["joy"] if shown else [])
    assert ('emotions "joy" · valence' in rendering.recall(built)) is bool(shown)


def test_tags_are_shown_and_keywords_are_not(hit: Any) -> None:
    found = Recollection(True, 0.5, "low", (hit("tea", tags=("drinks",), keywords=("kettle",)),))
    built = structure.recollection(found, NOW, 2000, full=True)
    assert built["memories"][0]["tags"] == ["drinks"]
    for channel in (budget.compact_json(built), rendering.recall(built)):
        assert "drinks" in channel
        assert "kettle" not in channel


def test_a_gist_that_is_the_text_is_not_said_twice(hit: Any) -> None:
    found = Recollection(True, 0.5, "low", (hit("tea", gist="tea"), hit("green tea", gist="tea")))
    built = structure.recollection(found, NOW, 2000, full=True)
    assert [memory.get("gist") for memory in built["memories"]] == [None, "tea"]


@pytest.mark.parametrize(
    ("status", "gone", "derived", "said"),
    [
        ("preview", 1, 0, "preview: 1 memory would be removed"),
        ("preview", 1, 2, "preview: 1 memory and 2 derived from it would be removed"),
        ("forgotten", 3, 1, "forgotten: 3 memories and 1 derived from them removed"),
        ("preview", 0, 0, "preview: 0 memories would be removed"),
    ],
)
def test_what_goes_is_counted_with_what_is_derived_from_it(
    status: str, gone: int, derived: int, said: str
) -> None:
    some = [
        tuple(Removal(new_id(NOW + n), "tea") for n in range(count)) for count in (gone, derived)
    ]
    built = structure.forget_report(ForgetReport(status, *some))
    assert rendering.forget(built).split("\n")[0] == said


def test_large_reports_are_cut_to_the_default_size() -> None:
    many = tuple(Removal(new_id(NOW + n), "word " * 200) for n in range(100))
    built = structure.forget_report(ForgetReport("preview", many, many, "note"))
    assert built["truncated"] is True
    assert 0 < len(built["removed"]) < 100
    assert len(budget.compact_json(built)) <= budget.DEFAULT_CHARS
    shown = rendering.forget(built)
    assert len(shown) <= budget.DEFAULT_CHARS
    listed = len(built["removed"]) + len(built["derived"])
    assert shown.startswith(f"preview: {listed} of the memories that would be removed are listed")
    assert built["note"] == "200 memories in all; note"
    schemas.ForgetResult.model_validate(built)


def test_reports_carry_the_same_facts_in_both_channels() -> None:
    ids = [new_id(NOW + n) for n in range(6)]
    run = structure.run_report(
        RunReport(
            ids[0],
            "completed",
            (Step("topics", 3, "two new"),),
            (Summary(ids[1], "a summary", (ids[2], ids[3])),),
            (Contradiction(ids[2], ids[3], "updates", "port", "5432 or 5433", ("me", "you")),),
            (ids[4],),
            (ids[5],),
            "done",
        ),
        {ids[2]: "the port is 5432", ids[3]: "the port is 5433", ids[4]: "it rains"}.get,
    )
    text = rendering.consolidate(run)
    for fact in [
        *ids,
        "> the port is 5432\n> the port is 5433",
        f"[retired] {ids[4]}\n> it rains",
        "topics: 3 changed (two new)",
        "> a summary",
        '"port"',
        '"me"',
        '"you"',
        "done",
    ]:
        assert fact in text
    assert run["contradictions"][0]["ids"] == [ids[2], ids[3]]
    assert run["notice"] == schemas.NOTICE
    receipt = structure.receipt(
        Receipt(
            ids[0],
            "stored",
            "fact",
            0.5,
            "gist",
            (Similar(ids[1], "near", "updates"),),
            (ids[2],),
            ("w",),
        )
    )
    text = rendering.remember(receipt)
    for fact in ["stored", ids[0], "fact", "importance 0.5", '"gist"', ids[1], "> near", "updates"]:
        assert fact in text
    assert f"replaced: {ids[2]}" in text
    assert "warning: w" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3 * 3600, "3 hours ago"),
        (86400, "1 day ago"),
        (21 * 86400, "3 weeks ago"),
        (70 * 86400, "2 months ago"),
        (800 * 86400, "2 years ago"),
        (-2 * 86400, "in 2 days"),
    ],
)
def test_age_is_in_words(seconds: float, words: str) -> None:
    assert rendering.age(NOW - seconds, NOW) == words
