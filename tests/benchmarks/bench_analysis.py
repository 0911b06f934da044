"""Measure the reports on a million transactions and a million rows of rewards, compared with plain pandas.

python -m tests.benchmarks.bench_analysis            the figures of figures.md
python -m tests.benchmarks.bench_analysis --quick    a tenth of the size
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import workbench as wb
from workbench.analysis.tables.event_frames import events_frame
from workbench.analysis.tables.rows import to_pandas
from workbench.analysis.tables.to_file import to_file

SIZE = 1_000_000
TARGET = 3.0
"""Maximum CPU seconds of each report."""


def texts(words: list[str], codes: Any) -> Any:
    """Return a text column with the words that the codes select."""
    return to_pandas(pa.array(words, pa.large_string()).take(pa.array(codes)))


def times(seconds: Any) -> Any:
    """Return a column of times, given in seconds after the beginning of 2025."""
    start = np.datetime64("2025-01-01", "us")
    return pd.Series(start + seconds.astype("timedelta64[s]")).dt.tz_localize("UTC").astype("datetime64[us, UTC]")


def events(count: int) -> pd.DataFrame:
    """Return the events of transactions: one authorization and one settlement each, and a refund of every tenth."""
    chance = np.random.default_rng(1)
    which = np.concatenate([np.arange(count), np.arange(count), np.arange(0, count, 10)])
    kind = np.repeat([0, 1, 1], [count, count, len(which) - 2 * count])
    refund = np.arange(len(which)) >= 2 * count
    amount = chance.integers(100, 50_000, count)[which]
    begun = chance.integers(0, 365 * 86_400, count)[which]
    user, shop = chance.integers(0, 20_000, count)[which], chance.integers(0, 500, count)[which]
    declined = (which % 20 == 0) & (kind == 0)
    gone = (which % 20 == 0) & (kind == 1)
    made: dict[str, Any] = {
        "id": texts([f"{n:036}" for n in range(len(which))], np.arange(len(which))),
        "kind": texts(["transaction.created", "transaction.completed"], kind),
        "version": texts(["1.0.0"], np.zeros(len(which), "int64")),
        "at": times(begun + kind * 90_000), "at_source": texts(["delivery"], np.zeros(len(which), "int64")),
        "body.id": texts([f"{n:036}" for n in range(count)], which),
        "body.spend.amount": pd.array(np.where(refund, -amount // 2, amount), dtype="Int64"),
        "body.spend.authorized_amount": pd.array(amount, dtype="Int64"),
        "body.spend.currency": texts(["usd"], np.zeros(len(which), "int64")),
        "body.spend.merchant_name": texts([f"Shop {n}" for n in range(500)], shop),
        "body.spend.merchant_category": texts([f"Category {n}" for n in range(20)], shop % 20),
        "body.spend.merchant_category_code": texts([f"{n:04}" for n in range(20)], shop % 20),
        "body.spend.card_id": texts([f"card {n}" for n in range(20_000)], user),
        "body.spend.user_id": texts([f"user {n}" for n in range(20_000)], user),
        "body.spend.status": texts(["pending", "completed", "declined"], np.where(declined, 2, kind)),
        "body.spend.declined_reason": texts(["card locked", "blocked mcc", None], np.where(declined, which % 2, 2)),  # type: ignore[list-item]
        "body.spend.authorized_at": times(begun), "body.spend.posted_at": times(begun + 90_000).where(kind == 1),
    }  # fmt: skip
    frame = pd.DataFrame(made, copy=False)[~gone]
    frame.attrs = events_frame([]).attrs
    return frame


def rewards(count: int) -> pd.DataFrame:
    """Return rows of rewards activity."""
    chance = np.random.default_rng(2)
    redeemed = np.arange(count) % 12 == 0
    created = chance.integers(0, 365 * 86_400, count)
    points = pa.array(chance.integers(1, 50_000, count).astype("int32")).cast(pa.decimal128(18, 6))
    frame = pd.DataFrame(
        {
            "user_id": texts([f"user {n}" for n in range(20_000)], chance.integers(0, 20_000, count)),
            "type": pd.Categorical.from_codes(redeemed.astype("int8"), ["earned", "redeemed"]),
            "points": pd.array(points, dtype=pd.ArrowDtype(points.type)),
            "spend_category": texts([f"Category {n}" for n in range(20)], np.arange(count) % 20),
            "created_at": times(created), "posted_at": times(created + 80_000), "minted_at": times(created + 160_000),
        },
        copy=False,
    )  # fmt: skip
    frame.attrs.update(kind="rewards_item", complete=True, notes=[])
    return frame


def plain_transactions(frame: pd.DataFrame) -> Any:
    """Group events by transaction with plain pandas: the sum of the amounts, and the last value of each column."""
    groups = frame.groupby("body.id", sort=False)
    return groups["body.spend.amount"].sum(), groups.last()


def plain_outstanding(frame: pd.DataFrame) -> Any:
    """Sum the points of each type."""
    return frame.groupby("type", observed=True)["points"].sum()


def plain_funnel(table: pd.DataFrame) -> Any:
    """Count and sum each stage of the funnel."""
    known = table[(table["currency"] == "usd") & table["authorized_cents"].notna()]
    approved = known["authorized_cents"][known["status"] != "declined"]
    stages = [known["authorized_cents"], approved, *(known[f"{name}_cents"] for name in ("posted", "refunded", "net"))]
    return [(int((amounts > 0).sum()), int(amounts.sum())) for amounts in stages]


def transactions_of(given: pd.DataFrame, clocked: Callable[..., Any]) -> Any:
    """Measure and return the table of transactions. Release the events, so that they do not count as memory of the reports."""
    table = clocked("transactions", lambda: wb.history(given).transactions())
    merchants = wb.history(table).spend("merchant_name")
    clocked("explain, of one of 500 merchants, with events", lambda: wb.history([]).explain(merchants, "net_cents", 0))
    return table


def reports_of(made: pd.DataFrame, clocked: Callable[..., Any]) -> None:
    """Measure the reports of a history of transactions, and release the history."""
    history = clocked("history of a frame of transactions, with its first report", lambda: first_report(made))
    clocked("approvals by day", lambda: history.filter(tz="America/New_York").approvals())
    clocked("declines", history.declines)
    clocked("spend_funnel", history.funnel)
    merchants = clocked("spend by merchant", lambda: history.spend("merchant_name"))
    clocked(
        "plain pandas: groupby of merchants",
        lambda: made.groupby("merchant_name")[["posted_cents", "refunded_cents", "net_cents"]].sum(),
    )
    clocked("posting_times", lambda: history.posting_times("merchant_category"))
    clocked(
        "explain, of one of 500 merchants, without events", lambda: wb.history([]).explain(merchants, "net_cents", 0)
    )
    clocked("cohorts", history.cohorts)
    clocked("monthly_changes", history.changes)
    clocked("roll_forward", history.roll_forward)


def first_report(transactions: pd.DataFrame) -> Any:
    """Return a history of a frame of transactions after its first report, which computes the columns that all reports use."""
    history = wb.history(transactions)
    history.transactions()
    return history


_MAKE = "from tests.benchmarks.bench_analysis import *; to_file({0}({1}), {2!r})"


def measured(size: int, folder: str) -> dict[str, Any]:
    """Return the wall and CPU seconds of each report by name, and the peak memory in MB under "memory"."""
    found: dict[str, Any] = {}

    def clocked(name: str, run: Callable[[], Any]) -> Any:
        began, cpu = time.perf_counter(), time.process_time()
        made = run()
        found[name] = time.perf_counter() - began, time.process_time() - cpu
        return made

    def stored(name: str) -> str:
        """Return a file of events or rewards. A separate process writes it, so that its memory does not count."""
        path = f"{folder}/{name}.parquet"
        subprocess.run([sys.executable, "-c", _MAKE.format(name, size, path)], check=True, stdout=subprocess.DEVNULL)
        return path

    path = stored("events")
    made = transactions_of(wb.read_table(path), clocked)
    assert len(made) == size
    reports_of(made, clocked)
    points = wb.read_table(stored("rewards"))
    clocked("plain pandas: groupby of points", lambda: plain_outstanding(points))
    clocked("outstanding", lambda: wb.history(points).filter(at="2025-09-01").points())
    clocked("outstanding by user", lambda: wb.history(points).points("user_id"))
    clocked("outstanding by cohort", lambda: wb.history(points).points("cohort"))
    clocked("liability", lambda: wb.history(points).filter(tz="America/New_York").liability())
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # MB, before the exports
    clocked("plain pandas: the funnel's sums", lambda: plain_funnel(made))
    for name, frame in (("transactions", made.iloc[: size // 5]), ("rewards", points.iloc[: size // 5])):
        clocked(
            f"plain pandas: a fifth of the {name} as CSV", partial(frame.to_csv, f"{folder}/plain.csv", index=False)
        )
        clocked(f"a fifth of the {name} as CSV", partial(to_file, frame, f"{folder}/{name}.csv"))
    given = wb.read_table(path)
    clocked("plain pandas: groupby of events", lambda: plain_transactions(given))
    return found


def main() -> int:
    """Measure in a separate process, print the table, and return 1 if a report takes more than `TARGET`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", type=int)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measured(options.child, folder)))
        return 0
    size = SIZE // (10 if options.quick else 1)
    command = [sys.executable, "-m", "tests.benchmarks.bench_analysis", "--child", str(size)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    memory = found.pop("memory")
    print(f"| Report on {size:,} rows | Seconds | CPU |\n|---|---|---|")
    for name, (seconds, cpu) in found.items():
        print(f"| {name} | {seconds:.2f} | {cpu:.2f} |")
    print(f"| peak memory | {memory:,.0f} MB | |")
    return int(any(cpu > TARGET for name, (_, cpu) in found.items() if not name.startswith("plain")))


if __name__ == "__main__":
    sys.exit(main())
