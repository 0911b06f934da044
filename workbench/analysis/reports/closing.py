"""Monthly close: reports as known at the end of the month, in one workbook, one page and a ledger."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pandas as pd

from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.record_reports import roll_forward_of_disputes
from workbench.analysis.tables.frames import to_file
from workbench.analysis.tables.rows import mark_report
from workbench.base.errors import UsageError, visible
from workbench.base.system.files import write_folder
from workbench.client.session import sandbox_of
from workbench.service.rendering.text import money

if TYPE_CHECKING:
    from workbench.analysis.reports.history import History

_OF = "history.close"
_SIGNED = ("closing_cents",)


@attrs.frozen
class Close:
    """The reports of a month by sheet name, and what its statement says."""

    month: str
    tz: str
    frames: Mapping[str, pd.DataFrame]
    statement: tuple[str, ...]
    record: Mapping[str, Any]
    """What the next close compares its opening with."""

    def write(self, folder: str | Path) -> list[Path]:
        """Write a workbook, a page, the postings as CSV and the record of the close into a new folder; return the files.

        All files appear at once: a close that is killed leaves none.

        Raises:
            FileExistsError: The folder exists.
        """
        folder = Path(folder)
        names = [f"close-{self.month}.xlsx", f"close-{self.month}.html", f"postings-{self.month}.csv"]

        def write(inside: Path) -> None:
            for name in names[:2]:
                to_file(self.frames, inside / name, tz=self.tz)
            to_file(self.frames["Postings"], inside / names[2])
            text = json.dumps(self.record, indent=1, sort_keys=True) + "\n"
            (inside / f"close-{self.month}.json").write_text(text, encoding="utf-8")

        write_folder(folder, write)
        return sorted(folder.iterdir())


def close(
    history: "History", month: str, *, ledger: object, signed_by: str, former: str | Path | None
) -> Close:
    """Return the close of a month of a history."""
    wanted = history.filter(month)
    end, until = wanted.scope.until, history.until
    if len(month) != 7 or end is None:
        raise UsageError(f'month must be as "2026-03", not {visible(str(month), 40)}', of=_OF)
    if until is None or until < end:
        reach = "no event has a time" if until is None else f"the data end {until.isoformat(timespec='seconds')}"
        raise UsageError(f"{month} is not over: {reach}", of=_OF)
    known = history.filter(at=end)
    of_month = known.filter(month)
    postings = of_month.postings()
    if postings.empty:
        raise UsageError(f"{month} has no data: the history has postings from {_begin(history)}", of=_OF)
    prior, prior_lines = _prior(history, known, former, end)
    roll_forward = known.roll_forward()
    frames = {
        "Roll-forward": roll_forward,
        "Prior period": prior,
        "Spend by category": of_month.spend(),
        "Spend by merchant": of_month.spend("merchant_name"),
        "Approvals by day": of_month.approvals(),
        "Declines": of_month.declines(),
        "Changes": of_month.changes(),
        "Anomalies": known.anomalies(),
        "Postings": postings,
    }
    if (sandbox := sandbox_of(history.source)) is not None:
        disputes = sandbox.records("dispute")
        frames["Disputes"] = roll_forward_of_disputes(disputes, at=end, tz=history.scope.tz)
    if ledger is not None:
        frames["Reconciliation"] = of_month.reconcile(ledger, signed_by=signed_by)
    sign = f"Signed off by {visible(signed_by, 100)}." if signed_by else "Not signed off."
    statement = [f"Close of {month} ({history.scope.tz}), from what was known at its end.", *prior_lines]
    statement += frames["Reconciliation"].attrs["statement"] if ledger is not None else [sign]
    statement = [*dict.fromkeys(statement)]
    for frame in frames.values():
        frame.attrs["notes"] = [*statement, *(note for note in frame.attrs["notes"] if note not in statement)]
        frame.attrs["signed_by"] = signed_by
    return Close(month, history.scope.tz, frames, tuple(statement), _record(month, known, postings, signed_by))


def _begin(history: "History") -> str:
    first, last = history.facts["at"].min(), history.facts["at"].max()
    return "no known time" if pd.isna(first) else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def _record(month: str, known: "History", postings: pd.DataFrame, signed_by: str) -> dict[str, Any]:
    """Return what a later close needs: the closing balances and the postings that were known."""
    table = known.roll_forward()
    until = table[mask(table["month"] <= pd.Timestamp(month))]
    codes = until["currency"] if "currency" in until else pd.Series([until.attrs.get("currency")] * len(until))
    closing = {str(code): int(rows["closing_cents"].iloc[-1]) for code, rows in until.groupby(codes.to_numpy(), dropna=False)}
    ids = sorted(known.facts["event_id"].dropna().unique())
    return {"month": month, "signed_by": signed_by, "closing_cents": closing, "events": ids, "postings": len(postings)}


def _prior(
    history: "History", known: "History", former: str | Path | None, end: datetime
) -> tuple[pd.DataFrame, list[str]]:
    """Return the postings of earlier months that arrived after those months were closed, and what they change."""
    start = pd.Timestamp(history.filter(f"{pd.Timestamp(end) - pd.Timedelta(days=2):%Y-%m}").scope.since)
    facts = known.facts
    lines = []
    if former is not None:
        record = _former(Path(former))
        late = mask(facts["event_id"].notna() & ~facts["event_id"].isin(record["events"]) & (facts["at"] < start))
        signed, now = record["closing_cents"], _record(record["month"], known, facts, "")["closing_cents"]
        for code in sorted({*signed, *now}):
            change = now.get(code, 0) - signed.get(code, 0)
            amounts = [money(cents, code) for cents in (signed.get(code, 0), now.get(code, 0), change)]
            lines.append(f"Opening: signed {amounts[0]}, now {amounts[1]}, changed since by {amounts[2]}.")
    else:
        lines = ["No former close was given: the opening is not compared with a signed one."]
        late = mask((facts["known_at"] >= start) & (facts["at"] < start))
    rows = facts[late].reset_index(drop=True)
    money_rows = rows[mask((rows["net_cents"] != 0) | (rows["held_cents"] != 0))].reset_index(drop=True)
    for code, part in money_rows.groupby("currency", dropna=False):
        net = money(int(part["net_cents"].sum()), str(code))
        lines.append(f"Prior period: {len(part):,} postings of earlier months arrived in this one, {net} net.")
    return mark_report(known._own(money_rows), "prior_period", lines), lines


def _former(folder: Path) -> dict[str, Any]:
    paths = sorted(folder.glob("close-*.json"))
    if len(paths) != 1:
        raise UsageError(f"{visible(str(folder), 200)} is not the folder of a close", of=_OF)
    from workbench.base.schema import strict_json

    try:
        record = strict_json.loads(paths[0].read_bytes())
    except strict_json.NotJson as error:
        raise UsageError(f"{paths[0].name} is not the record of a close: {error}", of=_OF) from None
    if not isinstance(record, dict) or not isinstance(record.get("closing_cents"), dict):
        raise UsageError(f"{paths[0].name} is not the record of a close", of=_OF)
    return record
