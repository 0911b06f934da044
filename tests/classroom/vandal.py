"""Run a class with and without a vandal: `python -m tests.classroom.vandal --learners 30 --seconds 90`.

Learners use a class server in a separate process, first without a vandal, then with a vandal who also has a learner's code.
The vandal's process continuously sends wrong codes, floods and resets its sandbox, forges reports and trainer actions, and
sends very long names. In the second run the server is killed twice with SIGKILL, and the trainer injects faults for every
sixth learner. The script prints the response times of the other learners and their errors by cause. The exit code is 1 if a
learner got an unexpected error, a sandbox lacks an acknowledged purchase, or a forged report counted.
"""

import argparse
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import httpx

PURCHASE = {"currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}
THREADS = 6  # number of threads that attack at the same time
FAULT = "status"


@attrs.define
class Learner:
    """A learner who calls over HTTP, with the durations and errors of calls and the acknowledged purchases."""

    url: str
    chance: Random
    seconds: list[float] = attrs.field(factory=list)
    errors: Counter[str] = attrs.field(factory=Counter)
    acknowledged: int = 0
    unknown: int = 0

    def work(self, until: float, pause: float, server: "Server") -> None:
        with httpx.Client(timeout=30, trust_env=False) as http:
            guide = http.get(f"{self.url}/_sandbox/guide").json()
            key, card = {"api-key": guide["api_keys"]["full"]}, guide["cards"]["active"][0]
            while time.monotonic() < until:
                time.sleep(self.chance.expovariate(1 / pause))
                starts, began = server.starts, time.perf_counter()
                is_down = server.is_down
                try:
                    self._call(http, key, card)
                    self.seconds.append(time.perf_counter() - began)
                except httpx.TransportError as error:
                    killed = is_down or server.is_down or server.starts != starts
                    self.errors["server killed" if killed else type(error).__name__] += 1
                except httpx.HTTPStatusError as error:
                    fault = error.response.headers.get("workbench-fault", "")
                    cause = "injected" if "applied" in fault else f"status {error.response.status_code}"
                    self.errors[cause] += 1
            while server.is_down:
                time.sleep(0.1)
            held = http.post(f"{self.url}/_sandbox/balance", json={"card_id": card}, headers=key).json()["held"]
            if not self.acknowledged <= held <= self.acknowledged + self.unknown:
                self.errors["lost or doubled"] += 1

    def _call(self, http: httpx.Client, key: dict[str, str], card: str) -> None:
        choice = self.chance.random()
        if choice < 0.4:
            self.unknown += 1
            body = {"cardId": card, "amount": 1, **PURCHASE}
            answer = http.post(f"{self.url}/v1/simulate/transactions/authorize", json=body, headers=key)
            self.unknown -= answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR
            answer.raise_for_status()
            self.acknowledged += 1
        elif choice < 0.7:
            http.get(f"{self.url}/v1/issuing/tenants/contracts", headers=key).raise_for_status()
        elif choice < 0.9:
            http.post(f"{self.url}/_sandbox/events", json={}, headers=key).raise_for_status()
        else:
            for kind in ("start", "check"):
                http.post(f"{self.url}/_class", json={"kind": kind, "task": "start-1"}).raise_for_status()


class Server:
    """A class server on a folder, in a process that can be killed and started again."""

    def __init__(self, folder: Path, learners: int) -> None:
        self.is_down, self.starts = False, 0
        self._folder = folder
        self._start("--learners", str(learners))
        self.codes: list[str] = []
        assert self._process.stdout is not None
        while len(self.codes) < learners:
            self.codes += re.findall(r"[a-z]+-\w{4}-\w{4}", self._process.stdout.readline())

    def _start(self, *options: str) -> None:
        command = [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(self._folder), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.url = self._process.stdout.readline().strip()
        self.key = re.findall(r"trainer key: (\S+)", self._process.stderr.readline())[0]
        self.starts += 1

    def kill(self) -> None:
        """Kill the server, and start it again on the same folder."""
        self.is_down = True
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        url = self.url
        self._start()
        assert self.url == url, "the address has changed"
        self.is_down = False

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)


def attack(url: str, code: str) -> None:
    """Attack until the process is killed, and print the number of requests each second."""
    requests = [0] * THREADS
    mine = f"{url}/{code}"
    huge = "x" * 200_000
    forged = {"kind": "check", "task": "start-1", "missing": [], "confirmed": True}
    steps: list[Callable[[httpx.Client, dict[str, str]], object]] = [
        lambda http, key: http.get(f"{url}/olive-{secrets.token_hex(2)}-{secrets.token_hex(2)}/_class"),
        lambda http, key: http.post(
            f"{mine}/v1/simulate/transactions/authorize", headers=key, json={"cardId": "no", "amount": 1, **PURCHASE}
        ),
        lambda http, key: http.get(f"{mine}/_sandbox/requests"),
        lambda http, key: http.post(f"{mine}/_sandbox/reset", json={}, headers=key),
        lambda http, key: http.post(f"{mine}/_class", json=forged),
        lambda http, key: http.post(f"{mine}/_class", json=forged | {"task": huge}),
        lambda http, key: http.post(
            f"{url}/board/act", json={"learners": "all", "action": "reset"}, headers={"trainer-key": code}
        ),
        lambda http, key: http.post(
            f"{mine}/v1/simulate/transactions/authorize", headers=key, json={"merchantName": huge, "amount": 1}
        ),
        lambda http, key: http.get(f"{url}/{huge[:50_000]}"),
        lambda http, key: http.post(f"{mine}/_sandbox/snapshot", json={"name": huge}, headers=key),
    ]

    def repeat(number: int) -> None:
        chance = Random(number)
        while True:
            try:
                with httpx.Client(timeout=30, trust_env=False) as http:
                    key = {"api-key": http.get(f"{mine}/_sandbox/guide").json()["api_keys"]["full"]}
                    while True:
                        chance.choice(steps)(http, key)
                        requests[number] += 1
            except (httpx.HTTPError, KeyError, ValueError):
                time.sleep(0.05)

    threads = [threading.Thread(target=repeat, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    while True:
        time.sleep(1)
        print(sum(requests), flush=True)


def run(learners: int, seconds: float, rate: float, vandal: bool) -> bool:
    """Run a class and print its figures. Return whether no learner got an unexpected error and no forged report counted."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name) / "class", learners + 1)
        *codes, vandal_code = server.codes
        until = time.monotonic() + seconds
        students = [Learner(f"{server.url}/{code}", Random(code)) for code in codes]
        threads = [threading.Thread(target=one.work, args=(until, learners / rate, server)) for one in students]
        command = [sys.executable, "-m", "tests.classroom.vandal", "--attack", server.url, vandal_code]
        attacker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if vandal else None
        requests = "0"
        try:
            for thread in threads:
                thread.start()
            trainer = {"trainer-key": server.key}
            names = [row["learner"] for row in _board(server.url, trainer)["learners"]]
            for third in (1, 2) if vandal else ():
                time.sleep(max(0.0, until - time.monotonic() - seconds * (3 - third) / 3))
                server.kill()
                arguments = {"kind": FAULT, "times": 1}
                action = {"learners": names[:learners:6], "action": "add_fault", "arguments": arguments}
                httpx.post(f"{server.url}/board/act", json=action, headers=trainer, timeout=30).raise_for_status()
            for thread in threads:
                thread.join()
        finally:
            if attacker:
                attacker.kill()
                requests = attacker.communicate()[0].split()[-1]
        board = _board(server.url, trainer)
        server.stop()
    times = sorted(second for one in students for second in one.seconds)
    errors = sum((one.errors for one in students), Counter[str]())
    p50, p95, p99 = (times[int(len(times) * share)] * 1000 for share in (0.5, 0.95, 0.99))
    print(
        f"{'with' if vandal else 'without'} a vandal: {len(times):,} calls, p50 {p50:.0f} ms, p95 {p95:.0f} ms, "
        f"p99 {p99:.0f} ms; errors {dict(errors)}; purchases {sum(one.acknowledged for one in students):,}, "
        f"of unknown outcome {sum(one.unknown for one in students)}; requests of the vandal {requests}; "
        f"wrong codes in the last minute {board['wrong_codes']}"
    )
    is_done = any(row["done"] for row in board["learners"])
    return not is_done and not set(errors) - {"server killed", "injected"}


def _board(url: str, trainer: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    answer = httpx.get(f"{url}/board/data", headers=trainer, timeout=30)
    content: dict[str, list[dict[str, object]]] = answer.raise_for_status().json()
    return content


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--rate", type=float, default=15, help="calls a second, of all learners")
    parser.add_argument("--attack", nargs=2, metavar=("URL", "CODE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.attack:
        attack(*given.attack)
    unnoticed = [run(given.learners, given.seconds, given.rate, vandal) for vandal in (False, True)]
    sys.stdout.flush()
    os._exit(0 if all(unnoticed) else 1)
