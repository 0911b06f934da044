"""Compare the reports of one history from many sources: logs, inboxes, frames, files and records.

python -m tests.reports.sources FIRST [LAST]             prints the differences for the seeds from FIRST to LAST
python -m tests.reports.sources FIRST LAST --write FILE   adds the results to a file, so that a run can be continued later
python -m tests.reports.sources --table FILE              writes the table of these results into comparisons.md
"""

import gzip
import io
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

import workbench as wb
from tests.reports.raw_log import play
from workbench.analysis.reports.history import History

Delivery = dict[str, Any]
REPORTS: Mapping[str, Callable[[History], pd.DataFrame]] = {
    "transactions": lambda h: h.transactions(),
    "postings": lambda h: h.postings(),
    "spend": lambda h: h.spend(),
    "spend by card": lambda h: h.spend("card_id"),
    "spend by month": lambda h: h.spend(freq="month"),
    "spend of March": lambda h: h.filter("2026-03").spend("merchant_name"),
    "approvals": lambda h: h.approvals(),
    "approvals by month": lambda h: h.approvals("merchant_name", freq="month"),
    "declines": lambda h: h.declines(),
    "funnel": lambda h: h.funnel(),
    "posting times": lambda h: h.posting_times("merchant_category"),
    "cohorts": lambda h: h.cohorts(),
    "changes": lambda h: h.filter("2026-03").changes(),
    "roll-forward": lambda h: h.roll_forward(),
    "anomalies": lambda h: h.anomalies(),
}
OF_A_PERIOD = ("spend of March", "changes")
AMOUNTS = ("posted_cents", "refunded_cents", "net_cents")


@cache
def deliveries(seed: int) -> tuple[Any, list[Delivery]]:
    """Return a session after a hundred days, and its deliveries without transactions of the initial world."""
    api = wb.connect(seed=seed)
    rows = play(api, seed)
    begun = {row["event"]["body"]["id"] for row in rows if row["event"]["action"] == "created"}
    return api, [row for row in rows if row["event"]["body"]["id"] in begun]


def _lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class Sources:
    """The sources of a history, or of its second half, which lacks the first events of some transactions."""

    def __init__(self, seed: int, folder: Path, *, half: bool = False) -> None:
        self.api, self.rows = deliveries(seed)
        self.rows = self.rows[len(self.rows) // 2 :] if half else self.rows
        self.payloads = [row["event"] for row in self.rows]
        self.folder, self.seed = folder, seed
        self.reference = wb.history(self.rows)
        self.expected: dict[str, pd.DataFrame] = {}

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def frame(self, name: str) -> pd.DataFrame:
        report = getattr(self.reference, name)
        frame: pd.DataFrame = report()
        return frame

    def of_rows(self, events: list[Any]) -> list[Any]:
        """Return the events that are also in `rows`."""
        ids = {payload["id"] for payload in self.payloads}
        return [event for event in events if event.event.id in ids]

    def late(self) -> list[Delivery]:
        """Return the deliveries in order of arrival, if each event that states its time arrives three days later."""
        own = {"created": "authorizedAt", "completed": "postedAt"}
        rows = []
        for row in self.rows:
            event = row["event"]
            spend, at = event["body"]["spend"], datetime.fromisoformat(row["at"])
            is_timed = spend.get("amount", 0) >= 0 and spend.get(own.get(event["action"], ""))
            rows.append({"at": (at + timedelta(days=3 * bool(is_timed))).isoformat(), "event": event})
        return sorted(rows, key=lambda row: row["at"])

    def with_odd_members(self) -> list[Any]:
        """Return payloads with a number as category code, a text as amount, and an undocumented member."""
        payloads = json.loads(json.dumps(self.payloads))
        for number, payload in enumerate(payloads):
            spend = payload["body"]["spend"]
            spend["merchantCategoryCode"] = int(spend["merchantCategoryCode"])
            spend["amount"] = str(spend["amount"]) if number % 3 == 0 else spend["amount"]
            payload["body"]["isActive"] = "true"
        return list(payloads)

    def shuffled(self, rows: list[Any]) -> list[Any]:
        return random.Random(self.seed).sample(rows, len(rows))

    def folder_of_days(self) -> Path:
        """Return a folder with files of overlapping days, one of them compressed."""
        path = self.folder / "days"
        path.mkdir(exist_ok=True)
        step = len(self.rows) // 3
        for place in range(3):
            part = _lines(self.rows[max(place * step - 20, 0) : (place + 1) * step + (step if place == 2 else 20)])
            (path / f"day{place}.ndjson").write_bytes(part if place else gzip.compress(part))
        return path

    def through(self, frame: pd.DataFrame, suffix: str) -> Any:
        path = self.folder / f"{frame.attrs['kind']}{suffix}"
        wb.to_file(frame, path, overwrite=True)
        return path

    def all(self) -> dict[str, Any]:
        """Return the sources by name."""
        transactions, postings = self.frame("transactions"), self.frame("postings")
        events = wb.to_frame(self.rows)
        half = len(postings) // 2
        return {
            "deliveries in a list": self.rows,
            "deliveries, shuffled": self.shuffled(self.rows),
            "deliveries, doubled": self.rows + self.rows,
            "deliveries, late": self.late(),
            "events of a sandbox": self.of_rows(self.api.sandbox.events()),
            "deliveries of an inbox": self.of_rows(self.api.inbox.stored()),
            "payloads": self.payloads,
            "payloads, shuffled": self.shuffled(self.payloads),
            "payloads with unexpected members": self.with_odd_members(),
            "log, plain": self.file("plain.ndjson", _lines(self.payloads)),
            "log, shuffled": self.file("shuffled.ndjson", _lines(self.shuffled(self.payloads))),
            "log with times": self.file("times.ndjson", _lines(self.rows)),
            "log with headers": self.file(
                "headers.ndjson",
                _lines(
                    [{"headers": {"x": "1"}, "received_at": r["at"], "body": json.dumps(r["event"])} for r in self.rows]
                ),
            ),
            "log, packed": self.file("packed.ndjson", gzip.compress(_lines(self.rows))),
            "folder of overlapping days": self.folder_of_days(),
            "frame of events": events,
            "frames of events, concat": pd.concat([events.iloc[200:], events.iloc[:400]], ignore_index=True),
            "frame of postings": postings,
            "frames of postings, concat": pd.concat(
                [postings.iloc[half:], postings.iloc[: half + 50]], ignore_index=True
            ),
            "frame of transactions": transactions,
            "transactions, shuffled and doubled": pd.concat(
                [transactions.sample(frac=1, random_state=1), transactions.iloc[:100]], ignore_index=True
            ),
            "postings through CSV": self.through(postings, ".csv"),
            "postings through pandas' CSV": pd.read_csv(io.StringIO(postings.to_csv(index=False))),
            "postings through XLSX": wb.read_table(self.through(postings, ".xlsx"), tz="UTC"),
            "postings through Parquet": self.through(postings, ".parquet"),
            "events through CSV": self.through(events, ".csv"),
            "transactions through CSV": self.through(transactions, ".csv"),
            "transactions through XLSX": wb.read_table(self.through(transactions, ".xlsx"), tz="UTC"),
            "transactions through Arrow": transactions.convert_dtypes(dtype_backend="pyarrow"),
        }


def sums(
    frame: pd.DataFrame, names: Mapping[str, str] = {name: name for name in AMOUNTS}
) -> dict[tuple[str, str], int]:
    """Return the sums of amounts in the rows of a report and in its left-out rows, by currency and amount.

    Args:
        frame: The report.
        names: Amount columns of the report, each with its name in `left_out`.
    """
    result: dict[tuple[str, str], int] = {}
    for column, name in names.items():
        if column not in frame:
            continue
        codes = frame["currency"] if "currency" in frame else pd.Series([frame.attrs.get("currency")] * len(frame))
        for code, values in frame[column].groupby(codes.fillna("").to_numpy(), dropna=False):
            result[str(code), name] = int(values.sum())
        for entry in frame.attrs["left_out"]:
            if name in entry:
                key = (entry["currency"] or "", name)
                result[key] = result.get(key, 0) + int(entry[name])
    return {key: cents for key, cents in result.items() if cents}


def plain(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the sorted rows of a report with comparable values, without columns of clocks and event ids."""
    hidden = {
        "clock",
        "known_at",
        "event_id",
        "at",
        "earliest",
        "latest",
        "updated_at",
        "refunded_at",
        "running",
        "refunds",
    }
    columns = [name for name in frame if name not in hidden | {"increases", "settlements"}]
    rows = (tuple(_cell(value) for value in row) for row in frame[columns].itertuples(index=False, name=None))
    return sorted(rows, key=repr)


def _cell(value: Any) -> Any:
    if value is None or value is pd.NA or value != value:
        return None
    return round(float(value), 9) if isinstance(value, float) else str(value)


def verdicts(sources: Sources, source: object, reports: Iterable[str] = REPORTS) -> dict[str, str]:
    """Return the result of each report of a source: "same", "stated", or a text about an unstated difference or an error."""
    try:
        history = wb.history(source)
    except Exception as error:  # noqa: BLE001 - it is the result of each report
        return dict.fromkeys(reports, _error(error))
    return {name: _verdict(sources, history, name) for name in reports}


def _error(error: Exception) -> str:
    return f"ERROR {type(error).__name__}: {str(error)[:200]}"


def _verdict(sources: Sources, history: History, name: str) -> str:
    if name not in sources.expected:
        sources.expected[name] = REPORTS[name](sources.reference)
    expected = sources.expected[name]
    try:
        frame = REPORTS[name](history)
    except Exception as error:  # noqa: BLE001 - it is the result of the report
        return _error(error)
    if len(expected) and not len(frame):
        return "EMPTY"
    if plain(frame) == plain(expected):
        return "same"
    left = [entry for entry in frame.attrs["left_out"] if entry["rows"]]
    told = bool(left) or any("summed" in note for note in frame.attrs["notes"])
    told = told and (_is_within(frame, expected) if name in OF_A_PERIOD else sums(frame) == sums(expected))
    return "stated" if told else f"DIFFERENT {_first(frame, expected)} {left[:2]}"


def _is_within(frame: pd.DataFrame, expected: pd.DataFrame) -> bool:
    """Return whether left-out rows with an unknown period can explain the difference of each amount."""
    shown, whole, other = sums(frame.assign()), sums(expected), {}
    for entry in frame.attrs["left_out"]:
        for name in AMOUNTS:
            key = (entry["currency"] or "", name)
            other[key] = other.get(key, 0) + int(entry.get(name, 0))
    return all(
        min(0, cents) <= whole.get(key, 0) - (shown.get(key, 0) - cents) <= max(0, cents)
        for key, cents in other.items()
    )


def _first(frame: pd.DataFrame, expected: pd.DataFrame) -> str:
    shown, other = set(plain(frame)), set(plain(expected))
    return f"shown {[*(shown - other)][:2]}, expected {[*(other - shown)][:2]}"


PAGE = Path(__file__).with_name("comparisons.md")
HEADING = "## One history in many sources\n"
INTRODUCTION = """
{cells:,} comparisons: {reports} reports of {sources} sources for the seeds {first} to {last}, each with a complete log and with
its second half, which begins in the middle of transactions. {counts}. A row counts its comparisons: "same" rows, or a
difference that `left_out` states with its amounts. `python -m tests.reports.sources` compares and writes this table.
"""


def compare(seed: int) -> dict[str, Counter[str]]:
    """Return the results of each source of a seed, and print the results other than "same" and "stated"."""
    counts: dict[str, Counter[str]] = {}
    for half in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            sources = Sources(seed, Path(folder), half=half)
            for source, data in sources.all().items():
                for report, result in verdicts(sources, data).items():
                    counts.setdefault(source, Counter())[result.split()[0]] += 1
                    if result not in ("same", "stated"):
                        print(seed, "half" if half else "all", "|", source, "|", report, "|", result[:600], flush=True)
    return counts


def write_table(results: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Write the results of seeds into comparisons.md."""
    rows: dict[str, Counter[str]] = {}
    for of_seed in results.values():
        for source, counted in of_seed.items():
            rows.setdefault(source, Counter()).update(counted)
    total = sum(rows.values(), Counter())
    kinds = ["same", "stated", "DIFFERENT", "ERROR", "EMPTY"]
    about = {"cells": total.total(), "reports": len(REPORTS), "sources": len(rows)}
    seeds = sorted(map(int, results))
    counts = ", ".join(f"{total[kind]:,} {kind.lower()}" for kind in kinds)
    lines = ["| Source | same | stated | different, error or empty |", "|---|---|---|---|"]
    for source, counted in rows.items():
        bad = sum(counted[kind] for kind in kinds[2:])
        lines.append(f"| {source} | {counted['same']:,} | {counted['stated']:,} | {bad:,} |")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(HEADING)
    after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
    introduction = INTRODUCTION.format(**about, first=seeds[0], last=seeds[-1], counts=counts).strip()
    section = "\n".join([HEADING, introduction, "", *lines, ""])
    PAGE.write_text("\n".join([before.rstrip(), "", section, after]).rstrip() + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Compare the sources of some seeds; return 1 if a result is neither "same" nor "stated"."""
    if arguments[0] == "--table":
        write_table(json.loads(Path(arguments[1]).read_text()))
        return 0
    seeds, _, file = " ".join(arguments).partition(" --write ")
    first, *last = map(int, seeds.split())
    failed = 0
    for seed in range(first, (last or [first])[0] + 1):
        counts = compare(seed)
        total = sum(counts.values(), Counter())
        failed += total.total() - total["same"] - total["stated"]
        print(seed, dict(total), flush=True)
        if file:
            known = json.loads(Path(file).read_text()) if Path(file).exists() else {}
            Path(file).write_text(json.dumps({**known, str(seed): counts}))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
