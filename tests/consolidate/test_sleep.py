"""Steps of sleep over a real store: topics, summaries, conversations, what fades."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_core.consolidate.summaries import _sharing_words
from memory_core.errors import NotFound
from memory_core.lifecycle.topics import label_from
from memory_core.link_kinds import DOUBTS, KEPT_BOTH
from memory_core.records import Change, Identity, MemoryRecord
from memory_core.text.names.entities import entities
from tests.views import view_of

ME = Identity("me", "crew")
OTHER = Identity("other", "crew")
DAY = 86_400.0


# Summaries


def test_sleep_summarises_each_cluster_and_names_its_sources(world: Any) -> None:
    boats = [world.tell(text, importance=0.6, entities=("Mara",)) for text in world.sailing]
    loaves = [world.tell(text, importance=0.4, entities=("Tomas",)) for text in world.bread]
    report = world.run()
    assert report.status == "completed"
    found = {frozenset(summary.derived_from): world[summary.id] for summary in report.summaries}
    assert set(found) == {frozenset(boats), frozenset(loaves)}
    summary = found[frozenset(boats)]
    assert (summary.kind, summary.session, summary.run) == ("summary", "", report.run)
    assert summary.gist == "Extractive summary of 3 memories"
    assert summary.importance == pytest.approx(1.0)
    assert found[frozenset(loaves)].importance == pytest.approx(0.8)
    assert summary.entities == ("Mara",)
    assert summary.occurred_at == world[boats[-1]].occurred_at
    assert all(sentence in " ".join(world.sailing) for sentence in summary.text.split(". "))
    vectors = view_of(world.store).vectors
    assert vectors is not None
    row = view_of(world.store).columns.row(summary.id)
    assert row is not None
    assert vectors.has(row)


def test_sources_stay_searchable_with_half_their_importance_once(world: Any) -> None:
    ids = [world.tell(text, importance=0.6) for text in world.sailing]
    world.run()
    assert [world[id].importance for id in ids] == pytest.approx([0.3] * 3)
    assert all(world[id].retired_at is None for id in ids)
    again = world.run()
    assert again.summaries == ()
    assert [world[id].importance for id in ids] == pytest.approx([0.3] * 3)


def test_what_is_pinned_or_wished_keeps_its_importance(world: Any) -> None:
    weights = (1.0, 0.6, 0.6)
    ids = [world.tell(text, importance=w) for text, w in zip(world.sailing, weights, strict=True)]
    world.run()
    assert [world[id].importance for id in ids] == pytest.approx([1.0, 0.3, 0.3])


def test_importance_is_not_halved_again_when_the_summary_was_forgotten(world: Any) -> None:
    ids = [world.tell(text, importance=0.6) for text in world.sailing]
    gone = world.run().summaries[0].id
    change = Change("forget", gone, {"digests": [], "reason": "", "erase": True})
    world.store.commit(lambda tx: tx.forget(change))
    second = world.run()
    assert [set(s.derived_from) for s in second.summaries] == [set(ids)]
    assert [world[id].importance for id in ids] == pytest.approx([0.3] * 3)


def test_summary_has_the_lowest_trust_of_its_sources(world: Any) -> None:
    for text, trust in zip(world.sailing, ("user", "web", "import"), strict=True):
        world.tell(text, trust=trust)
    assert world[world.run().summaries[0].id].trust == "web"


def test_clusters_never_cross_a_scope_or_an_owner(world: Any) -> None:
    world.tell(world.sailing[0])
    world.tell(world.sailing[1], visibility="shared")
    world.tell(world.sailing[2], visibility="shared", who=OTHER)
    assert world.run().summaries == ()
    world.tell(world.sailing[0] + " again", visibility="shared")
    mine = world.tell(world.sailing[2] + " again", visibility="shared")
    report = world.run()
    assert [world[s.id].visibility for s in report.summaries] == ["shared"]
    assert mine in report.summaries[0].derived_from
    assert {world[id].agent for id in report.summaries[0].derived_from} == {"me"}


def test_clusters_never_cross_a_project(world: Any) -> None:
    for text, name in zip((*world.sailing, *world.sailing), "abbbaa", strict=True):
        world.tell(f"{text} {name}", tags=(f"project:{name}",))
    made = [s for s in world.run().summaries if world[s.id].kind == "summary"]
    assert sorted(world[s.id].tags for s in made) == [("project:a",), ("project:b",)]
    for summary in made:
        assert {world[id].tags for id in summary.derived_from} == {world[summary.id].tags}


@pytest.mark.parametrize("english", [False, True])
def test_german_words_of_grammar_make_no_cluster_for_a_model_of_english(
    world: Any, english: bool
) -> None:
    world.bag.profile = replace(world.bag.profile, english=english)
    for thing in ("eine Katze namens Mogli", "einen Garten am Hang", "einen Kurs im Töpfern"):
        world.tell(f"Wir haben jetzt auch noch bei uns {thing}.")
    cats = [
        world.tell(f"Die Katze Mogli ist {state}.")
        for state in ("krank", "wieder gesund", "am Abend gern bei uns im Haus")
    ]
    made = [set(s.derived_from) for s in world.run().summaries if world[s.id].kind == "summary"]
    assert len(made) == (1 if english else 2)
    assert any(set(cats) <= sources for sources in made)


def test_one_german_text_of_two_is_enough_to_ask_for_a_word_that_both_share() -> None:
    texts = (
        "Wir haben eine Katze namens Mogli.",
        "Mogli schnurrt.",
        "Tobias schnarcht.",
        "Lisa snores.",
    )
    linked = _sharing_words([MemoryRecord(id="", text=text) for text in texts])
    assert linked(0, 1)
    assert not linked(0, 2)
    assert not linked(2, 0)
    assert linked(2, 3)  # of neither it is known that the model cannot read it


def test_nothing_of_another_owner_is_changed(world: Any) -> None:
    theirs = [world.tell(t, who=OTHER, visibility="team", importance=0.1) for t in world.sailing]
    before = [world[id] for id in theirs]
    world.now += 4000 * DAY
    world.run()
    assert [world[id] for id in theirs] == before


def test_two_episodes_are_too_few(world: Any) -> None:
    for text in world.sailing[:2]:
        world.tell(text)
    assert world.run().summaries == ()


def test_large_clusters_are_summarised_in_batches(make: Any) -> None:
    world = make(batch=4, topic_members=100)
    for number in range(10):
        world.tell(f"{world.sailing[0][:-1]} with guest {'abcdefghij'[number]}x")
    made = [s for s in world.run().summaries if world[s.id].kind == "summary"]
    sizes = sorted(len(summary.derived_from) for summary in made)
    assert sizes == [4, 4]


def test_without_a_model_conversations_are_summarised_and_the_report_says_so(make: Any) -> None:
    world = make(model=False)
    ids = [world.tell(text, session="lake") for text in world.sailing]
    world.tell(world.bread[0])
    report = world.run()
    clustered = [s for s in report.summaries if not s.text.startswith("Session summary:")]
    assert [set(s.derived_from) for s in clustered] == [set(ids)]
    details = {step.name: step.detail for step in report.steps}
    assert "not ready" in details["summaries"]
    assert "not ready" in details["topics"]
    assert world.steps(report)["topics"] == 0


def test_a_summary_that_would_repeat_a_memory_is_not_written(make: Any) -> None:
    world = make(summary_sentences=2)
    for text in world.sailing:
        world.tell(text)
    (planned,) = world.run(dry_run=True).summaries
    world.tell(planned.text, kind="fact")
    assert world.run().summaries == ()


def test_in_a_run_by_itself_only_old_episodes_are_summarised(world: Any) -> None:
    for text in world.sailing:
        world.tell(text)
    assert world.run(age_s=30 * DAY).summaries == ()
    world.now += 30 * DAY
    assert len(world.run(age_s=30 * DAY).summaries) == 1


def test_a_summary_quotes_what_reads_well_with_its_days_and_speakers(world: Any) -> None:
    for text in ("Ok!", "Shall we sail on the lake?", *world.sailing):
        world.tell(f"Hello. {text}", speaker="Mara")
        world.now += DAY
    (found,) = world.run().summaries
    text = found.text
    assert text.startswith("16 November 2023: Mara: Mara sails her small blue boat")
    assert "17 November 2023: On the lake" in text
    assert "Hello" not in text
    assert "?" not in text


# What was corrected since


def test_a_stale_summary_is_written_anew_from_what_still_holds(world: Any) -> None:
    ids = [world.tell(text) for text in (*world.sailing, f"{world.sailing[0]} Again so.")]
    first = world.run().summaries[0].id
    world.put(ids[1], superseded_by="x" * 20, superseded_at=world.now, replaced=True)
    world.now += DAY
    report = world.run()
    (second,) = report.summaries
    assert set(second.derived_from) == set(ids) - {ids[1]}
    assert "leaks" not in second.text
    assert world[first].superseded_by == second.id
    assert world[first].retired_at == world.now
    assert [world[id].importance for id in ids[2:]] == pytest.approx([0.25] * 2)
    assert world.run().summaries == ()


def doubt(world: Any, newer: str, older: str) -> None:
    link = Change("link", newer, {"b": older, "kind": DOUBTS, "weight": 1.0})
    world.store.commit(lambda tx: tx.append(link))


def test_a_summary_leaves_out_what_is_in_doubt_and_takes_it_back_when_both_hold(
    world: Any,
) -> None:
    texts = (*world.sailing, "The blue boat of Mara wants paint, says the lake harbour.")
    ids = [world.tell(text, session="s1") for text in texts]
    doubt(world, ids[3], ids[1])
    world.now += DAY
    made = world.run().summaries
    assert len(made) == 2  # of the cluster and of the session
    assert all(set(each.derived_from) == set(ids) - {ids[1]} for each in made)
    assert all("leaks" not in each.text for each in made)
    assert world.run().summaries == ()
    both = Change("link", ids[3], {"b": ids[1], "kind": KEPT_BOTH, "weight": 1.0})
    world.store.commit(lambda tx: tx.append(both))
    (session,) = world.run().summaries
    assert set(session.derived_from) == set(ids)


def test_a_summary_is_written_anew_when_a_source_falls_in_doubt(world: Any) -> None:
    ids = [world.tell(text) for text in (*world.sailing, f"{world.sailing[0]} Again so.")]
    first = world.run().summaries[0].id
    doubt(world, ids[2], ids[1])
    (second,) = world.run().summaries
    assert set(second.derived_from) == set(ids) - {ids[1]}
    assert world[first].superseded_by == second.id
    assert world.run().summaries == ()


def test_a_model_is_not_shown_what_is_in_doubt(world: Any) -> None:
    ids = [world.tell(text) for text in (*world.sailing, f"{world.sailing[0]} Again so.")]
    doubt(world, ids[3], ids[1])
    shown: list[str] = []

    def summarise(_run: str, sources: Any, _most: int) -> str:
        shown.extend(memory.id for memory in sources)
        return "Mara has a boat."

    world.consolidator._summarise = summarise
    world.run()
    assert set(shown) == set(ids) - {ids[1]}


@pytest.mark.parametrize(
    ("dates", "kept"),
    [
        (("2024-03-09",), True),
        (("2024-12",), True),
        (("2025",), True),
        (("2023-11-02",), False),
        (("2024",), False),
    ],
)
def test_what_is_still_to_come_does_not_fade_by_being_summed_up(
    make: Any, dates: tuple[str, ...], kept: bool
) -> None:
    world = make()
    world.now = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    ids = [world.tell(text, importance=0.6) for text in world.sailing]
    world.put(ids[0], dates=list(dates))
    assert len(world.run().summaries) == 1
    assert [world[id].importance for id in ids] == pytest.approx([0.6 if kept else 0.3, 0.3, 0.3])


def test_an_appointment_to_come_is_not_pruned(make: Any) -> None:
    world = make()
    world.now = datetime(2024, 3, 1, tzinfo=UTC).timestamp()
    dentist = world.tell("the dentist", importance=0.2, dates=("2024-06-04",))
    past = world.tell("the lamp is on", importance=0.2, dates=("2024-03-02",))
    world.now += 80 * DAY
    assert world.run("prune").retired == (past,)
    assert world[dentist].retired_at is None


def test_a_stale_summary_with_too_few_sources_left_is_retired(world: Any) -> None:
    ids = [world.tell(text) for text in world.sailing]
    summary = world.run().summaries[0].id
    world.put(ids[0], superseded_by="x" * 20, superseded_at=world.now, replaced=True)
    world.put(summary, stale_since=world.now)
    report = world.run()
    assert summary in report.retired
    assert world[summary].retired_at == world.now


def test_a_stale_session_summary_and_a_fact(world: Any) -> None:
    texts = (*world.sailing, "Tomas bakes a dark rye bread for Mara.")
    ids = [world.tell(text, session="lake") for text in texts]
    world.now += 7200.0
    summary = next(s.id for s in world.run().summaries if s.text.startswith("Session summary:"))
    fact = world.tell("Mara has a leak.", kind="fact", derived_from=(ids[1],))
    world.put(ids[1], superseded_by="x" * 20, superseded_at=world.now, replaced=True)
    for id in (summary, fact):
        world.put(id, stale_since=world.now)
    report = world.run()
    assert world[summary].superseded_by in {s.id for s in report.summaries}
    assert fact in report.retired


def test_a_summary_that_nobody_asks_for_rests_until_half_of_its_sources_fade(make: Any) -> None:
    world = make(concept_members=3)
    ids = [world.tell(text, session="lake") for text in world.sailing]
    world.now += 3700.0
    made = [summary.id for summary in world.run().summaries]
    assert len(made) == 3  # of the cluster, the session and the topic
    by_hand = world.tell("What I wrote of the lake", kind="summary", derived_from=tuple(ids))
    for _ in range(2):  # kept awake by recalls, as is what they rest on
        world.now += 60 * DAY
        for id in (*ids, made[0]):
            world.access(id, 5, world.now)
    assert set(world.run().retired) == set(made[1:])
    assert world[by_hand].retired_at is None
    assert (world.run().summaries, world.run().retired) == ((), ())  # not written again
    world.now += 200 * DAY
    world.access(ids[0], 6, world.now)
    world.access(ids[1], 6, world.now)
    assert set(world.run("prune").retired) == {ids[2], made[0]}  # one of three: it rests, too
    world.now += 400 * DAY
    world.access(ids[0], 7, world.now)
    assert world.run("prune").retired == (ids[1],)
    assert [world[id].retired_at for id in (ids[0], *made)] == [None] * 4


def test_an_outdated_summary_at_rest_stays_out(world: Any) -> None:
    ids = [world.tell(text, importance=0.5) for text in world.sailing]
    (made,) = world.run().summaries
    world.now += 100 * DAY
    for id in ids:
        world.access(id, 50, world.now)
    assert world.run("prune").retired == (made.id,)
    world.put(ids[0], superseded_by=ids[1], superseded_at=world.now, retired_at=world.now)
    assert world.run("prune").retired == ()
    assert world[made.id].retired_at is not None


# Concepts


def test_a_large_topic_gets_a_concept_that_is_renewed_when_it_grew(make: Any) -> None:
    world = make(concept_members=3)
    ids = [world.tell(text) for text in world.sailing]
    (made,) = world.run("topics").summaries
    concept = world[made.id]
    assert (concept.kind, set(concept.derived_from)) == ("concept", set(ids))
    assert concept.text.startswith("Topic: ")
    assert {"lake", "small", "boat", "blue", "mara"} <= set(
        concept.text.removeprefix("Topic: ").split(".")[0].split(", ")
    )
    assert concept.importance == pytest.approx(1.0)
    assert world.run("topics").summaries == ()
    for text in world.sailing[:2]:
        world.tell(f"{text} Again.")
    (second,) = world.run("topics").summaries
    assert world[concept.id].superseded_by == second.id


# Session summaries


def test_session_summary_covers_only_its_own_turns(world: Any) -> None:
    here = [world.tell(text, session="lake") for text in world.sailing]
    for text in world.bread:
        world.tell(text, session="kitchen")
    report = world.run("session", session="lake")
    assert [set(s.derived_from) for s in report.summaries] == [set(here)]
    summary = world[report.summaries[0].id]
    assert summary.text.startswith("Session summary: ")
    assert (summary.importance, summary.session) == (0.75, "")
    assert [world[id].importance for id in here] == [0.5] * 3


def test_session_is_summed_up_again_only_when_turns_came(world: Any) -> None:
    for text in world.sailing:
        world.tell(text, session="lake")
    first = world.run("session").summaries[0].id
    assert world.run("session").summaries == ()
    new = world.tell("The harbour master sold Mara a second and much larger sail", session="lake")
    second = world.run("session").summaries
    assert len(second) == 1
    assert new in second[0].derived_from
    assert world[first].superseded_by == second[0].id
    assert world[first].retired_at is not None
    assert not world[first].replaced


def test_unchanged_session_text_takes_the_new_turns_in(make: Any) -> None:
    world = make(summary_sentences=1)
    for text in world.sailing:
        world.tell(text, session="lake")
    first = world.run("session").summaries[0]
    new = world.tell("Fine", session="lake")
    report = world.run("session")
    assert report.summaries == ()
    assert world[first.id].derived_from == (*first.derived_from, new)
    assert world.steps(world.run("session"))["sessions"] == 0


def test_sleep_leaves_a_conversation_that_goes_on_alone(world: Any) -> None:
    for text in world.sailing:
        world.tell(text, session="lake")
    assert world.steps(world.run())["sessions"] == 0
    world.now += 3600.0
    assert world.steps(world.run())["sessions"] == 1


def test_unknown_session_is_not_found(world: Any) -> None:
    world.tell(world.sailing[0])
    with pytest.raises(NotFound):
        world.run("session", session="nowhere")


# Topics


def test_topics_are_assigned_by_closeness_and_called_by_names_and_nouns(world: Any) -> None:
    boats = [world.tell(text) for text in world.sailing]
    loaves = [world.tell(text) for text in world.bread]
    report = world.run("topics")
    assert world.steps(report) == {"topics": 6, "concepts": 0}
    assert {world[id].topic for id in boats} == {"Mara, boat"}
    assert {world[id].topic for id in loaves} == {"bread, dough, oven"}
    late = world.tell("Mara sails on the lake every Sunday")
    assert world.steps(world.run("topics")) == {"topics": 1, "concepts": 0}
    assert world[late].topic == "Mara, boat"
    assert world.steps(world.run("topics")) == {"topics": 0, "concepts": 0}


OF_ONE_MAKE = [
    ("The API uses Redis for session caching.", "Does the API use MongoDB for session caching?"),
    ("The shop stores its orders in Postgres.", "The shop stores its orders in MySQL."),
    ("We celebrate the birthday of Anna in May.", "We celebrate the birthday of Bert in June."),
    ("We are planning a trip to Lisbon.", "We are planning a trip to Porto."),
]
OF_ONE_TOPIC = [
    ("The API keeps sessions in Redis.", "In Redis the sessions of the API expire after a while."),
    ("We are planning a trip to Lisbon.", "Planning a trip to Lisbon takes time."),
    ("The trip to Lisbon is planned.", "The trip is planned for two."),
    ("Anna and Bert celebrate a birthday.", "The birthday of Bert is a big one to celebrate."),
]


@pytest.mark.parametrize("pair", OF_ONE_MAKE)
def test_what_says_the_same_of_another_name_has_another_topic(world: Any, pair: Any) -> None:
    told = [
        world.tell(text + more, entities=entities(text))
        for text in pair
        for more in ("", " Again.")
    ]
    world.run("topics")
    one, again, other, besides = (world[id].topic for id in told)
    assert one == again != other == besides


@pytest.mark.parametrize("pair", OF_ONE_TOPIC)
def test_a_shared_name_or_none_keeps_texts_in_one_topic(world: Any, pair: Any) -> None:
    one, other = (world.tell(text, entities=entities(text)) for text in pair)
    world.run("topics")
    assert world[one].topic == world[other].topic != ""


# Prune


def test_prune_retires_what_is_neither_retained_nor_important(world: Any) -> None:
    faded = world.tell("the old umbrella stood in the corner", importance=0.2)
    kept = world.tell("the new umbrella leans on the door", importance=0.38)
    used = world.tell("umbrellas are cheap at the station", importance=0.2)
    turn = world.tell("a turn that was just said", importance=0.1, tier="active")
    world.now += 80 * DAY  # 2 ** (-80 / 30) = 0.157
    world.access(used, 3, world.now)
    assert world.run("prune").retired == (faded,)
    assert world[faded].retired_at == world.now
    assert all(world[id].retired_at is None for id in (kept, used, turn))


def test_corrections_and_instructions_are_protected_whatever_the_settings(make: Any) -> None:
    world = make(prune_importance=1.0, prune_retention=1.0)
    rule = world.tell("Always answer in German", importance=0.85)
    note = world.tell("the lamp is on", importance=0.84)
    world.now += 4000 * DAY
    assert world.run("prune").retired == (note,)
    assert world[rule].retired_at is None


def test_what_corrects_something_is_not_pruned(world: Any) -> None:
    old = world.tell("the review is on Thursday", importance=0.25)
    new = world.tell("the review is on Friday now", importance=0.25)
    world.put(old, superseded_by=new, superseded_at=world.now)
    plain = world.tell("the lamp is on", importance=0.25)
    world.now += 400 * DAY
    assert world.run("prune").retired == (plain,)
    assert world[new].retired_at is None


def test_nothing_is_retired_in_the_run_that_summarises_it(world: Any) -> None:
    ids = [world.tell(text, importance=0.5) for text in world.sailing]
    world.now += 80 * DAY
    report = world.run()
    assert [set(summary.derived_from) for summary in report.summaries] == [set(ids)]
    assert report.retired == ()


def test_a_topic_is_named_by_what_its_members_share_and_not_by_what_is_outdated(world: Any) -> None:
    world.tell("Tomas bakes dark rye bread in the oven of the Mill.")
    later = world.tell("Tomas bakes dark rye bread in the oven of the Castle.")
    world.tell("Tomas bakes dark rye bread in the oven before noon.")
    world.run("topics")
    assert world[later].topic == "bread, oven"
    old = world.tell("The choir of Nora sings in the chapel.", entities=("Nora", "Abbey"))
    new = world.tell("The choir of Nora sings in the hall.", entities=("Nora",))
    for id in (old, new):
        world.put(id, topic=label_from(world[old]))
    assert "Abbey" in world[new].topic
    world.put(old, superseded_by=new)
    world.run("topics")
    assert world[new].topic == label_from(world[new])


def test_a_summary_quotes_the_later_of_two_values_and_all_of_a_series(world: Any) -> None:
    texts = (
        "The lease of the allotment costs 90 euros a year.",
        "The allotment has a well and a shed.",
        "The lease of the allotment costs plenty of euros a year.",
    )
    for text in texts:
        world.tell(text, session="lease", role="user")
    for number in ("Monday", "Tuesday", "Friday"):
        world.tell(f"The harbour ferry leaves late on {number}.", session="ferry", role="user")
    world.now += DAY
    made = [summary.text for summary in world.run().summaries]
    lease = next(text for text in made if "well" in text)
    assert "plenty" in lease
    assert "90" not in lease
    assert any("Monday" in text and "Tuesday" in text for text in made)


def test_a_summary_keeps_a_few_words_with_what_follows_them(world: Any) -> None:
    for text in (
        "we booked the harbour hut! 8 to 15 August, with a view of the lake",
        "Hello. The boat is at the quay, it has a new sail. cake is fine",
        "the sail of the boat is blue",
    ):
        world.tell(text, session="lake")
    (found,) = world.run("session", session="lake").summaries
    text = world[found.id].text
    assert "we booked the harbour hut! 8 to 15 August" in text
    assert "new sail. cake is fine." in text
    assert "Hello" not in text


def test_a_summary_quotes_a_short_value_and_each_sentence_ends(world: Any) -> None:
    for text in ("the boat costs 150 €", "weight 88.4", "the sail of the boat is blue", "okay 2"):
        world.tell(text, session="lake")
    (found,) = world.run("session", session="lake").summaries
    text = world[found.id].text
    assert "150 €. weight 88.4. the sail" in text
    assert text.endswith(".")
