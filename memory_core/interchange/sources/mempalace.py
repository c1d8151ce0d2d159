"""MemPalace: the drawers in its Chroma database."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.interchange.files import File
from memory_core.interchange.found import FILE, OWN, Entry, Incoming, Problem, SourceForm
from memory_core.interchange.parsing import moment, string

_TEXT = "chroma:document"


def _reads(file: File) -> bool:
    if not file.tables().get("embedding_metadata", set()) >= {"id", "key", "string_value"}:
        return False
    with file.database() as db:
        asked = "SELECT 1 FROM embedding_metadata WHERE key IN ('wing', 'room') LIMIT 1"
        return db.execute(asked).fetchone() is not None


def _read(file: File) -> Iterator[Entry]:
    with file.database() as db:
        sql = (
            "SELECT e.id AS number, e.embedding_id AS name, m.key AS key,"
            " coalesce(m.string_value, m.int_value, m.float_value) AS value"
            " FROM embeddings e JOIN embedding_metadata m ON m.id = e.id ORDER BY e.id"
        )
        number, name, drawer = -1, "", dict[str, object]()
        for row in db.execute(sql):
            if row["number"] != number and drawer:
                yield _drawer(file, name, drawer)
                drawer = {}
            number, name = row["number"], str(row["name"])
            drawer[row["key"]] = row["value"]
        if drawer:
            yield _drawer(file, name, drawer)


def _drawer(file: File, name: str, drawer: dict[str, object]) -> Entry:
    place, text = f"{file.name} drawer {name}", string(drawer.get(_TEXT))
    if not text:
        return Problem(place, "it has no text")
    times = (moment(drawer.get(key)) for key in ("created_at", "timestamp", "filed_at", "date"))
    own = next((at for at in times if at is not None), None)
    tags = (string(drawer.get("wing")), string(drawer.get("room")))
    return Incoming(
        text,
        name,
        place,
        file.modified if own is None else own,
        FILE if own is None else OWN,
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        source=string(drawer.get("source_file")) or f"mempalace: {name}",
    )


FORM = SourceForm(
    "mempalace", "chroma.sqlite3 with drawers that have a wing and a room", _reads, _read
)
