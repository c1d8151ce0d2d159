"""The runner with a small honest memory: what it asks, and what it makes of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memory_core.errors import EncoderUnavailable, InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn, pooled
from memory_core.evaluation.runner import evaluate

Open = Callable[..., Any]


def test_every_turn_is_remembered_in_order_through_the_public_arguments(
    conversation: Conversation, open_memory: Open, opened: list[Any]
) -> None:
    evaluate([conversation], open_memory, k=7)
    (memory,) = opened
    assert [call.text for call in memory.calls] == [turn.text for turn in conversation.turns]
    first, last = memory.calls[0], memory.calls[-1]
    assert (first.speaker, first.role, first.session) == ("Ida", "user", "one")
    assert first.when == "1970-01-11T00:00:00+00:00"
    assert last.when == ""
    assert [asked.query for asked in memory.asked] == [q.text for q in conversation.questions]
    assert all(asked.k == 7 and asked.context == 0 for asked in memory.asked)
    assert not any(asked.rehearse for asked in memory.asked)
    assert memory.closed
    assert not memory.folder.exists()


def test_each_conversation_gets_a_store_of_its_own(
    conversation: Conversation, open_memory: Open, opened: list[Any]
) -> None:
    evaluate([conversation, conversation], open_memory)
    assert len({memory.folder for memory in opened}) == 2
    assert [len(memory.stored) for memory in opened] == [4, 4]


def test_a_repeat_counts_as_the_turn_that_it_repeats(
    conversation: Conversation, open_memory: Open
) -> None:
    report = evaluate([conversation], open_memory)
    place, animal, snails, nothing = report.answers["recall"]
    assert place.evidence == ("a1",)
    assert place.ranking[0] == "a1"
    assert animal.evidence == ("b1",)
    assert animal.scores["recall@1"] == 1
    assert snails.evidence == ("b1", "b3")
    assert set(snails.ranking) == {"b1", "b3"}
    assert snails.scores["recall@1"] == 0.5
    assert snails.scores["all@10"] == 1
    assert (nothing.answerable, nothing.scores, nothing.found) == (False, {}, False)
    assert report.counts == {
        "conversations": 1,
        "turns": 5,
        "questions": 4,
        "skipped": 3,
        "repeats": 1,
        "refused": 0,
        "in_pieces": 0,
    }


def test_a_refused_turn_is_counted_and_never_found(open_memory: Open, opened: list[Any]) -> None:
    def refusing(folder: Any) -> Any:
        memory = open_memory(folder)
        memory.refuses = "password"
        return memory

    turns = (Turn("1", "the password is tulip"), Turn("2", "the bulb is a tulip"))
    conversation = Conversation("c", turns, (Question("tulip", ("1", "2"), "x"),))
    report = evaluate([conversation], refusing)
    assert report.counts["refused"] == 1
    assert report.answers["recall"][0].ranking == ("2",)
    assert report.answers["recall"][0].scores["recall@10"] == 0.5


def test_a_long_turn_goes_in_pieces_that_stand_for_it(open_memory: Open, opened: list[Any]) -> None:
    turns = (Turn("long", "alpha beta\ngamma deltadelta"), Turn("short", "beta"))
    questions = (Question("gamma alpha", ("long",), "x"), Question("beta", ("short",), "x"))
    report = evaluate([Conversation("c", turns, questions)], open_memory, text_chars=10)
    texts = [call.text for call in opened[0].calls]
    assert texts == ["alpha beta", "gamma", "deltadelta", "beta"]
    assert report.counts["in_pieces"] == 1
    first, second = report.answers["recall"]
    assert first.ranking == ("long",)
    assert set(second.ranking) == {"long", "short"}
    assert len(report.times["remember"]) == 4


def test_baselines_are_ranked_on_the_same_questions_and_cut_at_k(
    conversation: Conversation, open_memory: Open, embedder: Any
) -> None:
    report = evaluate(
        [conversation], open_memory, k=2, baselines=("dense", "bm25", "rrf"), embedder=embedder
    )
    assert list(report.answers) == ["recall", "dense", "bm25", "rrf"]
    for name in ("dense", "bm25", "rrf"):
        answers = report.answers[name]
        assert [a.question for a in answers] == [q.text for q in conversation.questions]
        assert all(len(a.ranking) <= 2 for a in answers)
        assert all(a.found is None and a.confidence is None for a in answers)
    assert report.answers["dense"][1].evidence == ("b2",)
    assert "recall@10" not in report.answers["dense"][0].scores
    assert report.versions["embedder"] == "hashing"


def test_progress_rises_to_the_announced_total(
    conversation: Conversation, open_memory: Open, embedder: Any
) -> None:
    seen: list[tuple[int, int, str]] = []
    evaluate(
        [conversation],
        open_memory,
        baselines=("dense",),
        embedder=embedder,
        progress=lambda done, total, what: seen.append((done, total, what)),
    )
    assert [done for done, _, _ in seen] == [*range(1, 10), 13]
    assert {total for _, total, _ in seen} == {13}
    assert seen[0][2] == "garden: remember"
    assert seen[-1][2] == "garden: dense"


def test_a_model_that_does_not_load_is_an_error_not_a_lexical_run(
    conversation: Conversation, open_memory: Open, opened: list[Any]
) -> None:
    def unready(folder: Any) -> Any:
        memory = open_memory(folder)
        memory.ready = False
        return memory

    with pytest.raises(EncoderUnavailable):
        evaluate([conversation], unready)
    assert opened[0].closed
    assert opened[0].calls == []


@pytest.mark.parametrize(
    "arguments", [{"k": 0}, {"baselines": ("colbert",)}, {"baselines": ("dense",)}]
)
def test_senseless_arguments_are_refused_before_anything_is_stored(
    conversation: Conversation, open_memory: Open, opened: list[Any], arguments: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        evaluate([conversation], open_memory, **arguments)
    assert opened == []


def test_nothing_to_ask_is_refused(open_memory: Open) -> None:
    with pytest.raises(InvalidInput):
        evaluate([], open_memory)
    with pytest.raises(InvalidInput):
        evaluate([Conversation("c", (Turn("1", "Hi."),), ())], open_memory)


def test_two_runs_differ_in_nothing_but_time(conversation: Conversation, open_memory: Open) -> None:
    def stable(report: Any) -> str:
        figures = report.to_dict(details=True)
        del figures["date"], figures["milliseconds"]
        return json.dumps(figures, sort_keys=True)

    assert stable(evaluate([conversation], open_memory)) == stable(
        evaluate([conversation], open_memory)
    )


def test_a_variant_asks_the_same_store_in_its_own_way(
    conversation: Conversation, open_memory: Open, opened: list[Any]
) -> None:
    def shorter(folder: Any) -> Any:
        (told,) = opened
        assert (told.closed, told.folder) == (True, folder)
        told.k_most = 1
        return told

    report = evaluate([conversation], open_memory, variants={"one": shorter})
    assert list(report.answers) == ["recall", "one"]
    assert max(len(answer.ranking) for answer in report.answers["recall"]) > 1
    assert {len(answer.ranking) for answer in report.answers["one"]} == {0, 1}
    assert len(report.times["recall"]) == len(conversation.questions)


def test_pooled_conversations_share_one_store(
    conversation: Conversation, open_memory: Open, opened: list[Any]
) -> None:
    other = Conversation("shed", (Turn("a1", "The shed key is new."),), (), skipped=1)
    whole = pooled([conversation, other])
    assert [turn.id for turn in whole.turns][-2:] == ["garden/b3", "shed/a1"]
    assert whole.turns[0].session == "garden/one"
    assert (whole.turns[-1].session, whole.skipped) == ("", 4)
    report = evaluate([whole], open_memory)
    assert len(opened) == 1
    place = report.answers["recall"][0]
    assert place.evidence == ("garden/a1",)
    assert set(place.ranking) >= {"garden/a1", "shed/a1"}
