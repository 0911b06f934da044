"""`workbench journal …`: the calls with an effect, their outcomes, and the resolution of unknown ones."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from workbench.errors import visible
from workbench.terminal.completion import operations
from workbench.terminal.exits import DONE, prompt_words, say, usage_error
from workbench.terminal.options import App, Parameter
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, chosen_profile

_WHERE, _OUTPUT = Where(), Output()
_File = Annotated[Path | None, Parameter(help="Journal of an application, in this file.")]


@contextmanager
def _journal(where: Where, file: Path | None) -> Iterator[Any]:
    """Open the journal of a profile, of the user's own sandbox, or in a file, without a key and without a connection."""
    from workbench.client.journal import Journal
    from workbench.client.settings import open_profile
    from workbench.client.state import state_folder

    if where.url or where.fresh:
        raise usage_error("A new or a served sandbox keeps no journal after its command ends.")
    name = chosen_profile(where)
    path = state_folder() / f"journal-{name or 'sandbox'}.db"
    if name is not None:
        profile = open_profile(name)
        path = Path(profile.journal) if profile.journal else path
    if file is not None:
        if not file.is_file():
            raise usage_error(f"--path: no file {visible(str(file), 200)}.")
        path = file
    journal = Journal(path)
    try:
        yield journal
    finally:
        journal.close()


def _show(entries: list[Any], how: Output) -> None:
    details = () if how.output == "table" else ("operation", "status", "error", "environment", "answer")
    rows = []
    for entry in entries:
        outcome = f"{entry.final_outcome}{' (resolved)' if entry.resolution else ''}"
        row = {"started": entry.started, "id": entry.id, "outcome": outcome, "what": entry.what}
        row |= {name: getattr(entry, name) for name in details}
        rows.append({**row, "request": dict(entry.request)} if details else row)
    show(rows, how)


def list_calls(
    *,
    outcome: Literal["done", "refused", "not_sent", "unknown", "sending"] | None = None,
    operation: Annotated[str | None, Parameter(completer=operations)] = None,
    text: str | None = None,
    last: int | None = None,
    path: _File = None,
    where: Where = _WHERE,
    how: Output = _OUTPUT,
) -> int:
    """List the calls with an effect and their outcomes.

    Args:
        outcome: Only calls with this outcome.
        operation: Only calls of this operation.
        text: Only calls whose description contains this, as an id.
        last: Show only the last N.
    """
    with _journal(where, path) as journal:
        name = operation.replace("-", "_") if operation else None
        found = journal.list(operation=name, outcome=outcome, text=text)
    _show(found[-last:] if last else found, how)
    return DONE


def list_unknown(*, path: _File = None, where: Where = _WHERE, how: Output = _OUTPUT) -> int:
    """List calls with an unknown outcome, and what to do about each."""
    with _journal(where, path) as journal:
        found = journal.unknown()
    if not found and how.output == "table":
        say("No call has an unknown outcome.")
        return DONE
    _show(found, how)
    for entry in found:
        say(f"{entry.id}: {prompt_words(entry.next_step)}")
    return DONE


def resolve(
    call: str, outcome: Literal["done", "not_sent"], /, *, note: str = "", path: _File = None, where: Where = _WHERE
) -> int:
    """Record the outcome of a call whose outcome was unknown, with who recorded it and when.

    Args:
        call: Id of the call, as the journal lists it.
        outcome: The outcome that was determined.
        note: How the outcome was determined.
    """
    with _journal(where, path) as journal:
        try:
            entry = journal.resolve(call, outcome, note=note)
        except KeyError:
            raise usage_error(f"The journal has no call {visible(call, 60)!r}.") from None
    say(str(entry))
    return DONE


def export(*, path: _File = None, where: Where = _WHERE) -> int:
    """Write the journal as NDJSON, private values masked."""
    with _journal(where, path) as journal:
        _show(list(journal), Output(output="ndjson"))
    sys.stdout.flush()
    return DONE


app = App(name="journal", help="Calls with an effect and their outcomes.")
app.command(list_calls, name="list")
app.command(list_unknown, name="unknown")
app.command(resolve)
app.command(export)
