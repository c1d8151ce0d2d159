"""Checks of a call's arguments, with errors that a model can act on.

The SDK drops unknown arguments, accepts true for 1 and reports the rest in pydantic's words. Every
error raised here names the argument, the allowed values and the value that was given.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from memory_core.errors import InvalidInput

_SHOWN = 60
_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list of strings",
}


def check(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise InvalidInput for unknown arguments and for values that the SDK would convert."""
    known: Mapping[str, Any] = schema.get("properties", {})
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise InvalidInput(
            f"unknown argument{'s' if len(unknown) > 1 else ''} {', '.join(map(shown, unknown))}",
            f"{_meant(unknown[0], known)}allowed are {', '.join(known)}",
        )
    for name, value in arguments.items():
        kind = known[name].get("type")
        bent = isinstance(value, bool) and kind in ("integer", "number")
        if bent or (kind == "boolean" and not _is_boolean(value)):
            raise _refusal(name, known[name], value)


def explain(schema: Mapping[str, Any], problem: ValidationError) -> InvalidInput:
    """The first error of *problem* as InvalidInput."""
    error = problem.errors(include_url=False, include_context=False)[0]
    name = str(error["loc"][0]) if error["loc"] else ""
    about = schema.get("properties", {}).get(name, {})
    if error["type"] == "missing":
        return InvalidInput(f"{name} is missing", f"pass {name} as {_allowed(about)}")
    value = error["input"]
    if len(error["loc"]) > 1:
        position = "".join(f"[{part}]" for part in error["loc"][1:])
        return _refusal(f"{name}{position}", about.get("items", {}), value)
    return _refusal(name, about, value)


def shown(value: Any) -> str:
    """*value* as JSON, at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _refusal(name: str, about: Mapping[str, Any], value: Any) -> InvalidInput:
    return InvalidInput(
        f"{name} must be {_allowed(about)}, got {shown(value)}", f"correct {name} and call again"
    )


def _allowed(about: Mapping[str, Any]) -> str:
    if "enum" in about:
        return "one of " + ", ".join(json.dumps(choice) for choice in about["enum"])
    low, high = about.get("minimum"), about.get("maximum")
    if low is not None and high is not None:
        kind = "a whole number" if about.get("type") == "integer" else "a number"
        return f"{kind} from {low:g} to {high:g}"
    if about.get("maxItems") is not None:
        return f"a list of at most {about['maxItems']} strings"
    choices = about.get("items", {}).get("enum")
    if choices:
        return "a list of " + ", ".join(json.dumps(choice) for choice in choices)
    return _WORDS.get(str(about.get("type")), "a valid value")


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or value in ("true", "false")


def _meant(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}? " if near else ""
