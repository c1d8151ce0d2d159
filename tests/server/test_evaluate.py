"""The command that measures: what it prints, what it keeps, and that the own store is only read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.errors import InvalidInput
from memory_core.evaluation.readers import DIALOGUE
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import evaluate, main
from server.cli.console import Outcome
from server.cli.invocation import Invocation

ROOT = Path(__file__).parents[2]


def row(category: str, questions: int, value: float) -> dict[str, Any]:
    figures = {"recall@10": value, "mrr": value, "session_any@5": value}
    return {"category": category, "questions": questions, "interval": [0.0, 1.0], **figures}


CURVE = {"low": 0.5, "questions": 9, "confidence": 0.55, "right": 0.333}


def test_figures_show_categories_of_the_product_and_overall_of_all() -> None:
    data = {
        "rankings": {
            "recall": [row("temporal", 3, 0.25), row("overall", 9, 0.5)],
            "bm25": [row("temporal", 3, 0.125), row("overall", 9, 0.375)],
        },
        "unanswerable": {"questions": 4, "auc": 0.77},
        "calibration": {"curve": [CURVE], "error": 0.111},
        "milliseconds": {"recall": {"p50": 6.5}},
        "counts": {"turns": 238},
        "versions": {"python": "3"},
        "machine": {"processors": 2},
    }
    text = evaluate.figures(data)
    by_category, overall = text.split("over all questions")
    assert [part for part in by_category.split() if part == "0.250"] == ["0.250"] * 3
    assert "0.375" in overall
    assert "0.125" not in text
    for fact in ("temporal", "0.770", "p50 6.500", "238", "0.333", "mean error 0.111"):
        assert fact in text


def test_the_own_dialogue_is_shipped_and_labelled() -> None:
    dialogue = json.loads(DIALOGUE.read_text("utf-8"))
    turns = [turn for session in dialogue["sessions"] for turn in session["turns"]]
    assert len(turns) >= 150
    assert dialogue["questions"]


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Two tiny conversations in the LoCoMo layout."""
    turns = [
        {"dia_id": "D1:1", "speaker": "Ann", "text": "I painted the fence green."},
        {"dia_id": "D1:2", "speaker": "Bo", "text": "My ferry leaves at nine."},
    ]
    session = {"session": 1, "date": "1:56 pm on 8 May, 2023", "turns": turns}
    asked = [
        {"question": "Which colour is the fence?", "evidence": ["D1:1"], "category": 4},
        {"question": "Who won the election in Peru?", "evidence": ["D1:2"], "category": 1},
    ]
    data = [{"sample_id": name, "sessions": [session], "qa": asked} for name in ("a", "b")]
    path = tmp_path / "chats.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def measured(*words: str) -> Outcome:
    return main.run(["evaluate", *words], Invocation())


@pytest.fixture
def settings(weights_available: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of the commands here."""
    if not weights_available:
        pytest.skip("no weights on this machine")
    variables = {"ANAMNESIS_OFFLINE": "1", "ANAMNESIS_DATA_DIR": str(tmp_path / "own")}
    monkeypatch.setattr("os.environ", variables)
    return Settings(offline=True, data_dir=tmp_path / "own")


def test_a_file_is_measured_beside_everything_it_is_compared_with(
    settings: Settings, chats: Path
) -> None:
    outcome = measured(str(chats), "--misses", "1")
    assert list(outcome.data["rankings"]) == ["recall", "dense", "bm25", "rrf"]
    assert outcome.data["counts"]["conversations"] == 2
    assert outcome.data["command"] == "anamnesis evaluate chats.json"
    (missed,) = outcome.data["misses"]
    assert missed["question"] == "Who won the election in Peru?"
    assert "wanted D1:2" in outcome.text
    assert not settings.data_dir.exists()


def test_so_many_memories_are_taken_and_each_question_is_told(
    settings: Settings, chats: Path
) -> None:
    words = (str(chats), "--no-baselines")
    assert "questions" not in measured(*words).data
    for top in (1, 2):
        (answers,) = measured(*words, "--top", str(top), "--details").data["questions"].values()
        assert [answer["question"] for answer in answers[:2]] == [
            "Which colour is the fence?", "Who won the election in Peru?"
        ]  # fmt: skip
        assert max(len(answer["ranking"]) for answer in answers) == top


def test_the_table_to_keep_says_how_it_was_made(settings: Settings, chats: Path) -> None:
    words = (str(chats), "--pooled", "--no-baselines", "--seed", "3", "--markdown")
    text = measured(*words).text
    command = "anamnesis evaluate chats.json --pooled --no-baselines --seed 3"
    assert text.startswith(f"`{command}`, seed 3, 20")
    assert "1 conversations, 4 turns, 4 questions" in text
    assert "embedder all-MiniLM-L6-v2" in text
    header, dashes, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header.startswith("| ranking | n | recall@1 |")
    assert rows[0].startswith("| recall | 4 |")
    assert all(line.count("|") == header.count("|") for line in (dashes, *rows))


def test_the_seed_draws_the_interval(settings: Settings, chats: Path) -> None:
    (one, _) = json.loads(chats.read_text("utf-8"))
    found, missed = one["qa"]
    chats.write_text(json.dumps([one | {"qa": [found, missed, missed] * 8}]), encoding="utf-8")
    words = (str(chats), "--no-baselines", "--seed")
    first, again, other = [measured(*words, seed).data["rankings"]["recall"] for seed in "001"]
    assert first == again
    assert first != other


def test_the_own_store_answers_and_keeps_nothing(settings: Settings, tmp_path: Path) -> None:
    me = Identity(settings.agent, settings.team)
    with Memory(settings) as memory:
        memory.wait_ready(60)
        id = memory.remember(me, RememberRequest("The boiler code is 27.")).id
    file = tmp_path / "mine.json"
    pairs = [{"query": "what is the boiler code?", "relevant_texts": ["The boiler code is 27."]}]
    file.write_text(json.dumps(pairs), encoding="utf-8")
    outcome = measured("--own-store", str(file))
    assert outcome.data["rankings"]["recall"][-1]["recall@1"] == 1.0
    with Memory(settings) as memory:
        assert memory.get(me, id).access_count == 0
    with pytest.raises(InvalidInput, match="no file of questions"):
        measured("--own-store")


BELIEFS: dict[str, Any] = {
    "background": ["My aunt keeps bees."],
    "corrections": [
        {
            "kind": "sold", "old": "I drive a Volvo.", "new": "I sold the Volvo and drive a Saab.",
            "old_days": 90, "new_days": 5, "question": "Which car do I drive?",
        }
    ],
    "capture": [{"by": "user", "text": "go on", "keep": True}],
    "hooks": {
        "corpus": [{"text": "The boiler code is 27.", "days": 9}],
        "prompts": [{"prompt": "what is the boiler code?", "relevant": ["The boiler code is 27."]}],
    },
}  # fmt: skip


def test_cases_of_beliefs_are_played_to_a_fresh_store(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(BELIEFS), encoding="utf-8")
    outcome = measured(str(file), "--format", "beliefs", "--misses", "3")
    for stage in ("at write", "after sleep"):
        figure = outcome.data[f"corrections: current first, {stage}"]
        assert figure == {"share": 1.0, "held": 1, "of": 1, "missed": []}
    assert outcome.data["capture: recall"]["missed"] == ["go on"]
    assert outcome.data["hooks: characters where something is told"]["of"] == 1
    first, *_ = [line for line in outcome.text.splitlines() if "current first" in line]
    assert first.split()[-2:] == ["1.000", "1/1"]
    assert "missed (capture: recall)\n  go on" in outcome.text
    assert not settings.data_dir.exists()


def test_cases_of_beliefs_are_played_together(tmp_path: Path) -> None:
    """Everything true first, then the corrections, then sleep."""
    file = tmp_path / "cases.json"
    true = {
        "a": "The boat is moored at pier 3.", "b": "The boat has a new sail.", "a_days": 60,
        "b_days": 9, "question": "At which pier is the boat moored?",
    }  # fmt: skip
    series = {"members": ["Ran 8 km.", "Ran 9 km.", "Ran 11 km."], "step_days": 7}
    taken = {
        "kind": "moved", "old": "The canoe lies at pier 7.", "new": "The canoe moved to pier 9.",
        "old_days": 80, "new_days": 4, "question": "Where does the canoe lie?",
    }  # fmt: skip
    cases = {**BELIEFS, "non_corrections": [true], "series": [series]}
    cases["corrections"] = [*BELIEFS["corrections"], taken]
    file.write_text(json.dumps(cases), encoding="utf-8")
    found = measured(str(file), "--format", "beliefs", "--together").data
    for stage in ("at write", "after sleep"):
        assert found[f"corrections: current first, {stage}"]["of"] == 2
        assert found[f"true: not superseded or retired, {stage}"]["of"] == 5
        assert found[f"true: not doubted, {stage}"]["of"] == 5
        assert found[f"true: the older one first when asked for, {stage}"]["of"] == 1
    assert found["true: the older one first when asked for, before"]["held"] == 1
    assert found["true: the older one still first, after sleep"]["of"] == 1
    assert not any(name.startswith(("capture", "hooks", "temporary")) for name in found)


@pytest.mark.parametrize("names", [(), ("a.json", "b.json"), ("absent.json",)])
def test_beliefs_need_one_file_of_cases(names: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"one file|no JSON file"):
        measured("--format", "beliefs", *(str(tmp_path / name) for name in names))


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["--ablation"], "tests/evals/life.py --ablation"),
        (["--plot", "life.png"], "tests/evals/life.py --plot"),
        (["--days", "9"], "tests/evals/life.py --days"),
        (["--with-facts"], "tests/evals/compare.py"),
    ],
)
def test_an_option_for_developers_names_the_script_that_has_it(
    words: list[str], script: str
) -> None:
    with pytest.raises(InvalidInput, match=words[0]) as refused:
        measured(*words)
    assert script in str(refused.value)
    assert (ROOT / script.split()[0]).is_file()
