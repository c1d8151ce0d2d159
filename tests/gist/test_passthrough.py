from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.config import Settings
from memory_core.gist.base import Gist, GistEncoder, InputTurn
from memory_core.gist.encoder import choose
from memory_core.gist.passthrough import SHORT_WORDS, PassthroughEncoder, summarise

LONG = (
    "The allotment behind the mill was a mess in April. We cleared the allotment of brambles "
    "for two weekends. My back hurt. Then Tilda planted beans and pumpkins on the allotment. "
    "It rained a lot. Now the beans and pumpkins on the allotment feed half of the street."
)


def encode(text: str, role: str = "") -> Gist:
    return PassthroughEncoder().encode([InputTurn(text, role=role)]).gists[0]


def test_a_short_text_is_its_own_gist() -> None:
    encoded = encode("Tilda planted beans behind the mill", role="user")
    assert encoded == Gist(
        gist="",
        keywords=("tilda planted beans", "mill"),
        topic="",
        entities=("Tilda",),
        importance=0.5,
        reason="normal",
    )


def test_a_long_text_gets_its_most_telling_sentences_in_order() -> None:
    gist = encode(LONG).gist
    assert gist == (
        "We cleared the allotment of brambles for two weekends. "
        "Now the beans and pumpkins on the allotment feed half of the street."
    )


def test_importance_follows_wording_and_role() -> None:
    text = "Remember that the gate code is 4321"
    assert (encode(text, role="user").importance, encode(text).reason) == (
        1.0,
        "instruction",
    )
    assert encode(text, role="assistant").importance == 0.5


def test_a_gist_of_one_endless_sentence_is_clipped() -> None:
    text = " ".join(f"word{n}" for n in range(500))
    gist = encode(text).gist
    assert gist == " ".join(f"word{n}" for n in range(40)) + "…"


def test_the_boundary_of_short() -> None:
    words = [f"word{n}" for n in range(SHORT_WORDS + 1)]
    assert encode(" ".join(words[:-1])).gist == ""
    assert encode(" ".join(words)).gist != ""


def test_choose_gives_the_encoder_of_the_settings(tmp_path) -> None:  # type: ignore[no-untyped-def]
    encoder: GistEncoder = choose(Settings(data_dir=tmp_path))
    assert encoder.name == "passthrough"
    assert encoder.encode([InputTurn("We moved to Porto in May")]).gists[0].entities == ("Porto",)


def test_it_sums_up_verbatim_and_judges_only_what_is_plain() -> None:
    encoder = PassthroughEncoder()
    assert encoder.summarise(["The beans need water."], 1).text == "The beans need water."
    assert encoder.relate("Ann has a cat.", "ann has a cat").relation == "duplicate"
    assert encoder.relate("Ann has a cat.", "Ann has a dog.").relation == ""


def test_summary_takes_the_central_sentences_once() -> None:
    texts = [
        "The beans need water. I saw a film.",
        "Water the beans in the allotment every evening.",
        "The beans need water!",
        "Evening is the time to water the allotment beans.",
    ]
    assert summarise(texts, 1) == "Water the beans in the allotment every evening."
    two = summarise(texts, 2)
    assert two == "The beans need water. Water the beans in the allotment every evening."


def test_what_matters_is_summarised_before_what_only_shares_its_words() -> None:
    texts = [
        "The harbour shed has a green door and a small window.",
        "The small window of the harbour shed was cleaned.",
        "I'm allergic to penicillin.",
        "The green door of the shed has a new lock.",
        "Thanks a lot.",
    ]
    assert "penicillin" in summarise(texts, 2)


def test_summary_of_nothing_is_empty() -> None:
    assert summarise([], 3) == ""
    assert summarise(["", "  \n"], 3) == ""


@settings(deadline=None)
@given(st.lists(st.text(max_size=200), max_size=6), st.integers(1, 5))
def test_a_summary_says_nothing_that_is_not_in_its_sources(texts: list[str], kept: int) -> None:
    summary = summarise(texts, kept)
    source_words = {word for text in texts for word in text.split()}
    assert set(summary.split()) <= source_words
    assert summarise(texts, kept) == summary


@settings(deadline=None)
@given(st.text(max_size=1500))
def test_any_text_is_encoded(text: str) -> None:
    encoded = encode(text)
    assert encoded.importance is not None
    assert 0 <= encoded.importance <= 1
    assert len(encoded.gist) <= 700
    assert len(encoded.keywords) <= 8
