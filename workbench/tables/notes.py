"""What is to be known of a read, in words: where it was cut and why, what the service seems to hide or to ignore."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from workbench.errors import visible
from workbench.interface.rewards import MAX_LIMIT, MAX_OFFSET
from workbench.tables.paging import Walk

HIDDEN = "Redemptions of travel bookings that are PENDING or FAILED are never listed by the service."
"""Source: Endpoints 12."""
SHOWN = 3


@attrs.frozen(kw_only=True)
class Told:
    """What the read of one user came to."""

    end: str
    rows: int
    pages: int
    offset: int
    readings: int
    duplicates: int
    without_id: int
    hidden: bool
    limit_ignored: int | None
    other_type: int = 0  # rows of a type that was not asked for
    why: str = ""  # of a failure

    @property
    def complete(self) -> bool:
        """Whether all rows are there, as far as can be told."""
        return self.end == "all" and not self.other_type

    @classmethod
    def of(cls, said: Walk, *, rows: int, other_type: int = 0, why: str = "") -> "Told":
        """Return what is kept of a walk."""
        return cls(
            end=said.end, rows=rows, pages=said.asked, offset=said.offset, readings=said.readings,
            duplicates=said.duplicates, without_id=said.without_id, hidden=said.hidden,
            limit_ignored=said.limit_ignored, other_type=other_type, why=why,
        )  # fmt: skip


def notes_of(
    told: Mapping[str, Told], wanted: Sequence[str], stopped: str = "", *, names: Mapping[str, str]
) -> list[str]:
    """Say in words what a read came to.

    Args:
        wanted: All users asked for.
        stopped: Why the whole read ended early.
        names: Wire names of the parameters that are guessed.
    """
    words = [stopped] if stopped else []
    missing = [user for user in wanted if user not in told]
    if missing:
        words.append(f"Not read: {_users(missing)}.")
    ends: dict[str, list[str]] = defaultdict(list)
    for user, one in told.items():
        ends[one.end].append(user)
    if users := ends["reach"]:
        words.append(
            f"The offset ends at {MAX_OFFSET:,}: of {_users(users)} the first {MAX_OFFSET + MAX_LIMIT:,} rows at most are "
            "here; reading each type by itself reaches further."
        )
    if users := ends["offset ignored"]:
        words.append(
            f"The service seems to ignore the offset parameter (name: {names['offset']}, assumed): "
            f"of {_users(users)} only the first page is here."
        )
    if users := ends["drift"]:
        words.append(f"The list kept changing while it was read: of {_users(users)} rows may be missing.")
    words += [
        f"User {visible(user, 60)}: stopped at offset {told[user].offset:,}: {told[user].why}"
        for user in ends["failed"]
    ]
    if users := [u for u, one in told.items() if one.limit_ignored]:
        words.append(
            f"The service seems to ignore the limit parameter (name: {names['limit']}, assumed): it gave "
            f"{told[users[0]].limit_ignored} rows a page; none was skipped for that."
        )
    if users := [u for u, one in told.items() if one.other_type]:
        rows = sum(told[u].other_type for u in users)
        words.append(
            f"The service seems to ignore the type parameter (name: {names['type']}, assumed): "
            f"{rows:,} rows of another type are left out."
        )
    if users := [u for u, one in told.items() if one.readings > 1 and one.end == "all"]:
        words.append(f"The list changed while it was read, and was read again: {_users(users)}.")
    if users := [u for u, one in told.items() if one.hidden]:
        words.append(f"Rows followed short pages: the service leaves rows out after paging ({_users(users)}).")
    if count := sum(one.duplicates for one in told.values()):
        words.append(f"{count:,} rows that came twice stand here once.")
    if count := sum(one.without_id for one in told.values()):
        words.append(f"{count:,} rows have no id, so nobody can say whether one came twice.")
    return [*words, HIDDEN]


def _users(users: Iterable[str]) -> str:
    users = list(users)
    shown = ", ".join(visible(user, 60) for user in users[:SHOWN])
    more = f" and {len(users) - SHOWN:,} more" if len(users) > SHOWN else ""
    return f"{'user' if len(users) == 1 else 'users'} {shown}{more}"


def summed_up(users: int, rows: int, complete: bool, notes: int) -> str:
    """Return what a read came to, in a line."""
    whole = "complete" if complete else "not complete"
    return f"of {_counted(users, 'user')}: {_counted(rows, 'row')}, {whole}; {_counted(notes, 'note')}"


def _counted(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"
