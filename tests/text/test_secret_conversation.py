"""Secrets that one turn of a quoted conversation asks for, and another one gives."""

from __future__ import annotations

import pytest

from memory_core.text.secrets import mask


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Ana: wifi password?\nBo: heliotrope", "heliotrope"),
        ("<ana> whats the password for the nas\n<bo> it's heliotrope", "heliotrope"),
        ("Ana: Wie war das Kennwort vom Drucker?\nBo: Das ist Heliotrop, klein", "Heliotrop"),
        ("Ana: need the root pw\nBo: sec\nBo: brass-lantern", "brass-lantern"),
        ("Ana: user/pass for jenkins?\nBo: admin / heliotrope", "heliotrope"),
        ("Ana: gate code?\nBo: 4471#", "4471#"),
        ("[10:02] Ana: PIN of the card?\n[10:03] Bo: 8305", "8305"),
        ("Ana: do you have the passphrase? Bo: yes, it's heliotrope", "heliotrope"),
        ('Ana: which passphrase do I use?\nBo: It is "two brass lanterns".', "two brass lanterns"),
        ("Ana: my password please\nBo: Sure, which one?\nAna: Heliotrope", "Heliotrope"),
        ("Ana: wie war das passwort?\nBo: Du hattest Helio-trop-09 genannt.", "Helio-trop-09"),
        ("Ana: password?\nBo: Buttercup 1962", "Buttercup 1962"),
        ("Ana: api token for the sandbox?\nBo: heLio7trope", "heLio7trope"),
    ],
)
def test_what_is_asked_for_is_masked_in_the_answer(text: str, secret: str) -> None:
    masked, kinds = mask(text)
    assert secret not in masked
    assert len(kinds) == 1
    assert masked.startswith(text[: text.index(secret)])


@pytest.mark.parametrize(
    "text",
    [
        "Ana: how do I change my password?\nBo: Settings",
        "Ana: did you change the password?\nBo: yesterday",
        "Ana: which password manager do you use?\nBo: Bitwarden",
        "Ana: what's the password?\nBo: no idea\nAna: hm\nBo: ask Dave",
        "Ana: what's the password?\nBo: I sent it by mail",
        "Ana: what's the password?\nBo: which one?",
        "Ana: which key do I press?\nBo: Escape",
        "Ana: what is the postcode?\nBo: 94110",
        "Ana: wie war das Passwort?\nBo: Keine Ahnung.",
        "Ana: I changed the password.\nBo: Great",
        "Ana: what's the password? I need it for lunch.",
        "What is a passphrase? Several words.\nThat is: four or more.",
    ],
)
def test_what_is_no_answer_stays(text: str) -> None:
    assert mask(text) == (text, ())


def test_personal_numbers_are_kept_where_they_are_asked_to_be() -> None:
    for text in ("Ana: gate code?\nBo: 4471#", "Ana: PIN of the card?\nBo: 8305"):
        assert mask(text, personal_too=False) == (text, ())
    for text in ("Ana: wifi password?\nBo: heliotrope", "Ana: wifi password?\nBo: 93120485"):
        assert mask(text, personal_too=False)[1] == ("password",)


def test_the_answer_comes_within_three_turns() -> None:
    turns = [
        "Ana: wifi password?",
        "Bo: one moment please, I am looking for it",
        "Ana: take your time",
    ]
    assert "heliotrope" not in mask("\n".join([*turns, "Bo: heliotrope"]))[0]
    late = "\n".join([*turns, "Ana: no hurry at all", "Bo: heliotrope"])
    assert mask(late) == (late, ())
