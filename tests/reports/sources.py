"""One history in many sources: as people bring it, from logs, inboxes, frames, files and records.

python -m tests.reports.sources [SEEDS]    prints the table of sources and reports for some seeds
"""

import gzip
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable, Mapping
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
    """Return a session after a hundred days, and its deliveries with headers, without the world's first records."""
    api = wb.connect(seed=seed)
    rows = play(api, seed)
    begun = {row["event"]["body"]["id"] for row in rows if row["event"]["action"] == "created"}
    return api, [row for row in rows if row["event"]["body"]["id"] in begun]


def _lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class Sources:
    """The sources of one history."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.api, self.rows = deliveries(seed)
        self.payloads = [row["event"] for row in self.rows]
        self.folder, self.seed = folder, seed
        self.reference = wb.history(self.rows)

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def frame(self, name: str) -> pd.DataFrame:
        report = getattr(self.reference, name)
        frame: pd.DataFrame = report()
        return frame

    def of_begun(self, events: list[Any]) -> list[Any]:
        """Return the transaction events whose transactions began with an event."""
        begun = {payload["body"]["id"] for payload in self.payloads}
        return [event for event in events if event.event.resource == "transaction" and event.event.body.id in begun]

    def shuffled(self, rows: list[Any]) -> list[Any]:
        return random.Random(self.seed).sample(rows, len(rows))

    def folder_of_days(self) -> Path:
        """Return a folder with files of overlapping days, one of them packed."""
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
            "events of a sandbox": self.of_begun(self.api.sandbox.events()),
            "deliveries of an inbox": self.of_begun(self.api.inbox.stored()),
            "payloads": self.payloads,
            "payloads, shuffled": self.shuffled(self.payloads),
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


def sums(frame: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Return the sum of each amount that adds up, by currency, of the rows of a report and of what it leaves out."""
    result: dict[tuple[str, str], int] = {}
    for name in AMOUNTS:
        if name not in frame:
            continue
        codes = frame["currency"] if "currency" in frame else pd.Series([frame.attrs.get("currency")] * len(frame))
        for code, values in frame[name].groupby(codes.fillna("").to_numpy(), dropna=False):
            result[str(code), name] = int(values.sum())
        for entry in frame.attrs["left_out"]:
            if name in entry:
                key = (entry["currency"] or "", name)
                result[key] = result.get(key, 0) + int(entry[name])
    return {key: cents for key, cents in result.items() if cents}


def plain(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the rows of a report, in any order, with comparable values; without clocks and ids of events."""
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
    if value is None or value != value or value is pd.NA:
        return None
    return round(float(value), 9) if isinstance(value, float) else str(value)


def verdict(source: Any, reference: History, name: str) -> str:
    """Return how a report of a source compares: "same", "stated", or a silent difference or an error."""
    try:
        frame = REPORTS[name](wb.history(source))
    except Exception as error:  # noqa: BLE001 - each is a cell of the table
        return f"ERROR {type(error).__name__}: {str(error)[:200]}"
    expected = REPORTS[name](reference)
    if len(expected) and not len(frame):
        return "EMPTY"
    if plain(frame) == plain(expected):
        return "same"
    left = [entry for entry in frame.attrs["left_out"] if entry["rows"]]
    told = bool(left) or any("summed" in note for note in frame.attrs["notes"])
    if name in OF_A_PERIOD:
        told = told and _is_within(frame, expected)
    else:
        told = told and sums(frame) == sums(expected)
    return "stated" if told else f"DIFFERENT {_first(frame, expected)} {left[:2]}"


def _is_within(frame: pd.DataFrame, expected: pd.DataFrame) -> bool:
    """Return whether rows whose period is not known explain the difference of each amount, at most."""
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


def main(seeds: int) -> int:
    """Print the table of sources and reports; return 1 if a cell is neither the same nor stated."""
    worst: dict[tuple[str, str], str] = {}
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            sources = Sources(seed, Path(folder))
            for source, name in ((s, n) for s in sources.all().items() for n in REPORTS):
                result = verdict(source[1], sources.reference, name)
                if (source[0], name) not in worst or result != "same":
                    worst[source[0], name] = result
    counts = pd.Series([result.split()[0] for result in worst.values()]).value_counts()
    for (source, name), result in worst.items():
        if result not in ("same", "stated"):
            print(source, "|", name, "|", result[:600])
    print(dict(counts))
    return int(any(result not in ("same", "stated") for result in worst.values()))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 1))
