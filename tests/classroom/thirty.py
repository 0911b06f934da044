"""Run a class of thirty concurrent learners: `python -m tests.classroom.thirty`.

The class server is a separate process. Learners are threads of this process. Each joins, begins the notebook of each task, does and
checks the task, makes purchases, and takes a hint. Then the server is killed and restarted with the same folder. Before and after
the kill, the acknowledged results are compared with the board, the CSV and the sandboxes.
"""

import argparse
import csv
import io
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx

import workbench as wb
from tests.classroom.soak import look
from workbench.course.classroom import Results
from workbench.course.classroom.exports import results_table
from workbench.course.task_files import EXERCISES

DONE = ("start-1", "purchases-2", "disputes-1", "applications-2", "people-1")
PURCHASES = 10
PURCHASE: dict[str, Any] = {"currency": "USD", "merchant_name": "Example Market", "merchant_category_code": "5411"}


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, str, int]]:
    """Serve a class in a process, yield its URL, the trainer's key and the process id, and kill the process after the block."""
    command = [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = process.stdout.readline().strip()
            found = re.search(r"trainer key: (\S+)", process.stderr.readline())
            assert found is not None
            yield url, found[1], process.pid
        finally:
            process.kill()


def work(url: str, code: str, barrier: Barrier) -> tuple[str, dict[str, list[str]], list[float]]:
    """Do all tasks as a learner; return the learner's name, the ids of purchases by sandbox, and the seconds of each task."""
    bought: dict[str, list[str]] = {}
    seconds = []
    barrier.wait()
    with httpx.Client(base_url=f"{url}/{code}", timeout=120) as http:
        name = str(http.get("/_class").raise_for_status().json()["learner"])
        for task in DONE:
            started = time.monotonic()
            begun = {"kind": "begin", "task": EXERCISES[task].place}
            place = http.post("/_class", json=begun).raise_for_status().json()["place"]
            with wb.connect(f"{url}/{code}/{place}") as api:
                wb.course.task(task, api)
                exec(EXERCISES[task].answer, {"api": api, "wb": wb, "guide": api.sandbox.guide()})
                checked = wb.course.check(task, api)
                assert checked.ok, (name, task, checked.missing)
                card = api.sandbox.guide()["cards"]["active"][1]
                bought[place] = [
                    api.simulate_authorization(card_id=card, amount=100 + number, **PURCHASE).transaction_id
                    for number in range(PURCHASES)
                ]
            seconds.append(time.monotonic() - started)
        http.post("/_class", json={"kind": "hint", "task": "contracts-1"}).raise_for_status()
    return name, bought, seconds


def compare(url: str, key: str, folder: Path, codes: dict[str, str], bought: dict[str, dict[str, list[str]]]) -> None:
    """Compare the board, the CSV and the sandboxes with the acknowledged results."""
    rows = httpx.get(f"{url}/board/data", headers={"trainer-key": key}, timeout=60).json()["learners"]
    results = Results(folder / "class.db")
    table = [row for row in csv.DictReader(io.StringIO(results_table(results))) if row["done"].lower() == "true"]
    results.close()
    hints = [sum(one["hints"] for one in row["results"].values()) for row in rows]
    assert [*zip((row["done"] for row in rows), hints, strict=True)] == [(len(DONE), 1)] * len(codes)
    assert sorted((row["learner"], row["task"]) for row in table) == sorted(
        (name, task) for name in codes for task in DONE
    )
    for name, places in bought.items():
        for place, ids in places.items():
            with wb.connect(f"{url}/{codes[name]}/{place}") as api:
                stored = {record["id"] for record in api.sandbox.records("transaction")}
            assert stored >= {*ids}, (name, place)


def run(learners: int) -> str:
    """Run the class, and return the figures."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "class"
        with served(folder, "--learners", str(learners)) as (url, key, process):
            results = Results(folder / "class.db")
            codes = {learner.name: learner.code for learner in results.learners()}
            results.close()
            started, mine, theirs = time.monotonic(), time.process_time(), look(process, folder)["processor"]
            barrier = Barrier(learners)
            with ThreadPoolExecutor(learners) as pool:
                ended = list(pool.map(lambda code: work(url, code, barrier), codes.values()))
            wall, mine = time.monotonic() - started, time.process_time() - mine
            held = look(process, folder)
            bought = {name: places for name, places, _ in ended}
            assert bought.keys() == codes.keys()
            compare(url, key, folder, codes, bought)
        with served(folder) as (url, key, _):
            compare(url, key, folder, codes, bought)
    steps = sorted(second for _, _, seconds in ended for second in seconds)
    return (
        f"{learners} learners at once: {len(steps)} tasks begun, done and checked, {len(steps) * PURCHASES:,} purchases and "
        f"{learners} hints acknowledged in {wall:.0f} s; none lost, before and after SIGKILL. Processor time: "
        f"{held['processor'] - theirs:.1f} s of the server, {mine:.1f} s of the learners; a task {steps[len(steps) // 2]:.1f} s "
        f"(median), {steps[-1]:.1f} s (longest); the server has {held['memory']:.0f} MB and {held['threads']:.0f} threads"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--learners", type=int, default=30)
    print(run(parser.parse_args().learners))
