"""The façade: what it refuses and how, and the calls that are not recall or remember."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from memory_core import forget
from memory_core.errors import InvalidInput, MemoryCoreError, NotFound, ScopeDenied, TooLarge
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, new_id
from memory_core.remember.request import ConversationTurn, RememberRequest
from tests.views import asked_for

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
CHIEF = Identity("chief", "crew")
DAY = 86_400.0

Call = Callable[[Memory], Any]


def refused(memory: Memory, call: Call, error: type[MemoryCoreError], *said: str) -> None:
    """*call* raises exactly *error*, its text begins with the code and says *said*."""
    memory.stats(ME)
    before = asked_for(memory)
    with pytest.raises(error) as caught:
        call(memory)
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{error.code}: ")
    assert "; " in str(caught.value)
    for part in said:
        assert part in str(caught.value)
    assert asked_for(memory) == before


# Bad text

INVISIBLE = "\u200b\u2060\ufeff\u00ad\u202e\u2800\u3164\x00\x07"


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u3000\u00a0", INVISIBLE, "\0", "\x85"])
@pytest.mark.parametrize("call", ["remember", "recall", "observe"])
def test_a_text_without_anything_to_see_is_refused(memory: Memory, text: str, call: str) -> None:
    calls: Mapping[str, Call] = {
        "remember": lambda m: m.remember(ME, RememberRequest(text)),
        "recall": lambda m: m.recall(ME, RecallRequest(text)),
        "observe": lambda m: m.observe(ME, ConversationTurn("user", text)),
    }
    name = "query" if call == "recall" else "text"
    refused(memory, calls[call], InvalidInput, f"{name}: it is empty")


def test_20_000_characters_are_stored_and_one_more_is_too_large(memory: Memory) -> None:
    whole = "word " * 3_999 + "enden"
    assert len(whole) == 20_000
    receipt = memory.remember(ME, RememberRequest(whole))
    assert memory.get(ME, receipt.id).text == whole
    refused(
        memory,
        lambda m: m.remember(ME, RememberRequest(whole + "x")),
        TooLarge,
        "text has 20,001 characters",
        "20,000",
        "anamnesis import",
    )


def test_what_too_large_advises_works(memory: Memory) -> None:
    statuses = [memory.bring_in(ME, {"text": part}).status for part in ("x " * 9_000, "y " * 9_000)]
    assert statuses == ["stored", "stored"]
    refused(memory, lambda m: m.bring_in(ME, {"text": "z" * 20_001}), TooLarge, "text has 20,001")


def test_nul_inside_a_text_is_kept_and_said(memory: Memory) -> None:
    receipt = memory.remember(ME, RememberRequest("a\0b and more"))
    assert any("NUL" in warning for warning in receipt.warnings)
    assert memory.get(ME, receipt.id).text == "a\0b and more"
    assert memory.recall(ME, RecallRequest("a\0b and more")).hits[0].memory.id == receipt.id


def test_lone_surrogates_become_replacement_characters_with_a_warning(memory: Memory) -> None:
    receipt = memory.remember(
        ME, RememberRequest("caf\ud83d and \udc00tea", speaker="Mi\ud800a", tags=["x\udfff"])
    )
    stored = memory.get(ME, receipt.id)
    assert (stored.text, stored.speaker, stored.tags) == (
        "caf\ufffd and \ufffdtea",
        "Mi\ufffda",
        ("x\ufffd",),
    )
    assert any("surrogate" in warning and "U+FFFD" in warning for warning in receipt.warnings)
    pair = memory.remember(ME, RememberRequest("grin \ud83d\ude00"))
    assert memory.get(ME, pair.id).text == "grin \U0001f600"
    assert pair.warnings == ()


@pytest.mark.parametrize(("ahead", "warned"), [(-9.0, False), (0.9, False), (9.0, True)])
def test_what_is_said_in_the_future_is_stored_with_a_warning(
    memory: Memory, clock: Any, ahead: float, warned: bool
) -> None:
    said = clock() + ahead * 86_400
    receipt = memory.remember(ME, RememberRequest("Dentist.", when=said))
    assert (receipt.status, memory.get(ME, receipt.id).occurred_at) == ("stored", said)
    told = [each for each in receipt.warnings if "yet to come" in each]
    assert len(told) == warned
    assert not told or "10 June 2024" in told[0]


@pytest.mark.parametrize("text", ['{"a":1}', "[1]", "null", "true", "-0.0", '"', "{}", "\\ud800"])
def test_text_that_looks_like_json_is_kept_verbatim(memory: Memory, text: str) -> None:
    receipt = memory.remember(ME, RememberRequest(text, source=text, speaker=text, session=text))
    stored = memory.get(ME, receipt.id)
    assert (stored.text, stored.source, stored.speaker, stored.session) == (text,) * 4
    assert memory.recall(ME, RecallRequest(receipt.id)).hits[0].memory.text == text


INJECTIONS = [
    "' OR 1=1 --",
    '"; DROP TABLE changes; --',
    "../../etc/passwd",
    "/etc/passwd",
    "a' AND visibility = 'shared",
    "%s%n{0}${x}",
    "~/.ssh",
    "*",
    "col('agent') != 'x'",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_no_argument_is_a_query_a_path_or_a_pattern(memory: Memory, text: str) -> None:
    secret = memory.remember(
        OTHER, RememberRequest(f"The other one's own {text}", session="theirs", tags=["theirs"])
    )
    receipt = memory.remember(
        ME,
        RememberRequest(
            f"Mine: {text}", tags=[text], speaker=text, session=text, source=text, key=text
        ),
    )
    stored = memory.get(ME, receipt.id)
    assert (stored.tags, stored.speaker, stored.session, stored.source) == ((text,), *(text,) * 3)
    found = memory.recall(
        ME, RecallRequest(text, tags=[text], speaker=text, session=text, k=50, context=5)
    )
    ids = {hit.memory.id for hit in (*found.hits, *found.partial)}
    assert ids == {receipt.id}
    for filters in ({"session": text}, {"entity": text}, {"topic": text}):
        assert secret.id not in {m.id for m in memory.listing(ME, **filters)}
    assert memory.listing(ME, session=text)[0].id == receipt.id
    assert memory.forget(ME, query=text).status == "preview"
    for call in (lambda m: m.get(ME, text), lambda m: m.forget(ME, ids=[text], confirm=True)):
        refused(memory, call, NotFound, f"no memory {text[:40]}")


# Wrong types and values


def remembers(**arguments: Any) -> Call:
    return lambda m: m.remember(ME, RememberRequest(**{"text": "plain words", **arguments}))


def recalls(**arguments: Any) -> Call:
    return lambda m: m.recall(ME, RecallRequest(**{"query": "plain words", **arguments}))


TEXTS = ["kind", "speaker", "session", "scope", "source", "replaces", "role", "trust", "client"]


@pytest.mark.parametrize("name", ["text", *TEXTS, "key"])
@pytest.mark.parametrize("value", [None, 5, 1.5, True, b"bytes", ["list"], {"a": 1}])
def test_remember_names_the_text_argument_of_another_type(
    memory: Memory, name: str, value: Any
) -> None:
    refused(memory, remembers(**{name: value}), InvalidInput, f"{name}: ")


@pytest.mark.parametrize(
    "name", ["query", "scope", "speaker", "session", "since", "until", "as_of"]
)
@pytest.mark.parametrize("value", [None, 5, True, b"bytes", ["list"]])
def test_recall_names_the_text_argument_of_another_type(
    memory: Memory, name: str, value: Any
) -> None:
    refused(memory, recalls(**{name: value}), InvalidInput, f"{name}: ")


@pytest.mark.parametrize("value", ["work", None, 5, b"work", {"work"}, [1], [None], [["x"]]])
@pytest.mark.parametrize("name", ["tags", "kinds", "ids"])
def test_lists_hold_texts_and_nothing_else(memory: Memory, name: str, value: Any) -> None:
    calls: Mapping[str, list[Call]] = {
        "tags": [remembers(tags=value), recalls(tags=value)],
        "kinds": [recalls(kinds=value)],
        "ids": [lambda m: m.forget(ME, ids=value)],
    }
    for call in calls[name]:
        refused(memory, call, InvalidInput, f"{name}: ")


@pytest.mark.parametrize(
    "value", [0, 51, -1, 1.5, math.nan, math.inf, True, "8", None, [8], 10**400]
)
def test_k_is_a_whole_number_from_1_to_50(memory: Memory, value: Any) -> None:
    refused(
        memory, recalls(k=value), InvalidInput, "k: must be ", "50" if value != 1.5 else "whole"
    )


@pytest.mark.parametrize("value", [-1, 6, 0.5, True, "1", None])
def test_context_is_a_whole_number_from_0_to_5(memory: Memory, value: Any) -> None:
    refused(memory, recalls(context=value), InvalidInput, "context: must be ")


@pytest.mark.parametrize("value", [0, 1001, "5", None, True, 2.5])
def test_a_listing_has_a_limit(memory: Memory, value: Any) -> None:
    refused(memory, lambda m: m.listing(ME, limit=value), InvalidInput, "limit: must be ")


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, -math.inf, True, "0.5", None])
def test_importance_is_a_number_from_0_to_1(memory: Memory, value: Any) -> None:
    refused(memory, remembers(importance=value), InvalidInput, "importance: must be ")


@pytest.mark.parametrize(
    "value",
    ["yesterday", "2024-13-01", "2024-02-30", "24-01-01", "2024/01/01", "x" * 300, "2024-1-1"],
)
@pytest.mark.parametrize("name", ["when", "since", "until", "as_of"])
def test_dates_are_iso_8601(memory: Memory, name: str, value: str) -> None:
    call = remembers(when=value) if name == "when" else recalls(**{name: value})
    error = TooLarge if len(value) > 200 else InvalidInput
    refused(memory, call, error, name, "2024-05-07")


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, -1e300, None, True, [2024]])
def test_a_moment_lies_in_the_years_1_to_9999(memory: Memory, value: Any) -> None:
    refused(memory, remembers(when=value), InvalidInput, "when: must be ")


def test_since_after_until_is_said(memory: Memory) -> None:
    call = recalls(since="2024-05-08", until="2024-05-07")
    refused(memory, call, InvalidInput, "since: ", "after until")
    memory.recall(ME, RecallRequest("plain words", since="2024-05-07", until="2024-05-07"))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("kind", remembers(kind="thought")),
        ("scope", remembers(scope="public")),
        ("role", remembers(role="narrator")),
        ("trust", remembers(trust="full")),
        ("scope", recalls(scope="Private")),
        ("kinds", recalls(kinds=["fact", "thought"])),
        ("mode", lambda m: m.consolidate(ME, mode="dream")),
        ("kind", lambda m: m.listing(ME, kind="thought")),
    ],
)
def test_an_unknown_word_is_answered_with_the_known_ones(
    memory: Memory, name: str, call: Call
) -> None:
    refused(memory, call, InvalidInput, f"{name}: '", "is unknown; use one of ")


@pytest.mark.parametrize("value", ["false", "no", 0, 1, None])
@pytest.mark.parametrize("name", ["confirm", "never_again", "dry_run", "repair", "explain"])
def test_only_true_and_false_are_flags(memory: Memory, name: str, value: Any) -> None:
    kept = memory.remember(ME, RememberRequest("This one stays.")).id
    calls: Mapping[str, Call] = {
        "confirm": lambda m: m.forget(ME, ids=[kept], confirm=value),
        "never_again": lambda m: m.forget(ME, ids=[kept], never_again=value, confirm=True),
        "dry_run": lambda m: m.consolidate(ME, dry_run=value),
        "repair": lambda m: m.health(ME, repair=value),
        "explain": recalls(explain=value),
    }
    refused(memory, calls[name], InvalidInput, f"{name}: must be true or false")
    assert memory.get(ME, kept).text == "This one stays."


@pytest.mark.parametrize(
    ("name", "call", "error"),
    [
        ("source", remembers(source="s" * 501), TooLarge),
        ("speaker", remembers(speaker="s" * 201), TooLarge),
        ("session", recalls(session="s" * 201), TooLarge),
        ("tags", remembers(tags=["t" * 201]), TooLarge),
        ("tags", remembers(tags=[str(n) for n in range(51)]), InvalidInput),
        ("tags", recalls(tags=[str(n) for n in range(51)]), InvalidInput),
        ("query", recalls(query="q" * 2_001), TooLarge),
        ("reason", lambda m: m.forget(ME, query="x", reason="r" * 501), TooLarge),
        ("ids", lambda m: m.forget(ME, ids=[str(n) for n in range(101)]), InvalidInput),
    ],
)
def test_too_long_is_refused_with_the_limit(
    memory: Memory, name: str, call: Call, error: type[MemoryCoreError]
) -> None:
    refused(memory, call, error, name, "at most")


@pytest.mark.parametrize("name", ["speaker", "session", "key"])
@pytest.mark.parametrize("value", ["a\x1fb", "a\0", "a\nb", "\x7f"])
def test_a_label_is_one_line(memory: Memory, name: str, value: str) -> None:
    refused(memory, remembers(**{name: value}), InvalidInput, f"{name}: ", "control character")


def test_the_limits_themselves_are_allowed(memory: Memory) -> None:
    tags = [f"{n:03}" + "t" * 197 for n in range(50)]
    receipt = memory.remember(
        ME,
        RememberRequest(
            "All at once.", tags=tags, source="s" * 500, speaker="p" * 200, importance=1.0
        ),
    )
    stored = memory.get(ME, receipt.id)
    assert (stored.tags, len(stored.source), stored.importance) == (tuple(tags), 500, 1.0)
    assert memory.recall(ME, RecallRequest("once " * 400, k=50, context=5)).found in (True, False)


# replaces


@pytest.mark.parametrize("value", ["not-an-id", "1" * 19, "I" * 20, "../x"])
def test_replaces_must_look_like_an_id(memory: Memory, value: str) -> None:
    refused(memory, remembers(replaces=value), InvalidInput, "replaces: ", "is not an id")


def test_replaces_of_what_cannot_be_read_is_like_an_unknown_id(memory: Memory) -> None:
    hidden = memory.remember(OTHER, RememberRequest("Nobody else may read this.")).id
    unknown = new_id(1.0)
    texts = []
    for id in (hidden, unknown):
        with pytest.raises(NotFound) as caught:
            memory.remember(ME, RememberRequest("Something else.", replaces=id))
        texts.append(str(caught.value).replace(id, "ID"))
    assert texts[0] == texts[1]
    assert memory.stats(ME)["memories"] == 0


# By id


def test_a_query_that_is_an_id_gives_that_memory_with_its_neighbours(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"Turn {n} of the talk.", session="talk")).id
        for n in range(9)
    ]
    found = memory.recall(
        ME, RecallRequest(f" {ids[4]} ", k=1, kinds=["fact"], session="talk", context=2)
    )
    assert (found.found, found.confidence, found.feeling) == (True, 1.0, "high")
    (hit,) = found.hits
    assert hit.memory.id == ids[4]
    assert [n.id for n in hit.before] == ids[2:4]
    assert [n.id for n in hit.after] == ids[5:7]
    assert [n.id for n in found.recent] == ids[-5:]


@pytest.mark.parametrize("who", [ME, OTHER])
def test_an_unreadable_id_behaves_like_an_unknown_one(memory: Memory, who: Identity) -> None:
    hidden = memory.remember(Identity("third"), RememberRequest("Only mine.")).id
    unknown = new_id(1.0)
    calls: list[Callable[[str], Any]] = [
        lambda id: memory.recall(who, RecallRequest(id)),
        lambda id: memory.get(who, id),
        lambda id: memory.history(who, id),
        lambda id: memory.forget(who, ids=[id]),
        lambda id: memory.forget(who, ids=[id], confirm=True),
    ]
    for call in calls:
        texts = []
        for id in (hidden, unknown):
            with pytest.raises(NotFound) as caught:
                call(id)
            texts.append(str(caught.value).replace(id, "ID"))
        assert texts[0] == texts[1]
    assert memory.get(Identity("third"), hidden).text == "Only mine."


# observe


def test_observe_keeps_what_the_turn_says(memory: Memory) -> None:
    turn = ConversationTurn(
        "assistant", "The train leaves at 7:45.", 1_000.0, "trip", "Ben", source="hook"
    )
    stored = memory.get(ME, memory.observe(ME, turn).receipt.id)
    assert (stored.text, stored.role, stored.occurred_at) == (turn.content, "assistant", 1_000.0)
    assert (stored.session, stored.speaker, stored.position) == ("trip", "Ben", 0)
    assert (stored.trust, stored.source, stored.visibility) == ("agent", "hook", "private")


def test_observe_without_a_time_means_now(memory: Memory, clock: Any) -> None:
    stored = memory.get(
        ME, memory.observe(ME, ConversationTurn("user", "The kettle is on.")).receipt.id
    )
    assert stored.occurred_at == clock.now


def test_a_part_of_an_id_shows_what_it_is_and_deletes_nothing(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The tea is in the blue tin.")).id
    assert [each.id for each in memory.forget(ME, ids=[id[:12]]).removed] == [id]
    with pytest.raises(InvalidInput, match=f"a part of {id}, and nothing was deleted"):
        memory.forget(ME, ids=[id[:12]], confirm=True)
    assert memory.get(ME, id).text == "The tea is in the blue tin."
    assert memory.forget(ME, ids=[id], confirm=True).status == "forgotten"


# forget by query


def test_only_what_answers_a_query_about_as_well_as_the_best_is_to_be_forgotten(
    open_memory: Any, minilm: Any
) -> None:
    memory = open_memory("store", minilm)
    rent = ("The rent of the flat is 1180 euros.", "The rent goes up to 1260 euros in October.")
    others = (
        "My sister plays the cello in Graz.",
        "Mia gave up the violin, she wants to do judo.",
        "The dentist moved me to the nineteenth.",
        "Deploys are on Thursday evenings.",
        "We flew to Lisbon in August.",
        "The cat needs its vaccination.",
        "Lotte is pregnant, due in March.",
        "My sister Lotte lives in Hamburg and works as a vet.",
        "Our kindergarten has a party in December.",
    )
    for text in (*rent, *others):
        memory.remember(ME, RememberRequest(text))
    for query, wanted in (("the rent", {*rent}), ("cello", {others[0]}), ("Lisbon", {others[4]})):
        report = memory.forget(ME, query=query)
        assert report.status == "preview"
        assert {each.text for each in report.removed} == wanted
    for query in ("zebra crossing", "the car key"):  # of the second there are near misses
        none = memory.forget(ME, query=query)
        assert none.removed == ()
        assert none.note == forget.NOTHING


def test_forget_by_query_previews_what_the_caller_may_remove(memory: Memory) -> None:
    mine = memory.remember(ME, RememberRequest("The gate code is 4711.", scope="shared")).id
    theirs = memory.remember(OTHER, RememberRequest("The gate code was 4710.", scope="shared")).id
    before = asked_for(memory)
    report = memory.forget(ME, query="gate code", confirm=True)
    assert report.status == "preview"
    assert [removal.id for removal in report.removed] == [mine]
    assert asked_for(memory) == before
    chiefs = memory.forget(CHIEF, query="gate code")
    assert {removal.id for removal in chiefs.removed} == {mine, theirs}
    with pytest.raises(ScopeDenied, match=r"^scope_denied: "):
        memory.forget(ME, ids=[theirs], confirm=True)


def test_forget_by_query_finds_what_is_out_of_date_and_marks_it(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Call Sabine Vogt about the boat, 0170 1112223.")).id
    new = memory.remember(ME, RememberRequest("Call the shipyard about the boat.", replaces=old)).id
    for query in ("Sabine Vogt", "0170 1112223"):
        report = memory.forget(ME, query=query)
        assert [each.id for each in report.removed] == [old]
        assert report.note == f"out of date: {old}; the newer text stays: {new}"
    both = memory.forget(ME, query="the boat")
    assert [each.id for each in both.removed] == [new, old]
    assert both.note == f"out of date: {old}"
    done = memory.forget(ME, ids=[old], confirm=True)
    assert done.status == "forgotten"
    assert done.note.endswith(f"; the newer text stays: {new}")
    assert memory.forget(ME, query="Sabine Vogt").removed == ()


def test_forget_by_query_finds_what_was_retired_beside_a_sure_answer(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(text)).id
        for text in ("The cleaning day is Sunday.", "On the cleaning day the hall smells of wax.")
    ]
    memory.retire(ME, ids[1])
    assert {each.id for each in memory.forget(ME, query="cleaning day").removed} == {*ids}


def test_forget_by_query_offers_nothing_of_others_that_is_out_of_date(memory: Memory) -> None:
    old = memory.remember(OTHER, RememberRequest("The gate code is 4711.", scope="shared")).id
    memory.remember(OTHER, RememberRequest("It is 4712.", scope="shared", replaces=old))
    assert memory.forget(ME, query="gate code").removed == ()
    assert [each.id for each in memory.forget(CHIEF, query="gate code").removed] == [old]


def test_what_is_said_twice_is_forgotten_whole_unless_it_may_be_said_again(memory: Memory) -> None:
    text = "The alarm code of the studio is on the fridge."

    def said() -> list[str]:
        return [
            memory.remember(ME, RememberRequest(text, session=name, source=name)).id
            for name in ("one", "two")
        ]

    first, second = said()
    for given, note in (
        ({"ids": [first], "never_again": False}, f"the same words stay in {second}"),
        ({"source": "one"}, ""),
    ):
        report = memory.forget(ME, **given)
        assert [each.id for each in report.removed] == [first]
        assert report.note == note
    for given in ({"ids": [first]}, {"query": "Where is the alarm code?"}):
        report = memory.forget(ME, **given)
        assert {each.id for each in report.removed} == {first, second}
    assert {each.id for each in memory.forget(ME, ids=[first], confirm=True).removed} == {
        first,
        second,
    }
    assert not memory.recall(ME, RecallRequest("Where is the alarm code?")).hits


def test_forget_needs_something_to_look_for(memory: Memory) -> None:
    refused(memory, lambda m: m.forget(ME), InvalidInput, "ids: ")
    refused(memory, lambda m: m.forget(ME, query="  "), InvalidInput, "query: it is empty")


def test_clear_removes_what_one_owns_and_nothing_else(memory: Memory) -> None:
    mine = [
        memory.remember(ME, RememberRequest(f"Mine {n}.", scope=s)).id
        for n, s in enumerate(["", "shared"])
    ]
    theirs = memory.remember(OTHER, RememberRequest("Theirs.", scope="shared")).id
    assert memory.clear(ME) == 2
    assert memory.clear(ME) == 0
    assert [m.id for m in memory.listing(ME)] == [theirs]
    for id in mine:
        with pytest.raises(NotFound):
            memory.get(ME, id)
    assert memory.remember(ME, RememberRequest("Mine 0.")).status == "stored"


def test_clear_lets_other_writers_in_between_its_batches(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.forget.BATCH", 4)
    for number in range(10):
        memory.remember(
            ME, RememberRequest(f"Note {number} about heron number {number % 3}.", session="s")
        )
    memory.consolidate(ME)  # summaries rest on the notes, and go first
    owned, before = memory.stats(ME)["memories"], asked_for(memory)
    store, written = memory._runtime.parts().store, list[int]()
    write = store.journal.write

    def counted(build: Callable[[Any], Any]) -> Any:
        last = store.journal.last()
        result = write(build)
        written.append(store.journal.last() - last)
        return result

    monkeypatch.setattr(store.journal, "write", counted)
    assert memory.clear(ME) == owned > 10
    assert max(written) <= 4
    assert sum(written) == owned
    kinds = {change.kind for change in store.journal.changes(before, 100)}
    assert kinds == {"forget"}
    assert memory.listing(ME) == []


# An error is never an empty result


def test_an_empty_store_answers_everything_with_nothing(memory: Memory) -> None:
    found = memory.recall(ME, RecallRequest("anything at all", session="none", explain=True))
    assert (found.found, found.confidence, found.feeling) == (False, 0.0, "none")
    assert (found.hits, found.partial, found.recent, found.note) == ((), (), (), "")
    assert memory.listing(ME) == []
    assert list(memory.export(ME)) == []
    assert (
        memory.names(ME, "session"),
        memory.names(ME, "entities"),
        memory.names(ME, "tags"),
    ) == ([], [], [])
    assert memory.stats(ME)["memories"] == 0


def test_a_closed_memory_says_so(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    memory.close()
    memory.close()
    for call in (
        lambda: memory.recall(ME, RecallRequest("x")),
        lambda: memory.remember(ME, RememberRequest("x")),
    ):
        with pytest.raises(MemoryCoreError, match="closed"):
            call()


# Export and import

RICH = [
    {"text": "First of the talk.", "session": "talk", "speaker": "Ana", "tags": ["a", "b"]},
    {"text": "Second of the talk?", "session": "talk", "speaker": "Ben", "role": "assistant"},
    {"text": "A fact for all of us: Rome, 7 May 2023.", "kind": "fact", "scope": "shared"},
    {"text": "For the crew only.", "scope": "team", "importance": 1.0, "source": "https://x/y?z"},
    {"text": "Über den Wolken, 北京 \U0001f600 {}", "when": "1999-12-31T23:59:59.25+02:00"},
    {"text": "Third of the talk.", "session": "talk", "speaker": "Ana", "trust": "web"},
]


def fill(memory: Memory, clock: Any) -> list[str]:
    ids = []
    for arguments in RICH:
        clock.pass_by(1.123456789)
        ids.append(memory.remember(ME, RememberRequest(**arguments)).id)
    clock.pass_by(60)
    memory.remember(
        ME, RememberRequest("Second of the talk, corrected.", session="talk", replaces=ids[1])
    )
    memory.remember(OTHER, RememberRequest("Other's own.", session="talk"))
    memory.remember(OTHER, RememberRequest("Other's shared words.", scope="shared"))
    memory.recall(ME, RecallRequest("crew"))
    store = memory._runtime.parts().store
    from memory_core.records import Change

    body = {"retired_at": clock.now, "emotions": ["joy"], "valence": 0.5, "arousal": 0.25}
    store.commit(lambda tx: tx.append(Change("put", ids[4], body)))
    memory._runtime.parts().maintenance.accesses.flush()
    return ids


def as_imported(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "trust": record["trust"] if record["trust"] == "web" else "import"}


def test_export_and_import_lose_nothing(open_memory: Callable[..., Memory], clock: Any) -> None:
    first, second = open_memory("first"), open_memory("second")
    fill(first, clock)
    everything = list(first.export(ME))
    lines = [json.loads(json.dumps(record)) for record in everything]
    assert len(lines) == 8  # the other agent's private one is not among them
    clock.pass_by(1e6)
    admin = Identity("me", "crew")
    assert [second.bring_in(admin, record).status for record in lines] == ["stored"] * 8
    wanted = [as_imported(record) for record in everything]
    assert json.dumps(list(second.export(ME))) == json.dumps(wanted)
    third = open_memory("third")
    for record in second.export(ME):
        third.bring_in(admin, record)
    assert json.dumps(list(third.export(ME))) == json.dumps(wanted)


def test_importing_twice_doubles_nothing_and_changes_nothing(
    open_memory: Callable[..., Memory], clock: Any
) -> None:
    first, second = open_memory("first"), open_memory("second")
    fill(first, clock)
    lines = list(first.export(ME))
    for _ in range(2):
        receipts = [second.bring_in(Identity("me", "crew"), record) for record in lines]
        ids = [receipt.id for receipt in receipts]
        assert ids == [record["id"] for record in lines]
    assert {receipt.status for receipt in receipts} == {"reinforced"}
    assert second.stats(ME)["memories"] == 8
    before = list(first.export(ME))
    for record in lines:
        assert first.bring_in(ME, record).status == "reinforced"
    assert list(first.export(ME)) == before


def test_an_export_goes_on_when_something_is_forgotten_meanwhile(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"Locker {n} is in corridor {n}.")).id for n in range(3)
    ]
    lines = memory.export(ME)
    assert next(lines)["id"] == ids[0]
    memory.forget(ME, ids=[ids[1]], confirm=True)
    assert {record["id"] for record in lines} >= {ids[2]}


def test_an_export_reads_batches_not_one_memory_at_a_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"Locker {n} is in corridor {n}.")).id
        for n in range(20)
    ]
    store, asked = memory._runtime.parts().store, []
    read = store.memories
    monkeypatch.setattr(store, "memories", lambda wanted: asked.append(1) or read(wanted))
    assert [record["id"] for record in memory.export(ME)] == ids
    assert len(asked) == 1


def test_what_was_forgotten_is_not_imported(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The door code is 4711.")).id
    (record,) = memory.export(ME)
    memory.forget(ME, ids=[id], confirm=True)
    for again in (record, {"text": "the DOOR code is 4711"}, {**record, "id": new_id(5.0)}):
        receipt = memory.bring_in(ME, again)
        assert (receipt.status, receipt.id) == ("refused", id)
    assert memory.stats(ME)["memories"] == 0


def test_only_an_admin_brings_in_what_belongs_to_others(
    open_memory: Callable[..., Memory],
) -> None:
    memory = open_memory()
    record = {"text": "Said by a third.", "agent": "third", "team": "elsewhere"}
    mine = memory.bring_in(ME, record)
    assert (memory.get(ME, mine.id).agent, memory.get(ME, mine.id).team) == ("me", "crew")
    team = memory.bring_in(ME, {**record, "text": "For a team.", "visibility": "team"})
    assert memory.get(ME, team.id).team == "crew"
    theirs = memory.bring_in(CHIEF, {**record, "visibility": "team"})
    assert theirs.status == "stored"
    with pytest.raises(NotFound):
        memory.get(CHIEF, theirs.id)
    assert memory.get(Identity("third", "elsewhere"), theirs.id).agent == "third"
    with pytest.raises(ScopeDenied):
        memory.bring_in(
            Identity("lone", "", frozenset({"write"})), {**record, "visibility": "team"}
        )


def test_an_id_that_cannot_be_read_does_not_show_in_an_import(memory: Memory) -> None:
    hidden = memory.remember(OTHER, RememberRequest("Hidden words."))
    taken = {"id": hidden.id, "text": "Mine under the same id."}
    receipt = memory.bring_in(ME, taken)
    assert receipt.status == "stored"
    assert receipt.id != hidden.id
    assert memory.bring_in(ME, taken).status == "reinforced"
    assert memory.get(OTHER, hidden.id).text == "Hidden words."


def test_a_known_id_with_another_text_stays_and_is_said(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("As it was.")).id
    receipt = memory.bring_in(ME, {"id": id, "text": "As it never was."})
    assert (receipt.id, receipt.status) == (id, "reinforced")
    assert any("another text" in warning for warning in receipt.warnings)
    assert memory.get(ME, id).text == "As it was."


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("text", None, InvalidInput),
        ("text", " ", InvalidInput),
        ("text", 5, InvalidInput),
        ("id", "nope", InvalidInput),
        ("kind", "thought", InvalidInput),
        ("visibility", "public", InvalidInput),
        ("tier", "old", InvalidInput),
        ("importance", 2, InvalidInput),
        ("importance", "high", InvalidInput),
        ("tags", "work", InvalidInput),
        ("tags", [1], InvalidInput),
        ("tags", ["t" * 201], TooLarge),
        ("session", "s" * 201, TooLarge),
        ("speaker", "a\x1fb", InvalidInput),
        ("source", "s" * 501, TooLarge),
        ("occurred_at", "soon", InvalidInput),
        ("occurred_at", 1e300, InvalidInput),
        ("recorded_at", -1e300, InvalidInput),
        ("retired_at", 1e18, InvalidInput),
        ("dates", ["abcdefghij"], InvalidInput),
        ("dates", ["2024-99-99"], InvalidInput),
        ("position", 2**40, InvalidInput),
        ("access_count", 2**40, InvalidInput),
        ("replaced", "yes", InvalidInput),
    ],
)
def test_a_malformed_record_names_its_field(
    memory: Memory, field: str, value: Any, error: type[MemoryCoreError]
) -> None:
    record = {"text": "Sound words.", field: value}
    refused(memory, lambda m: m.bring_in(ME, record), error, field)
    assert memory.recall(ME, RecallRequest("sound words")).hits == ()


@pytest.mark.parametrize("record", [None, "text", ["text"], 5])
def test_a_record_is_an_object(memory: Memory, record: Any) -> None:
    refused(memory, lambda m: m.bring_in(ME, record), InvalidInput, "record: must be an object")


def test_an_import_is_searched_listed_and_masked_like_anything_else(memory: Memory) -> None:
    receipt = memory.bring_in(
        ME, {"text": "Lena keeps the password: hunter2hunter2 in a drawer.", "session": "s"}
    )
    stored = memory.get(ME, receipt.id)
    assert "hunter2" not in stored.text
    assert any("masked" in warning for warning in receipt.warnings)
    assert memory.recall(ME, RecallRequest("drawer of Lena")).hits[0].memory.id == receipt.id
    assert memory.names(ME, "session") == ["s"]


def test_an_import_without_a_time_happened_now(memory: Memory, clock: Any) -> None:
    stored = memory.get(ME, memory.bring_in(ME, {"text": "No time given."}).id)
    assert (stored.occurred_at, stored.recorded_at) == (clock.now, clock.now)
    epoch = memory.bring_in(ME, {"text": "At the very start.", "occurred_at": 0})
    assert memory.get(ME, epoch.id).occurred_at == 0.0


def test_the_end_of_a_session_sums_it_up_and_clears_the_mind(memory: Memory, until: Any) -> None:
    for text in ("Mara sails on the lake.", "Tomas bakes bread.", "The lake is cold today."):
        memory.remember(ME, RememberRequest(text, session="talk"))
    memory.recall(ME, RecallRequest("Who sails on the lake?", session="talk"))
    assert memory.in_mind(ME, "talk").hot
    memory.end_session(ME, "talk")
    assert not memory.in_mind(ME, "talk").hot
    until(lambda: memory.listing(ME, kind="summary"))
    assert memory.listing(ME, kind="summary")[0].text.startswith("Session summary:")


def test_stats_tell_what_sleep_has_done(memory: Memory, clock: Any) -> None:
    text = "The production database of the billing service listens on port 5432 since {} release"
    memory.remember(ME, RememberRequest(text.format("the last big")))
    memory.remember(ME, RememberRequest(text.format("the last")))
    memory.remember(ME, RememberRequest("An umbrella.", importance=0.1))
    assert memory.stats(ME)["unconsolidated"] == 3
    memory.consolidate(ME, mode="deduplicate")
    clock.pass_by(200 * 86_400.0)
    memory.consolidate(ME, mode="prune")
    stats = memory.stats(ME)
    assert (stats["merged"], stats["pruned"], stats["unconsolidated"]) == (1, 1, 1)
    assert stats["mean_importance"] > 0.0
    assert "pruned" in memory.health(ME).counts
