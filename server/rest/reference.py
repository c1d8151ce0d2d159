"""The reference as one page of plain HTML: no script, nothing from another server."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.45 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; background: #8881; border-radius: .4rem }
section { border-top: 1px solid #8886; margin-top: 1.5rem }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0 }
"""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def page(document: dict[str, Any]) -> HTMLResponse:
    """The page of *document*."""
    return HTMLResponse(html(document), headers=HEADERS)


def html(document: dict[str, Any]) -> str:
    """*document* as HTML: each operation with its parameters, its body and its answer."""
    about = document["info"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    contents = "".join(
        f'<li><a href="#{escape(o["operationId"])}"><code>{method} {escape(path)}</code></a> '
        f"{escape(o.get('description', ''))}</li>"
        for method, path, o in operations
    )
    sections = "".join(_operation(document, *each) for each in operations)
    base = document["servers"][0]["url"]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>{escape(about['title'])} REST reference</title><style>{_STYLE}</style>"
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1>"
        f"<p>{escape(about['description'])}</p>"
        f"<p>All paths begin with <code>{escape(base)}</code>; the document is "
        f'<a href="openapi.json"><code>openapi.json</code></a>.</p>'
        f"<ul>{contents}</ul>{sections}</html>"
    )


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    named = escape(operation["operationId"])
    parts = [
        f"<section id={named}><h2><code>{method} {escape(path)}</code></h2>",
        f"<p>{escape(operation.get('description', ''))}</p>",
    ]
    rows = [
        (p["name"], p["in"], p["schema"], p.get("description", ""))
        for p in operation.get("parameters", ())
    ]
    if rows:
        parts.append("<h3>Parameters</h3>" + _table(rows))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<h3>Body, {escape(kind)}</h3>{_fields(document, content['schema'])}")
    for kind, content in operation["responses"].get("200", {}).get("content", {}).items():
        parts.append(f"<h3>Answer, {escape(kind)}</h3>{_fields(document, content['schema'])}")
    return "".join(parts) + "</section>"


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> str:
    schema = _resolved(document, schema)
    required = set(schema.get("required", ()))
    rows = [
        (name, "required" if name in required else "", inner, inner.get("description", ""))
        for name, inner in schema.get("properties", {}).items()
    ]
    about = f"<p>{escape(schema['description'])}</p>" if schema.get("description") else ""
    return about + (_table(rows) if rows else "")


def _table(rows: list[tuple[str, str, dict[str, Any], str]]) -> str:
    cells = "".join(
        f"<tr><td><code>{escape(name)}</code><td>{escape(place)}"
        f"<td><code>{escape(_type(schema))}</code><td>{escape(about)}"
        for name, place, schema, about in rows
    )
    return f"<table>{cells}</table>"


def _type(schema: dict[str, Any]) -> str:
    """*schema* in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(_type(each) for each in schema["anyOf"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    limits = [
        f"{word} {schema[key]:g}"
        for key, word in (
            ("minimum", "from"),
            ("maximum", "to"),
            ("maxLength", "at most"),
        )
        if key in schema
    ]
    return " ".join((kind, *limits))


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found: dict[str, Any] = document["components"]["schemas"].get(name, schema)
    return found
