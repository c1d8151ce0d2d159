"""A simulated life: what is kept, what fades, what recall is worth with each feature left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evals import life
from evals.cached import Cached

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn

START = 1_717_200_000.0
DAY = 86_400.0

TURNS = (
    ("The kettle is on the blue stove.", 0),
    ("Good morning Ben, how are you?", 0),
    ("ok", 0),
    ("We decided to paint the fence green.", 0),
    ("The parrot is called Otto.", 3),
    ("The ladder leans on the shed wall.", 3),
)
TALK = Conversation(
    "talk",
    tuple(
        Turn(f"t{number}", text, "Ana", "user", START + day * DAY, f"day {day}")
        for number, (text, day) in enumerate(TURNS)
    ),
    (
        Question("Which stove is the kettle on?", ("t0",), "plain"),
        Question("What is the parrot called?", ("t4",), "plain"),
        Question("What does Ben eat?", (), "unanswerable"),
    ),
)


def test_a_life_keeps_what_matters_and_lets_the_rest_go(toy: Any) -> None:
    lived = life.live([TALK], toy, life.Habits(), days=40)
    assert lived.recalls == [1.0, 1.0]
    assert (lived.skipped, lived.rows, lived.active) == (2, 4, 4)  # "ok", and the greeting
    days = sorted({point.day for point in lived.course})
    assert days == list(range(41))
    last = {point.text: point for point in lived.course if point.day == 40}
    assert "Good morning Ben, how are you?" not in last
    assert last["The kettle is on the blue stove."].retention > 0.9  # recalled every day


def test_what_nobody_recalls_fades_and_goes_to_long_term(toy: Any) -> None:
    habits = life.Habits(rehearsal=False)
    lived = life.live([TALK], toy, habits, days=40)
    fence = [point for point in lived.course if "fence" in point.text]
    assert [fence[0].tier, fence[-1].tier] == ["recent", "long_term"]
    retained = [point.retention for point in fence]
    assert retained[0] > 0.9
    assert min(retained) < 0.5
    assert lived.recalls == [1.0, 1.0]


def test_a_store_that_never_sleeps_keeps_all_rows_active(toy: Any) -> None:
    lived = life.live([TALK], toy, life.NEVER_SLEEPS, days=20)
    assert lived.active == lived.rows == 4


def test_without_the_gate_everything_is_kept(toy: Any) -> None:
    habits = life.Habits(gate=False, sleep=False)
    lived = life.live([TALK], toy, habits, days=0)
    assert (lived.rows, lived.skipped, lived.course) == (6, 0, [])


def test_questions_without_an_answer_make_no_life(toy: Any) -> None:
    empty = Conversation("x", TALK.turns, TALK.questions[2:])
    with pytest.raises(InvalidInput):
        life.live([empty], toy, life.Habits())


def test_the_table_has_a_row_for_each_feature_left_out(toy: Any) -> None:
    found = life.ablation([TALK], toy, days=2)
    assert list(found) == ["", *life.FEATURES, "never sleeps"]
    rows = life.rows(found)
    assert [row["life"] for row in rows] == ["one pass", "life"] * len(found)
    assert {(row["recall@10"], row["change"]) for row in rows} == {("100.0", "+0.0")}
    assert {row["without"] for row in rows} == {"nothing", *life.FEATURES, "never sleeps"}


def test_the_plot_is_a_png(tmp_path: Path) -> None:
    course = [
        life.Point(day, id, f"The {id} $text$", 0.9**day, tier)
        for id in ("first", "second")
        for day, tier in enumerate(("active", "recent", "long_term", "retired"))
    ]
    life.draw(course, tmp_path / "life.png")
    assert (tmp_path / "life.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "life.png").stat().st_size > 10_000


def test_a_cached_embedder_answers_as_the_one_behind_it(toy: Any) -> None:
    cached = Cached(toy)
    texts = ["one", "two", "one"]
    assert (cached.documents(texts) == toy.documents(texts)).all()
    asked = toy.asked
    assert (cached.documents(texts) == toy.documents(["one", "two", "one"])).all()
    assert toy.asked == asked + 1
    assert (cached.query("one") == toy.query("one")).all()
    assert cached.documents([]).shape == (0, toy.dimension)
