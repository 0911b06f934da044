"""Explanation of an amount in the panel: the postings, events and requests that add up exactly to the amount."""

from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from workbench.screens.panel.cells import Column, Rows, rows_of_frame
from workbench.screens.panel.listing import Listing, currency
from workbench.service import rendering

EXPLAINED: Mapping[str, list[str]] = {
    "transactions": ["amount_cents", "held_cents", "posted_cents", "refunded_cents", "net_cents"],
    "cards": ["held_cents", "posted_cents"],
}
"""Columns, by list, whose amounts are sums of transaction amounts."""
_LINKS = "transaction_id:id>transactions card_id:id>cards user_id:id>users event_id:id>events"


def explanation(api: object, transactions: Listing, column: str, ids: Sequence[str]) -> Rows:
    """Return the postings that add up to a column of transactions, or the transactions if events are unknown."""
    from workbench.analysis.reports.explanations import with_events
    from workbench.analysis.reports.measures import Part
    from workbench.screens.panel.money import facts_of

    data = transactions.data
    frame = transactions.frame([data.positions[key] for key in ids if key in data.positions])
    frame = frame.convert_dtypes().rename(columns={"id": "transaction_id"})
    frame = frame[frame[column].notna()]
    table = Part(frame, frame[column].astype("Int64")).table()
    facts, _ = facts_of(api, ids)
    table = table if facts is None else with_events(table, facts, api)
    rows = rows_of_frame(table.rename(columns={"contribution": "contribution_cents"}), _LINKS)
    totals = Counter[str]()
    for cents, code in zip(rows.column("contribution_cents"), rows.column("currency"), strict=True):
        totals[currency(code)] += cents
    total = " + ".join(rendering.money(cents, code) for code, cents in sorted(totals.items())) or rendering.money(0)
    contributions = f"{len(rows.ids):,} contribution{'' if len(rows.ids) == 1 else 's'}"
    notes = [f"{Column(column, 'money').label}: {total}, the sum of {contributions}."]
    notes += ["The events are not known."] * (facts is None)
    return attrs.evolve(rows, names=data.names, notes=tuple(notes))
