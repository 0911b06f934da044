"""Result of a rewards read: rows, completeness and caveats. Source: Endpoints 12."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.rewards.folder import in_order, read_folder
from workbench.analysis.rewards.pages import PageCursor, PageReader
from workbench.analysis.tables.rows import WIDTHS, MemoryMark, Notes, Table
from workbench.base.errors import visible
from workbench.service.interface.transactions import MAX_LIMIT, MAX_OFFSET
from workbench.service.rendering.text import counted

_SHOWN = 3
_CAVEATS: tuple[tuple[Callable[[PageCursor], Any], str], ...] = (
    (
        lambda user: user.end == "reach",
        (
            f"The offset ends at {MAX_OFFSET:,}: at most the first {MAX_OFFSET + MAX_LIMIT:,} rows of each type were "
            "read for {users}."
        ),
    ),
    (
        lambda user: user.back_to and user.back_to[:10],
        "The service lists the newest rows first (assumed): pages before {least} were not read.",
    ),
    (
        lambda user: user.by_type and user.end == "all",
        f"The offset ends at {MAX_OFFSET:,}: each type was also read separately for {{users}}, to reach more rows.",
    ),
    (
        lambda user: user.end == "offset ignored",
        (
            "The service seems to ignore the offset parameter (name: {offset}, assumed): only the first page was read "
            "for {users}."
        ),
    ),
    (
        lambda user: user.end == "drift",
        "The list kept changing during the read: rows of {users} may be missing.",
    ),
    (
        lambda user: user.limit_ignored,
        (
            "The service seems to ignore the limit parameter (name: {limit}, assumed): it returned {least} rows a "
            "page; no row was skipped."
        ),
    ),
    (
        lambda user: user.other_type,
        (
            "The service seems to ignore the type parameter (name: {type}, assumed): {total:,} rows of another type "
            "are left out."
        ),
    ),
    (
        lambda user: user.readings > 1 and user.end == "all",
        "The list changed during the read and was read again for {users}.",
    ),
    (lambda user: user.hidden, "More rows followed a short page, so the service seems to hide rows of {users}."),
    (lambda user: user.duplicates, "Repeated rows that were received and removed: {total:,}."),
    (lambda user: user.without_id, "{total:,} rows have no id, so duplicates among them cannot be detected."),
)
"""Caveats of a read: a test of a user's cursor, and the sentence about the users for whom the test has a result."""


@attrs.define(kw_only=True, slots=False, repr=False, eq=False)
class Rewards:
    """Rewards activity of users: `frame()`, `complete`, and `notes` with the caveats."""

    users: Sequence[str]
    reader: PageReader
    path: Path | None = None
    cursors: dict[str, PageCursor] = attrs.field(factory=dict)  # cursor of each user whose read ended or failed
    same_users: set[str] = attrs.field(factory=set)  # users for whom the service returned the same first page
    stopped: str = ""  # reason why the read ended early
    filters: Mapping[str, Any] = attrs.field(factory=dict)  # the requested filters, by argument: type, since, until
    tables: dict[str, list[Table]] = attrs.field(factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all rows of the service were read, as far as can be determined."""
        return not self.same_users and all(u in self.cursors and self.cursors[u].complete for u in self.users)

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats: the rows that were not read, with the reason, and parameters that the service seems to ignore."""
        notes, names = [], self.reader.parameters
        if self.same_users:
            notes.append(
                f"The service seems to ignore the user parameter (name: {names['user_id']}, assumed): "
                f"{len(self.same_users):,} users have the same first rows."
            )
        notes += [self.stopped] if self.stopped else []
        if missing := [user for user in self.users if user not in self.cursors]:
            notes.append(f"Not read: {_listed(missing)}.")
        for test, sentence in _CAVEATS:
            if users := {user: value for user, cursor in self.cursors.items() if (value := test(cursor))}:
                total = sum(value for value in users.values() if isinstance(value, int))
                about = {"users": _listed(users), "least": min(users.values()), "total": total}
                notes.append(sentence.format(**about, **names))
        notes += [
            f"User {visible(user, 60)}: stopped at offset {cursor.offset:,}: {cursor.reason}"
            for user, cursor in self.cursors.items()
            if cursor.end == "failed"
        ]
        return tuple(notes)

    @property
    def rows(self) -> int:
        """Number of rows read."""
        return sum(cursor.rows for cursor in self.cursors.values())

    def __repr__(self) -> str:
        completeness = "complete" if self.complete else "not complete"
        noted = f"; {counted(len(self.notes), 'notes')}" if self.notes else ""
        users, rows = counted(len(self.users), "users"), counted(self.rows, "rows")
        return f"<{type(self).__name__} of {users}: {rows}, {completeness}{noted}>"

    def frame(self) -> pd.DataFrame:
        """Return the rows as one typed frame, with users in the order of the request.

        `attrs` holds `complete` and `notes`.
        """
        tables = [table for user in self.users for table in self.tables.get(user, ())]
        if self.path is not None:
            columns = in_order(read_folder(self.path), self.users)
            with suppress(pa.ArrowInvalid):  # the values need more digits than the narrowest type has
                columns["points"] = pc.cast(columns["points"], WIDTHS[0])
            tables = [Table(columns, Notes())]
        frame = self.reader.frame(tables)
        read = ReadRows()
        read.rows = frame[["user_id", "created_at"]]
        notes = [*dict.fromkeys([*self.notes, *frame.attrs["notes"]])]
        frame.attrs.update(filters=dict(self.filters), complete=self.complete, read=read, notes=notes)
        return frame


def _listed(users: Iterable[str]) -> str:
    users = list(users)
    names = ", ".join(visible(user, 60) for user in users[:_SHOWN])
    more = f" and {len(users) - _SHOWN:,} more" if len(users) > _SHOWN else ""
    return f"{'user' if len(users) == 1 else 'users'} {names}{more}"


class ReadRows(MemoryMark):
    """Users and times of all rows of a read, stored in `frame.attrs["read"]`, to detect gaps in a part of the frame."""

    __slots__ = ("rows",)
    rows: pd.DataFrame

    def missing(self, part: pd.DataFrame) -> int:
        """Return the number of read rows that `part` lacks, for the users and up to the last time in `part`."""
        if len(part) >= len(self.rows) or not len(part):
            return 0
        users = self.rows["user_id"].isin(part["user_id"].unique())
        return int((users & (self.rows["created_at"] <= part["created_at"].max())).sum()) - len(part)
