"""A lazy pattern does what one of `re` does, and compiles once, at its first use."""

from __future__ import annotations

import re
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.lazy_pattern import lazy_pattern


@given(st.text("aAbß1 \n", max_size=30))
def test_it_finds_what_re_finds(text: str) -> None:
    source = r"(?P<word>[a-zß]+)|\d$"
    ours = lazy_pattern(source, re.IGNORECASE | re.MULTILINE)
    real = re.compile(source, re.IGNORECASE | re.MULTILINE)
    assert (ours.pattern, ours.flags, ours.groupindex) == (
        real.pattern,
        real.flags,
        real.groupindex,
    )
    assert [m.span("word") for m in ours.finditer(text)] == [
        m.span("word") for m in real.finditer(text)
    ]
    assert ours.sub(r"<\g<0>>", text) == real.sub(r"<\g<0>>", text)


def test_it_is_compiled_once_at_its_first_use() -> None:
    with mock.patch("re.compile", wraps=re.compile) as compiling:
        ours = lazy_pattern("a+b")
        assert ours.pattern == "a+b"
        assert compiling.call_count == 0
        assert ours.search("caab")
        assert ours.search("c") is None
        assert ours.fullmatch("aab")
        assert compiling.call_count == 1
