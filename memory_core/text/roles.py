"""Which role a speaker's name names: user, assistant, system or tool, in English and German."""

from __future__ import annotations

from memory_core.text.lazy_pattern import lazy_pattern

_WORDS = {
    "user": "user human me myself nutzer nutzerin benutzer benutzerin anwender anwenderin ich",
    "assistant": "assistant ai ki bot chatbot model agent copilot assistent assistentin modell",
    "system": "system",
    "tool": "tool werkzeug",
}
_ROLES = {word: role for role, words in _WORDS.items() for word in words.split()}
_ARTICLES = frozenset(
    {"the", "my", "your", "a", "an", "der", "die", "das", "mein", "meine", "dein", "deine"}
)
_PRODUCT_WORDS = frozenset(
    {"ai", "app", "cli", "client", "code", "desktop", "for", "mcp", "mode", "vscode", "web"}
)
"""Words of a client's name that say what kind of program it is."""
_WORD = lazy_pattern(r"[^\W_]+")


def role_of(speaker: str, client: str = "") -> str:
    """The role that *speaker* names, "" for a person's name or none.

    A word for a role, also with an article or as "AI assistant" and "KI-Assistent", and the name of
    the *client* itself: "Claude" is the assistant of the client "claude-code".
    """
    named = _words(speaker)
    found = {_ROLES.get(word, "") for word in named if word not in _ARTICLES}
    if len(found) == 1 and (role := found.pop()):
        return role
    own = [word for word in _words(client) if word not in _PRODUCT_WORDS]
    return "assistant" if named and named in (own, _words(client)) else ""


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]
