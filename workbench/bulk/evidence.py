"""What can be found about rows with an unknown outcome. It proposes, and never decides."""

from typing import Any

import attrs

from workbench.bulk.outcomes import BulkResult
from workbench.client.base import journal_of
from workbench.client.effects import Outcome, next_step
from workbench.errors import InvalidRequest


@attrs.frozen(kw_only=True)
class Finding:
    """What was found about one row with an unknown outcome. Nothing of it is proof."""

    row: int
    key: str | None
    attempt: str | None  # id of the entry in the journal
    found: str  # what the journal says, and the events that may be the row's effect
    events: int
    proposal: str  # "done", or "look it up"
    next_step: str


class Findings(tuple[Finding, ...]):
    """What was found about each unknown row of a run, in the order of the input."""

    __slots__ = ()
    row_type = Finding

    def rows(self) -> list[Finding]:
        """Return one row per finding."""
        return list(self)

    def __repr__(self) -> str:
        return "\n".join(f"row {one.row}: {one.found}; proposal: {one.proposal}" for one in self) or "no unknown rows"


def investigate(run: BulkResult, api: Any) -> Findings:
    """Look for evidence of the rows of a run whose outcome is unknown: in the journal, and among the events received.

    An event can belong to another call with the same values, and a missing one proves nothing. Decide for yourself, and
    say it with `resume(…, resolved={row: "done"})`.

    Args:
        run: The result of `run` or `resume`.
        api: The session that sent it, or one with the same journal and inbox.

    Raises:
        InvalidRequest: The client has no journal.
    """
    journal = journal_of(api)
    if journal is None:
        raise InvalidRequest("investigate needs the journal of the calls; this client has none", of="bulk.investigate")
    entries = {entry.id: entry for entry in journal}
    requests = {row.number: row.request for row in run.plan.rows}
    explained = {one.id for one in run if one.id is not None}  # events of rows that are done
    findings = []
    for one in run.unknown():
        entry = entries.get(one.attempt or "")
        if entry is None:
            found, events = "no entry in this journal", []
        else:
            events = [
                event
                for event in journal.evidence(entry.id)
                if event.body.id not in explained and _fits(requests.get(one.row), event.body)
            ]
            known = f"{entry.final_outcome.shown}{f': {entry.error}' if entry.error else ''}"
            seen = ", ".join(f"{event.kind} {event.id}" for event in events[:3]) or "no event that fits"
            found = f"journal: {known}; {seen}{' and more' if len(events) > 3 else ''}"
        settled = entry is not None and entry.final_outcome is Outcome.DONE
        findings.append(
            Finding(
                row=one.row, key=one.key, attempt=one.attempt, found=found, events=len(events),
                proposal="done" if settled or len(events) == 1 else "look it up", next_step=next_step(run.operation),
            )
        )  # fmt: skip
    return Findings(findings)


def _fits(request: Any, body: Any) -> bool:
    """Return whether an event is of the person of a request; the journal knows only masked values."""
    pairs = [(getattr(request, name, None), getattr(body, name, None)) for name in ("email", "first_name", "last_name")]
    return all(asked == seen for asked, seen in pairs if asked is not None and seen is not None)
