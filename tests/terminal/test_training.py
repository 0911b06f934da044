"""Commands of the class and the course."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.classroom.recorded import record
from tests.terminal.conftest import ROOT
from workbench.client.session import connect
from workbench.course.classroom.server import ClassServer
from workbench.course.task_files import DRILLS, TASKS
from workbench.course.task_result import TaskResult


def test_tasks_are_listed(wb):
    ended = wb("course", "tasks")

    assert ended.code == 0
    assert all(name in ended.out for name in TASKS)


def test_a_drill_is_done_at_the_prompt(wb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    assert "returned one" in wb("course", "start", "where-is-my-refund").out
    assert wb("course", "check", "where-is-my-refund").code == 5
    with connect(path=tmp_path / "sandbox.db") as api:
        event = api.sandbox.events("transaction.completed")[-1].payload["id"]

    assert wb("course", "answer", "where-is-my-refund", "--set", "nothing=1").code == 2
    for value in (f"event={event}", "refunded=6500", "missing=1500"):
        assert wb("course", "answer", "where-is-my-refund", "--set", value).code == 0
    solved = wb("course", "check", "where-is-my-refund")
    assert (solved.code, "✓ done" in solved.out) == (0, True)


def test_an_exercise_is_done_at_the_prompt(wb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    assert "Authorize 4.20 USD" in wb("course", "start", "start-1").out
    assert "Hint 1 of 3" in wb("course", "hint", "start-1").out
    with connect(path=tmp_path / "sandbox.db") as api:
        card = api.sandbox.guide()["cards"]["active"][1]
        bought = api.simulate_authorization(
            card_id=card, amount=420, currency="USD", merchant_name="Coffee", merchant_category_code="5814"
        )
        api.sandbox.settle(bought.transaction_id)

    assert wb("course", "check", "start-1").code == 0


def test_an_unknown_task_is_refused_with_those_there_are(wb):
    ended = wb("course", "start", "fraud-brust")

    assert ended.code == 2
    assert "fraud-burst" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_class_is_served_stopped_and_continued(wb, tmp_path: Path, stop: signal.Signals):
    roster = tmp_path / "roster.csv"
    roster.write_text("Ann\nBob\n", encoding="utf-8")
    folder = tmp_path / "class"
    served = [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(folder)]
    codes = []
    for more in (["--learners", str(roster)], []):
        buffered = os.environ | {"PYTHONUNBUFFERED": ""}
        with subprocess.Popen(
            [*served, *more], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered
        ) as process:
            url = process.stdout.readline().strip()
            key = re.search(r"trainer key: (\S+)", process.stderr.readline())[1]
            assert httpx.get(f"{url}/board/data", headers={"trainer-key": key}).status_code == 200
            found: list[str] = []
            while len(found) < 2:  # the server prints one code per learner
                line = process.stdout.readline()
                assert line
                found += re.findall(r"\b[a-z]+-\w{4}-\w{4}\b", line)
            process.send_signal(stop)
            _, err = process.communicate(timeout=20)
        codes.append(found)
        assert process.returncode in (130, 143)
        assert "run the same command to continue" in err
        assert "Traceback" not in err

    assert codes[0] == codes[1]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_class_server_ends_within_two_seconds(tmp_path: Path):
    took = []
    for number in range(40):
        served = [sys.executable, "-m", "workbench", "course", "serve", "--folder", str(tmp_path), "--learners", "30"]
        ignored = number % 4 == 3  # as the `&` of a script starts commands
        with subprocess.Popen(
            served, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None,
        ) as process, httpx.Client() as http:  # fmt: skip
            url = process.stdout.readline().strip()
            key = re.search(r"trainer key: (\S+)", process.stderr.readline())[1]
            http.get(
                f"{url}/board/data", headers={"trainer-key": key}
            ).raise_for_status()  # keeps a connection open when the signal arrives
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM if number % 2 else signal.SIGINT)
            process.communicate(timeout=60)
            took.append(time.monotonic() - begun)
            assert process.returncode == (143 if number % 2 else 130)
    print(
        f"40 ended by SIGINT or SIGTERM: slowest after {max(took):.2f} s, half of them within {sorted(took)[20]:.2f} s"
    )
    assert max(took) < 2


def test_results_are_exported(wb, tmp_path: Path):
    from workbench.course.classroom import ClassServer

    server = ClassServer(["Ann <b>"], tmp_path / "class")
    record(server.results, "Ann <b>", TaskResult(task="start-1", done=True, tries=1))
    server.close()
    given = ("--folder", str(tmp_path / "class"))

    assert "Ann <b>,start-1,true,1" in wb("course", "results", *given).out
    assert "Ann &lt;b&gt;" in wb("course", "print", "certificates", *given).out


def test_sheets_and_the_answer_key_are_printed(wb, tmp_path: Path):
    from workbench.course.classroom import ClassServer

    server = ClassServer(["Ann <b>"], tmp_path / "class")
    server.close()
    sheets = wb("course", "print", "sheets", "--folder", str(tmp_path / "class"), "--url", "https://class.example").out
    key = wb("course", "print", "answers").out

    assert f"workbench course join https://class.example/{server.learners[0].code}<" in sheets
    assert "Ann &lt;b&gt;" in sheets
    assert all(name in key for name in DRILLS)
    assert "☐ disputes-1" in wb("course", "print", "support").out
    assert "available" in wb("course", "print", "handout").out
    assert "api.sandbox.settle(coffee.transaction_id)" in key
    assert wb("course", "print", "sheets").code == 2


def test_a_folder_without_a_class_is_refused(wb, tmp_path: Path):
    assert wb("course", "results", "--folder", str(tmp_path)).code == 2
    assert wb("course", "serve", "--folder", str(tmp_path / "new")).code == 2


def test_a_class_is_not_served_from_a_file(wb, tmp_path: Path):
    (tmp_path / "class.csv").write_text("Ann\n", encoding="utf-8")

    ended = wb("course", "serve", "--folder", str(tmp_path / "class.csv"), "--learners", "2")

    assert ended.code == 2
    assert "class.csv' is not a folder" in ended.err


def test_commands_of_a_learner_act_in_the_class(wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With WORKBENCH_CLASS, a command uses the sandbox that the learner's notebooks use."""
    server = ClassServer(["Ann"], tmp_path / "class")
    with server.serve() as url:
        monkeypatch.setenv("WORKBENCH_CLASS", f"{url}/{server.learners[0].code}")
        with connect(seed=7) as api:
            bought = wb("transactions", "authorize", *_coffee(api.sandbox.guide()["cards"]["active"][1]))
            assert bought.code == 0
            assert [one.operation for one in api.sandbox.requests()] == ["simulate_authorization"]
    server.close()


def _coffee(card: str) -> list[str]:
    given = {
        "card-id": card,
        "amount": "420",
        "currency": "USD",
        "merchant-name": "Coffee",
        "merchant-category-code": "5814",
    }
    return [word for name, value in given.items() for word in (f"--{name}", value)]


@pytest.mark.slow
def test_a_class_is_joined_and_left(wb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    with closing(ClassServer(["Ann"], tmp_path / "class")) as server, server.serve():
        link = server.results.link(server.learners[0])
        assert "CLASS: Ann" in wb("course", "join", link, "--no-lab").out
        wrong = wb("course", "join", f"{link}x", "--no-lab")
    left = wb("course", "leave")

    assert (wrong.code, "no learner has the code" in wrong.err) == (2, True)
    assert "not in a class" in left.out
