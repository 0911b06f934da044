"""Measure tables and reads, compared with other libraries in the same run.

    python -m tests.benchmarks.bench_tables            the figures of figures.md
    python -m tests.benchmarks.bench_tables --quick    a tenth of the size
    python -m tests.benchmarks.bench_tables --only events

Each measurement runs in a separate process. CPU time includes all threads of the process. Wall time is reliable only on
an idle machine.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.tables.pages import ODD, page

PAGE = 100
Figures = dict[str, Any]


@contextmanager
def clocked() -> Iterator[Figures]:
    """Measure the CPU and wall seconds of a block."""
    made: Figures = {}
    cpu, wall = time.process_time(), time.perf_counter()
    yield made
    made["cpu"], made["wall"] = time.process_time() - cpu, time.perf_counter() - wall


def memory() -> float:
    """Return the memory in use now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def peak() -> float:
    """Return the peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def bodies(rows: int) -> list[bytes]:
    """Return pages of rows with unique ids. At most 500 pages are generated; further pages differ from them only in ids."""
    count = rows // PAGE
    made = [page(PAGE, i) for i in range(min(count, 500))]
    return [made[i % len(made)].replace(b'"id":"', b'"id":"%05d' % i) for i in range(count)]


# measurements


def fast(size: int) -> Figures:
    """Convert page bodies to the full typed frame."""
    from tests.tables.pages import rewards_from_pages

    given = bodies(size)
    rewards_from_pages(given[:64])
    before = memory()
    with clocked() as made:
        frame = rewards_from_pages(given)
    assert len(frame) == size
    return {
        **made,
        "rows": size,
        "above": peak() - before,
        "bodies": sum(map(len, given)) / 1e6,
        **frame.attrs["routes"],
    }


def alone(size: int) -> Figures:
    """Parse the same bytes with orjson.loads, without a frame."""
    import orjson

    given = bodies(size)
    with clocked() as made:
        for body in given:
            orjson.loads(body)
    return {**made, "rows": size}


def sdk(size: int) -> Figures:
    """Create objects of a generated SDK (lithic's base model), and the same frame from the objects."""
    import pandas as pd
    import pyarrow as pa
    from lithic._models import BaseModel, construct_type
    from pydantic import Field

    class Item(BaseModel):
        type: str | None = None
        id: str | None = None
        points: str | None = None
        reason: str | None = None
        status: str | None = None
        merchant_name: str | None = Field(alias="merchantName", default=None)
        transaction_amount_cents: int | None = Field(alias="transactionAmountCents", default=None)
        spend_category: str | None = Field(alias="spendCategory", default=None)
        posted_at: datetime | None = Field(alias="postedAt", default=None)
        minted_at: datetime | None = Field(alias="mintedAt", default=None)
        created_at: datetime | None = Field(alias="createdAt", default=None)

    class Page(BaseModel):
        items: list[Item]

    given = bodies(size)
    with clocked() as made:
        items = []
        for body in given:
            one: Any = construct_type(type_=Page, value=json.loads(body))
            items += one.items
        frame = pd.DataFrame([item.model_dump() for item in items])
        points = [None if text is None else Decimal(text) for text in frame["points"]]
        frame["points"] = pd.Series(pd.array(points, dtype=pd.ArrowDtype(pa.decimal128(18, 6))))
        frame = frame.astype(
            {
                "type": "category", "transaction_amount_cents": "Int64", "posted_at": "datetime64[us, UTC]",
                "minted_at": "datetime64[us, UTC]", "created_at": "datetime64[us, UTC]",
                **dict.fromkeys(("id", "reason", "status", "merchant_name", "spend_category"), "str"),
            }
        )  # fmt: skip
    assert len(frame) == size
    return {**made, "rows": size}


def odd(size: int) -> Figures:
    """Convert page bodies with one unusual page, and with an unknown member in every row."""
    from tests.tables.pages import rewards_from_pages

    usual = bodies(size)
    odd_ones = {}
    for kind in ("the time 2026-01-01", "cents with a zero", "a new member of two types", "points with an exponent"):
        odd_ones[kind] = [*usual]
        odd_ones[kind][len(usual) // 2] = ODD[kind]
    new = [body.replace(b'{"type"', b'{"tier":"gold","type"') for body in usual]
    rewards_from_pages(usual[:64])
    found: Figures = {"rows": size}
    for _ in range(3):
        for name, given in (("usual", usual), *odd_ones.items(), ("new", new)):
            with clocked() as made:
                frame = rewards_from_pages(given)
            found[name] = min(found.get(name, 1e9), made["cpu"])
            found[f"{name}, exact pages"] = frame.attrs["routes"]["exact"]
    found["odd"] = max(found[kind] for kind in odd_ones)  # CPU seconds of the slowest kind
    return found


@contextmanager
def served(delay: float) -> Iterator[str]:
    """Serve rewards from a separate process."""
    command = [sys.executable, "-m", "tests.benchmarks.rewards_server", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def client(url: str) -> Any:
    from workbench.client.calls.client import Client

    return Client(base_url=url, api_key="benchmark", journal=False, timeout=60)


def user(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012}"


async def _flood(fetch: Callable[[int], Any], flight: int, count: int) -> float:
    left = iter(range(count))

    async def work() -> None:
        for n in left:
            await fetch(n)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(flight)))
    return count / (time.perf_counter() - began)


def flight(size: int) -> Figures:
    """Read pages per second from a service without delay: 8 and 64 in flight, and 64 with a plain httpx.AsyncClient."""
    import httpx

    from workbench.analysis.rewards.read_job import Gate
    from workbench.base.schema.walk import build
    from workbench.client.calls.client import RawReader
    from workbench.service.interface.transactions import ListRewardsActivity

    async def ours(url: str, many: int) -> float:
        made, gate = RawReader(client(url)), Gate(many)  # as `rewards.fetch` reads
        asked = [build(ListRewardsActivity, {"user_id": user(n), "limit": 100, "offset": 0}) for n in range(64)]

        async def fetch(n: int) -> bytes:
            async with gate:
                return await made.fetch(asked[n % 64])

        try:
            await _flood(fetch, many, 512)
            return await _flood(fetch, many, size)
        finally:
            await made.aclose()

    async def stock(url: str, many: int) -> float:
        limits = httpx.Limits(max_connections=many, max_keepalive_connections=many)
        async with httpx.AsyncClient(limits=limits, timeout=60, headers={"Api-Key": "benchmark"}) as http:

            async def fetch(n: int) -> bytes:
                answer = await http.get(
                    f"{url}/issuing/rewards/activity", params={"userId": user(n % 64), "limit": 100, "offset": 0}
                )
                return answer.content

            await _flood(fetch, many, many)
            return await _flood(fetch, many, size // 8)

    def run(work: Coroutine[Any, Any, float]) -> float:
        return asyncio.run(work)

    few, many = [], []
    with served(0.0) as url:
        for n in range(16):  # alternate 8 and 64 in flight, so that other load slows both alike
            for into, flying in ((few, 8), (many, 64))[:: 1 if n % 2 else -1]:
                into.append(run(ours(url, flying)))
        other = [run(stock(url, 64)) for _ in range(3)]
    ratios = sorted(b / a for a, b in zip(few, many, strict=True))
    return {
        "8": statistics.median(few), "64": statistics.median(many), "stock": statistics.median(other),
        "ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1],
    }  # fmt: skip


def latency(size: int) -> Figures:
    """Read users with three pages each from synchronous code, if every answer takes 50 ms; and only fetch the pages."""
    from workbench.analysis.rewards.reading import fetch
    from workbench.base.schema.walk import build
    from workbench.client.calls.client import RawReader
    from workbench.service.interface.transactions import ListRewardsActivity

    async def fetching(url: str) -> float:
        made = RawReader(client(url))

        async def one(n: int) -> None:
            for offset in (0, 99, 150):
                await made.fetch(build(ListRewardsActivity, {"user_id": user(n), "limit": 100, "offset": offset}))

        try:
            return 3 * size / await _flood(one, 64, size) / 3
        finally:
            await made.aclose()

    users = [user(n) for n in range(size)]
    with served(0.05) as url:
        fetch(client(url), users[:64], progress=False).frame()
        asyncio.run(fetching(url))
        alone = min(asyncio.run(fetching(url)) for _ in range(2))
        best = cpu = 1e9
        for _ in range(2):
            with clocked() as made:
                frame = fetch(client(url), users, progress=False).frame()
            best, cpu = min(best, made["wall"]), min(cpu, made["cpu"])
    assert len(frame) == 150 * size
    return {"read": best, "cpu": cpu, "fetch": alone, "possible": 3 * size * 0.05 / 64, "rows": len(frame)}


def cluster_client() -> Any:
    """Return the client of a worker."""
    return client(os.environ["BENCHMARK_URL"])


def cluster(size: int) -> Figures:
    """Read users with three pages each, if every answer takes 20 ms, with 1, 2 and 4 single-threaded worker processes."""
    import distributed

    from tests.benchmarks import bench_tables
    from workbench.analysis.rewards.reading import fetch

    users, found = [user(n) for n in range(size)], Figures()
    with served(0.02) as url:
        os.environ["BENCHMARK_URL"] = url
        for workers in (1, 2, 4):
            with (
                distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as local,
                distributed.Client(local) as machines,
            ):
                fetch(
                    bench_tables.cluster_client, users[:64], progress=False, cluster=machines, path=tempfile.mkdtemp()
                )
                with clocked() as made:
                    rewards = fetch(
                        bench_tables.cluster_client, users, progress=False, cluster=machines, path=tempfile.mkdtemp()
                    )
                assert rewards.complete
                found[str(workers)] = made["wall"]
    return found | {"possible": 3 * size * 0.02 / 64}


def events(size: int) -> Figures:
    """Summarize a log of `size` bytes by day, kind and status."""
    from workbench.analysis.reports.event_logs import read_log

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.ndjson"
        total = _write_events(path, size)
        with clocked() as made:
            summary = read_log(path).summary()
        assert int(summary["events"].sum()) == total
        return {**made, "bytes": path.stat().st_size, "events": total, "peak": peak()}


def log_job(name: str, path: str) -> Figures:
    """Create a summary, the frame of one kind, or a Parquet file of a log. A name with "alone" means DuckDB without the workbench."""
    import duckdb
    import pandas as pd  # noqa: F401 - both make frames

    from workbench.analysis.reports.event_logs import read_log

    columns = "id, resource, action, version, eventReceivedAt, unnest(body, recursive := true)"
    summed = "date_trunc('day', eventReceivedAt), resource, action, coalesce(body.applicationStatus, body.spend.status)"
    wanted = "resource = 'transaction' and action = 'completed'"
    made_by: dict[str, Callable[[], Any]] = {
        "summary": lambda: read_log(path).summary(),
        "frame": lambda: read_log(path).frame(of="transaction.completed"),
        "parquet": lambda: read_log(path).to_parquet(f"{path}.ours.parquet"),
        "summary alone": lambda: duckdb.sql(f"select {summed}, count(*) from '{path}' group by all").df(),
        "frame alone": lambda: duckdb.sql(f"select {columns} from '{path}' where {wanted}").df(),
        "frame alone, to Arrow": lambda: duckdb.sql(f"select * from '{path}' where {wanted}").to_arrow_table(),
        "parquet alone": lambda: duckdb.sql(same_file(path, f"{path}.alone.parquet")),
        "parquet alone, nested and not masked": lambda: duckdb.sql(
            f"copy (select * from '{path}') to '{path}.nested.parquet' (compression zstd)"
        ),
    }
    with clocked() as made:
        made_by[name]()
    return {**made, "peak": peak()}


LOG_JOBS = (
    "summary", "summary alone", "frame", "frame alone", "frame alone, to Arrow", "parquet", "parquet alone",
    "parquet alone, nested and not masked",
)  # fmt: skip


def same_file(source: str, path: str) -> str:
    """Return the SQL that writes a file like that of `to_parquet`, with the same columns, types, masks and compression."""
    from workbench.analysis.tables.event_frames import COMPUTED, events_layout
    from workbench.base.schema.walk import Boolean, DateTime, DecimalNumber, Integer
    from workbench.service.interface.events import EVENT_KINDS

    types: dict[type[Any], str] = {
        Integer: "BIGINT", Boolean: "BOOLEAN", DateTime: "TIMESTAMPTZ", DecimalNumber: "DECIMAL(37, 18)",
    }  # fmt: skip
    masks = {
        "email": r"regexp_replace({}, '^(.)[^@]*@(.).*\.([A-Za-z]{{1,6}})$', '\1•••@\2•••.\3')",
        "name": r"regexp_replace({}, '(\w)\S*', '\1.', 'g')",
    }
    members: dict[str, Any] = {}
    chosen = []
    for column in events_layout(EVENT_KINDS).columns:
        if column.name in COMPUTED:
            continue
        *parents, last = column.wire.split(".")
        inside = members
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[last] = types.get(type(column.kind), "VARCHAR")
        mask = masks.get(column.about.rule.format or "", "case when {} is not null then '•••' end")
        chosen.append(f'{mask.format(column.wire) if column.private else column.wire} as "{column.name}"')

    def structure(inside: Any) -> str:
        made = (
            ", ".join(f'"{name}" {structure(one)}' for name, one in inside.items()) if isinstance(inside, dict) else ""
        )
        return f"STRUCT({made})" if made else inside

    columns = ", ".join(f"{name}: '{structure(one)}'" for name, one in members.items())
    times = ("eventReceivedAt", "body.spend.postedAt", "body.spend.authorizedAt", "body.receivedAt")
    sources = " ".join(f"when {time} is not null then '{time}'" for time in times)
    return f"""
        copy (select {", ".join(chosen)}, resource || '.' || action as kind, coalesce({", ".join(times)}) as at,
                     case {sources} end as at_source, null::varchar as extra
              from read_json('{source}', format = 'newline_delimited', columns = {{{columns}}}))
        to '{path}' (compression zstd)
    """


def logs(size: int) -> Figures:
    """Run each of `LOG_JOBS` on one log, in separate processes."""
    found: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.ndjson"
        _write_events(Path(path), size)
        for name in LOG_JOBS:
            code = "import json, sys; from tests.benchmarks.bench_tables import *; print(json.dumps(log_job(*sys.argv[1:])))"
            done = subprocess.run([sys.executable, "-c", code, name, path], check=True, capture_output=True, text=True)
            found[name] = json.loads(done.stdout.splitlines()[-1])  # earlier lines are DuckDB's progress bar
    return found


def _write_events(path: Path, size: int) -> int:
    lines = []
    for i in range(20_000):
        day = f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}T{i % 24:02}:00:00.000Z"
        status = ("approved", "pending", "denied", "needsInformation")[i % 4]
        lines.append(
            f'{{"id":"evt-{i:032x}","resource":"user","action":"updated","version":"1.0.0","eventReceivedAt":"{day}",'
            f'"body":{{"id":"{user(i)}","firstName":"Ada","lastName":"Example","email":"user{i}@example.com",'
            f'"isActive":true,"isTermsOfServiceAccepted":true,"applicationStatus":"{status}","applicationReason":"",'
            f'"applicationCompletionLink":{{"url":"https://example.com/{i}","params":{{"userId":"{user(i)}"}}}}}}}}\n'
            if i % 2
            else f'{{"id":"evt-{i:032x}","resource":"transaction","action":"completed","version":"1.0.0",'
            f'"eventReceivedAt":"{day}","body":{{"id":"{user(i)}","type":"spend","spend":{{"amount":{i},'
            f'"currency":"usd","merchantName":"Corner Shop","merchantCategoryCode":"5411","cardId":"{user(i % 99)}",'
            f'"userId":"{user(i % 777)}","status":"completed","authorizedAt":"{day}"}}}}}}\n'
        )
    block = "".join(lines).encode()
    count = 0
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)
            count += len(lines)
    return count


MEASURED: dict[str, tuple[Callable[[int], Figures], int]] = {
    "fast": (fast, 1_000_000), "alone": (alone, 1_000_000), "sdk": (sdk, 200_000), "odd": (odd, 200_000),
    "flight": (flight, 4_000), "latency": (latency, 500), "events": (events, 1_000_000_000),
    "logs": (logs, 200_000_000), "cluster": (cluster, 5_000),
}  # fmt: skip


def measured(name: str, tenth: bool) -> Figures:
    """Run one measurement in a separate process."""
    size = MEASURED[name][1] // (10 if tenth and name != "latency" else 1)
    command = [sys.executable, "-m", "tests.benchmarks.bench_tables", "--child", name, "--size", str(size)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    made: Figures = json.loads(done.stdout.splitlines()[-1])
    print(
        f"  {name}: {json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in made.items()})}", flush=True
    )
    return made


def report(found: dict[str, Figures]) -> list[str]:
    """Return the lines of the table: what was measured, its figure, and the target if it has one."""
    rows: list[tuple[str, str, str]] = []
    if {"fast", "alone", "sdk"} <= found.keys():
        ours, json_alone, theirs = (found[n]["cpu"] / found[n]["rows"] * 1e6 for n in ("fast", "alone", "sdk"))
        rows += [
            ("page bodies to the typed frame, guards on", f"{ours:.2f} µs CPU a row", ""),
            ("objects of a generated SDK to the same frame", f"{theirs:.1f} µs CPU a row", ""),
            ("… how many times as fast", f"{theirs / ours:.0f} ×", "≥ 20 ×"),
            ("`orjson.loads` of the same bytes alone", f"{json_alone:.2f} µs CPU a row", ""),
            ("… how many times that", f"{ours / json_alone:.2f} ×", "≤ 4 ×"),
            (
                f"memory above {found['fast']['bodies']:.0f} MB of bodies",
                f"{found['fast']['above']:.0f} MB",
                "≤ 300 MB",
            ),
        ]
    if "odd" in found:
        one = found["odd"]
        rows += [
            ("one irregular page among the others", f"{one['odd'] / one['usual']:.2f} × the time", ""),
            (
                "a new member on every row",
                f"{one['new'] / one['usual']:.2f} × the time, {one['new, exact pages']} pages exact",
                "",
            ),
        ]
    if "flight" in found:
        one = found["flight"]
        rows += [
            ("pages a second with 8 in flight", f"{one['8']:,.0f}", ""),
            ("… with 64", f"{one['64']:,.0f}", ""),
            (
                "… beside 8, the middle of 16 rounds",
                f"{one['ratio']:.2f} × ({one['least']:.2f} to {one['most']:.2f})",
                "not below 1",
            ),
            ("a stock AsyncClient with 64", f"{one['stock']:,.0f}", ""),
            ("… how many times as fast", f"{one['64'] / one['stock']:.1f} ×", ""),
        ]
    if "logs" in found:
        one = found["logs"]
        for name in LOG_JOBS:
            beside, of = one[name], one.get(f"{name} alone")
            ratio = f": {beside['cpu'] / of['cpu']:.2f} × and {beside['peak'] / of['peak']:.2f} ×" if of else ""
            took = f"{beside['cpu']:.2f} s CPU, {beside['wall']:.2f} s, {beside['peak']:.0f} MB{ratio}"
            rows.append((f"a log of 200 MB: {name}", took, "≤ 1.5 ×" if of else ""))
    if "latency" in found:
        one = found["latency"]
        rows += [
            (
                "500 users × 3 pages at 50 ms, 64 in flight, to the frame",
                f"{one['read']:.2f} s, {one['cpu']:.2f} s CPU",
                "",
            ),
            ("… of what the delay allows", f"{one['possible'] / one['read']:.2f}", "≥ 0.6"),
            ("… of fetching the same pages alone", f"{one['read'] / one['fetch']:.2f} ×", ""),
        ]
    if "cluster" in found:
        one = found["cluster"]
        for workers in ("1", "2", "4"):
            what = f"5,000 users × 3 pages at 20 ms, 64 in flight, {workers} worker process{'es' * (workers != '1')}"
            rows.append((what, f"{one[workers]:.1f} s ({one['1'] / one[workers]:.2f} ×)", ""))
    if "events" in found:
        one = found["events"]
        rows += [
            (
                f"{one['bytes'] / 1e9:.2f} GB of events summed up",
                f"{one['bytes'] / 1e6 / one['wall']:,.0f} MB/s",
                "≥ 500 MB/s",
            ),
            ("… processor time", f"{one['cpu']:.2f} s: {one['bytes'] / 1e6 / one['cpu']:,.0f} MB/s of a core", ""),
            ("… most memory of the process", f"{one['peak']:.0f} MB", "≤ 250 MB"),
        ]
    return ["| What | Measured | Bar |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--only", choices=MEASURED, action="append", help="measure this alone; may be given again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(MEASURED[given.child][0](given.size)))
        return
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, load {_load()}", flush=True
    )
    found = {name: measured(name, given.quick) for name in given.only or MEASURED}
    print(f"load {_load()} at the end")
    print("\n".join(["", *report(found)]))


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
