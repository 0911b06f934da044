"""One read of rewards activity: the job that reads, its result, and the caveats of the result."""

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import Forbidden, Unauthorized, visible
from workbench.interface.transactions import MAX_LIMIT, MAX_OFFSET, ListRewardsActivity
from workbench.interface.walk import member
from workbench.storage import uninterrupted
from workbench.tables.columns import EXTRA
from workbench.tables.folder import SCHEMA, Folder, read_folder, uniform
from workbench.tables.reading import ReadFilter, Reading
from workbench.tables.rewards_pages import PageCursor, with_users
from workbench.tables.rows import TEXT, WIDTHS, Notes, Table, arrow_table, table_frame

HIDDEN = "Redemptions of travel bookings that are PENDING or FAILED are never listed by the service."
"""Source: Endpoints 12."""
_PARAMETERS = ("user_id", "type", "limit", "offset")
_SHOWN = 3
_INTERRUPTED = "The read was interrupted; rows read so far are kept."


class Rewards:
    """Rewards that were read: `frame()`, whether they are `complete`, and `notes` with their caveats."""

    def __init__(
        self, users: tuple[str, ...], reading: Reading, finished: Mapping[str, PageCursor], names: Mapping[str, str],
        earlier: "Rewards | None", path: Path | None,
    ) -> None:  # fmt: skip
        self.users = users
        self.cursors = {**finished, **reading.cursors}
        self.started = reading.started
        self.tables: dict[str, list[Table]] = {**(earlier.tables if earlier else {}), **reading.tables}
        self.path = path
        self._routes = reading.routes
        self._same = frozenset(reading.same_users)
        self._stopped = reading.stopped
        self._reader, self._names = reading.reader, names
        order = {user: place for place, user in enumerate(users)}
        changes = sorted(reading.changes, key=lambda one: order[one["user_id"]])
        self._changes = changes if reading.refreshed else None

    @property
    def changes(self) -> pd.DataFrame:
        """What a refresh found: user_id, type, id, change ("new", "changed" or "gone"), and the columns that changed."""
        return pd.DataFrame(self._changes or [], columns=["user_id", "type", "id", "change", "columns"], dtype=TEXT)

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Users that were not read to their end; `read(…, resume=rewards)` continues with them."""
        return tuple(u for u in self.users if u not in self.cursors or self.cursors[u].end == "failed")

    @property
    def complete(self) -> bool:
        """Whether every row that the service shows was read, as far as can be known."""
        return not self._same and all(u in self.cursors and self.cursors[u].complete for u in self.users)

    @property
    def notes(self) -> tuple[str, ...]:
        """The caveats: what was not read and why, and parameters that the service seems to ignore."""
        notes = read_notes(self.cursors, self.users, self._names, self._stopped)
        if self._same:
            notes.insert(
                0,
                f"The service seems to ignore the user parameter (name: {self._names['user_id']}, assumed): "
                f"{len(self._same):,} users have the same first rows.",
            )
        if self._changes is not None:
            counts = Counter(one["change"] for one in self._changes)
            found = ", ".join(f"{counts[change]:,} {change}" for change in ("new", "changed", "gone"))
            notes.insert(0, f"Refreshed: rows that are {found}; see `changes`.")
        return tuple(notes)

    @property
    def rows(self) -> int:
        """Number of rows read."""
        return sum(cursor.rows for cursor in self.cursors.values())

    def frame(self) -> pd.DataFrame:
        """Return the rows as one typed frame, users in the order requested; `attrs` holds `complete` and `notes`."""
        plan, shown, routes = self._reader.plan, self._reader.shown, {"routes": self._routes}
        if self.path is not None:
            tables, routes = [self._from_folder(self.path)], {}
        else:
            tables = [Table(dict(t.columns), t.notes) for user in self.users for t in self.tables.get(user, ())]
            tables = tables or [with_users(arrow_table(plan, [], shown), (), ())]
        frame = table_frame(plan, tables, shown, **routes)
        notes = self.notes
        frame.attrs.update(complete=self.complete, notes=[*notes, *(n for n in frame.attrs["notes"] if n not in notes)])
        return frame

    def table(self) -> Any:
        """Return the rows as one Arrow table in the schema of folders."""
        tables = [uniform(pa.table(table.columns)) for user in self.users for table in self.tables.get(user, ())]
        return pa.concat_tables(tables or [SCHEMA.empty_table()])

    def _from_folder(self, path: Path) -> Table:
        table = read_folder(path)
        places = pc.index_in(table.column("user_id"), value_set=pa.array(self.users, pa.large_string()))
        table = table.take(pc.array_sort_indices(places.combine_chunks())).combine_chunks()
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        with suppress(pa.ArrowInvalid):  # they need more digits
            columns["points"] = pc.cast(columns["points"], WIDTHS[0])
        return Table(columns, Notes(unknown_members=self._reader.unknown_members(columns[EXTRA])))

    def update(self, later: "Rewards") -> None:
        """Become the result of a later read that resumed this one."""
        self.__dict__.update(later.__dict__)

    def __repr__(self) -> str:
        return f"<Rewards {summary_line(len(self.users), self.rows, self.complete, len(self.notes))}>"


def parameter_names(api: Any) -> dict[str, str]:
    """Return the wire names of the query parameters, which are assumed."""
    return {
        name: api.converter.wire_name(ListRewardsActivity, member(ListRewardsActivity, name)) for name in _PARAMETERS
    }


async def read_users(
    api: Any, users: tuple[str, ...], wanted: ReadFilter, *, path: str | Path | None, resume: Rewards | None,
    refresh: timedelta | None = None, running: Callable[[Reading], None] | None = None, **how: Any,
) -> Rewards:  # fmt: skip
    """Read, and return the result.

    Args:
        api: The client, of either kind.
        users: Ids of the users.
        wanted: Which of their rows are kept.
        path: A folder for the rows.
        resume: The result of an earlier read.
        refresh: Read again what is new in the folder, and what may have changed within this time before the newest row.
        running: Called with the read before it begins, so that another thread can stop it.
        how: Other arguments of `Reading`.
    """
    folder = None if path is None else Folder(Path(path), wanted.as_json())
    finished = {} if folder is None else dict(folder.done)
    if resume is not None:
        finished |= {user: cursor for user, cursor in resume.cursors.items() if cursor.end != "failed"}
    known = {} if folder is None or refresh is None else folder.known(refresh)
    left = [user for user in users if user not in finished or user in known]
    started = None if resume is None else resume.started
    reading = Reading(api, left, wanted, folder=folder, started=started, known=known, **how)
    if running is not None:
        running(reading)
    await reading.run()
    if folder is not None:
        folder.tidy()
    rewards = Rewards(users, reading, finished, parameter_names(api), resume, None if folder is None else folder.path)
    failure = reading.failure
    nothing = all(cursor.end == "failed" for cursor in reading.cursors.values())
    if failure is not None and (nothing or isinstance(failure, Unauthorized | Forbidden)):
        failure.partial = rewards  # type: ignore[attr-defined]
        failure.add_note(f"{rewards.rows:,} rows were read before; error.partial holds them.")
        raise failure
    return rewards


def read_in_thread(api: Any, users: tuple[str, ...], wanted: ReadFilter, **how: Any) -> Rewards:
    """Read in an event loop of its own thread, so that it works where a loop runs already, as in notebooks.

    The threads share plain lists and a queue, which need no lock of Python code: an interrupt may leave such a lock held, and the other
    thread would wait for it for ever.
    """
    ended: list[Rewards | BaseException] = []
    begun: list[Reading] = []
    wakeup: SimpleQueue[None] = SimpleQueue()
    interrupted = False

    def begin(reading: Reading) -> None:
        begun.append(reading)
        if interrupted:
            reading.stop(_INTERRUPTED)

    def work() -> None:
        try:
            ended.append(asyncio.run(read_users(api, users, wanted, running=begin, **how)))
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            ended.append(error)
        wakeup.put(None)

    def result() -> Rewards:
        while not ended:
            with suppress(Empty):
                wakeup.get(timeout=0.2)  # an endless wait cannot be interrupted on all platforms
        if isinstance(ended[0], BaseException):
            raise ended[0]
        return ended[0]

    try:
        with uninterrupted:  # a thread whose start is interrupted may wait for ever
            threading.Thread(target=work, name="workbench-read", daemon=True).start()
        return result()
    except BaseException as error:
        interrupted = True
        for reading in begun:
            reading.stop(_INTERRUPTED)
        if not isinstance(error, KeyboardInterrupt) or not begun:
            raise
        rewards = result()  # a second interrupt leaves at once
        rewards._stopped = _INTERRUPTED  # also where it had ended by then
        return rewards


# -- notes


def read_notes(
    cursors: Mapping[str, PageCursor], users: Sequence[str], names: Mapping[str, str], stopped: str = ""
) -> list[str]:
    """Return the caveats of a read as sentences.

    Args:
        cursors: The read of each user.
        users: All users requested.
        names: Wire names of the query parameters, which are assumed.
        stopped: Why the read ended early.
    """
    notes = [stopped] if stopped else []
    missing = [user for user in users if user not in cursors]
    if missing:
        notes.append(f"Not read: {_listed(missing)}.")
    by_end: dict[str, list[str]] = defaultdict(list)
    for user, cursor in cursors.items():
        by_end[cursor.end].append(user)
    if found := by_end["reach"]:
        notes.append(
            f"The offset ends at {MAX_OFFSET:,}: of {_listed(found)} the first {MAX_OFFSET + MAX_LIMIT:,} rows of each type "
            "at most were read."
        )
    if found := [cursor.back_to for cursor in cursors.values() if cursor.back_to]:
        notes.append(
            f"The service lists the newest rows first (assumed): pages before {min(found)[:10]} were not read."
        )
    if found := [u for u, s in cursors.items() if s.by_type and s.end == "all"]:
        notes.append(
            f"The offset ends at {MAX_OFFSET:,}: {_listed(found)} was read by type too, which reaches further."
        )
    if found := by_end["offset ignored"]:
        notes.append(
            f"The service seems to ignore the offset parameter (name: {names['offset']}, assumed): "
            f"of {_listed(found)} only the first page was read."
        )
    if found := by_end["drift"]:
        notes.append(f"The list kept changing while it was read: of {_listed(found)} rows may be missing.")
    notes += [
        f"User {visible(user, 60)}: stopped at offset {cursors[user].offset:,}: {cursors[user].reason}"
        for user in by_end["failed"]
    ]
    if found := [u for u, s in cursors.items() if s.limit_ignored]:
        notes.append(
            f"The service seems to ignore the limit parameter (name: {names['limit']}, assumed): it returned "
            f"{cursors[found[0]].limit_ignored} rows a page; none was skipped."
        )
    if found := [u for u, s in cursors.items() if s.other_type]:
        rows = sum(cursors[u].other_type for u in found)
        notes.append(
            f"The service seems to ignore the type parameter (name: {names['type']}, assumed): "
            f"{rows:,} rows of another type are left out."
        )
    if found := [u for u, s in cursors.items() if s.readings > 1 and s.end == "all"]:
        notes.append(f"The list changed while it was read, and was read again: {_listed(found)}.")
    if found := [u for u, s in cursors.items() if s.hidden]:
        notes.append(f"Rows followed short pages: the service leaves rows out after paging ({_listed(found)}).")
    if count := sum(s.duplicates for s in cursors.values()):
        notes.append(f"{count:,} rows were received twice and are here once.")
    if count := sum(s.without_id for s in cursors.values()):
        notes.append(f"{count:,} rows have no id, so duplicates among them cannot be detected.")
    return [*notes, HIDDEN]


def _listed(users: Iterable[str]) -> str:
    users = list(users)
    shown = ", ".join(visible(user, 60) for user in users[:_SHOWN])
    more = f" and {len(users) - _SHOWN:,} more" if len(users) > _SHOWN else ""
    return f"{'user' if len(users) == 1 else 'users'} {shown}{more}"


def summary_line(users: int, rows: int, complete: bool, notes: int) -> str:
    """Return the result of a read in one line."""
    completeness = "complete" if complete else "not complete"
    return f"of {_counted(users, 'user')}: {_counted(rows, 'row')}, {completeness}; {_counted(notes, 'note')}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
