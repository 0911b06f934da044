"""A class of learners at once on one server, with wrong tries, faults, and two kills: `python -m tests.benchmarks.bench_class`.

Each learner is a process that does the exercises of the course with its own state folder: first a wrong try, then for every third
learner a fault, then the solution. The server is killed twice and started again. At the end the board is compared with what
the learners' own processes say, and every purchase with the learner who made it.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx

import workbench as wb
from tests.course.lessons import PREPARED
from workbench.course.learner import EXERCISES

SKIPPED = {"webhooks-2"}  # its receiver has to be reachable from the server
ATTEMPTS = 6


def learner(url: str, code: str, number: int) -> dict[str, Any]:
    """Do the exercises of one learner, and return what was done and how long calls took."""
    warnings.simplefilter("ignore")  # the client tells of faults
    took: list[float] = []
    done: list[str] = []
    for name in EXERCISES:
        if name in SKIPPED:
            continue
        for _ in range(ATTEMPTS):
            try:
                if _solve(url, code, number, name, took):
                    done.append(name)
                    break
            except (wb.NotSent, wb.OutcomeUnknown, wb.errors.WrongEnvironment, wb.ApiError, LookupError):
                time.sleep(1.5)  # the server was killed, or is starting
    amounts = []
    with contextlib.suppress(wb.WorkbenchError), wb.connect(url, code=code) as api:
        mine = 10_000 + number
        card = api.guide()["cards"]["active"][9]
        bought = api.simulate_authorization(
            card_id=card, amount=mine, currency="USD", merchant_name="Mine", merchant_category_code="5411"
        )
        assert bought.transaction_id
        amounts = sorted(
            {one["authorized"] for one in api.sandbox.records("transaction") if one["merchant_name"] == "Mine"}
        )
    return {"done": done, "took": took, "amounts": amounts}


def _solve(url: str, code: str, number: int, name: str, took: list[float]) -> bool:
    place = f"{url}/{code}/production" if name.startswith("production") else f"{url}/{code}"
    settings: dict[str, Any] = {"timeout": 20}
    with wb.connect(place, **settings) as api:
        began = time.perf_counter()
        contract = api.list_contracts()[0]
        took.append(time.perf_counter() - began)
        names: dict[str, Any] = {
            "wb": wb, "api": api, "production": api, "guide": api.guide(), "contract": contract,
            "token": contract.tokens[0].address, "admin": contract.admin_addresses[0], "to": contract.admin_addresses[1],
        }  # fmt: skip
        exec(PREPARED.get(EXERCISES[name].notebook, ""), names)
        if wb.course.check(name, api).done:
            return True
        if number % 3 == 0:
            api.sandbox.add_fault("latency", times=2, seconds=0.05)
        exec(compile(EXERCISES[name].hints[-1], f"<hint of {name}>", "exec"), names)
        return bool(wb.course.check(name, api).done)


class Server:
    """The class server as a process, on one port and one folder."""

    def __init__(self, folder: Path, learners: int) -> None:
        self._command = [sys.executable, "-m", "workbench", "class", "serve", "--folder", str(folder)]
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
        found_codes = (code[0] for line in lines if (code := re.search(r"\w+-\d+-\w+$", line)))
        self.codes = [next(found_codes) for _ in range(self._learners)]

    def kill(self) -> None:
        """End the process without a warning, and start it again."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        kept = self.codes
        self._start()
        assert self.codes == kept

    def board(self) -> Any:
        """Return the data of the board."""
        return httpx.get(f"{self.url}/board/data", headers={"trainer-key": self.key}, timeout=20).json()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(10)


def main() -> None:
    """Run a class and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--kills", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "class", given.learners)
        began = time.monotonic()
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.benchmarks.bench_class", "learner", server.url, code, str(number)],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "WORKBENCH_STATE": f"{folder}/state-{number}"},
            )
            for number, code in enumerate(server.codes)
        ]  # fmt: skip
        stop = threading.Event()
        lags: list[float] = []

        def watch() -> None:
            while not stop.wait(1):
                with contextlib.suppress(httpx.HTTPError):
                    asked = time.perf_counter()
                    server.board()
                    lags.append(time.perf_counter() - asked)

        watching = threading.Thread(target=watch)
        watching.start()
        for _ in range(given.kills):
            time.sleep(25)
            server.kill()
        results = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
        stop.set()
        watching.join()
        rows = server.board()["learners"]
        server.stop()
    took = sorted(one for result in results for one in result["took"])
    wrong = sum(
        {name for name, one in row["results"].items() if one["done"]} != set(result["done"])
        for row, result in zip(rows, results, strict=True)
    )
    foreign = sum(result["amounts"] != [10_000 + number] for number, result in enumerate(results))
    every = len(EXERCISES) - len(SKIPPED)
    print(f"{given.learners} learners, {given.kills} kills of the server, {time.monotonic() - began:.0f} s")
    print(f"exercises done: {sum(len(result['done']) for result in results)} of {given.learners * every}")
    print(f"learners whose progress on the board differs from their own: {wrong}")
    print(f"learners who see a purchase of another, or miss their own: {foreign}")
    print(
        f"a call, p50 and p95: {quantiles(took, n=100)[49] * 1e3:.0f} ms and {quantiles(took, n=100)[94] * 1e3:.0f} ms"
    )
    print(f"the board's data, longest: {max(lags) * 1e3:.0f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["learner"]:
        print(json.dumps(learner(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main()
