"""The page's files under /ui/, and the exchange of a one-time code for a session.

The files hold no data and need no token; everything that the page shows it asks from /api/v1 with
the token of its session.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from hashlib import blake2s
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from server.http.problems import problem
from server.page.logins import Logins

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
SESSION = "/ui/session"


def routes(logins: Logins) -> list[BaseRoute]:
    """The routes of the page; *logins* gives its sessions."""

    async def begin(request: Request) -> Response:
        """Exchange {"code"} for {"token"}; only for a page of this very origin."""
        origin, host = request.headers.get("origin"), request.headers.get("host")
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" or (origin and origin.partition("://")[2] != host):
            return problem(403, "this origin is not the page's own", "open what anamnesis ui shows")
        try:
            given = json.loads(await request.body())
            code = given["code"] if isinstance(given, dict) else None
        except (ValueError, KeyError, RecursionError):
            code = None
        secret = logins.exchange(code) if isinstance(code, str) else None
        if secret is None:
            return problem(
                401, "this address was used already or is too old", "run anamnesis ui again"
            )
        return JSONResponse({"token": secret}, headers={"Cache-Control": "no-store"})

    return [
        Route("/ui", _to_page, methods=["GET"]),
        Route(SESSION, begin, methods=["POST"]),
        Route("/ui/{name:path}", _file, methods=["GET"]),
    ]


async def _to_page(_: Request) -> Response:
    return RedirectResponse("/ui/", 308)


async def _file(request: Request) -> Response:
    found = files().get(request.path_params["name"] or "index.html")
    if found is None:
        return problem(404, "the page has no such file", "open /ui/")
    kind, plain, packed, tag = found
    headers = {**HEADERS, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(plain, media_type=kind, headers=headers)


@cache
def files() -> dict[str, tuple[str, bytes, bytes, str]]:
    """The page's files by their path: media type, bytes, the same packed by gzip, and ETag."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in TYPES:
            plain = path.read_bytes()
            tag = f'"{blake2s(plain, digest_size=12).hexdigest()}"'
            packed = gzip.compress(plain, 9, mtime=0)
            found[path.relative_to(FOLDER).as_posix()] = (TYPES[path.suffix], plain, packed, tag)
    return found
