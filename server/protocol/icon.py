"""The icon of the server, its resources and its prompts: two rings, one inside the other.

A data URI, so that a client fetches nothing, and short: since protocol revision 2026-07-28 every
answer carries the server's name and icon. The tools have none; five copies would take a tenth of
the token budget of their list.
"""

from __future__ import annotations

from mcp.types import Icon

_SVG = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='-9 -9 18 18' fill='none' "
    "stroke='#75f'><circle r='8'/><circle r='3'/></svg>"
)
_IN_A_URI = str.maketrans({"<": "%3C", ">": "%3E", "#": "%23", " ": "%20"})

ICONS = [Icon(src=_SVG.translate(_IN_A_URI))]
