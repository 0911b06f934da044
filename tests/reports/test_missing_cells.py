"""Frames with missing cells or columns: reports state the amounts of omitted rows, or refuse the frame."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.charts import samples
from tests.each import across
from workbench.analysis.reports.record_reports import disputes_of
from workbench.base.errors import UsageError


@cache
def sources() -> dict[str, pd.DataFrame]:
    """Return frames of each kind that a history accepts, with more rows than columns."""
    with wb.connect(seed=7) as api:
        wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=3, days=30), progress=False)
        events = wb.to_frame(api.inbox.events())
        records = pd.DataFrame([dict(record) for record in api.sandbox.records("transaction")][-60:])
        history = wb.history(api.inbox.events())
        disputes, _ = disputes_of(api)
        contracts = wb.to_frame(api.list_contracts())
    rewards = samples.rewards()
    return {
        "transactions": history.transactions().drop(columns="net_cents"),
        "postings": history.postings(),
        "events": events[events["kind"].str.startswith("transaction.")].reset_index(drop=True),
        "records": records,
        "rewards": pd.concat([rewards.assign(id=rewards["id"] + f"/{n}") for n in range(3)]),
        "contracts": pd.concat([contracts] * 6),
        "values": pd.concat([wb.history(contracts).contracts()] * 2),
        "disputes": disputes,
        "changes": samples.history().assign(previous=None),
    }


REPORTS: dict[str, Callable[[Any], pd.DataFrame]] = {
    **dict.fromkeys(("transactions", "postings", "events", "records"), lambda history: history.postings()),
    "rewards": lambda history: history.points(),
    **dict.fromkeys(("contracts", "values"), lambda history: history.contracts(())),
    "disputes": lambda history: history.filter(at="2026-12-01").disputes(),
    "changes": lambda history: history.time_in_status(),
}
"""The report that shows all amounts of a source, by its kind."""


def report(source: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the report of a source."""
    return REPORTS[kind](wb.history(source))


AMOUNTS = {"transactions": "posted_cents", "postings": "posted_cents", "records": "settled", "rewards": "points"}
"""The column of a source whose sum the report has, together with what it leaves out."""


def total(frame: pd.DataFrame, kind: str) -> Any:
    """Return a report's amount including what it leaves out; for rewards, the sum of all flows."""
    left: Any = sum(
        entry.get("points" if kind == "rewards" else "posted_cents", 0) for entry in frame.attrs["left_out"]
    )
    if kind == "rewards":
        return left + frame["earned"].sum() - frame["clawed_back"].sum() + frame["redeemed"].sum()
    return left + frame["posted_cents"].sum()


@pytest.mark.parametrize("kind", REPORTS)
def test_a_cell_of_each_column_may_be_missing(kind: str) -> None:
    """With a missing cell in each column, the reported and the omitted amounts add up to the source's."""
    source = sources()[kind].reset_index(drop=True)
    marks = source.attrs
    for place, name in enumerate(source.columns):
        if kind == "records" and name in {"kind", "authorized", "held", "settled", "refunded"}:
            continue  # reports refuse a missing cell in these columns, as a test below shows
        cells = source[name].astype(object)
        cells.iloc[len(source) - 1 - place] = None
        source[name] = cells.astype("Int64" if source[name].dtype == "int64" else source[name].dtype)
    source.attrs = marks
    frame = report(source, kind)

    assert len(source) > len(source.columns)
    if kind in AMOUNTS:
        assert total(frame, kind) == source[AMOUNTS[kind]].sum()


@pytest.mark.parametrize("name", ["kind", "authorized", "held", "settled", "refunded"])
def test_a_record_has_its_kind_and_amounts(name: str) -> None:
    """Stored transactions without kind or amounts are refused."""
    source = sources()["records"].iloc[-3:]
    with pytest.raises(UsageError, match=f"{name}|kind"):
        wb.history(source.assign(**{name: source[name].where(source.index != source.index[1])})).postings()


@pytest.mark.slow
@pytest.mark.parametrize("kind, half", across(REPORTS, [0, 1]))
def test_a_column_may_be_missing(kind: str, half: int) -> None:
    """A report works without the column, or an error says what is missing."""
    source, refused = sources()[kind].iloc[-30:], []
    for name in source.columns[half::2]:
        try:
            report(source.drop(columns=name), kind)
        except UsageError as error:
            refused.append(str(error))

    assert all(re.search("expected|must have exactly one column|has no column", message) for message in refused)


def test_rows_without_an_id_are_not_reads_of_one_transaction() -> None:
    """Rows without an id are left out with their amounts, even if they have the same update time."""
    known = sources()["transactions"]
    source = pd.concat([known, known.iloc[[6]]], ignore_index=True)
    source.loc[:3, "transaction_id"] = None
    source.loc[:3, "updated_at"] = source["updated_at"].iloc[0]
    spend = wb.history(source).spend(())
    (left,) = spend.attrs["left_out"]

    assert left["rows"] == 4
    assert spend["posted_cents"].sum() + left["posted_cents"] == known["posted_cents"].sum()
