"""The walk of masking: unfold disguises -> find by form, name, command, model -> replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_core.records import MASKED
from memory_core.text import normalise
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets import (
    command_lines,
    conversation,
    forms,
    keys,
    learned,
    named,
    personal,
    told,
)
from memory_core.text.secrets.spans import Span, folded


def mask(
    text: str, *, personal_too: bool = True, learned_too: bool = True
) -> tuple[str, tuple[str, ...]]:
    """*text* with each secret replaced by ``[masked:KIND]``, and the kinds in order of the text.

    One kind for each place that was masked; () and the same text when there is none. Keys and
    tokens go by their own form; passwords and generic secrets by the name in front of them or by
    the command that they are an argument of; with *personal_too* also card numbers, IBANs, social
    security numbers, PINs and seed phrases. With *learned_too* a model finds more in sentences, as
    "secret". Look-alike letters and invisible characters hide nothing. Masking twice changes
    nothing more. The time is linear in the length.
    """
    spans = _apart(text, personal_too, learned_too)
    if not spans:
        return text, ()
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += [text[done:start], f"{MASKED}{kind}]"]
        done = end
    return "".join([*pieces, text[done:]]), tuple(kind for _, _, kind in spans)


def mask_all(texts: Sequence[str], *, personal_too: bool = True) -> tuple[list[str], str]:
    """Each of *texts* masked, and the kinds found in all of them, joined by commas; "" for none."""
    masked = [mask(text, personal_too=personal_too) for text in texts]
    return [text for text, _ in masked], ", ".join(kind for _, kinds in masked for kind in kinds)


def _apart(text: str, personal_too: bool, learned_too: bool) -> list[Span]:
    """The places to mask, in order; where two overlap, the one that was found first."""
    if not text:  # as most labels of a memory are
        return []
    covered = bytearray(len(text))
    for masked in _MASKED.finditer(text):
        covered[masked.start() : masked.end()] = b"\1" * len(masked.group())
    spans: list[Span] = []
    for start, end, kind in _found(text, personal_too, learned_too):
        if start < end and covered.find(1, start, end) < 0:
            covered[start:end] = b"\1" * (end - start)
            spans.append((start, end, kind))
    return sorted(spans)


_MASKED = lazy_pattern(r"\[masked:[a-z_]{1,30}\]")


def _found(text: str, personal_too: bool, learned_too: bool) -> Iterator[Span]:
    yield from _plain(text, personal_too, learned_too)
    unfolded, places = normalise.undisguised(text)
    if places is not None:
        for start, end, kind in _plain(unfolded, personal_too, learned_too):
            yield places[start], places[end - 1] + 1, kind


def _plain(text: str, personal_too: bool, learned_too: bool) -> Iterator[Span]:
    low = folded(text)
    yield from keys.found(text)
    yield from forms.found(text, low)
    yield from command_lines.found(text, low)
    yield from named.found(text, low)
    yield from told.passwords(text, low)
    yield from told.mixed(text, low)
    yield from told.codes(text, low)
    yield from (span for span in conversation.found(text, low) if personal_too or span[2] != "pin")
    if personal_too:
        yield from personal.found(text, low)
        yield from told.personal(text, low)
    for start, end, kind in learned.found(text, low) if learned_too else ():
        if personal_too or any(map(str.isalpha, text[start:end])):
            yield start, end, kind
