"""`workbench class` and `workbench drill`."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.terminal.conftest import ROOT
from workbench.classroom.server import ClassServer
from workbench.course.drills import DRILLS
from workbench.session import connect


def test_drills_are_listed(wb):
    ended = wb("drill", "list")

    assert ended.code == 0
    assert all(name in ended.out for name in DRILLS)


def test_a_drill_is_solved_at_the_prompt(wb):
    shown = wb("drill", "start", "duplicate-bookings").out
    assert "workbench drill check duplicate-bookings" in shown
    assert wb("drill", "check", "duplicate-bookings").code == 5

    rows = json.loads(wb("drill", "ledger", "duplicate-bookings", "-o", "json").out)
    seen = set()
    for row in rows:
        if row["event"] in seen:
            assert wb("drill", "book", "duplicate-bookings", row["transaction"], str(-row["cents"])).code == 0
        seen.add(row["event"])

    solved = wb("drill", "check", "duplicate-bookings")
    assert (solved.code, "✓ solved" in solved.out) == (0, True)
    assert "A good answer" in wb("drill", "debrief", "duplicate-bookings").out
    assert wb("drill", "stop", "duplicate-bookings").code == 0


def test_an_unknown_drill_is_refused_with_those_there_are(wb):
    ended = wb("drill", "start", "nothing")

    assert ended.code == 2
    assert "half-migration" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_class_is_served_stopped_and_continued(wb, tmp_path: Path, stop: signal.Signals):
    roster = tmp_path / "roster.csv"
    roster.write_text("Ann\nBob\n", encoding="utf-8")
    folder = tmp_path / "class"
    served = [sys.executable, "-m", "workbench", "class", "serve", "--folder", str(folder)]
    codes = []
    for more in (["--learners", str(roster)], []):
        with subprocess.Popen(
            [*served, *more], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            url = process.stdout.readline().strip()
            key = re.search(r"trainer key: (\S+)", process.stderr.readline())[1]
            assert httpx.get(f"{url}/board/data", headers={"trainer-key": key}).status_code == 200
            process.send_signal(stop)
            out, err = process.communicate(timeout=20)
        codes.append(re.findall(r"\w+-\d+-\w+", out))
        assert process.returncode in (130, 143)
        assert "start it again to continue" in err
        assert "Traceback" not in err

    assert codes[0] == codes[1]
    assert len(codes[0]) == 2


def test_results_are_exported_and_verified(wb, tmp_path: Path):
    from workbench.classroom import ClassServer

    server = ClassServer(["Ann <b>"], tmp_path / "class")
    server.results.add("Ann <b>", "check", "start-1", missing=[], confirmed=True)
    server.close()
    given = ("--folder", str(tmp_path / "class"))
    signed = tmp_path / "results.json"
    signed.write_text(wb("class", "results", *given, "--form", "json").out, encoding="utf-8")

    assert wb("class", "verify", str(signed), *given).code == 0
    signed.write_text(signed.read_text().replace('"tries": 1', '"tries": 2'), encoding="utf-8")
    assert wb("class", "verify", str(signed), *given).code == 5
    assert "Ann <b>,start-1,True,True,1" in wb("class", "results", *given).out
    assert "Ann &lt;b&gt;" in wb("class", "results", *given, "--form", "html").out
    assert wb("class", "results", *given, "--form", "nbgrader").out.startswith("assignment,timestamp,student_id")
    assert json.loads(wb("class", "results", *given, "--form", "otter").out)["Ann <b>"]["tests"][0]["score"] == 1.0


def test_a_folder_without_a_class_is_refused(wb, tmp_path: Path):
    assert wb("class", "results", "--folder", str(tmp_path)).code == 2
    assert wb("class", "serve", "--folder", str(tmp_path / "new")).code == 2


def test_commands_of_a_learner_act_in_the_class(wb, monkeypatch: pytest.MonkeyPatch):
    """WORKBENCH_CLASS leads a command to the sandbox that the learner's notebooks use."""
    server = ClassServer(["Ann"])
    with server.serve() as url:
        monkeypatch.setenv("WORKBENCH_CLASS", f"{url}/{server.learners[0].code}")
        with connect(seed=7) as api:
            bought = wb("simulate-authorization", *_coffee(api.guide()["cards"]["active"][1]))
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
