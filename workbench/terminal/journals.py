"""The journal at a prompt: what was sent, how it ended, and saying how the unknown ones ended."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from workbench.errors import visible
from workbench.terminal.ends import DONE, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, chosen_profile

_WHERE, _HOW = Where(), Output()


@contextmanager
def _journal(where: Where) -> Iterator[Any]:
    """Open the journal of a profile, or of this user's own sandbox, without a key and without a connection."""
    from workbench.client.journal import Journal
    from workbench.client.settings import open_profile
    from workbench.client.state import state_folder

    if where.url or where.fresh:
        raise wrong("The journal of a fresh or a served sandbox is gone with its command.")
    name = chosen_profile(where)
    path = state_folder() / f"journal-{name or 'sandbox'}.db"
    if name is not None:
        profile = open_profile(name)
        path = Path(profile.journal) if profile.journal else path
    journal = Journal(path)
    try:
        yield journal
    finally:
        journal.close()


def _row(entry: Any) -> dict[str, Any]:
    outcome = entry.final_outcome
    return {
        "started": entry.started,
        "id": entry.id,
        "outcome": str(outcome) + ("" if not entry.resolution else " (said)"),
        "operation": entry.operation,
        "what": entry.what,
    }


def _shown(entries: list[Any], how: Output) -> None:
    rows = [_row(one) for one in entries]
    if how.output == "table":
        show([{name: value for name, value in row.items() if name != "operation"} for row in rows], how)
        return
    kept = [{**row, "status": one.status, "error": one.error, "environment": one.environment, "request": dict(one.request),
             "answer": one.answer} for row, one in zip(rows, entries, strict=True)]  # fmt: skip
    show(kept, how)


def listed(
    *,
    outcome: Annotated[
        Literal["done", "refused", "not_sent", "unknown", "sending"] | None, Parameter(help="Only those that ended so.")
    ] = None,
    operation: Annotated[str | None, Parameter(help="Only of this operation.")] = None,
    text: Annotated[str | None, Parameter(help="Only those that say this of themselves, as an id.")] = None,
    last: Annotated[int | None, Parameter(help="Only the last ones, so many.")] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """List the calls with an effect, and how they ended."""
    with _journal(where) as journal:
        name = operation.replace("-", "_") if operation else None
        found = journal.list(operation=name, outcome=outcome, text=text)
    _shown(found[-last:] if last else found, how)
    return DONE


def unknown(
    *,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """List the calls of which nobody knows how they ended, and what to do about each."""
    with _journal(where) as journal:
        found = journal.unknown()
    if not found and how.output == "table":
        say("No call has an unknown end.")
        return DONE
    _shown(found, how)
    for entry in found:
        say(f"{entry.id}: {entry.next_step}")
    return DONE


def resolve(
    attempt: Annotated[str, Parameter(help="Id of the call, as the journal lists it.")],
    outcome: Annotated[Literal["done", "not_sent"], Parameter(help="How it ended.")],
    /,
    *,
    note: Annotated[str, Parameter(help="How one knows.")] = "",
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
) -> int:
    """Say how a call with an unknown end ended; who said it, and when, is kept."""
    with _journal(where) as journal:
        try:
            entry = journal.resolve(attempt, outcome, note=note)
        except KeyError:
            raise wrong(f"The journal has no call {visible(attempt, 60)!r}.") from None
    say(str(entry))
    return DONE


def export(
    *,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
) -> int:
    """Write the journal as lines of JSON, private values masked, as they are kept."""
    with _journal(where) as journal:
        _shown(list(journal), Output(output="ndjson"))
    sys.stdout.flush()
    return DONE
