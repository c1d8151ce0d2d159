"""Front matter: the part of YAML that notes begin with, names with a text or a list of texts."""

from __future__ import annotations

import json
import re

_NAMED = re.compile(r"([A-Za-z_][\w .-]{0,60}?):(?:\s+(.*)|)")
_MARK = "---"


def split(text: str) -> tuple[dict[str, str | list[str]], str, int]:
    """The front matter of *text*, the rest, and how many lines were before the rest.

    Names are in lower case. What is nested deeper than a list is left out. Without front matter,
    or without its end: {}, the whole text and 0.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return {}, text, 0
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in (_MARK, "...")), 0)
    if not end:
        return {}, text, 0
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]), end + 1


def _values(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    name = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = re.fullmatch(r"\s*-\s+(.*)", line)
        if item and name:
            held = found.get(name)
            if not isinstance(held, list):
                found[name] = held = []
            held.append(_scalar(item[1]))
            continue
        match = _NAMED.fullmatch(line)
        if match is None:
            continue  # nested, or continued
        name, value = match[1].strip().lower(), (match[2] or "").strip()
        if value.startswith("[") and value.endswith("]"):
            found[name] = [_scalar(part) for part in value[1:-1].split(",") if part.strip()]
        else:
            found[name] = _scalar(value)
    return found


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except (ValueError, RecursionError):
            return text[1:-1]
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text
