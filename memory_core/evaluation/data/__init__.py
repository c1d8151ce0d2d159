"""The project's own labelled dialogue, shipped with the package; written for it."""

from __future__ import annotations

from pathlib import Path

DIALOGUE = Path(__file__).parent / "dialogue.json"
"""Two people over ten weeks: turns, hand-marked entities, labelled questions (see its reader)."""

QUESTIONS = Path(__file__).parent / "questions.json"
"""The same questions as `{query, relevant_texts}`."""
