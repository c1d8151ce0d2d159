"""What a client reports of its conversation: which fields hold words, and what of them is private.

Only modules that are loaded anyway are imported, because a client waits.
"""

# ruff: noqa: PTH110, PTH117, PTH118, PTH119, PTH120
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

CAPTURED: dict[str, tuple[tuple[str, str], ...]] = {
    "UserPromptSubmit": (("user", "prompt"),),
    "Stop": (("assistant", "last_assistant_message"),),
    "PreCompact": (("assistant", "last_assistant_message"), ("user", "custom_instructions")),
    "PostCompact": (("assistant", "compact_summary"),),
    "beforeSubmitPrompt": (("user", "prompt"),),
    "afterAgentResponse": (("assistant", "text"),),
}
"""The events whose words are captured: the role and the name of each field."""
ENDS = ("SessionEnd", "sessionEnd")
ANSWERED = ("SessionStart", "UserPromptSubmit", "sessionStart", "beforeSubmitPrompt")
"""The events whose answer the client reads."""

TAG = "project:"
IGNORE = ".anamnesisignore"
"""A folder with a file of this name, and all below it, is none of the memory's business."""

_TAG_CHARS = 100
_FIELDS = frozenset(field for fields in CAPTURED.values() for _, field in fields)
_BEGINS = "<p"


def said(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The role and the words of each captured field of *payload* that has any."""
    for role, field in CAPTURED.get(str(payload.get("hook_event_name", "")), ()):
        words = payload.get(field)
        if isinstance(words, str) and words.strip():
            yield role, words


def without_private(payload: Mapping[str, Any]) -> dict[str, Any]:
    """*payload* without what stands between <private> and </private> in its words.

    Without an end everything after <private> is private.
    """
    return {
        name: _public(value) if name in _FIELDS and isinstance(value, str) else value
        for name, value in payload.items()
    }


def _public(text: str) -> str:
    """*text* with a space in place of each private part."""
    if _BEGINS not in text.lower():
        return text
    import re  # most prompts have nothing private, and its import takes as long as all the rest

    parts = re.compile(r"<private\s*>.*?(?:</private\s*>|\Z)", re.IGNORECASE | re.DOTALL)
    return parts.sub(" ", text)


def shortened(payload: Mapping[str, Any], most: int) -> dict[str, Any]:
    """*payload* with the `ends` of its words."""
    return {
        name: ends(value, most) if name in _FIELDS and isinstance(value, str) else value
        for name, value in payload.items()
    }


def ends(text: str, most: int) -> str:
    """The beginning and the end of *text*, of *most* characters together.

    People write what they want before or after what they paste.
    """
    return text if len(text) <= most else f"{text[: most // 2 - 1]}\n{text[-(most // 2) :]}"


def session(payload: Mapping[str, Any]) -> str:
    """The name of the conversation, or ""."""
    return str(payload.get("session_id") or payload.get("conversation_id") or "")


def folders(payload: Mapping[str, Any]) -> list[str]:
    """The folders in which the client works, the one where it is first."""
    roots = payload.get("workspace_roots")
    places = [payload.get("cwd"), *(roots if isinstance(roots, list) else ())]
    return [place for place in places if isinstance(place, str) and place]


def folder(payload: Mapping[str, Any]) -> str:
    """The folder in which the client works, or ""."""
    return next(iter(folders(payload)), "")


def repository(place: str) -> str:
    """The name of the folder of the repository that *place* lies in, on this machine; or ""."""
    for each in _upwards(place):
        if os.path.basename(each) and os.path.exists(os.path.join(each, ".git")):
            return os.path.basename(each)
    return ""


def ignored(place: str) -> bool:
    """True when the folder *place*, or one that it lies in, has a file IGNORE."""
    return any(os.path.exists(os.path.join(each, IGNORE)) for each in _upwards(place))


def tag(payload: Mapping[str, Any]) -> str:
    """The tag of the project that `project` of *payload* names, or "".

    No folder is looked at: a payload may come from another machine. The process on the client's
    own machine finds the project (`repository`).
    """
    name = payload.get("project")
    if not isinstance(name, str):
        return ""
    name = "".join(char for char in name if char.isprintable()).strip()
    return f"{TAG}{name}"[:_TAG_CHARS].strip() if name else ""


def _upwards(place: str) -> Iterator[str]:
    """The folder *place*, then those that it lies in; none for one that is not absolute."""
    while place and os.path.isabs(place):
        yield place
        above = os.path.dirname(place)
        if above == place:
            return
        place = above
