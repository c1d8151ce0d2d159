"""The icon of the server, its resources and its prompts: two rings, one inside the other.

It is a data URI, so that a client fetches nothing. Tools carry none: five copies would take a
tenth of the budget of their list.
"""

from __future__ import annotations

from mcp.types import Icon

_SVG = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' "
    "stroke='%237a5cff' stroke-width='2'%3E%3Ccircle cx='12' cy='12' r='10'/%3E"
    "%3Ccircle cx='12' cy='12' r='4'/%3E%3C/svg%3E"
).replace(" ", "%20")

ICONS = [Icon(src=_SVG, mime_type="image/svg+xml", sizes=["any"])]
