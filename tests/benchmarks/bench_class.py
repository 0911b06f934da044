"""Run a class of concurrent learners on one server, which takes about 25 minutes: `python -m tests.benchmarks.bench_class`.

Each learner is a process with a separate state folder that runs the notebooks of the course in IPython, cell by cell with pauses.
At each exercise the learner checks the unsolved exercise, makes a wrong purchase and checks again, and then runs the solution. The
trainer injects faults for every third learner, and the server is killed and restarted twice. If a cell fails, the learner runs the
notebook again from the first cell. One learner in five solves a drill. At the end the board is compared with the learners' state
folders, and each learner searches all reads of the sandbox for purchases of other learners.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

import workbench as wb
from tests.notebooks.reading import COURSE
from workbench.course import stored
from workbench.course.task_files import DRILLS, EXERCISES

TRIES = 8  # maximum runs of a notebook until all its cells succeed
SLOW = 1.0  # maximum seconds until the board shows a report
WRONG = """
api.simulate_authorization(card_id=api.sandbox.guide()["cards"]["active"][2], amount=421, currency="USD",
    merchant_name="Example Books", merchant_category_code="5942")
"""
_CHECK = re.compile(r'wb\.course\.check\("([\w-]+)"')


class Learner:
    """A learner in this process, who runs notebooks in IPython. It records the duration of each call and the time of each report."""

    def __init__(self, number: int, seconds: float) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        self.number = number
        self.chance = random.Random(number)
        self.took: list[float] = []
        self.reports: dict[str, float] = {}
        self.errors: list[str] = []
        self.shell = InteractiveShell.instance()
        cells = sum(1 for path in COURSE for _ in _code(path))
        self.pause = seconds / cells
        self._listen()

    def _listen(self) -> None:
        """Record the duration of every request, and the time at which each exercise was first reported as solved."""
        send, check, took, reports = httpx.HTTPTransport.handle_request, wb.course.check, self.took, self.reports

        def handle(transport: Any, request: httpx.Request) -> httpx.Response:
            began = time.perf_counter()
            answer = send(transport, request)
            took.append(time.perf_counter() - began)
            return answer

        def note(name: str, *given: Any) -> Any:
            said = check(name, *given)
            if said.ok:
                reports.setdefault(name, time.time())
            return said

        httpx.HTTPTransport.handle_request = handle  # type: ignore[method-assign]
        wb.course.check = note

    def run(self, source: str) -> bool:
        """Run a cell after a random pause, and return whether it raised no error."""
        time.sleep(self.chance.expovariate(1 / self.pause))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            result = self.shell.run_cell(source, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            self.errors.append(f"{type(error).__name__}: {error}"[:100])
        return error is None

    def learn(self, path: Path) -> None:
        """Run a notebook. If a cell fails, as after a fault or a kill, run the notebook again from its first cell."""
        for attempt in range(TRIES):
            self.shell.reset(new_session=False)
            if all(self.cell(source, mistake=not attempt) for source in _code(path)):
                return

    def cell(self, source: str, *, mistake: bool) -> bool:
        """Run a cell. In a cell that checks an exercise, run the solution first, and with `mistake` also a wrong purchase."""
        found = _CHECK.search(source)
        if found is None:
            return self.run(source)
        exercise = found[1]
        # begin a new attempt: some mistakes cannot be corrected in the same sandbox
        again = f'wb.course.task("{exercise}")'
        if mistake and not (self.run(source) and self.run(WRONG) and self.run(source) and self.run(again)):
            return False
        solution = EXERCISES[exercise].answer
        return self.run(solution) and self.run(source) and exercise in self.reports

    def drill(self) -> None:
        """Solve a drill."""
        name = "duplicate-bookings"
        wb.course.begin(name)
        with wb.connect(seed=7) as api:
            facts = wb.course.task(name, api).facts
            exec(DRILLS[name].answer, {"wb": wb, "api": api, "facts": facts})
            wb.course.check(name, api)

    def look(self) -> list[int]:
        """Make a purchase of a unique amount, and return the amounts of all learners' such purchases that any read shows."""
        with wb.connect() as api:
            card = api.sandbox.guide()["cards"]["active"][9]
            purchase = {"currency": "USD", "merchant_name": "Mine", "merchant_category_code": "5411"}
            api.simulate_authorization(card_id=card, amount=10_000 + self.number, **purchase)
            records = [
                one["authorized"]
                for one in api.sandbox.records("transaction", all_tenants=True)
                if one["merchant_name"] == "Mine"
            ]
            spends = [one.payload["body"].get("spend") or {} for one in api.sandbox.events(all_tenants=True)]
            events = [one["amount"] for one in spends if one.get("merchantName", "").strip() == "Mine"]
            bodies = [one.body or {} for one in api.sandbox.requests(all_tenants=True)]
            requests = [one["amount"] for one in bodies if one.get("merchantName") == "Mine"]
            inbox = [
                one.body.spend.amount
                for one in api.inbox.events()
                if one.kind.startswith("transaction") and one.body.spend.merchant_name == "Mine"
            ]
        return sorted({*records, *events, *requests, *inbox})  # fmt: skip


def _code(path: Path) -> Iterator[str]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.strip():
            yield source


def learn(number: int, seconds: float) -> dict[str, Any]:
    """Do the course as one learner, and return the results and figures."""
    warnings.simplefilter("ignore")  # the client warns about injected faults
    one = Learner(number, seconds)
    for path in COURSE:
        one.learn(path)
    for attempt in range(TRIES):
        try:
            if number % 5 == 0:
                one.drill()
            amounts = one.look()
            break
        except wb.WorkbenchError:
            if attempt == TRIES - 1:
                raise
            time.sleep(2)
    return {
        "done": sorted(name for name in EXERCISES if (result := stored.get(f"result:{name}")) and result["done"]), "took": one.took, "reports": one.reports,
        "amounts": amounts, "errors": one.errors, "processor": time.process_time(),
    }  # fmt: skip


class Server:
    """The class server as a process, on one port and one folder."""

    def __init__(self, folder: Path, learners: int) -> None:
        self._command = [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(folder)]
        self._learners = learners
        self.codes: list[str] = []
        self.url = self.key = ""
        self._start("--learners", str(learners))

    def _start(self, *more: str) -> None:
        port = ["--port", self.url.rpartition(":")[2]] if self.url else []
        self._process = subprocess.Popen(
            [*self._command, *port, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out, err = self._process.stdout, self._process.stderr
        assert out is not None
        assert err is not None
        self.url = out.readline().strip()
        found = re.search(r"trainer key: (\S+)", err.readline())
        assert found is not None
        self.key = found[1]
        lines = (line.strip() for line in out)
        found_codes = (code[0] for line in lines if (code := re.search(r"[a-z]+-\w{4}-\w{4}$", line)))
        self.codes = [next(found_codes) for _ in range(self._learners)]

    def kill(self) -> None:
        """Kill the process with SIGKILL, and start it again."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        kept = self.codes
        self._start()
        assert self.codes == kept

    def exchange(self, path: str, content: Any = None) -> Any:
        """Read the board's data, or send an action of the trainer if `content` is not None."""
        with httpx.Client(headers={"trainer-key": self.key}, timeout=20) as http:
            answer = http.request("GET" if content is None else "POST", f"{self.url}/board/{path}", json=content)
            return answer.raise_for_status().json()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(10)


class Board(threading.Thread):
    """A reader of the board, twice a second as its page does. It records when each exercise was first shown as done."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server, self.stopped = server, threading.Event()
        self.seen: dict[tuple[str, str], float] = {}
        self.took: list[float] = []

    def run(self) -> None:
        with httpx.Client(headers={"trainer-key": self.server.key}, timeout=20) as http:
            while not self.stopped.wait(0.5):
                began = time.perf_counter()
                with contextlib.suppress(httpx.HTTPError):
                    answer = http.get(f"{self.server.url}/board/data").raise_for_status()
                    self.took.append(time.perf_counter() - began)
                    self._note(answer.json()["learners"])

    def _note(self, rows: list[Any]) -> None:
        for row in rows:
            for name, one in row["results"].items():
                if one["done"]:
                    self.seen.setdefault((row["learner"], name), time.time())


def main() -> None:
    """Run a class and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=700, help="pauses of each learner, in all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "class", given.learners)
        names = [row["learner"] for row in server.exchange("data")["learners"]]
        board = Board(server)
        board.start()
        began = time.monotonic()
        processes = []
        for number, code in enumerate(server.codes):
            kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBENCH_")}
            own = {
                "WORKBENCH_CLASS": f"{server.url}/{code}",
                "WORKBENCH_STATE": f"{folder}/state-{number}",
                "MPLBACKEND": "agg",
                "IPYTHONDIR": f"{folder}/ipython-{number}",
            }
            command = [
                sys.executable,
                "-m",
                "tests.benchmarks.bench_class",
                "learner",
                str(number),
                str(given.seconds),
            ]
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept | own))
        kills = [given.seconds * (number + 1) / (given.kills + 1) for number in range(given.kills)]
        faults = 0
        while any(process.poll() is None for process in processes):
            time.sleep(5)
            if kills and time.monotonic() - began > kills[0]:
                kills.pop(0)
                server.kill()
            elif faults < given.seconds / 20:
                some = [name for number, name in enumerate(names) if number % 3 == faults % 3]
                kind = ("status", "lost", "latency")[faults % 3]
                given_fault = {"kind": kind, "times": 1} | ({"seconds": 0.2} if kind == "latency" else {})
                with contextlib.suppress(httpx.HTTPError):
                    server.exchange("act", {"learners": some, "action": "add_fault", "arguments": given_fault})
                faults += 1
        seconds = time.monotonic() - began
        results = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
        time.sleep(1)
        board.stopped.set()
        board.join()
        rows = server.exchange("data")["learners"]
        server.stop()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report(rows, results, board, names)
    ours = sum(result["processor"] for result in results)
    print(
        f"{given.learners} learners, {given.kills} kills of the server, faults {faults} times for a third of them, {seconds:.0f} s"
    )
    print(
        f"processor: learners {ours:.0f} s, with the server {used.ru_utime + used.ru_stime:.0f} s; load {os.getloadavg()[0]:.1f}"
    )


def report(rows: list[Any], results: list[Any], board: Board, names: list[str]) -> None:
    """Print how far the board agrees with the learners, and the figures of speed."""
    took = sorted(one for result in results for one in result["took"])
    wrong = sum(
        sorted(name for name, one in row["results"].items() if one["done"] and name in EXERCISES) != result["done"]
        for row, result in zip(rows, results, strict=True)
    )
    foreign = sum(result["amounts"] != [10_000 + number] for number, result in enumerate(results))
    drills = sum(row["results"].get("duplicate-bookings", {}).get("done", False) for row in rows)
    behind = sorted(
        max(board.seen[name, exercise] - at, 0)
        for name, result in zip(names, results, strict=True)
        for exercise, at in result["reports"].items()
    )
    tries = sum(one["tries"] for row in rows for one in row["results"].values())
    print(
        f"exercises done: {sum(len(result['done']) for result in results)} of {len(results) * len(EXERCISES)}, {tries} tries"
    )
    left = sorted({name for result in results for name in EXERCISES if name not in result["done"]})
    print(f"not done by everyone: {', '.join(left) or 'none'}")
    print(
        f"drills solved: {drills}; cells that failed by faults and kills: {sum(len(result['errors']) for result in results)}"
    )
    print(f"learners whose progress on the board differs from their own: {wrong}")
    print(f"learners who see a purchase of another, or miss their own: {foreign}")
    print(
        f"{len(took):,} calls: p50 {quantiles(took, n=100)[49] * 1e3:.0f} ms, p95 {quantiles(took, n=100)[94] * 1e3:.0f} ms"
    )
    print(
        f"the board: behind by p50 {quantiles(behind, n=100)[49]:.2f} s, p95 {quantiles(behind, n=100)[94]:.2f} s; its data took p95 {quantiles(board.took, n=100)[94] * 1e3:.0f} ms"
    )
    print(
        f"reports that the board showed after more than {SLOW} s, as while the server was killed: {sum(one > SLOW for one in behind)} of {len(behind)}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["learner"]:
        print("\n" + json.dumps(learn(int(sys.argv[2]), float(sys.argv[3]))))
    else:
        main()
