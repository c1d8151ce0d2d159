"""The calls that change what is known afterwards: sleep, corrections taken back, forgetting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory_core import browse as catalogue
from memory_core import validation as checks
from memory_core import history as undoing
from memory_core.recall.answer import Cues
from memory_core.config import Settings
from memory_core.consolidate.run import MODES
from memory_core.runtime import Engine, Parts
from memory_core.records import Change, ForgetReport, Identity, RunReport
from memory_core.text import secrets

FORGET_CANDIDATES = 10  # that forget by query offers for choice


class LifeCycle:
    """The part of the façade that consolidates, undoes and forgets."""

    settings: Settings
    _engine: Engine

    def consolidate(
        self,
        who: Identity,
        *,
        mode: str = "sleep",
        session: str = "",
        dry_run: bool = False,
        undo: str = "",
        progress: Callable[[int, int, str], None] | None = None,
    ) -> RunReport:
        """Turn episodes into knowledge, as one journalled run; or *undo* an earlier run by its id.

        *mode* is one of MODES; *dry_run* shows what would change and changes nothing. *progress*
        is called with (done, total, message). Undo of a run that is at work stops it. Raises Busy
        while another run is at work.
        """
        mode = checks.one_of(mode, "mode", tuple(MODES)) or "sleep"
        session, undo = checks.label(session, "session"), checks.label(undo, "undo")
        dry_run = checks.flag(dry_run, "dry_run")
        parts = self._engine.parts()
        parts.store.catch_up()
        if undo:
            return parts.consolidator.undo(who, undo)
        return parts.consolidator.run(
            who, mode=mode, session=session, dry_run=dry_run, progress=progress
        )

    def end_session(self, who: Identity, session: str, *, wait: bool = False) -> None:
        """The conversation *session* is over: it is summed up soon, nothing of it stays in mind.

        With *wait* it is summed up when this returns.
        """
        session, parts = checks.label(session, "session"), self._engine.parts()
        parts.sessions.end(who, session)
        parts.sleeper.end_session(who, session, wait=wait)

    def history(self, who: Identity, id: str) -> list[Change]:
        """Every change of the memory *id*, oldest first. Raises NotFound like get."""
        return undoing.history(self._engine.parts().store, who, checks.reference(id, "id"))

    def undo_change(self, who: Identity, id: str, change: int) -> tuple[Change, str]:
        """Take back one *change* (its sequence number) of the memory *id*; it, and what was done.

        What was merged at remember becomes a memory of its own, what a run merged or somebody
        corrected stands again, and is not merged or corrected so again by itself. Raises NotFound,
        ScopeDenied, or InvalidInput for a change that cannot be taken back.
        """
        number = checks.whole(change, "change", 1, 2**62)
        return undoing.undo(self._engine.parts().store, who, checks.reference(id, "id"), number)

    def forget(
        self,
        who: Identity,
        *,
        ids: Sequence[str] = (),
        query: str = "",
        source: str = "",
        reason: str = "",
        never_again: bool = True,
        confirm: bool = False,
    ) -> ForgetReport:
        """Show what would be forgotten; with *confirm*, forget *ids* or a *source* for good.

        *query* only previews; *source* is everything of the caller's that carries exactly this
        source. Derived memories that rest on nothing else go too. With *never_again* the values
        are recognised and refused later. Raises NotFound, ScopeDenied.
        """
        wanted = checks.labels(ids, "ids", checks.IDS_MOST)
        reason = checks.text(reason, "reason", self.settings.limits.source_chars)
        source = checks.text(source, "source", self.settings.limits.source_chars)
        source = secrets.mask(source)[0]  # as it was stored
        never_again = checks.flag(never_again, "never_again")
        confirm = checks.flag(confirm, "confirm") and bool(wanted or source)
        if sum(map(bool, (wanted, query, source))) != 1:
            raise checks.invalid(
                "ids", "give ids, a query or a source, and one of them", "recall first for the ids"
            )
        parts = self._engine.parts()
        parts.store.catch_up()
        if source:
            wanted = catalogue.of_source(parts.store, who, source)
        elif not wanted:
            wanted = self._near(parts, who, query)
        report = parts.forgetting.forget(
            who, wanted, reason=reason, never_again=never_again, confirm=confirm
        )
        if confirm:
            parts.maintenance.nudge()
        return report

    def _near(self, parts: Parts, who: Identity, query: str) -> tuple[str, ...]:
        """What *query* brings to mind of what *who* may forget."""
        most = self.settings.limits.query_chars
        cleaned = checks.prose(query, "query", most, checks.SHORTEN)[0]
        found = parts.reader.recall(
            who, Cues(cleaned, k=FORGET_CANDIDATES, context=0, rehearse=False)
        )
        near = [hit.memory for hit in (*found.hits, *found.partial)]
        return tuple(m.id for m in near if who.admin or m.agent == who.agent)

    def clear(self, who: Identity) -> int:
        """Forget everything that *who* owns, without tombstones; how many memories went.

        Batch by batch. When one fails, what went before it stays gone; repeat it for the rest.
        """
        parts = self._engine.parts()
        gone = parts.forgetting.clear(who, catalogue.owned(parts.store, who))
        if gone:
            parts.maintenance.nudge()
        return gone
