"""Readers on tiny files of each format, written for these tests."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import (
    Conversation,
    Question,
    Turn,
    dated_text,
    day_text,
    labelled_text,
)
from memory_core.evaluation.readers import Pair, read, read_pairs

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).timestamp()
MAY_20 = datetime(2023, 5, 20, 0, 5, tzinfo=UTC).timestamp()

QA: list[dict[str, Any]] = [
    {"question": "Who has a kite?", "answer": 2, "evidence": ["D1:1"], "category": 4},
    {"question": "Two in one?", "evidence": ["D1:2; D2:1", "D1:2"], "category": 1},
    {"question": "Broken?", "answer": "?", "evidence": ["D", "D:11:26", "D9:9"], "category": 2},
    {"question": "Whose boat?", "evidence": ["D2:1", "D2:77"], "category": 5},
]
FIRST = [
    {"dia_id": "D1:1", "speaker": "Ann", "text": " I built a kite. "},
    {"dia_id": "D1:2", "speaker": "Bo", "text": "Look!", "caption": "a red kite"},
]
SECOND = [{"dia_id": "D2:1", "speaker": "Ann", "text": "", "caption": "a boat"}]

LOCOMO = Conversation(
    "c-1",
    (
        Turn("D1:1", "I built a kite.", "Ann", "user", MAY_8, "1"),
        Turn("D1:2", "Look! [shares a red kite]", "Bo", "user", MAY_8, "1"),
        Turn("D2:1", "[shares a boat]", "Ann", "user", MAY_20, "2"),
    ),
    (
        Question("Who has a kite?", ("D1:1",), "single-hop", "2"),
        Question("Two in one?", ("D1:2", "D2:1"), "multi-hop"),
        Question("Whose boat?", ("D2:1",), "adversarial"),
    ),
    skipped=1,
)


def _write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def _listed() -> list[dict[str, Any]]:
    sessions = [
        {"session": 1, "date": "1:56 pm on 8 May, 2023", "turns": FIRST},
        {"session": 2, "date": "12:05 am on 20 May, 2023", "turns": SECOND},
    ]
    return [{"sample_id": "c-1", "sessions": sessions, "qa": QA}]


def test_locomo_as_a_list_of_sessions(tmp_path: Path) -> None:
    path = _write(tmp_path / "list.json", _listed())
    assert read(path) == [LOCOMO]


def test_locomo_in_its_original_layout_gives_the_same(tmp_path: Path) -> None:
    def original(turn: dict[str, str]) -> dict[str, str]:
        renamed = {"caption": "blip_caption"}
        return {renamed.get(name, name): value for name, value in turn.items()}

    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_2_date_time": "12:05 am on 20 May, 2023",
        "session_2": [original(turn) for turn in SECOND],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [original(turn) for turn in FIRST],
        "session_3_date_time": "1:00 pm on 21 May, 2023",
    }
    sample = {"sample_id": "c-1", "conversation": conversation, "qa": QA, "observation": {}}
    assert read(_write(tmp_path / "original.json", [sample]), "locomo") == [LOCOMO]


def test_locomo_sessions_follow_their_numbers_not_their_spelling(tmp_path: Path) -> None:
    conversation: dict[str, Any] = {}
    for n in (10, 2, 1):
        conversation[f"session_{n}_date_time"] = "1:56 pm on 8 May, 2023"
        conversation[f"session_{n}"] = [{"dia_id": f"D{n}:1", "speaker": "Ann", "text": "Hi."}]
    sample = {"sample_id": "c", "conversation": conversation, "qa": []}
    found = read(_write(tmp_path / "many.json", [sample]))
    assert [turn.id for turn in found[0].turns] == ["D1:1", "D2:1", "D10:1"]


def _beam(folder: Path, number: int = 1) -> Path:
    def message(identifier: int, role: str, content: str, anchor: str = "") -> dict[str, Any]:
        record: dict[str, Any] = {"id": identifier, "role": role, "content": content}
        return {**record, "time_anchor": anchor} if anchor else record

    batches = [
        {
            "batch_number": 1,
            "time_anchor": None,
            "turns": [
                [
                    message(0, "user", "Plan my week. ->-> 1,1", "March-15-2024"),
                    message(1, "assistant", "Here it is ->-> see above."),
                ]
            ],
        },
        {
            "batch_number": 2,
            "turns": [[message(2, "user", "Thanks\n->-> 2,1\n", "April-05-2024")]],
        },
    ]
    questions = {
        "abstention": [{"question": "What is my shoe size?"}],
        "temporal_reasoning": [
            {"question": "When?", "answer": "Then", "source_chat_ids": {"a": [2], "b": [[0], 2]}}
        ],
        "event_ordering": [{"question": "Lost?", "source_chat_ids": [99]}],
    }
    _write(folder / f"chat_{number}.json", batches)
    _write(folder / f"q_{number}.json", questions)
    return folder


def test_beam_folder(tmp_path: Path) -> None:
    march = datetime(2024, 3, 15, tzinfo=UTC).timestamp()
    april = datetime(2024, 4, 5, tzinfo=UTC).timestamp()
    _beam(tmp_path)
    assert read(tmp_path) == [
        Conversation(
            "chat_1",
            (
                Turn("0", "Plan my week.", "", "user", march, "chat_1"),
                Turn("1", "Here it is ->-> see above.", "", "assistant", march, "chat_1"),
                Turn("2", "Thanks", "", "user", april, "chat_1"),
            ),
            (
                Question("What is my shoe size?", (), "abstention"),
                Question("When?", ("2", "0"), "temporal_reasoning", "Then"),
            ),
            skipped=1,
        )
    ]


def test_beam_chats_follow_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9):
        _beam(tmp_path, number)
    assert [c.id for c in read(tmp_path, "beam")] == ["chat_9", "chat_10"]


def test_dialogue(tmp_path: Path) -> None:
    turns = [
        {"id": "s1t1", "speaker": "Ann", "role": "user", "text": "Hi", "entities": []},
        {"id": "s1t2", "speaker": "Bo", "role": "user", "text": "Ho", "entities": ["Bo"]},
    ]
    data: dict[str, Any] = {
        "title": "Two",
        "people": ["Ann", "Bo"],
        "sessions": [{"id": "s1", "date": "2024-03-04T18:30:00Z", "turns": turns}],
        "questions": [
            {"question": "Ho?", "evidence": ["s1t2"], "category": "single-hop", "answer": "yes"},
            {"question": "Hm?", "evidence": [], "category": "unanswerable", "answer": ""},
        ],
    }
    when = datetime(2024, 3, 4, 18, 30, tzinfo=UTC).timestamp()
    path = _write(tmp_path / "dialogue.json", data)
    assert read(path) == [
        Conversation(
            "Two",
            (
                Turn("s1t1", "Hi", "Ann", "user", when, "s1"),
                Turn("s1t2", "Ho", "Bo", "user", when, "s1"),
            ),
            (
                Question("Ho?", ("s1t2",), "single-hop", "yes"),
                Question("Hm?", (), "unanswerable", ""),
            ),
        )
    ]
    data["questions"][0]["evidence"] = ["s9t9"]
    with pytest.raises(InvalidInput, match="question 1 names the turn 's9t9'"):
        read(_write(path, data))


def test_pairs_become_documents_and_stay_pairs(tmp_path: Path) -> None:
    data = [
        {"query": "Tea?", "relevant_texts": ["Green tea.", "Black tea."]},
        {"query": "Again?", "relevant_texts": ["Black tea."]},
        {"query": "Rum?", "relevant_texts": []},
    ]
    path = _write(tmp_path / "mine.json", data)
    assert read_pairs(path) == [
        Pair("Tea?", ("Green tea.", "Black tea.")),
        Pair("Again?", ("Black tea.",)),
        Pair("Rum?", ()),
    ]
    (conversation,) = read(path)
    assert conversation.turns == (Turn("t1", "Green tea."), Turn("t2", "Black tea."))
    evidence = [question.evidence for question in conversation.questions]
    assert evidence == [("t1", "t2"), ("t2",), ()]


def _broken(change: str) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(json.dumps(_listed()))
    session = data[0]["sessions"][0]
    if change == "date":
        session["date"] = "yesterday"
    elif change == "text":
        session["turns"][0]["text"] = 5
    elif change == "speaker":
        del session["turns"][0]["speaker"]
    elif change == "repeat":
        session["turns"][1]["dia_id"] = "D1:1"
    elif change == "category":
        data[0]["qa"][0]["category"] = "four"
    return data


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("date", r"session 1 has the date 'yesterday'"),
        ("text", r"turn D1:1, field 'text', is int instead of a text"),
        ("speaker", r"turn D1:1 has no field 'speaker'"),
        ("repeat", r"session 1 repeats the id 'D1:1'"),
        ("category", r"question 1, field 'category', is str instead of a whole number"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path: Path, change: str, named: str) -> None:
    path = _write(tmp_path / "broken.json", _broken(change))
    with pytest.raises(InvalidInput, match=named) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", ["[1, 2]", "{}", "[]", "{", '[{"a": 1}]', "null"])
def test_what_is_no_labelled_file_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"odd\.json"):
        read(path)


def test_missing_and_misplaced_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(tmp_path / "absent.json")
    with pytest.raises(InvalidInput, match="no chat_N"):
        read(tmp_path)
    with pytest.raises(InvalidInput, match="is a folder"):
        read(tmp_path, "locomo")
    with pytest.raises(InvalidInput, match="unknown format"):
        read(tmp_path, "csv")
    path = _write(tmp_path / "list.json", _listed())
    with pytest.raises(InvalidInput, match="is not a folder"):
        read(path, "beam")
    (tmp_path / "latin.json").write_bytes(b'["\xe9"]')
    with pytest.raises(InvalidInput, match="not JSON in UTF-8"):
        read(tmp_path / "latin.json")


def test_a_chat_without_questions_is_refused(tmp_path: Path) -> None:
    _beam(tmp_path)
    (tmp_path / "q_1.json").unlink()
    with pytest.raises(InvalidInput, match=r"q_1\.json cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize("wrong", [["7"], [True], [7.0]])
def test_beam_message_ids_are_whole_numbers(tmp_path: Path, wrong: list[Any]) -> None:
    _beam(tmp_path)
    bad = {"event_ordering": [{"question": "Lost?", "source_chat_ids": wrong}]}
    _write(tmp_path / "q_1.json", bad)
    with pytest.raises(InvalidInput, match="event_ordering, question 1"):
        read(tmp_path)


def test_texts_of_a_turn() -> None:
    turn = Turn("1", "Hello.", "Ann", "user", MAY_8)
    assert labelled_text(turn) == "Ann: Hello."
    assert dated_text(turn) == "8 May 2023 Ann Hello."
    assert labelled_text(Turn("1", "Hello.", "", "assistant")) == "assistant: Hello."
    assert dated_text(Turn("1", "Hello.")) == "Hello."
    assert day_text(None) == ""
