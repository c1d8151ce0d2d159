"""Readers of labelled conversations: the project's dialogue and the user's copies of public sets.

LoCoMo, BEAM and LongMemEval are not part of this package: they are read from where the user keeps
them. Every error names the file, the place in it and what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.text.lazy_pattern import lazy_pattern

DIALOGUE = Path(__file__).parent / "data" / "dialogue.json"
"""The project's own labelled dialogue, written for it: two people over ten weeks."""

FORMATS = ("auto", "locomo", "beam", "longmemeval", "dialogue", "pairs")

T = TypeVar("T")

_ROLES = ("user", "assistant")


def read(path: Path, format: str = "auto") -> list[Conversation]:
    """The labelled conversations in the file or folder *path*.

    *format* is one of FORMATS; `auto` recognises a folder as BEAM and a file by its shape. Raises
    InvalidInput.
    """
    if format not in FORMATS:
        raise InvalidInput(f"unknown format {format!r}", f"use one of {', '.join(FORMATS)}")
    path = Path(path)
    if path.is_dir():
        if format not in ("auto", "beam"):
            raise InvalidInput(f"{path} is a folder", f"give the {format} file itself")
        return _beam(path)
    if format == "beam":
        raise InvalidInput(f"{path} is not a folder", "give the folder of chat_N.json and q_N.json")
    data = _load_json(path)
    parse: dict[str, Callable[[Any, Path], list[Conversation]]] = {
        "locomo": _locomo,
        "longmemeval": _longmemeval,
        "dialogue": _dialogue,
        "pairs": _labelled,
    }
    return parse[_shape(data, path) if format == "auto" else format](data, path)


def _shape(data: Any, path: Path) -> str:
    if isinstance(data, dict) and "sessions" in data and "questions" in data:
        return "dialogue"
    first = data[0] if isinstance(data, list) and data else None
    if isinstance(first, dict):
        if "query" in first:
            return "pairs"
        if "haystack_sessions" in first:
            return "longmemeval"
        if "qa" in first and ("sessions" in first or "conversation" in first):
            return "locomo"
    raise InvalidInput(
        f"{path} is none of the known formats",
        "give a LoCoMo or LongMemEval file, a BEAM folder, a dialogue, or a list of "
        "{query, relevant_texts}",
    )


# The project's dialogue: dated sessions of turns, and labelled questions in the same file


def _dialogue(data: Any, path: Path) -> list[Conversation]:
    """The one conversation of a dialogue file that was read from *path*.

    Unlike the public sets, whose labels are as they are, evidence that names no turn is an error
    here, and a question without evidence is an unanswerable one on purpose.
    """
    title = _need(data, "title", str, str(path))
    seen: set[str] = set()
    turns: list[Turn] = []
    for n, session in enumerate(_need(data, "sessions", list, str(path)), 1):
        where = f"{path}: session {n}"
        identifier = _need(session, "id", str, where)
        date = _need(session, "date", str, where)
        when = _seconds(date, "%Y-%m-%dT%H:%M:%SZ", where, "2024-03-04T18:30:00Z")
        for turn in _need(session, "turns", list, where):
            turns.append(_dialogue_turn(turn, identifier, when, seen, where))
    questions = tuple(
        _dialogue_question(record, seen, f"{path}: question {n}")
        for n, record in enumerate(_need(data, "questions", list, str(path)), 1)
    )
    return [Conversation(title, tuple(turns), questions)]


def _dialogue_turn(record: Any, session: str, when: float, seen: set[str], where: str) -> Turn:
    identifier = _unique(_need(record, "id", str, where), seen, where)
    where = f"{where}, turn {identifier}"
    text = _need(record, "text", str, where)
    speaker, role = _need(record, "speaker", str, where), _need(record, "role", str, where)
    return Turn(identifier, text, speaker, role, when, session)


def _dialogue_question(record: Any, known: set[str], where: str) -> Question:
    evidence = tuple(_typed(i, str, where) for i in _need(record, "evidence", list, where))
    strangers = [i for i in evidence if i not in known]
    if strangers:
        raise InvalidInput(f"{where} names the turn {strangers[0]!r}", "name turns of the file")
    return Question(
        _need(record, "question", str, where),
        evidence,
        _need(record, "category", str, where),
        _need(record, "answer", str, where),
    )


# LoCoMo (Maharana et al. 2024), in its original layout and as a list of sessions
#
# Original: `{"sample_id", "conversation": {"speaker_a", "session_1": [turn, ...],
# "session_1_date_time": ...}, "qa": [...]}`. List of sessions: `{"sample_id", "sessions":
# [{"session", "date", "turns"}], "qa"}`. A turn has no time of its own, so all turns of a session
# share its date.

LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}

_LOCOMO_DATE = "%I:%M %p on %d %B, %Y"
_LOCOMO_EVIDENCE = lazy_pattern(r"D\d+:\d+")
_LOCOMO_SESSION = lazy_pattern(r"session_(\d+)")


def _locomo(data: Any, path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file that was read from *path*.

    Text is `text [shares caption]` where a photo was shared. Evidence is every `D<n>:<n>` that
    names a turn; a question without any is skipped and counted. An adversarial question keeps its
    evidence, for that turn is still what should be found.
    """
    samples = _typed(data, list, str(path))
    return [_locomo_sample(sample, f"{path}: sample {n}") for n, sample in enumerate(samples, 1)]


def _locomo_sample(sample: Any, where: str) -> Conversation:
    identifier = _need(sample, "sample_id", str, where)
    where = f"{where} ({identifier})"
    seen: set[str] = set()
    turns = tuple(
        _locomo_turn(turn, session, when, seen, f"{where}, session {session}")
        for session, when, raw in _locomo_sessions(sample, where)
        for turn in raw
    )
    asked = [
        _locomo_question(record, seen, f"{where}, question {n}")
        for n, record in enumerate(_need(sample, "qa", list, where), 1)
    ]
    kept = tuple(question for question in asked if question.evidence)
    return Conversation(identifier, turns, kept, skipped=len(asked) - len(kept))


def _locomo_sessions(sample: dict[str, Any], where: str) -> Iterator[tuple[str, float, list[Any]]]:
    """(session number, its time, raw turns) in order, from either layout."""
    if "sessions" in sample:
        for record in _need(sample, "sessions", list, where):
            number = str(_need(record, "session", int, f"{where}, a session"))
            place = f"{where}, session {number}"
            when = _locomo_time(_need(record, "date", str, place), place)
            yield number, when, _need(record, "turns", list, place)
        return
    conversation = _need(sample, "conversation", dict, where)
    numbers = sorted(int(m[1]) for m in map(_LOCOMO_SESSION.fullmatch, conversation) if m)
    for n in numbers:
        place = f"{where}, session {n}"
        when = _locomo_time(_need(conversation, f"session_{n}_date_time", str, place), place)
        yield str(n), when, _need(conversation, f"session_{n}", list, place)


def _locomo_time(date: str, where: str) -> float:
    return _seconds(date, _LOCOMO_DATE, where, "1:56 pm on 8 May, 2023")


def _locomo_turn(record: Any, session: str, when: float, seen: set[str], where: str) -> Turn:
    identifier = _unique(_need(record, "dia_id", str, where), seen, where)
    where = f"{where}, turn {identifier}"
    text = _need(record, "text", str, where).strip()
    caption = record.get("caption", record.get("blip_caption"))
    if caption:
        text = f"{text} [shares {_typed(caption, str, where)}]".strip()
    return Turn(identifier, text, _need(record, "speaker", str, where), "user", when, session)


def _locomo_question(record: Any, known: set[str], where: str) -> Question:
    text = _need(record, "question", str, where)
    category = _need(record, "category", int, where)
    named = _LOCOMO_EVIDENCE.findall(" ".join(map(str, _need(record, "evidence", list, where))))
    evidence = tuple(dict.fromkeys(i for i in named if i in known))
    answer = str(record.get("answer", ""))
    return Question(text, evidence, LOCOMO_CATEGORIES.get(category, str(category)), answer)


# BEAM (Tavakoli et al. 2025): a folder of chat_N.json and q_N.json pairs

BEAM_UNANSWERABLE = "abstention"

_BEAM_CHAT = lazy_pattern(r"chat_(\d+)\.json")
_BEAM_MARKER = lazy_pattern(r"\s{0,9}->->[^\n]{0,200}\s{0,9}\Z")


def _beam(folder: Path) -> list[Conversation]:
    """One conversation for each chat of *folder*, in the order of their numbers.

    A message is a turn; the whole chat is one session, because its batches go on where the last
    one stopped. A time anchor holds until the next one. The questions of the ability `abstention`
    have no evidence: they are the unanswerable ones. Other questions without evidence are skipped.
    """
    numbers = sorted(
        int(m[1]) for m in (_BEAM_CHAT.fullmatch(p.name) for p in folder.iterdir()) if m
    )
    if not numbers:
        raise InvalidInput(f"{folder} has no chat_N.json", "give the folder of chats and questions")
    return [_beam_chat(folder, number) for number in numbers]


def _beam_chat(folder: Path, number: int) -> Conversation:
    path = folder / f"chat_{number}.json"
    turns = tuple(_beam_turns(_load_json(path), path.stem, str(path)))
    path = folder / f"q_{number}.json"
    known = {turn.id for turn in turns}
    asked = list(_beam_questions(_load_json(path), known, str(path)))
    kept = tuple(q for q in asked if q.evidence or q.category == BEAM_UNANSWERABLE)
    return Conversation(f"chat_{number}", turns, kept, skipped=len(asked) - len(kept))


def _beam_turns(data: Any, session: str, file: str) -> Iterator[Turn]:
    seen: set[str] = set()
    when: float | None = None
    for n, batch in enumerate(_typed(data, list, file), 1):
        where = f"{file}: batch {n}"
        for exchange in _need(batch, "turns", list, where):
            for message in _typed(exchange, list, f"{where}, a turn"):
                identifier = _unique(str(_need(message, "id", int, where)), seen, where)
                place = f"{where}, message {identifier}"
                when = _beam_anchor(message, when, place)
                role = _need(message, "role", str, place)
                if role not in _ROLES:
                    raise InvalidInput(f"{place} has the role {role!r}", "use user or assistant")
                text = _need(message, "content", str, place)
                if role == "user":
                    text = _BEAM_MARKER.sub("", text)
                yield Turn(identifier, text.strip(), "", role, when, session)


def _beam_anchor(message: dict[str, Any], last: float | None, where: str) -> float | None:
    anchor = message.get("time_anchor")
    return _seconds(anchor, "%B-%d-%Y", where, "March-15-2024") if anchor else last


def _beam_questions(data: Any, known: set[str], file: str) -> Iterator[Question]:
    for ability, records in _typed(data, dict, file).items():
        for n, record in enumerate(_typed(records, list, f"{file}: {ability}"), 1):
            where = f"{file}: {ability}, question {n}"
            named = (
                str(number) for number in _beam_numbers(record.get("source_chat_ids", []), where)
            )
            evidence = tuple(dict.fromkeys(i for i in named if i in known))
            text = _need(record, "question", str, where)
            yield Question(text, evidence, ability, str(record.get("answer", "")))


def _beam_numbers(value: Any, where: str) -> Iterator[int]:
    """Every message number in nested lists and objects, in order."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _beam_numbers(item, where)
    elif isinstance(value, dict):
        yield from _beam_numbers(list(value.values()), where)
    else:
        raise InvalidInput(f"{where} has the message id {value!r}", "use whole numbers")


# LongMemEval (Wu et al. 2024): a list of questions, each with a haystack of its own
#
# An instance: `{"question_id", "question_type", "question", "answer", "question_date",
# "haystack_session_ids", "haystack_dates", "haystack_sessions": [[{"role", "content",
# "has_answer"?}]], "answer_session_ids"}`.

LONGMEMEVAL_UNANSWERABLE = "_abs"
"""Marks, in a question id, a question that the haystack does not answer."""

_WEEKDAY = lazy_pattern(r"\s{0,3}\([A-Za-z]{1,20}\)")


def _longmemeval(data: Any, path: Path) -> list[Conversation]:
    """One conversation with one question for each instance of a file read from *path*.

    By the rules of the published evaluation, evidence is what the user said in turns marked
    `has_answer`; an instance without such a turn is skipped and counted. Questions marked `_abs`
    belong to no retrieval figure: they are kept as unanswerable ones. Turns are named
    `session_number` from 1 as there; a session that a haystack repeats is read once.
    """
    instances = _typed(data, list, str(path))
    return [
        _longmemeval_instance(item, f"{path}: instance {n}") for n, item in enumerate(instances, 1)
    ]


def _longmemeval_instance(item: Any, where: str) -> Conversation:
    identifier = _need(item, "question_id", str, where)
    where = f"{where} ({identifier})"
    turns: list[Turn] = []
    marked: list[str] = []
    for session, when, raw in _longmemeval_sessions(item, where):
        for n, record in enumerate(raw, 1):
            place = f"{where}, session {session}, turn {n}"
            turn = _longmemeval_turn(record, f"{session}_{n}", session, when, place)
            turns.append(turn)
            if turn.role == "user" and record.get("has_answer"):
                marked.append(turn.id)
    unanswerable = LONGMEMEVAL_UNANSWERABLE in identifier
    evidence = () if unanswerable else tuple(marked)
    question = Question(
        _need(item, "question", str, where),
        evidence,
        _need(item, "question_type", str, where),
        str(item.get("answer", "")),
    )
    kept = (question,) if evidence or unanswerable else ()
    return Conversation(identifier, tuple(turns), kept, skipped=1 - len(kept))


def _longmemeval_sessions(item: Any, where: str) -> Iterator[tuple[str, float, list[Any]]]:
    """(session id, its time, raw turns), oldest first; sessions of one time keep their order."""
    names = _need(item, "haystack_session_ids", list, where)
    dates = _need(item, "haystack_dates", list, where)
    sessions = _need(item, "haystack_sessions", list, where)
    if not len(names) == len(dates) == len(sessions):
        raise InvalidInput(f"{where} has haystack lists of unequal length", "repair the file")
    found: dict[str, tuple[float, list[Any]]] = {}
    for name, date, raw in zip(names, dates, sessions, strict=True):
        place = f"{where}, session {_typed(name, str, where)}"
        plain = _WEEKDAY.sub("", _typed(date, str, place))
        when = _seconds(plain, "%Y/%m/%d %H:%M", place, "2023/05/20 (Sat) 02:21")
        found.setdefault(name, (when, _typed(raw, list, place)))
    for name, (when, raw) in sorted(found.items(), key=lambda entry: entry[1][0]):
        yield name, when, raw


def _longmemeval_turn(record: Any, identifier: str, session: str, when: float, where: str) -> Turn:
    role = _need(record, "role", str, where)
    if role not in _ROLES:
        raise InvalidInput(f"{where} has the role {role!r}", "use user or assistant")
    return Turn(identifier, _need(record, "content", str, where).strip(), "", role, when, session)


# Labelled texts: a list of `{"query": ..., "relevant_texts": [...]}`

LABELLED = "labelled"


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and the texts that answer it; no text means that nothing should be found."""

    query: str
    relevant_texts: tuple[str, ...]


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of the file *path*, for an evaluation against the user's own store."""
    path = Path(path)
    return _pairs(_load_json(path), path)


def _labelled(data: Any, path: Path) -> list[Conversation]:
    """The pairs as one conversation whose turns are the distinct relevant texts, `t1`, `t2`, ...

    For a run in a fresh store; the texts belong to no session, so nothing links them.
    """
    pairs = _pairs(data, path)
    texts = dict.fromkeys(text for pair in pairs for text in pair.relevant_texts)
    ids = {text: f"t{n}" for n, text in enumerate(texts, 1)}
    questions = tuple(
        Question(pair.query, tuple(dict.fromkeys(ids[t] for t in pair.relevant_texts)), LABELLED)
        for pair in pairs
    )
    turns = tuple(Turn(identifier, text) for text, identifier in ids.items())
    return [Conversation(path.stem, turns, questions)]


def _pairs(data: Any, path: Path) -> list[Pair]:
    return [
        Pair(
            _need(record, "query", str, f"{path}: item {n}"),
            tuple(
                _typed(text, str, f"{path}: item {n}, a relevant text,")
                for text in _need(record, "relevant_texts", list, f"{path}: item {n}")
            ),
        )
        for n, record in enumerate(_typed(data, list, str(path)), 1)
    ]


# Reading foreign JSON


_KINDS = {str: "a text", list: "a list", dict: "an object", int: "a whole number"}


def _load_json(path: Path) -> Any:
    """The parsed content of *path*. Raises InvalidInput when it cannot be read or is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read ({problem.strerror})", "check the path"
        ) from None
    except ValueError as problem:  # UnicodeDecodeError and JSONDecodeError
        raise InvalidInput(f"{path} is not JSON in UTF-8 ({problem})", "repair the file") from None


def _need(record: Any, name: str, kind: type[T], where: str) -> T:
    """Field *name* of *record*, which must be a *kind*; *where* names the record in an error."""
    _typed(record, dict, where)
    if name not in record:
        raise InvalidInput(f"{where} has no field {name!r}", "repair the file")
    return _typed(record[name], kind, f"{where}, field {name!r},")


def _typed(value: Any, kind: type[T], where: str) -> T:
    """*value*, which must be a *kind* (true and false are not numbers)."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidInput(
            f"{where} is {type(value).__name__} instead of {_KINDS[kind]}", "repair the file"
        )
    return value


def _unique(identifier: str, seen: set[str], where: str) -> str:
    """*identifier* after adding it to *seen*; an id that is there already is an error."""
    if identifier in seen:
        raise InvalidInput(f"{where} repeats the id {identifier!r}", "make ids unique in the file")
    seen.add(identifier)
    return identifier


def _seconds(text: str, pattern: str, where: str, example: str) -> float:
    """The time *text* in seconds since 1970, read by a strptime *pattern* as UTC."""
    try:
        return datetime.strptime(text.strip(), pattern).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidInput(f"{where} has the date {text!r}", f"write it like {example!r}") from None
