"""Front matter: the part of YAML that notes begin with, names with a text or a list of texts."""

from __future__ import annotations

import json
import re

_NAMED = re.compile(r"([A-Za-z_][\w .-]{0,60}?):(?:\s+(.*)|)")
_MARKS = ("---", "+++")
"""Of YAML and of TOML."""
_BLOCK = re.compile(r"[>|][+-]?\d?[+-]?")
_PARTS = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]+)""")


def split(text: str) -> tuple[dict[str, str | list[str]], str, int]:
    """The front matter of *text*, the rest, and how many lines were before the rest.

    Names are in lower case, texts of several lines one. What is nested deeper is left out. Without
    front matter, or without its end: {}, the whole text and 0.
    """
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip()), 0)
    mark = lines[start].rstrip()
    if mark not in _MARKS:
        return {}, text, 0
    ends = (mark, "...")
    end = next((n for n in range(start + 1, len(lines)) if lines[n].rstrip() in ends), 0)
    if not end:
        return {}, text, 0
    inner = lines[start + 1 : end]
    if mark == "+++":
        inner = [line.replace("=", ": ", 1) for line in inner]
    found = _values(inner)
    if not found and any(line.strip() for line in inner):  # text between two rules
        return {}, text, 0
    return found, "\n".join(lines[end + 1 :]), end + 1


def _values(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    name, block, flow = "", False, ""
    for line in lines:
        if flow:
            flow += " " + line.strip()
            if _ends(flow):
                found[name], flow = _listed(flow), ""
            continue
        if block and (line[:1].isspace() or not line.strip()):
            found[name] = f"{found[name]} {line.strip()}".strip()
            continue
        block = False
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
        if value.startswith("["):
            flow = "" if _ends(value) else value
            found[name] = _listed(value)
        else:
            block = _BLOCK.fullmatch(value) is not None
            found[name] = "" if block else _scalar(value)
    return found


def _ends(flow: str) -> bool:
    return flow.endswith("]") or "] #" in flow[-200:]


def _listed(flow: str) -> list[str]:
    """The texts of a list in brackets."""
    inner = flow[1:].rpartition("]")[0] if "]" in flow else flow[1:]
    return [each for part in _PARTS.findall(inner) if (each := _scalar(part))]


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except (ValueError, RecursionError):
            return text[1:-1]
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text.partition(" #")[0].rstrip()
