"""Do the jobs of a trainer with commands, requests and pages, as a trainer and learners do.

    python -m tests.classroom.jobs            does all jobs, and prints the table
    python -m tests.classroom.jobs NAME …     does the named jobs
    python -m tests.classroom.jobs --write    writes the table into tests/classroom/jobs.md, and the pictures into docs/images

The class server, each learner and each command are separate processes.
"""

import csv
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.lab import CHROMIUM, FLAGS
from tests.browser.looks import look_at
from workbench.course.task_files import EXERCISES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "training.md"
PAGE = ROOT / "tests" / "classroom" / "jobs.md"
IMAGES = ROOT / "docs" / "images"
HEADING = "## Jobs of a trainer\n"
INTRODUCTION = """
Each is done by a script as a trainer and learners do it: by the commands of [Training](../../docs/training.md), cells, and the board in a browser. The class server, each learner and
each command are processes of their own. `python -m tests.classroom.jobs --write` does all of them and writes this table; {} seconds on two busy cores.
"""
PROGRAM = [sys.executable, "-m", "workbench"]
CELL = "import workbench as wb\napi = wb.connect(seed=7)\nguide = api.sandbox.guide()\n"
COFFEE = f"wb.course.task('start-1')\n{EXERCISES['start-1'].answer}"
STAY = f"card = guide['cards']['active'][0]\nwb.course.task('purchases-1')\n{EXERCISES['purchases-1'].answer}"
CHECK = "\nprint(wb.course.check({!r}))"
NAMES = ["Zoë O'Neil", *(f"Learner {number}" for number in range(2, 21))]


class School:
    """A class of twenty, served by `workbench course serve` from a folder."""

    def __init__(self, folder: Path, page: Page, *, write: bool) -> None:
        self.folder, self.page, self.write = folder / "my-class", page, write
        self.own = folder
        self.roster = folder / "roster.csv"
        self.roster.write_text("name\n" + "\n".join(NAMES) + "\n", encoding="utf-8")
        self.start("--learners", str(self.roster))
        self.links = self.read_links()

    def start(self, *options: str) -> None:
        served = [*PROGRAM, "course", "serve", "--folder", str(self.folder), *options]
        self.process = subprocess.Popen(
            served, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environ("trainer"), cwd=self.own
        )
        assert self.process.stdout
        assert self.process.stderr
        self.url = self.process.stdout.readline().strip()
        found = re.search(r"trainer key: (\S+)", self.process.stderr.readline())
        assert found
        self.key = found[1]

    @contextmanager
    def serving(self, options: list[str], name: str, folder: Path) -> Iterator[str]:
        """Serve another class with the environment variables of a person, and yield its URL."""
        command = [*PROGRAM, "course", *options]
        with subprocess.Popen(
            command, cwd=folder, env=self.environ(name), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout
                yield process.stdout.readline().strip()
            finally:
                process.kill()

    def stop(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=30)

    def read_links(self) -> dict[str, str]:
        sheets = Links(self.command("trainer", "course", "print", "sheets", "--folder", str(self.folder)))
        assert len(sheets.links) == len(set(sheets.links))
        return dict(zip(sheets.names, sheets.links, strict=True))

    def environ(self, name: str) -> dict[str, str]:
        own = self.own / "people" / name
        own.mkdir(parents=True, exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WORKBENCH")}
        home = {
            "WORKBENCH_STATE": str(own / "state"),
            "WORKBENCH_CONFIG": str(own / "profiles.toml"),
            "BROWSER": "true",
        }
        return {**kept, **home, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def command(self, name: str, *words: str, code: int = 0) -> str:
        """Run a command as a person, require its exit code, and return its output."""
        ran = subprocess.run(
            [*PROGRAM, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=self.environ(name),
            cwd=self.own,
        )
        assert ran.returncode == code, f"{words}: {ran.returncode}, {ran.stdout[-300:]} {ran.stderr[-300:]}"
        return ran.stdout if code == 0 else ran.stdout + ran.stderr

    def cells(self, name: str, code: str, *, ends: int = 0) -> str:
        """Run code as a learner in a new process, require its exit code, and return its output."""
        ran = subprocess.run(
            [sys.executable, "-c", CELL + code], capture_output=True, text=True, check=False, timeout=120,
            env=self.environ(name), cwd=self.own / "people" / name,
        )  # fmt: skip
        assert ran.returncode == ends, f"{ran.returncode}: {ran.stderr[-700:]}"
        return ran.stdout + ran.stderr if ends else ran.stdout

    def join(self, name: str) -> None:
        self.environ(name)
        assert f"CLASS: {name}" in self.command(name, "course", "join", self.links[name], "--no-lab")

    def act(self, learners: str | list[str], action: str, **arguments: Any) -> dict[str, Any]:
        content = {"learners": learners, "action": action, "arguments": arguments}
        answer = httpx.post(f"{self.url}/board/act", json=content, headers={"trainer-key": self.key}, timeout=60)
        assert answer.status_code == 200, answer.text
        acted: dict[str, Any] = answer.json()
        return acted

    def board(self) -> dict[str, Any]:
        shown: dict[str, Any] = httpx.get(
            f"{self.url}/board/data", headers={"trainer-key": self.key}, timeout=60
        ).json()
        return shown

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.board()["learners"] if row["learner"] == name)

    def open_board(self, width: int = 1500) -> Page:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/board#{self.key}")
        expect(self.page.get_by_role("row", name="Learner 2", exact=False).first).to_be_visible()
        return self.page


class Links(HTMLParser):
    """The names and links on the printed sheets."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.codes = page.count("<img class='qr'")
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag

    def handle_data(self, data: str) -> None:
        if self._tag == "h1" and data.strip():
            self.names.append(data.strip())
        self.links += re.findall(r"workbench course join (\S+)", data)


Job = Callable[[School], str]
JOBS: dict[str, Job] = {}


def job(title: str) -> Callable[[Job], Job]:
    def add(do: Job) -> Job:
        JOBS[title] = do
        return do

    return add


@job("Prepare from the docs alone, in fifteen minutes")
def _(school: School) -> str:
    block = re.findall(r"```bash\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    serve, *others = [line.partition("#")[0].strip() for line in block.strip().splitlines()]
    folder = school.own / "docs-alone"
    folder.mkdir()
    (folder / "roster.csv").write_text(school.roster.read_text(encoding="utf-8"), encoding="utf-8")
    began = time.monotonic()
    with school.serving(shlex.split(serve)[2:], "docs", folder):
        for line in others:
            subprocess.run(line, shell=True, cwd=folder, env=school.environ("docs"), check=True, capture_output=True)
        seconds = time.monotonic() - began
    assert Links((folder / "sheets.html").read_text(encoding="utf-8")).codes == 20
    assert seconds < 900
    return f"the three commands of its first part: a served class, 20 sheets and the board after {seconds:.0f} s"


@job("Hand out sheets")
def _(school: School) -> str:
    sheets = Links(school.command("trainer", "course", "print", "sheets", "--folder", str(school.folder)))
    assert sheets.names[: len(NAMES)].count(NAMES[0]) == 1
    assert sheets.codes == len(sheets.links) == len(school.links)
    return f"{sheets.codes} sheets, each with its link and the link as a QR code"


@job("Twenty join by a link")
def _(school: School) -> str:
    began = time.monotonic()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(school.join, NAMES))
    assert all(row["seen"] is not None for row in school.board()["learners"] if row["learner"] in NAMES)
    return f"20 commands, four at a time, in {time.monotonic() - began:.0f} s; the board shows all of them"


@job("Someone is late")
def _(school: School) -> str:
    printed = school.command("trainer", "course", "add", "Late", "--folder", str(school.folder))
    school.links["Late"] = re.search(r"https?://\S+", printed)[0]  # type: ignore[index]
    school.join("Late")
    assert school.row("Late")["seen"] is not None
    return "added while the class is served; joins, and is on the board"


@job("A wrong letter, and a server that is down")
def _(school: School) -> str:
    right = school.links["Learner 2"]
    wrong = right[:-1] + ("2" if right[-1] != "2" else "3")
    assert "no learner has the code" in school.command("wrong", "course", "join", wrong, "--no-lab", code=2)
    down = re.sub(r":\d+/", ":9/", right)
    assert "no class is served" in school.command("wrong", "course", "join", down, "--no-lab", code=6)
    return "each has its own message; nothing is stored"


@job("A class with a self-signed certificate")
def _(school: School) -> str:
    folder = school.own / "tls"
    options = ["serve", "--folder", str(folder), "--learners", "2", "--self-signed", "--host-name", "localhost"]
    with school.serving(options, "tls", school.own) as url:
        assert url.startswith("https://")
        printed = school.command("tls", "course", "print", "sheets", "--folder", str(folder))
        link = Links(printed).links[0]
        assert "CLASS: Learner 1" in school.command("tls-1", "course", "join", link, "--no-lab")
        assert school.cells("tls-1", "print(type(api.sandbox).__name__)").strip() == "RemoteSandbox"
        before, _, digits = link.partition("#")
        refused = school.command("tls-2", "course", "join", f"{before}#{'0' * len(digits)}", "--no-lab", code=2)
        assert "certificate" in refused
    return "the link has the fingerprint, and is all a learner needs; another certificate is not trusted"


@job("A note below what the learner does next")
def _(school: School) -> str:
    school.act(["Learner 2"], "note", text="Look at the guide")
    assert "Look at the guide" in school.cells("Learner 2", "print(wb.course.task('start-1'))")
    assert "Look at the guide" not in school.cells("Learner 3", "print(wb.course.task('start-1'))")
    return "below the task of this learner, of nobody else"


@job("Lock a lesson, and open it")
def _(school: School) -> str:
    lesson = EXERCISES["start-1"].notebook
    school.act("all", "lock", lesson=lesson)
    assert "locked by your trainer" in school.cells("Learner 3", "wb.course.check('start-1')", ends=1)
    school.act("all", "unlock", lesson=lesson)
    assert "not done" in school.cells("Learner 3", f"wb.course.task('start-1'){CHECK.format('start-1')}")
    return "the check is refused, and afterwards is not"


@job("Push an event to all")
def _(school: School) -> str:
    acted = school.act("all", "event", event="a refund (transaction.completed)")
    assert (len(acted["done"]), acted["failed"]) == (len(school.links), {})
    assert int(school.cells("Learner 4", "print(len(api.sandbox.events('transaction.completed')))")) >= 1
    return f"{len(acted['done'])} of {len(school.links)} received it"


@job("Faults for all, and their end")
def _(school: School) -> str:
    school.act("all", "add_fault", kind="status", status=503, times=1000)
    assert "Traceback" in school.cells(
        "Learner 5", "api.with_options(retries=0) if False else None\napi.list_contracts()", ends=1
    )
    school.act("all", "clear_faults")
    assert school.cells("Learner 5", "print(len(api.list_contracts()) > 0)").strip() == "True"
    return "calls end with the fault, and none after its end"


@job("Pause for all")
def _(school: School) -> str:
    school.act([], "pause")
    assert "paused by your trainer" in school.cells("Learner 5", COFFEE, ends=1)
    assert school.cells("Learner 5", "print(len(api.list_contracts()) > 0)").strip() == "True"
    school.act([], "resume")
    school.cells("Learner 5", COFFEE)
    return "writes are refused with the reason, reads are not; afterwards writes are done"


@job("Move the clock of one learner")
def _(school: School) -> str:
    clock = "print(api.sandbox.clock.now().isoformat())"
    before = school.cells("Learner 6", clock)
    school.act(["Learner 6"], "advance", days=3)
    assert school.cells("Learner 6", clock) > before
    assert school.cells("Learner 7", clock) == before
    return "three days for one, none for the others"


@job("A dead kernel")
def _(school: School) -> str:
    dies = "import os, signal\n" + COFFEE + "\nos.kill(os.getpid(), signal.SIGKILL)"
    school.cells("Learner 7", dies, ends=-signal.SIGKILL)
    assert "✓" in school.cells("Learner 7", CHECK.format("start-1"))
    return "the next kernel continues in the same sandbox; the exercise is done"


@job("A wrong start is begun again")
def _(school: School) -> str:
    school.cells("Learner 8", COFFEE.replace("420", "4200"))
    assert "not done" in school.cells("Learner 8", CHECK.format("start-1"))
    assert "✓" in school.cells("Learner 8", "wb.course.begin('01')\n" + CELL + COFFEE + "\n" + CHECK.format("start-1"))
    return "the first cell of the notebook resets the learner's sandbox; the exercise is done"


@job("The notebook of webhooks")
def _(school: School) -> str:
    served = "inbox = wb.Inbox(keys=[guide['api_keys']['full']])\nwith inbox.serve() as url:\n    api.sandbox.register_endpoint(url)\n"
    code = (
        "wb.course.task('webhooks-1')\n"
        + served
        + "    api.sandbox.deposit(amount='0.45')\n    event = inbox.wait('microDeposit.received', timeout=20)\n"
    )
    code += "wb.course.answer('webhooks-1', event=event.id)"
    assert "✓" in school.cells("Learner 9", code + CHECK.format("webhooks-1"))
    return "a delivery reaches the learner's receiver, and the server's check counts it"


@job("Hints are counted")
def _(school: School) -> str:
    school.cells("Learner 10", "print([wb.course.hint('start-1') for _ in range(3)])")
    result = school.row("Learner 10")["results"]["start-1"]
    assert (result["hints"], result["last_hint"]) == (3, True)
    return "three hints, the one with the code among them"


@job("Who is stuck")
def _(school: School) -> str:
    tries = "for cents in range(100, 103):\n    api.simulate_authorization(card_id=guide['cards']['active'][1], amount=cents, "
    tries += "currency='USD', merchant_name='Shop', merchant_category_code='5411')\n    wb.course.check('start-1')"
    school.cells("Learner 11", f"wb.course.task('start-1')\n{tries}")
    assert school.row("Learner 11")["stuck"] == ["start-1"]
    assert "a purchase of 4.20 USD at a coffee shop" in school.row("Learner 11")["results"]["start-1"]["last_problem"]
    return "after three tries, with the last problem"


@job("A vandal")
def _(school: School) -> str:
    with httpx.Client() as vandal:
        answers = [vandal.get(f"{school.url}/olive-{number:04}-aaaa/_class").status_code for number in range(120)]
    assert set(answers) == {404, 429}
    assert school.cells("Learner 2", "print(len(api.list_contracts()) > 0)").strip() == "True"
    assert sum(school.board()["wrong_codes"].values()) >= 30
    return "120 wrong codes: refused with 404, then 429, and shown on the board; a learner's calls are answered"


@job("A forged report")
def _(school: School) -> str:
    code = school.links["Learner 15"].rsplit("/", 1)[1].partition("#")[0]
    for kind in ("start", "check"):
        content = {"kind": kind, "task": "start-1", "missing": [], "confirmed": True}
        httpx.post(f"{school.url}/{code}/_class", json=content).raise_for_status()
    assert not school.row("Learner 15")["results"]["start-1"]["done"]
    return "not done: the server's own check counts"


@job("Reset one learner")
def _(school: School) -> str:
    count = "print(len(api.sandbox.requests()))"
    other = school.cells("Learner 5", count)
    school.act(["Learner 12"], "reset")
    assert school.cells("Learner 12", count).strip() == "0"
    assert school.cells("Learner 5", count) == other
    return "the sandbox of this learner is new; the others are unchanged"


@job("The server is killed")
def _(school: School) -> str:
    before, url = school.board()["learners"], school.url
    school.stop(signal.SIGKILL)
    school.start()
    assert school.url == url
    after = school.board()["learners"]
    assert [row["results"] for row in before] == [row["results"] for row in after] or [
        {id_: one["done"] for id_, one in row["results"].items()} for row in before
    ] == [{id_: one["done"] for id_, one in row["results"].items()} for row in after]
    assert school.cells("Learner 7", "print(len(api.sandbox.requests()) > 0)").strip() == "True"
    return "started again on the same port: results and sandboxes are there, links and kernels still work"


@job("The board on a projector")
def _(school: School) -> str:
    page = school.open_board(1920)
    page.get_by_label("projector, without names").check()
    expect(page.locator("#grid").get_by_text("Learner 5")).to_be_hidden()
    sizes = page.evaluate(
        "[...document.querySelectorAll('#grid td .pill')].map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    wide = page.evaluate(
        "document.querySelector('.scroll').scrollWidth <= document.querySelector('.scroll').clientWidth + 1"
    )
    assert min(sizes) >= 18
    assert wide
    if school.write:
        page.screenshot(path=IMAGES / "board-projector.png", animations="disabled")
    return "![the board on a projector](../../docs/images/board-projector.png) all learners and exercises at 1920 px without scrolling sideways, text of 18 px and more, no names"


@job("Keyboard and screen reader")
def _(school: School) -> str:
    page = school.open_board()
    assert look_at(page, "body") == []
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent || document.activeElement.id"))
    assert {"Learner 2", "Apply", "Certificates"} <= reached
    page.get_by_role("button", name="Learner 2", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Learner 2")).to_be_visible()
    return "Tab reaches each control, Enter opens a learner, and axe-core finds nothing on the board"


@job("Results for other programs")
def _(school: School) -> str:
    given = ("course", "results", "--folder", str(school.folder))
    done = {
        row["learner"]
        for row in csv.DictReader(school.command("trainer", *given).splitlines())
        if row["done"] == "true"
    }
    assert {"Learner 7", "Learner 8", "Learner 9"} <= done
    assert {row["learner"] for row in school.board()["learners"] if row["done"]} == done
    return "CSV agrees with the board"


@job("Certificates")
def _(school: School) -> str:
    given = ("course", "print", "certificates", "--folder", str(school.folder))
    certificates = school.command("trainer", *given)
    assert "Zoë O&#x27;Neil" not in certificates  # a learner without results gets no certificate
    learners = school.board()["learners"]
    assert certificates.count("class='certificate'") + certificates.count('class="certificate"') == sum(
        row["done"] > 0 for row in learners
    )
    return "a certificate for each of the three who have done something"


@job("Half a day by role")
def _(school: School) -> str:
    pages = {role: school.command("trainer", "course", "print", role) for role in ("product", "support", "developer")}
    assert all("☐" in page for page in pages.values())
    return "a handout for product, support and developers, with times, questions and exercises"


@job("Laptops without internet")
def _(school: School) -> str:
    assert "workbench course prepare" in httpx.get(f"{school.url}/setup").text
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "", "tests/classroom/test_setup.py"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=school.environ("setup"))
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed, ran.stdout[-300:]
    assert ran.returncode == 0, ran.stdout[-300:]
    return f"`/setup` says what to prepare, and then has a line for each system: {passed[1]} tests of it; the complete trial is `python -m tests.classroom.offline`"


@job("The next day at home")
def _(school: School) -> str:
    school.stop()
    assert "workbench course leave" in school.cells("Learner 7", "", ends=1)
    school.command("Learner 7", "course", "leave")
    assert school.cells("Learner 7", "print(type(api.sandbox).__name__)").strip() == "Sandbox"
    assert "1 of" in school.cells("Learner 7", "print(wb.course.progress())")
    school.start()
    return "the message says how to go on; after `workbench course leave` the embedded sandbox opens, and the progress is there"


def main(arguments: list[str]) -> int:
    """Do the jobs and print the table; return 1 if one failed."""
    write, chosen = "--write" in arguments, [name for name in arguments if name != "--write"]
    lines, failed, began = ["| Job | What was seen |", "|---|---|"], 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_page()
        page.set_default_timeout(60_000)
        school = School(Path(folder), page, write=write)
        try:
            for title, do in JOBS.items():
                if chosen and not any(name in title for name in chosen):
                    continue
                try:
                    seen = do(school)
                except Exception as error:  # noqa: BLE001 - a job that fails is a line of the table
                    failed += 1
                    seen = f"**failed**: {type(error).__name__}: {str(error)[:700]}"
                lines.append(f"| {title} | {seen} |")
                print(lines[-1], flush=True)
        finally:
            school.stop()
            browser.close()
    print(f"{len(lines) - 2} jobs, {failed} failed, {time.monotonic() - began:.0f} s")
    if write and not chosen and not failed:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEADING)
        after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
        table = "\n".join([INTRODUCTION.format(round(time.monotonic() - began)), *lines, ""])
        PAGE.write_text(before.rstrip() + "\n\n" + HEADING + table + after, encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
