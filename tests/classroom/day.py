"""Simulate a day of a class of twelve: `python -m tests.classroom.day`. With `--write`, write tests/classroom/jobs.md.

The class server is a process with a separate small disk (a tmpfs, which needs root). The script can move the server's clock,
so that lunch takes seconds. Learners do their tasks with the client and the course of the workbench. The trainer uses
requests, commands and the board in Chromium. After each step, each cell of the board is compared with the expected state.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
from playwright.sync_api import Page, sync_playwright

import workbench as wb
from tests.browser.lab import CHROMIUM, FLAGS
from workbench.course import membership
from workbench.course.classroom.class_results import Results
from workbench.course.classroom.class_state import DISK_FULL, MIN_FREE, STUCK_TRIES
from workbench.course.task_files import DRILLS, EXERCISES

PAGE = Path(__file__).with_name("jobs.md")
HEADING = "## A day of a class\n"
ROSTER = ("Ann", "Bao", "Chidi", "Dana", "آرش", "Farah", "Gil", "Hana", "Ivo", "Jun", "Late")
ADDED = "Later"
DISK = 500 * 2**20
HOUR = 3_600
SERVER = """
import sys, time
from pathlib import Path
real, offset = time.time, Path(sys.argv.pop(1))
time.time = lambda: real() + float(offset.read_text())
from workbench.terminal import main
sys.exit(main(sys.argv[1:]))
"""


@attrs.define
class Expected:
    """The expected state of a learner, from the script's actions."""

    joined: bool = False
    idle: bool = False
    places: set[str] = attrs.field(factory=set)
    stuck: set[str] = attrs.field(factory=set)
    results: dict[str, list[Any]] = attrs.field(factory=dict)  # by task: [whether done, tries, hints]

    def result(self, task: str) -> list[Any]:
        return self.results.setdefault(task, [False, 0, 0])


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """Mount a small disk within the block, and yield its folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class Day:
    """The class, its trainer and its learners."""

    def __init__(self, folder: Path, own: Path, page: Page) -> None:
        self.folder, self.own, self.page = folder / "my-class", own, page
        self.offset = own / "offset"
        self.offset.write_text("0")
        roster = own / "roster.csv"
        roster.write_text("name\n" + "\n".join(ROSTER), encoding="utf-8")
        self.known = {name: Expected() for name in ROSTER}
        self.paused = self.full = False
        self.locked: list[str] = []
        self.compared = Counter[str]()
        self.differences: list[str] = []
        self.said: list[str] = []
        self.unanswered: list[str] = []  # failed requests of the board's page
        self.sessions: dict[tuple[str, str], Any] = {}
        self.start("--learners", str(roster))

    # the server

    def start(self, *options: str) -> None:
        (self.own / "day_server.py").write_text(SERVER)
        command = [sys.executable, str(self.own / "day_server.py"), str(self.offset)]
        command += ["course", "serve", "--folder", str(self.folder), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        threading.Thread(target=self._listen, args=(self.process.stderr,), daemon=True).start()
        results = Results(self.folder / "class.db")
        self.key = results.get("trainer_key")
        self.codes = {learner.name: learner.code for learner in results.learners()}
        results.close()

    def _listen(self, lines: Any) -> None:
        for line in lines:
            self.said.append(line)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def pass_time(self, seconds: float) -> None:
        later = self.offset.with_name("later")  # replaced atomically, so that the server never reads half of it
        later.write_text(str(float(self.offset.read_text()) + seconds))
        later.replace(self.offset)

    # the trainer

    def act(self, learners: Any, action: str, **arguments: Any) -> dict[str, Any]:
        content = {"learners": learners, "action": action, "arguments": arguments}
        answer = httpx.post(f"{self.url}/board/act", json=content, headers={"trainer-key": self.key}, timeout=60)
        acted: dict[str, Any] = answer.json()
        return acted

    def command(self, *words: str) -> str:
        command = [sys.executable, "-m", "workbench", "course", *words, "--folder", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    # learners

    def join(self, name: str) -> None:
        answer = httpx.get(f"{self.url}/{self.codes[name]}/_class", timeout=60).json()
        assert answer["learner"] == name
        self.known[name].joined = True

    def begin(self, name: str, place: str) -> Any:
        """Begin a notebook or drill as its first cell does, and return the session."""
        url = f"{self.url}/{self.codes[name]}"
        answer = membership.ask(url, None, {"kind": "begin", "task": place})
        self.sessions[name, place] = wb.connect(f"{url}/{answer['place']}")
        self.known[name].places.add(place)
        return self.sessions[name, place]

    def task(self, name: str, task: str, place: str) -> Any:
        shown = wb.course.task(task, self.sessions[name, place])
        self.known[name].result(task)
        return shown

    def solve(self, name: str, task: str, place: str, code: str | None = None, facts: Any = None) -> None:
        """Run a task's answer, or other code if given, as a learner's cell does."""
        api = self.sessions[name, place]
        guide = api.sandbox.guide()
        names = {"wb": wb, "api": api, "guide": guide, "card": guide["cards"]["active"][0], "facts": facts}
        text = code if code is not None else (EXERCISES | DRILLS)[task].answer
        exec(compile(text, f"<{task}>", "exec"), names)

    def check(self, name: str, task: str, place: str, *, tried: bool) -> bool:
        """Check a task, and update the expected state of the board. Return whether the task is done."""
        ok = wb.course.check(task, self.sessions[name, place]).ok
        result = self.known[name].result(task)
        if not result[0]:
            result[0], result[1] = ok, result[1] + (tried or ok)
            stuck = self.known[name].stuck
            stuck.discard(task)
            if not ok and result[1] >= STUCK_TRIES:
                stuck.add(task)
        return ok

    def buy(self, name: str, place: str, cents: int) -> str:
        api = self.sessions[name, place]
        card = api.sandbox.guide()["cards"]["active"][0]
        bought = api.allowing(again=True).simulate_authorization(
            card_id=card, amount=cents, currency="USD", merchant_name="Example Shop", merchant_category_code="5411"
        )
        return str(bought.transaction_id)

    # content of the board

    def compare(self, step: str) -> None:
        """Compare each cell of the board's data with the expected state, and the board's page with the data."""
        for name, known in self.known.items():  # a learner without a request for 60 s counts as idle
            if known.joined and not known.idle:
                httpx.get(f"{self.url}/{self.codes[name]}/_class", timeout=60)
        board = httpx.get(f"{self.url}/board/data", headers={"trainer-key": self.key}, timeout=60).json()
        self._same(step, "learners", sorted(row["learner"] for row in board["learners"]), sorted(self.known))
        self._same(step, "locked", board["locked"], self.locked)
        self._same(step, "paused", board["paused"], self.paused)
        self._same(step, "disk", board["disk_full"], self.full)
        for row in board["learners"]:
            known, name = self.known[row["learner"]], row["learner"]
            shown = {task: [each["done"], each["tries"], each["hints"]] for task, each in row["results"].items()}
            self._same(step, f"{name} joined", row["seen"] is not None, known.joined)
            self._same(step, f"{name} idle", (row["seen"] or 0) > 60, known.idle)
            self._same(step, f"{name} places", set(row["places"]), known.places)
            self._same(step, f"{name} stuck", {*row["stuck"]}, known.stuck)
            for task in {*shown, *known.results}:
                self._same(step, f"{name} {task}", shown.get(task), known.results.get(task))
            done = sum(result[0] for task, result in known.results.items() if task in EXERCISES)
            self._same(step, f"{name} done", row["done"], done)
        self._compare_page(step)

    def _compare_page(self, step: str) -> None:
        self.page.wait_for_function("() => document.querySelector('#grid tbody tr')")
        for _ in range(2):  # the first response may be from before the step
            with self.page.expect_response(lambda answer: "board/data" in answer.url and answer.status == 200):
                pass
        self.page.wait_for_timeout(300)
        summary = self.page.locator("#summary").inner_text()
        done = sum(
            result[0] for each in self.known.values() for task, result in each.results.items() if task in EXERCISES
        )
        self._same(step, "page done", f"{done} of " in summary, True)
        self._same(step, "page pause", "PAUSED" in summary, self.paused)
        self._same(step, "page disk", "DISK OF THIS SERVER IS FULL" in summary, self.full)
        stuck = [name for name, each in self.known.items() if each.stuck]
        listed = re.search(r"Stuck: ([^.]*)", summary)
        self._same(step, "page stuck", sorted(listed[1].split(", ")) if listed else [], sorted(stuck))
        for name, known in self.known.items():
            row = self.page.locator("#grid tbody tr", has=self.page.get_by_role("button", name=name, exact=True))
            head, cells = row.locator("th").inner_text(), row.locator("td.number").all_inner_texts()
            state = "not joined" if not known.joined else "idle" if known.idle else ""
            words = [word for word in ("not joined", "idle") if word in head]
            self._same(step, f"page {name} state", words, [state] if state else [])
            tries, hints = (sum(result[which] for result in known.results.values()) for which in (1, 2))
            self._same(step, f"page {name} tries, hints", cells[1:3], [str(tries), str(hints)])

    def _same(self, step: str, what: str, shown: object, known: object) -> None:
        self.compared[step] += 1
        if shown != known:
            self.differences.append(f"{step}: {what}: the board says {shown}, and it is {known}")


STEPS: dict[str, Callable[[Day], str]] = {}


def step(title: str) -> Callable[[Callable[[Day], str]], Callable[[Day], str]]:
    def added(do: Callable[[Day], str]) -> Callable[[Day], str]:
        STEPS[title] = do
        return do

    return added


def refusal(act: Callable[..., object], *arguments: object) -> str:
    """Return the message of a call that must be refused."""
    with pytest.raises(wb.WorkbenchError) as refused:
        act(*arguments)
    return str(refused.value)


WRONG_COFFEE = EXERCISES["start-1"].answer.replace("amount=420", "amount=4200")
HERE = ROSTER[:10]


@step("Nobody is there yet")
def _(day: Day) -> str:
    return "eleven on the roster, all not joined"


@step("Ten join, and the trainer acts on all")
def _(day: Day) -> str:
    for name in HERE:
        day.join(name)
    day.act("all", "event", event="a purchase of 12.50 USD (transaction.created)")
    return "who did not join is still not joined"


@step("Two notebooks and a drill open at once")
def _(day: Day) -> str:
    for name in HERE:
        for place, task in (("01", "start-1"), ("02", "purchases-1"), ("fraud-burst", "fraud-burst")):
            day.begin(name, place)
            day.task(name, task, place)
    bought = day.buy("Ann", "02", 100)
    day.begin("Ann", "01")
    day.task("Ann", "start-1", "01")
    assert day.sessions["Ann", "02"].sandbox.state(bought)["held"] == 100
    day.begin("Bao", "02")
    return "thirty sandboxes; a first cell that runs again leaves the other notebook alone"


@step("Run All of what nobody tried")
def _(day: Day) -> str:
    for name in HERE[2:]:
        for _ in range(3):
            assert not day.check(name, "purchases-1", "02", tried=False)
    return "no try, nobody stuck"


@step("Right, wrong, and hints")
def _(day: Day) -> str:
    for name in HERE[:6]:
        day.solve(name, "start-1", "01")
        assert day.check(name, "start-1", "01", tried=True)
    for number, name in enumerate(HERE[6:]):
        for _ in range(number):
            day.solve(name, "start-1", "01", WRONG_COFFEE)
            assert not day.check(name, "start-1", "01", tried=True)
            assert not day.check(name, "start-1", "01", tried=False)
    for number in (1, 2, 3):
        assert len(wb.course.hint("start-1", api=day.sessions["Gil", "01"]).hints) == number
    day.known["Gil"].result("start-1")[2] = 3
    return "six done; one, two and three tries, of which the last is stuck; three hints"


@step("Latecomers, after a fault and a lock for all")
def _(day: Day) -> str:
    day.act("all", "add_fault", kind="latency", of="list_contracts")
    day.act("all", "lock", lesson="13-go-to-production")
    day.locked.append("13-go-to-production")
    day.known[ADDED] = Expected()
    link = day.command("add", ADDED).strip()
    day.codes[ADDED] = link.rpartition("/")[2]
    for name in ("Late", ADDED):
        day.join(name)
        api = day.begin(name, "13")
        assert [rule.kind for rule in api.sandbox.list_faults()] == ["latency"]
        assert "locked by your trainer" in refusal(wb.course.task, "production-1", api)
    day.act("all", "clear_faults")
    return "rules and locks hold for who comes late, one of them added while the class is served"


@step("A pause")
def _(day: Day) -> str:
    day.act([], "pause")
    day.paused = True
    for name in HERE:
        assert "paused by your trainer" in refusal(day.buy, name, "02", 100)
        assert day.sessions[name, "02"].list_contracts()
    return "calls with an effect are refused, reads are answered"


@step("Lunch, in which the pause ends")
def _(day: Day) -> str:
    day.act([], "resume")
    day.paused = False
    day.pass_time(HOUR)
    for each in day.known.values():
        each.idle = each.joined
    return "an hour later all are idle, and nobody is stuck for the time"


@step("After lunch, with one laptop closed")
def _(day: Day) -> str:
    at_work, closed = ("Dana", "Farah"), "Hana"
    for name in (*HERE, "Late", ADDED):
        httpx.get(f"{day.url}/{day.codes[name]}/_class", timeout=60)
    for name in (*at_work, closed):
        day.buy(name, "02", 300)
        assert not day.check(name, "purchases-1", "02", tried=True)
    for _ in range(12):
        day.pass_time(60)
        for name in at_work:
            assert day.sessions[name, "02"].list_contracts()
    for name, each in day.known.items():
        each.idle = name not in at_work
    for name in at_work:
        day.known[name].stuck.add("purchases-1")
    return "who worked twelve minutes after a try is stuck, whose laptop was closed is not"


@step("The disk of the server is full")
def _(day: Day) -> str:
    free = os.statvfs(day.folder)
    ballast = day.folder.parent / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - MIN_FREE // 2)
    day.full = True
    said = set()
    for name in HERE:
        for act in (
            lambda name=name: day.buy(name, "02", 400),
            lambda name=name: day.sessions[name, "02"].sandbox.deposit(amount="0.45"),
            lambda name=name: wb.course.check("start-1", day.sessions[name, "01"]),
        ):
            said.add(DISK_FULL.lower() in refusal(act).lower())
        assert day.sessions[name, "02"].list_contracts()
        day.known[name].idle = False
    assert said == {True}
    assert any(DISK_FULL in line for line in day.said)
    return "thirty changes refused with one sentence, reads answered; the board and the terminal say it"


@step("The disk has free space again")
def _(day: Day) -> str:
    (day.folder.parent / "ballast").unlink()
    day.full = False
    for name in HERE:
        day.buy(name, "02", 500)
    return "the next calls are accepted"


@step("kill -9 while all twelve work")
def _(day: Day) -> str:
    taken: dict[str, list[str]] = {name: [] for name in day.known}
    for name in ("Late", ADDED):
        day.begin(name, "02")
    stopped = threading.Event()

    def work(name: str) -> None:
        while not stopped.is_set():
            try:
                taken[name].append(day.buy(name, "02", 600))
            except (wb.WorkbenchError, httpx.HTTPError):
                return

    workers = [threading.Thread(target=work, args=(name,)) for name in taken]
    for worker in workers:
        worker.start()
    time.sleep(3)
    day.kill()
    stopped.set()
    for worker in workers:
        worker.join()
    day.start()
    lost = 0
    for name, bought in taken.items():
        stored = {row["id"] for row in day.sessions[name, "02"].sandbox.records("transaction")}
        lost += len({*bought} - stored)
        day.known[name].idle = False
    assert lost == 0
    return f"{sum(map(len, taken.values()))} acknowledged purchases, {lost} lost; the same port, and kernels go on"


@step("The drill is solved by some")
def _(day: Day) -> str:
    for name in HERE[:4]:
        facts = day.task(name, "fraud-burst", "fraud-burst").facts
        day.solve(name, "fraud-burst", "fraud-burst", facts=facts)
        assert day.check(name, "fraud-burst", "fraud-burst", tried=True)
    card = day.sessions["Jun", "fraud-burst"].sandbox.guide()["cards"]["active"][6]
    day.sessions["Jun", "fraud-burst"].sandbox.cards.lock(card)
    assert not day.check("Jun", "fraud-burst", "fraud-burst", tried=True)
    return "four done, one on the way"


@step("The end of the day")
def _(day: Day) -> str:
    table = {(row["learner"], row["task"]): row for row in csv.DictReader(day.command("results").splitlines())}
    for name, known in day.known.items():
        for task, (done, tries, hints) in known.results.items():
            row = table[name, task]
            day._same("The end of the day", f"CSV {name} {task}", [row["done"], row["tries"], row["hints"]],
                      [str(done).lower(), str(tries), str(hints)])  # fmt: skip
    certificates = day.command("print", "certificates")
    earned = {name for name, known in day.known.items() if any(result[0] for result in known.results.values())}
    holders = {name for name in day.known if f">{name}<" in certificates}
    day._same("The end of the day", "certificates", holders, earned)
    return f"certificates for the {len(earned)} who have done something; CSV as the board"


def run(folder: Path, page: Page) -> tuple[list[str], Day]:
    """Run all steps of the day, and return the lines of the table."""
    lines = []
    with disk(folder / "disk") as mounted:
        day = Day(mounted, folder, page)
        try:
            page.on("requestfailed", lambda request: day.unanswered.append(f"{request.url}: {request.failure}"))
            page.goto(f"{day.url}/board#{day.key}")
            for title, do in STEPS.items():
                seen = do(day)
                day.compare(title)
                lines.append(f"| {title} | {seen} | {day.compared[title]} |")
                print(lines[-1], *day.differences, *day.unanswered, sep="\n", flush=True)
        finally:
            for api in day.sessions.values():
                api.close()
            day.kill()
    return lines, day


def main(arguments: list[str]) -> int:
    """Run the day and print its table. Return 1 if the board differed from the expected state."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        lines, day = run(Path(folder), browser.new_page())
        browser.close()
    total, differences = sum(day.compared.values()), len(day.differences)
    took = f"{total:,} values of the board and its page compared, {differences} differences, {time.monotonic() - began:.0f} s"
    print(took)
    if "--write" in arguments and not day.differences:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEADING)
        after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
        about = (
            f"\n`python -m tests.classroom.day --write` does it with twelve learners and writes this table: {took}.\n"
        )
        table = "\n".join([about, "| Step | What was seen | Compared |", "|---|---|---|", *lines, ""])
        PAGE.write_text(f"{before.rstrip()}\n\n{HEADING}{table}{after}", encoding="utf-8")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
