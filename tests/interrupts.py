"""Real SIGINTs at random moments of a scenario. Run: python -m tests.interrupts SCENARIO ROUNDS SEED FOLDER

Each round sends one SIGINT from another process while the scenario runs in a loop. Afterwards the next call must work, no
transaction, lock or thread may remain, and the recorded outcomes must agree with the service's records.
"""

import asyncio
import contextlib
import faulthandler
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import workbench as wb
from workbench.base.errors import WorkbenchError

SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    os.kill(os.getppid(), signal.SIGINT)
"""
PERSON = json.loads((Path(__file__).parent / "samples/create_user_application.request.json").read_bytes())
PURCHASE = {"currency": "USD", "merchant_name": "Example Books", "merchant_category_code": "5942"}

Scenario = tuple[Callable[[], object], Callable[[], object], Callable[[], object], float]
"""Function to interrupt, check after each interrupt, check at the end, and maximum seconds before an interrupt."""


def example_card(api: Any) -> str:
    """Return an active card."""
    return str(api.sandbox.guide()["cards"]["active"][0])


def purchase(api: Any, card: str) -> Any:
    """Authorize one cent."""
    return api.simulate_authorization(card_id=card, amount=1, **PURCHASE)


def _agree(api: Any, card: str) -> None:
    """Check that the journal's outcomes agree with the sandbox's events."""
    seen = sum(event.kind == "transaction.requested" for event in api.inbox.events())
    outcomes = [entry.outcome.value for entry in api.journal.list()]
    assert "sending" not in outcomes, outcomes
    done, unknown = outcomes.count("done"), outcomes.count("unknown")
    assert done <= seen <= done + unknown, (done, seen, unknown)


def client(folder: Path) -> Scenario:
    """Make calls with a journal in a file, on a sandbox in memory."""
    api = wb.connect(journal=folder / "journal.db")
    card = example_card(api)
    return lambda: purchase(api, card), lambda: purchase(api, card), lambda: _agree(api, card), 0.005


def sandbox_file(folder: Path) -> Scenario:
    """Use calls and controls on a sandbox stored in a file."""
    api = wb.connect(path=folder / "sandbox.db")
    card = example_card(api)

    def step() -> None:
        made = purchase(api, card)
        api.sandbox.settle(made.transaction_id)
        api.sandbox.advance(minutes=1)

    return step, step, lambda: _agree(api, card), 0.01


def sandbox_memory(folder: Path) -> Scenario:
    """Use calls, controls, snapshots and the clock of a sandbox in memory, and rewards that are created on demand."""
    api = wb.connect(seed=3)
    card, users = example_card(api), api.sandbox.guide()["users"]["approved"]
    turn = iter(range(10**9))

    def step() -> None:
        made = purchase(api, card)
        api.sandbox.settle(made.transaction_id)
        api.list_rewards_activity(user_id=users[next(turn) % len(users)])
        api.sandbox.snapshot("here")
        api.sandbox.advance(minutes=1)

    def check() -> None:
        api.sandbox.restore("here")
        purchase(api, card)
        assert len(api.list_rewards_activity(user_id=users[0]).items) == 20

    api.sandbox.snapshot("here")
    return step, check, lambda: None, 0.01


def async_client(folder: Path) -> Scenario:
    """Await calls in an event loop that the interrupt ends."""
    card = example_card(wb.connect())
    journal = folder / "journal.db"

    async def calls(many: int) -> list[str]:
        api = await wb.connect_async(journal=journal)
        for _ in range(many):
            await api.simulate_authorization(card_id=card, amount=1, **PURCHASE)
        return [entry.outcome.value for entry in api.journal.list()] if many == 1 else []

    def finish() -> None:
        outcomes = asyncio.run(calls(1))
        assert set(outcomes) <= {"done", "not_sent", "unknown"}, set(outcomes)

    return lambda: asyncio.run(calls(20)), lambda: asyncio.run(calls(2)), finish, 0.05


def bulk(folder: Path) -> Scenario:
    """Run bulk runs with two workers, and resume each to its end. No row is sent twice."""
    api = wb.connect(seed=4)
    number = iter(range(10**9))
    state: dict[str, Any] = {}

    def step() -> None:
        i = next(number)
        state["path"] = folder / f"{i}.run"
        state["rows"] = [
            {**_person(), "external_id": f"{i}-{row}", "email": f"a{i}-{row}@example.com"} for row in range(8)
        ]
        wb.bulk.run(api.create_user_application, state["rows"], path=state["path"], workers=2, progress=False)

    def check() -> None:
        if not state or not state["path"].exists():
            return
        try:
            result = wb.bulk.resume(api, state["path"], state["rows"], progress=False)
        except WorkbenchError:  # the interrupt came before the plan was stored, so nothing may have been sent
            prefix = state["rows"][0]["external_id"].partition("-")[0] + "-"
            sent = [
                entry for entry in api.journal.list() if str(entry.request.get("externalId", "")).startswith(prefix)
            ]
            if sent:
                raise
            return
        assert result.counts.get("done", 0) + result.counts.get("unknown", 0) == 8, result.counts

    return step, check, lambda: None, 0.03


def _person() -> dict[str, Any]:
    api = wb.connect()
    request = api.from_wire("create_user_application", PERSON)
    from workbench.base.schema.walk import given

    return dict(given(request))


def sequences(folder: Path) -> Scenario:
    """Run sequences from the catalogue."""
    api = wb.connect(seed=5)
    script = wb.sequences.catalogue["authorize"]

    def check() -> None:
        api.sandbox.restore("start")  # otherwise the purchases would reach the card's limit
        run = wb.sequences.run(api, script)
        assert run.ok, run.verdict

    api.sandbox.snapshot("start")
    return lambda: wb.sequences.run(api, script), check, lambda: None, 0.01


def reads(folder: Path) -> Scenario:
    """Read all rewards of some users. An interrupted read returns its rows, says so, and can be resumed."""
    api = wb.connect(seed=6)
    users = api.sandbox.guide()["users"]["approved"][:6]

    def ids(read: Any) -> list[str]:
        return list(read.frame()["id"])

    every = ids(wb.rewards.fetch(api, users, concurrency=1, progress=False))

    def step() -> None:
        read = wb.rewards.fetch(api, users, concurrency=1, progress=False)
        assert read.complete == (ids(read) == every), read.notes
        if read.notes and read.notes[0].startswith("The read was interrupted"):
            assert ids(wb.rewards.fetch(api, users, resume=read, progress=False)) == every
            counts["complete" if read.complete else "partial"] += 1
            raise KeyboardInterrupt
        assert read.complete, read.notes

    def check() -> None:
        assert ids(wb.rewards.fetch(api, users, concurrency=1, progress=False)) == every

    counts = Counter[str]()
    return step, check, lambda: print(dict(counts)), 0.1


def inbox(folder: Path) -> Scenario:
    """Receive deliveries into a file, each stored once, with a handler."""
    box = wb.Inbox(folder / "inbox.db", keys=["a-signing-key"])
    handled: list[str] = []

    @box.on("user.updated")
    def handler(event: Any) -> None:
        handled.append(event.id)

    def step() -> None:
        sample = wb.events.sample("user.updated", "a-signing-key")
        box.receive(sample.headers, sample.body)
        box.run_handlers()

    def finish() -> None:
        step()
        assert {event.id for event in box.events()} <= set(handled)

    return step, step, finish, 0.01


def forms(folder: Path) -> Scenario:
    """Fill in and send forms, without a browser."""
    api = wb.connect(seed=7)
    card = example_card(api)

    def step() -> None:
        form = wb.form(api.simulate_authorization)
        form.fill(card_id=card, amount=1, **PURCHASE)
        assert form.value.amount == 1
        form.close()

    return step, lambda: (step(), purchase(api, card)), lambda: None, 0.05


def panel(folder: Path) -> Scenario:
    """Open and close panels, without a browser."""
    api = wb.connect(seed=8)
    card = example_card(api)

    def step() -> None:
        wb.browse(api).close()

    return step, lambda: (step(), purchase(api, card)), lambda: None, 0.05


SCENARIOS = {one.__name__: one for one in (client, sandbox_file, sandbox_memory, async_client, bulk, sequences, reads, inbox, forms, panel)}  # fmt: skip


def campaign(name: str, rounds: int, seed: int, folder: Path) -> dict[str, int]:
    """Interrupt a scenario N times, and check its state after each interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(seed)
    step, check, finish, longest = SCENARIOS[name](folder)
    for _ in range(3):
        step()
    threads = threading.active_count()
    with subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, text=True, bufsize=1, start_new_session=True) as sender:  # fmt: skip
        assert sender.stdin is not None
        caught = swallowed = 0
        for number in range(rounds):
            try:
                sender.stdin.write(f"{chance.uniform(0, longest)}\n")
                deadline = time.monotonic() + longest + 1
                while time.monotonic() < deadline:
                    step()
                swallowed += 1
            except KeyboardInterrupt:
                caught += 1
            # raised if the interrupt arrives while asyncio.run cleans up
            except (asyncio.CancelledError, RuntimeError) as error:
                if name != "async_client" or not isinstance(error.__context__, KeyboardInterrupt | None):
                    raise
                caught += 1
            try:
                check()
            except BaseException as error:
                error.add_note(f"{name}, round {number} of seed {seed}")
                raise
    finish()
    deadline = time.monotonic() + 5
    # `is_alive`, because CPython lists a thread forever if an interrupt prevents its start
    while (
        len(left := [one for one in threading.enumerate() if one.is_alive()]) > threads and time.monotonic() < deadline
    ):
        time.sleep(0.01)
    with tempfile.TemporaryFile("w+") as stacks:
        faulthandler.dump_traceback(stacks)
        stacks.seek(0)
        assert len(left) <= threads, (left, stacks.read())
    return {"caught": caught, "swallowed": swallowed}


# commands that run until a signal

KEY = "a-signing-key"
Served = tuple[list[str], str, Callable[[str], Callable[[], str]], Callable[[], set[str]]]
"""The command's arguments; the pattern of its output when it is ready; a function that takes the matches and returns a
function that sends data and returns its id; and a function that reads the stored ids."""


def serve(folder: Path) -> Served:
    """Serve a sandbox with a file, and purchase over HTTP."""

    def kept() -> set[str]:
        with wb.connect(path=folder / "served.db") as api:
            return purchases(api)

    return ["sandbox", "serve", "--db", str(folder / "served.db")], r"(http://127\S+:\d+)\n", buyer, kept


def class_serve(folder: Path) -> Served:
    """Serve a class with one learner, who makes purchases."""
    from workbench.course.classroom import ClassServer

    def kept() -> set[str]:
        server = ClassServer((), folder / "class")
        with contextlib.closing(server), server.serve() as url, wb.connect(f"{url}/{server.learners[0].code}") as api:
            return purchases(api)

    words = ["course", "serve", "--folder", str(folder / "class"), "--learners", "1"]
    return words, r"(?s)(http://127\S+:\d+)\n.*(?=\n.*/([a-z]+-\w{4}-\w{4}))", buyer, kept


def listen(folder: Path) -> Served:
    """Receive a service's events into a file."""

    def sender(url: str) -> Callable[[], str]:
        def send() -> str:
            event = wb.events.sample("user.updated", KEY)
            httpx.post(url, headers=event.headers, content=event.body).raise_for_status()
            return event.event.id

        return send

    def kept() -> set[str]:
        with wb.Inbox(folder / "inbox-far.db", keys=[KEY]) as box:
            return {event.id for event in box.events()}

    (folder / "profiles.toml").write_text('[profiles.far]\nbase_url = "https://api.example.com/v1"\n')
    return ["events", "listen", "--profile", "far"], r"Receiving at (\S+\w)", sender, kept


def buyer(url: str, code: str | None = None) -> Callable[[], str]:
    """Return a function that makes a purchase in a served sandbox and returns the transaction's id."""
    api = wb.connect(url if code is None else f"{url}/{code}")
    card = example_card(api)
    return lambda: str(purchase(api, card).transaction_id)


def purchases(api: Any) -> set[str]:
    """Return the ids of all created transactions."""
    return {event.body.id for event in api.inbox.events("transaction.created")}


COMMANDS = {one.__name__: one for one in (serve, class_serve, listen)}
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}


def stopped(
    name: str, folder: Path, number: signal.Signals, after: float, *, ignored: bool = False, hold: str = ""
) -> float:
    """Stop a running command by a signal, check that acknowledged data is stored, and return the time it took.

    Args:
        name: The command.
        folder: The command's state folder.
        number: The signal.
        after: Seconds between the command's first answer and the signal.
        ignored: Whether to start the command with SIGINT ignored, as a shell's `&` does.
        hold: A file of the command that is locked before the signal, as by another program.
    """
    words, ready, sender, kept = COMMANDS[name](folder)
    environment = {
        **os.environ, "WORKBENCH_STATE": str(folder), "WORKBENCH_CONFIG": str(folder / "profiles.toml"),
        "WORKBENCH_WEBHOOK_KEY": KEY, "COLUMNS": "200",
    }  # fmt: skip
    output = folder / "output.txt"
    acknowledged: set[str] = set()
    errors: list[str] = []

    def work() -> None:
        try:
            while True:
                acknowledged.add(send())
        except (WorkbenchError, httpx.HTTPError) as error:  # the command has ended
            errors.append(type(error).__name__)

    run = [sys.executable, "-m", "workbench", *words]
    with output.open("w") as file, subprocess.Popen(
        ["bash", "-c", f"trap {'' if ignored else '-'!r} INT; exec \"$@\"", "bash", *run],
        stdout=file, stderr=subprocess.STDOUT, env=environment,
    ) as process:  # fmt: skip
        try:
            while (found := re.search(ready, output.read_text())) is None:
                assert process.poll() is None, output.read_text()
                time.sleep(0.01)
            send = sender(*found.groups())
            acknowledged.add(send())
            worker = threading.Thread(target=work)
            worker.start()
            time.sleep(after)
            if ignored:
                process.send_signal(signal.SIGINT)
                time.sleep(0.2)
                assert worker.is_alive(), errors  # the server must still answer
            with sqlite3.connect(folder / hold if hold else ":memory:", isolation_level=None, timeout=30) as holder:
                holder.execute("BEGIN EXCLUSIVE")
                time.sleep(0.1 if hold else 0)
                begun = time.monotonic()
                process.send_signal(number)
                assert process.wait(30) == CODES[number]
                took = time.monotonic() - begun
            worker.join()
        finally:
            process.kill()
    assert "Traceback" not in output.read_text()
    missing = acknowledged - kept()
    assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged are not kept"
    return took


def start_of_python() -> float:
    """Return the seconds that a process with only `import httpx` takes now: 0.15 s on an idle machine."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import httpx"], check=True)
    return time.monotonic() - begun


if __name__ == "__main__":
    print(json.dumps(campaign(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))), flush=True)
    os._exit(0)  # do not wait for threads at exit: `campaign` has already checked them
