"""What the learned stage finds in talk, what it leaves, and what its weights were made from."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.text.secrets import learned, mask
from memory_core.text.secrets.spans import folded


@pytest.fixture(scope="module")
def trainer() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "train_secrets.py"
    spec = importlib.util.spec_from_file_location("train_secrets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def spans(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in learned.found(text, folded(text))]


TOLD = [
    ("the new password for the scout forum, I picked Marmot_Tent61 in the end", "Marmot_Tent61"),
    ("wifi password at the allotment changed, for now it is Beanpole#48 again", "Beanpole#48"),
    ("Das Passwort vom Chorlaptop hat Jule geändert, jetzt gilt Notenblatt!29", "Notenblatt!29"),
    ("Fürs WLAN im Gartenhaus nimm bitte Rhabarber_Beet5x", "Rhabarber_Beet5x"),
]


@pytest.mark.parametrize(("text", "secret"), TOLD)
def test_secrets_that_sentences_give_are_found(text: str, secret: str) -> None:
    assert spans(text) == [secret]
    assert secret not in mask(text)[0]


NEAR = [
    "The port of the login service is 8443.",
    "Room 4417 is where the door code is explained.",
    "Das Tor ist in RAL 7016 lackiert.",
    "Order number 48213377 is a lock for the shed.",
    "IMEI 356938035643809 is that of the phone with the broken lock.",
    "The login page needs Python-3.11 and OAuth2.",
    "My phone number is +49 170 5558812, the garage has it.",
    "The garage opens at 0730 and the gate closes at 22:15.",
    "ISBN 978-3-16-148410-0 is a book about locks.",
    "His gamertag is Foxglove_88.",
    "We got a Bosch PSR18 to drill the lock out.",
    "The password policy changed in 2024.",
    "The lock file is a secret of mode 0o077, its reserve 2**20 bytes, the key file 1_000_000.",
    "I use Python 3.11.2's login hooks and hit “sqlite3.IntegrityError: UNIQUE” at the lock.",
    "The password settings: {'MEMORY_COST': 65536, 'rounds': 1000}",
    "unlock costs:\n'HOUSING_PIN': 1000,\nconfig['MEMORY_CODE'] = 65536",
    "unlock draws, as in 4C2 / 52C2 = 6/1326",
    "The safe weighs 1200 kg and the door 3500 euros.",
]


@pytest.mark.parametrize("text", NEAR)
def test_near_misses_stay(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize("unit", ["pin 4711 ", "a1b2c3", "1 2 ", "-", "pw: Ab!9;\n", "code#"])
def test_a_bounded_number_of_values_is_looked_at(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {"_allowed": 0, "_around": 0}
    for name in counted:
        real = getattr(learned, name)

        def counting(*given: object, name: str = name, real: object = real) -> object:
            counted[name] += 1
            return real(*given)  # type: ignore[operator]

        monkeypatch.setattr(learned, name, counting)
    text = unit * (200_000 // len(unit))
    list(learned.found(text, folded(text)))
    assert counted["_allowed"] <= learned.SEEN
    assert counted["_around"] <= 2 * learned.WEIGHED


def test_the_file_is_what_the_tool_makes_of_these_lists(trainer: ModuleType) -> None:
    """Run tools/train_secrets.py after a change of a list or of what is seen of a value."""
    stored = learned.WEIGHTS.read_bytes()
    head, _, weights = stored.partition(b"\n")
    assert head.split()[0].decode() == trainer.digest()
    assert len(weights) == learned.BUCKETS
    assert len(stored) < 100_000


def test_the_search_for_weights_ends_at_the_least_loss(trainer: ModuleType) -> None:
    texts = [
        trainer.Text("a", text, ((text.find(value), text.find(value) + len(value)),), True)
        for text, value in TOLD
    ]
    texts += [trainer.Text("b", text, (), True) for text in NEAR]
    rows = trainer.rows_of(texts)
    part = trainer.Part(rows, rows.text >= 0)
    _, slope = part.loss(trainer.trained(part))
    assert abs(slope).max() < trainer.SMALL


@settings(deadline=None)
@given(
    st.sampled_from(TOLD),
    st.sampled_from([*NEAR, "", "ok?"]),
    st.text(alphabet="aB3 !_#.:\n", max_size=20),
)
def test_masking_twice_changes_nothing(told: tuple[str, str], near: str, noise: str) -> None:
    once, _ = mask(f"{told[0]} {near} {noise}")
    assert mask(once) == (once, ())


def test_numbers_stay_where_only_keys_are_masked() -> None:
    text = "we're in the hut, alarm 4628, panel is behind the coats"
    assert mask(text, personal_too=False) == (text, ())


def test_any_text_is_taken() -> None:
    assert spans("pin \ud800x7! 4711\udfff") in ([], ["4711"])
