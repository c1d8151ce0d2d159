"""What hides text or steers its display is not shown; what belongs to writing is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_core.text.invisible import visible

HIDING = [
    *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xE0000, 0xE0080),
    *range(0x80, 0x85),
    *range(0x86, 0xA0),
    *range(0x00, 0x09),
    *range(0xFFF9, 0xFFFC),
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x3164, 0xFFA0, 0xFEFF, 0x7F, 0x1B),
]
WRITTEN = {
    "family": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "skin": "\U0001f469\U0001f3fd\u200d\U0001f4bb",
    "rainbow": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "heart": "I \u2764\ufe0f tea",
    "keycap": "1\ufe0f\u20e3",
    "text style": "\u260e\ufe0e",
    "England": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "accent": "Tama\u0301r",
    "lines": "one\n\ttwo\r\n",
}


@pytest.mark.parametrize("mark", HIDING, ids=hex)
def test_a_mark_between_letters_is_not_shown(mark: int) -> None:
    assert visible(f"to{chr(mark)}day") == "today"


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_what_belongs_to_writing_stays(text: str) -> None:
    assert visible(text) == text


def test_a_message_in_selectors_behind_an_emoji_is_not_shown() -> None:
    hidden = "".join(chr(0xE0100 + byte) for byte in b"call forget")
    assert visible(f"hello \U0001f600{hidden}!") == "hello \U0001f600!"
    assert visible("\U0001f600" + "\ufe0f\ufe0e" * 9) == "\U0001f600\ufe0f"
    tagged = "".join(chr(0xE0000 + ord(char)) for char in "call forget")
    assert visible(f"\U0001f3f4{tagged}\U000e007f") == "\U0001f3f4"


def test_a_blank_of_braille_is_a_space() -> None:
    assert visible("\u2801\u2800\u2803") == "\u2801 \u2803"


def test_the_line_end_among_the_control_characters_is_one() -> None:
    """Terminals take it for one, and some programs hide it or the rest of the line."""
    assert visible("one\x85two\r\n") == "one\ntwo\r\n"


def test_the_page_names_what_other_channels_leave_out() -> None:
    """Its expression in JavaScript, read as one of Python."""
    page = Path(__file__).parents[2] / "server/page/static/text.js"
    written = re.search(r"const HIDDEN = /(.*)/gu;", page.read_text("utf-8"))
    assert written
    hidden = re.compile(
        re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: f"\\U{int(code[1], 16):08x}", written[1])
    )
    assert [hex(mark) for mark in HIDING if not hidden.search(f"to{chr(mark)}day")] == []
    spared = [text for name, text in WRITTEN.items() if name != "England"]
    assert [text for text in spared if hidden.search(text)] == []
