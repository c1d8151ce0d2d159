"""The plot of a simulated life: retention of the watched memories, with their tiers as colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memory_core.errors import EncoderUnavailable
from memory_core.evaluation.life import Point

COLOURS = {"active": "tab:red", "recent": "tab:orange", "long_term": "tab:blue", "retired": "black"}


TITLE_CHARS = 100


def draw(course: Sequence[Point], file: Path) -> None:
    """Write *course* as a PNG to *file*: one panel a memory, days to the right.

    Raises EncoderUnavailable when matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise EncoderUnavailable(
            "matplotlib is not installed", "install it: pip install 'anamnesis-mcp[dev]'"
        ) from None
    ids = list(dict.fromkeys(point.id for point in course))
    figure = Figure(figsize=(9, 1.6 * max(1, len(ids))), layout="constrained")
    axes = figure.subplots(max(1, len(ids)), 1, sharex=True, squeeze=False)[:, 0]
    for panel, id in zip(axes, ids, strict=False):
        points = [point for point in course if point.id == id]
        panel.plot([p.day for p in points], [p.retention for p in points], color="0.8")
        for tier, colour in COLOURS.items():
            inside = [p for p in points if p.tier == tier]
            days, kept = [p.day for p in inside], [p.retention for p in inside]
            panel.scatter(days, kept, s=6, color=colour, label=tier)
        panel.set_ylim(0, 1.05)
        panel.set_ylabel("retention")
        panel.set_title(_headed(points[0].text), fontsize=8, loc="left", parse_math=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4, fontsize=7)
    axes[-1].set_xlabel(
        "days; a rise is a recall, or the move to long_term with its longer half-life"
    )
    figure.savefig(file, format="png", dpi=120)


def _headed(text: str) -> str:
    """The beginning of *text* on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 3]}..."
