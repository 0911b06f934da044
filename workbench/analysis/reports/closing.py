"""Monthly close: reports as known at the end of the month, as a workbook, an HTML page and a file of postings."""

import codecs
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.reconciliation import Reconciliations
from workbench.analysis.reports.record_reports import roll_forward_of_disputes
from workbench.analysis.tables.to_file import to_file
from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.system.files import new_folder
from workbench.client.session import sandbox_of
from workbench.service.rendering.text import counted, money

_OF = "history.close"


@attrs.frozen
class Close:
    """Closing reports of a month by sheet name, with the sentences of the closing statement."""

    month: str
    tz: str
    frames: Mapping[str, pd.DataFrame]
    statement: tuple[str, ...]
    record: Mapping[str, Any]
    """Closing balances by currency. The next close compares its opening balances with them."""

    def write(self, folder: str | Path) -> list[Path]:
        """Write a workbook, a page, the postings and the close record into a new folder; return their paths.

        The folder appears only when all its files are complete.

        Raises:
            FileExistsError: The folder exists.
        """
        folder = Path(folder)
        names = [f"close-{self.month}.xlsx", f"close-{self.month}.html", f"postings-{self.month}.csv"]

        with new_folder(folder) as inside:
            for name in names[:2]:
                to_file(self.frames, inside / name, tz=self.tz)
            to_file(self.frames["Postings"], inside / names[2])
            postings = inside / names[2]
            # spreadsheets read a CSV file as UTF-8 only if it has a byte order mark
            postings.write_bytes(codecs.BOM_UTF8 + postings.read_bytes())
            text = json.dumps(self.record, indent=1, sort_keys=True) + "\n"
            (inside / f"close-{self.month}.json").write_text(text, encoding="utf-8")
        return [folder / name for name in (*names, f"close-{self.month}.json")]


class Closes(Reconciliations):
    """The monthly close."""

    def close(
        self: Any,
        month: str,
        *,
        ledger: object = None,
        signed_by: str = "",
        former: str | Path | None = None,
        rewards: object = None,
    ) -> Close:
        """Return the close of a month, from the facts known when the month ended. Its `write` method creates the files.

        Args:
            month: The month, such as "2026-06"; it must be over.
            ledger: A ledger to reconcile with the postings of the month.
            signed_by: Name of the person who signs off; it appears in every file.
            former: Folder of the previous month's close, whose closing balance is compared with this month's opening
                balance.
            rewards: All rewards rows, for the roll-forward of points.

        Raises:
            UsageError: The month is not over, or has no data.
        """
        wanted = self.filter(month)
        since, end, until = wanted.scope.since, wanted.scope.until, self.until
        if len(month) != 7 or end is None or since is None:
            raise UsageError(f'month must be a month such as "2026-03", not {visible(str(month), 40)}', of=_OF)
        if until is None or until < end:
            reach = "no event has a time" if until is None else f"the data end {until.isoformat(timespec='seconds')}"
            raise UsageError(f"{month} is not over: {reach}", of=_OF)
        known = self.filter(at=end)
        of_month = known.filter(month)
        postings = of_month.postings()
        if postings.empty:
            raise UsageError(f"{month} has no data: the history has postings from {_begin(self)}", of=_OF)
        prior, prior_lines = _prior(self, known, former, since)
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
        if (sandbox := sandbox_of(self.source)) is not None:
            disputes = sandbox.records("dispute")
            frames["Disputes"] = roll_forward_of_disputes(disputes, at=end, tz=self.scope.tz)
        if rewards is not None:
            frames["Points"] = type(self)(rewards, known.scope).liability()
        if ledger is not None:
            frames["Reconciliation"] = of_month.reconcile(ledger, signed_by=signed_by)
        sign = f"Signed off by {visible(signed_by, 100)}." if signed_by else "Not signed off."
        statement = [f"Close of {month} ({self.scope.tz}), from the facts known at its end.", *prior_lines]
        statement += frames["Reconciliation"].attrs["statement"] if ledger is not None else [sign]
        statement = [*dict.fromkeys(statement)]
        for frame in frames.values():
            frame.attrs["notes"] = [*statement, *(note for note in frame.attrs["notes"] if note not in statement)]
            frame.attrs["signed_by"] = signed_by
        return Close(month, self.scope.tz, frames, tuple(statement), _record(month, known, signed_by))


def _begin(history: Any) -> str:
    first, last = history.facts["at"].min(), history.facts["at"].max()
    return "no known time" if pd.isna(first) else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def _record(month: str, known: Any, signed_by: str) -> dict[str, Any]:
    """Return a month's closing balances by currency, as the record for the next close."""
    table = known.roll_forward()
    until = table[mask(table["month"] <= pd.Timestamp(month))]
    codes = until["currency"] if "currency" in until else pd.Series([until.attrs.get("currency")] * len(until))
    groups = until.groupby(codes.to_numpy(), dropna=False)["closing_cents"]
    return {
        "month": month,
        "signed_by": signed_by,
        "closing_cents": {str(code): int(cents) for code, cents in groups.last().items()},
    }


def _prior(history: Any, known: Any, former: str | Path | None, since: datetime) -> tuple[pd.DataFrame, list[str]]:
    """Return postings of earlier months that the previous close did not know, and sentences about their amounts."""
    start, facts = pd.Timestamp(since), known.facts
    late = mask((facts["known_at"] >= start) & (facts["at"] < start))
    lines = ["No previous close was passed, so the opening balance is not compared with a closing balance."]
    if former is not None:
        record, signed_ids = _former(Path(former))
        of_month, _ = history.scope.changed(record["month"], None, None, None).rows(facts, "at")
        late = late | facts.index.isin(of_month.index[~of_month["event_id"].isin(signed_ids)])
        signed, now = record["closing_cents"], _record(record["month"], known, "")["closing_cents"]
        lines = []
        for code in sorted({*signed, *now}):
            cents = (signed.get(code, 0), now.get(code, 0), now.get(code, 0) - signed.get(code, 0))
            before, opening, change = (money(amount, code) for amount in cents)
            lines.append(
                f"Opening: {before} in the close signed by {record['signed_by'] or 'nobody'}, {opening} now; "
                f"change {change}."
            )
    rows = facts[late & mask((facts["net_cents"] != 0) | (facts["held_cents"] != 0))].reset_index(drop=True)
    for code, part in rows.groupby("currency", dropna=False):
        net = money(int(part["net_cents"].sum()), str(code))
        lines.append(
            f"Prior period: {net} net in {counted(len(part), 'postings')} of earlier months, first known this month."
        )
    return known._marked(known._own(rows), "prior_period", notes=lines, noun="postings"), lines


def _former(folder: Path) -> tuple[dict[str, Any], set[str]]:
    """Return the record of a previous close, and the event ids of its postings."""
    paths = sorted(folder.glob("close-*.json"))
    if len(paths) != 1:
        raise UsageError(f"{visible(str(folder), 200)} is not the folder of a close (close-*.json)", of=_OF)
    try:
        record: Any = strict_json.loads(paths[0].read_bytes())
    except strict_json.NotJson as error:
        raise UsageError(f"{paths[0].name} is not the record of a close: {error}", of=_OF) from None
    if not isinstance(record, dict) or {"month", "signed_by", "closing_cents"} - set(record):
        raise UsageError(f"{paths[0].name} is not the record of a close", of=_OF)
    postings = pd.read_csv(folder / f"postings-{record['month']}.csv", dtype="str", encoding="utf-8-sig")
    return record, set(postings["event_id"].dropna())
