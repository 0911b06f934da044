"""Explanation of a number in the panel: the postings or rows, events and requests that add up exactly to the number."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from workbench.client.session import sandbox_of
from workbench.screens.panel import lists as things
from workbench.screens.panel.cells import Column, Rows, rows_of_frame
from workbench.screens.panel.listing import Listing, currency
from workbench.service import rendering

if TYPE_CHECKING:
    import pandas as pd

_LINKS = {"transaction_id": "transactions", "card_id": "cards", "user_id": "users", "event_id": "events"}
# amounts of a card that are computed from its transactions
_FROM_TRANSACTIONS = frozenset({"held_cents", "posted_cents"})
COUNT = ""
"""Instead of a column: the number of rows."""
APPROVED = "approved"
"""Instead of a column of transactions: the share that was not declined."""


@attrs.frozen(kw_only=True)
class Number:
    """A number in the panel, which is the sum of a list's column over one row or over the filtered rows.

    Args:
        of: Name of the list.
        column: Name of the column, or COUNT or APPROVED.
        key: Id of the row.
        ids: Ids of the rows, if `key` is not given. The default is all rows.
    """

    of: str
    column: str
    key: str | None = None
    ids: Sequence[str] | None = None

    def rows(self, api: object, lists: Mapping[str, Callable[[], Listing]]) -> Rows:
        """Return the rows behind the number. Their contributions add up to the number.

        Args:
            lists: Functions that return the number's list and the list of transactions.
        """
        listing, numbers = self._contributing(lists)
        data = listing.data
        kinds = {column.name: column.kind for column in data.columns}
        kind = kinds.get(self.column, "number")
        values: Sequence[object] | int = 1
        if self.column == APPROVED:
            status = data.column("status")
            values = [int(status[number] != "declined") for number in numbers]
        elif self.column:
            cells = data.column(self.column)
            numbers = [number for number in numbers if cells[number] is not None]
            if kind == "money" and self.key is None:
                statuses = data.column("status")  # sums leave out declined amounts
                numbers = [number for number in numbers if statuses[number] != "declined"]
            values = [cells[number] for number in numbers]
        table = _table(api, listing, numbers, values, "Int64" if kind == "money" else None)
        return _as_rows(table, listing, f"contribution{'_cents' if kind == 'money' else ''}", self._note)

    def _contributing(self, lists: Mapping[str, Callable[[], Listing]]) -> tuple[Listing, list[int]]:
        listing = lists[self.of]()
        positions = listing.data.positions
        if self.of == "cards" and self.key is not None and self.column in _FROM_TRANSACTIONS:
            listing = lists["transactions"]()
            return listing, [number for number, card in enumerate(listing.data.column("card_id")) if card == self.key]
        if self.key is not None:
            return listing, [positions[self.key]] if self.key in positions else []
        if self.ids is None:
            return listing, [*range(len(listing))]
        return listing, [positions[key] for key in self.ids if key in positions]

    def _note(self, data: Rows) -> str:
        count = len(data.ids)
        values = data.cells[0]
        if self.column == APPROVED:
            return (
                f"Approval rate: {sum(values):,} approved of {count:,} are {sum(values) / count:.1%}."
                if count
                else "No rows."
            )
        contributions = f"{count:,} contribution{'' if count == 1 else 's'}"
        if not self.column or data.columns[0].kind != "money" or not count:
            return f"{contributions} add up to the number."
        totals = Counter[str]()
        for cents, code in zip(values, data.column("currency"), strict=True):
            totals[currency(code)] += cents
        total = " + ".join(rendering.money(cents, code) for code, cents in sorted(totals.items()))
        return f"{Column(self.column, 'money').label}: {total}, the sum of {contributions}."


def _table(
    api: object, listing: Listing, numbers: Sequence[int], values: Sequence[object] | int, dtype: str | None
) -> "pd.DataFrame":
    """Return the rows with their contributions. For transactions, return postings, events and requests."""
    import pandas as pd

    from workbench.analysis.reports.explanations import with_events
    from workbench.analysis.reports.history import history
    from workbench.analysis.reports.measures import Part

    names = [column.name for column in listing.data.columns]
    if listing.name == "transactions":
        names[names.index("id")] = "transaction_id"
    cells = zip(names, listing.data.cells, strict=True)
    frame = pd.DataFrame({name: [column[number] for number in numbers] for name, column in cells})
    series = pd.Series([values] * len(frame) if isinstance(values, int) else [*values], dtype=dtype or "object")
    table = Part(frame, series, "sum" if dtype else "count").table()  # a rate also counts rows that contribute 0
    if "transaction_id" not in table:
        return table
    sandbox, wanted = sandbox_of(api), set(table["transaction_id"])
    if sandbox is not None:
        events: list[Any] = [event for event in sandbox.events() if event.payload["body"].get("id") in wanted]
    else:
        events = [event for event in things.received(api) if getattr(event.event.body, "id", None) in wanted]
    return with_events(table, history(events).facts, api) if events else table


def _as_rows(table: "pd.DataFrame", listing: Listing, first: str, note: Callable[[Rows], str]) -> Rows:
    known = {column.name: column for column in listing.data.columns}
    rows = rows_of_frame(table.rename(columns={"contribution": first}))
    columns = []
    for column in rows.columns:
        same = known.get(column.name, column)
        to = _LINKS.get(column.name) or (listing.name if column.name == "id" else same.to)
        kind = column.kind if column.kind == "hidden" and column.name != "currency" else same.kind
        columns.append(Column(column.name, kind, to))
    shown = attrs.evolve(rows, columns=tuple(columns), names=listing.data.names)
    notes = [note(shown)]
    if "event_ids" not in table and "transaction_id" in table:
        notes.append("The events are not listed: they are unknown, or too many.")
    return attrs.evolve(shown, notes=tuple(notes))
