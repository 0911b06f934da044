"""Run a class server with active learners for hours: `python -m tests.classroom.soak --hours 2 --learners 30 --rate 15`.

The server is a separate process. Each learner connects, makes purchases, settles, refunds, reads, moves the clock, registers
endpoints, takes snapshots, reports tries and hints, and sometimes resets the sandbox. The trainer's board is read each second. Once
a minute, the server's memory, threads, files, sockets and processor time are written to `--out` as a JSON line. `--read` prints the
figures of that file.
"""

import argparse
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from workbench.course.task_files import EXERCISES

PURCHASE = {"currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}
RESET_AFTER = 300  # calls between resets, about ten minutes of a learner's work
WARM = 600  # seconds to leave out of the figures; each part of the server has run once by then


class Learner:
    """A learner who uses the sandbox over HTTP."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self.url, self.chance = url, chance
        self.errors: list[str] = []
        self.calls = 0
        self._join()

    def _join(self) -> None:
        self.http = httpx.Client(base_url=self.url, timeout=30)
        self.guide: dict[str, Any] = self.http.get("/_sandbox/guide").json()
        self.http.headers["api-key"] = self.guide["api_keys"]["full"]

    def control(self, name: str, /, **arguments: Any) -> Any:
        answer = self.http.post(f"/_sandbox/{name}", json=arguments)
        answer.raise_for_status()
        return answer.json()

    def buy(self) -> str:
        card = self.chance.choice(self.guide["cards"]["active"])
        answer = self.http.post("/v1/simulate/transactions/authorize", json={"cardId": card, "amount": 100, **PURCHASE})
        answer.raise_for_status()
        return str(answer.json()["transactionId"])

    def step(self) -> None:
        """Do one random action of a learner."""
        do = self.chance.random()
        if do < 0.3:
            bought = self.buy()
            if do < 0.1:
                self.control("settle", transaction_id=bought)
                self.http.post(f"/v1/simulate/transactions/{bought}/refund", json={"amount": 40}).raise_for_status()
        elif do < 0.6:
            user = self.guide["rewards_users"][0]["id"]
            read = "issuing/tenants/contracts" if do < 0.5 else f"issuing/rewards/activity?userId={user}"
            self.http.get(f"/v1/{read}").raise_for_status()
        elif do < 0.7:
            self.control("events")
        elif do < 0.75:
            self.control("advance", minutes=10)
        elif do < 0.85:
            exercise = self.chance.choice(list(EXERCISES))
            for kind in ("start", "check"):
                self.http.post("/_class", json={"kind": kind, "task": exercise})
        elif do < 0.88:
            self.http.get("/_class")
        elif do < 0.9:
            made = self.control("register_endpoint", endpoint_url="http://127.0.0.1:9/webhooks")
            self.control("remove_endpoint", endpoint_id=made["id"])
        elif do < 0.92:
            self.control("snapshot", name="mine")
        elif do < 0.95:
            self.control("requests")
        else:
            self.control("deposit", amount="0.45")
        if self.chance.random() < 1 / RESET_AFTER:
            self.control("reset")
            self.http.close()  # as when the learner restarts the kernel
            self._join()

    def work(self, until: float, pause: float) -> None:
        """Do actions with pauses until a time of the monotonic clock."""
        while time.monotonic() < until:
            time.sleep(self.chance.expovariate(1 / pause))
            try:
                self.step()
            except (httpx.HTTPError, KeyError, ValueError) as error:
                self.errors.append(f"{type(error).__name__}: {error}"[:200])
            self.calls += 1


def look(process: int, folder: Path) -> dict[str, float]:
    """Return a process's memory in MB, threads, open files and sockets, processor seconds, and size of the class folder in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    held = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            held.append(str(link.readlink()))
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return {
        "memory": int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024,
        "threads": int(re.findall(r"Threads:\s+(\d+)", status)[0]),
        "files": sum(not one.startswith(("socket:", "anon_inode:", "pipe:")) for one in held),
        "sockets": sum(one.startswith("socket:") for one in held),
        "processor": (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"),
        "disk": sum(one.stat().st_size for one in folder.iterdir()) / 2**20,
    }


def run(hours: float, learners: int, rate: float, seed: int, out: Path) -> None:
    """Run the class, and write the server's figures once a minute."""
    with tempfile.TemporaryDirectory() as name, out.open("w", encoding="utf-8") as lines:
        folder = Path(name) / "class"
        served = subprocess.Popen(
            [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(folder), "--learners", str(learners)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert served.stdout is not None
        assert served.stderr is not None
        url = served.stdout.readline().strip()
        key = re.findall(r"trainer key: (\S+)", served.stderr.readline())[0]
        codes: list[str] = []
        while len(codes) < learners:
            codes += re.findall(r"[a-z]+-\w{4}-\w{4}", served.stdout.readline())
        until = time.monotonic() + hours * 3600
        class_ = [Learner(f"{url}/{code}", random.Random(f"{seed}-{code}")) for code in codes]
        pause = learners / rate
        threads = [threading.Thread(target=one.work, args=(until, pause), daemon=True) for one in class_]
        for thread in threads:
            thread.start()
        began, board = time.monotonic(), 0.0
        written = -60.0
        with httpx.Client(headers={"trainer-key": key}, timeout=30) as trainer:
            while time.monotonic() < until:
                asked = time.perf_counter()
                trainer.get(f"{url}/board/data").raise_for_status()
                board = max(board, time.perf_counter() - asked)
                seconds = time.monotonic() - began
                if seconds - written >= 60:
                    written = seconds
                    errors = [error for one in class_ for error in one.errors]
                    row = {
                        "seconds": round(seconds), **look(served.pid, folder), "board": board,
                        "calls": sum(one.calls for one in class_), "errors": len(errors), "last": errors[-1:],
                    }  # fmt: skip
                    print(json.dumps(row), file=lines, flush=True)
                    board = 0.0
                time.sleep(1)
        for thread in threads:
            thread.join(60)
        asked = time.perf_counter()
        served.terminate()
        served.communicate(timeout=60)
        print(json.dumps({"ended": time.perf_counter() - asked, "code": served.returncode}), file=lines, flush=True)


def read(out: Path) -> None:
    """Print the server's figures every ten minutes, and their means after ten minutes and at the end, and their maximum."""
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if "seconds" in row]
    held = ("memory", "threads", "files", "sockets", "disk", "calls", "errors")
    print("minutes", *held)
    for tens, row in sorted({int(row["seconds"] // 600): row for row in reversed(rows)}.items()):
        print(f"{tens * 10:7}", *(f"{row[name]:{len(name)}.0f}" for name in held))
    warm = [row for row in rows if row["seconds"] >= WARM] or rows
    last = warm[-1]
    print(f"{last['seconds'] / 60:.0f} minutes, {last['calls']:,} calls, {last['errors']} errors {last['last']}")
    print(
        f"processor: {last['processor'] / max(last['seconds'], 1):.1%} of a core; slowest board {max(row['board'] for row in warm):.2f} s"
    )
    for name in held[:5]:
        tenth = max(1, len(warm) // 10)
        first, end = (sum(row[name] for row in part) / len(part) for part in (warm[:tenth], warm[-tenth:]))
        print(
            f"{name}: {first:.0f} after ten minutes, {end:.0f} at the end, at most {max(row[name] for row in warm):.0f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--rate", type=float, default=15, help="calls a second, of all learners")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("class-soak.jsonl"))
    parser.add_argument("--read", action="store_true", help="print what a file shows, and run nothing")
    given = parser.parse_args()
    if not given.read:
        run(given.hours, given.learners, given.rate, given.seed, given.out)
    read(given.out)
