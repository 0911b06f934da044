"""Streams of commands: terminals, pipes, closed pipes, full disks, interrupts and limited encodings."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from tests.terminal.conftest import ROOT
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.terminal.output import Output, show

pytestmark = pytest.mark.slow  # each test starts processes

WB = [sys.executable, "-m", "workbench"]


def test_color_on_a_terminal_and_none_in_a_pipe(piped):
    """Output is colored on a terminal, but not in a pipe or with NO_COLOR."""
    child = pexpect.spawn(
        sys.executable, ["-m", "workbench", "contracts", "list", "--full", "--fresh"], cwd=ROOT, timeout=60
    )
    shown = child.read()
    child.close()

    assert child.exitstatus == 0
    assert b"\x1b[1m" in shown
    assert b"\x1b" not in piped("contracts", "list", "--fresh").stdout
    bare = pexpect.run(
        f"{sys.executable} -m workbench contracts list --fresh", cwd=str(ROOT), env={**os.environ, "NO_COLOR": "1"}
    )
    assert b"\x1b" not in bare


@pytest.mark.parametrize("columns", [40, 200])
def test_width_of_the_terminal_is_kept(columns):
    """Help fits into a narrow terminal."""
    child = pexpect.spawn(
        sys.executable, ["-m", "workbench", "--help"], cwd=ROOT, timeout=60, dimensions=(50, columns), encoding="utf-8",
        env=dict(os.environ),  # set explicitly, because readline adds COLUMNS to an inherited environment
    )  # fmt: skip
    lines = [re.sub(r"\x1b\[\d+m", "", line) for line in child.read().splitlines()]
    child.close()

    assert max(map(len, lines)) <= columns


@pytest.mark.slow
@pytest.mark.parametrize("environ", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                                     pytest.param({"PYTHONIOENCODING": "cp1252"}, marks=pytest.mark.soak), {"PYTHONIOENCODING": "ascii"}])  # fmt: skip
def test_poor_encodings(piped, environ):
    """Commands work if only ASCII or a code page can be written."""
    lines = ("--help", "transactions refund --help", "assumptions", "docs", "transactions refund")
    code = f"from workbench.terminal import main\nfor line in {lines}: main(line.split())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **environ}, capture_output=True, check=False
    )

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"UnicodeEncodeError" not in done.stderr
    assert piped("docs", "assumptions", **environ).returncode == 0


def test_a_closed_pipe_is_not_an_error(tmp_path):
    """`| head -1` ends without an error message."""
    script = (
        f"set -o pipefail; {sys.executable} -m workbench docs assumptions -o ndjson | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_and_the_effect_is_kept(piped):
    """An answer that cannot be written ends with 5. The call's effect and its journal entry remain."""
    body = ROOT / "tests/terminal/application.json"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*WB, "users", "create", "--from", str(body)], stdout=full, stderr=subprocess.PIPE, cwd=ROOT,
            check=False, timeout=60,
        )  # fmt: skip

    assert done.returncode == 5
    assert b"The command itself completed" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"consumer application" in piped("journal", "list").stdout


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_interrupts(number, code):
    """Ctrl-C and SIGTERM end with their exit codes, and the message names where unknown outcomes are listed."""
    child = subprocess.Popen(
        [*WB, "events", "listen"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    assert "Receiving at" in child.stderr.readline()
    child.send_signal(number)
    _, said = child.communicate(timeout=30)

    assert child.returncode == code
    assert "workbench journal unknown" in said
    assert "Traceback" not in said


def test_a_stop_waits_for_an_import(tmp_path: Path):
    """If SIGTERM arrives while a module is imported, the command ends after the import has completed."""
    (tmp_path / "stopping.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGTERM)\nexcept BaseException:\n    pass\nwhole = True\n"
    )
    words = (
        "import time\nfrom workbench.terminal.exits import run_to_exit\n"
        "def command():\n    import stopping\n    print(stopping.whole, flush=True)\n    time.sleep(30)\n"
        "raise SystemExit(run_to_exit(command))"
    )
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=20,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (143, "True\n")


def test_an_ignored_hangup_stays_ignored():
    """Under `nohup`, which ignores SIGHUP, a hangup does not end a command."""
    words = f"trap '' HUP; exec {sys.executable} -m workbench events listen"
    child = subprocess.Popen(["bash", "-c", words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    child.stderr.readline()
    child.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.terminate()
    child.communicate(timeout=30)

    assert child.returncode == 143


def test_a_closed_output_does_not_change_how_a_call_ended(piped):
    """With stdout closed, a successful call ends with 0."""
    body = "tests/terminal/application.json"
    words = f"{sys.executable} -m workbench users create --from {body} >&-"
    done = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    assert b"done" in piped("journal", "list").stdout


def test_nothing_is_asked_where_nobody_types(piped, own_state):
    """In a pipe, a missing key is an error and not a prompt."""
    (own_state / "profiles.toml").write_text('[profiles.far]\nbase_url = "https://api.example.com/v1"\n')
    done = piped("contracts", "list", "--profile", "far")

    assert done.returncode == 2
    assert b"WORKBENCH_FAR_API_KEY" in done.stderr


def test_nothing_is_read_from_a_terminal_for_a_body():
    """`--from -` on a terminal reports an error and does not wait."""
    child = pexpect.spawn(sys.executable, ["-m", "workbench", "users", "create", "--from", "-"], cwd=ROOT, timeout=60)
    shown = child.read()
    child.close()

    assert child.exitstatus == 2
    assert b"stdin is a terminal" in shown


def test_the_key_is_in_no_process_list(own_state, monkeypatch):
    """The command line of a running command contains no key."""
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "canary-of-a-key")
    with subprocess.Popen(
        [*WB, "events", "listen"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        child.stderr.readline()
        line = Path(f"/proc/{child.pid}/cmdline").read_bytes()
        child.terminate()
        said = child.communicate(timeout=30)

    assert b"canary" not in line
    assert "canary" not in "".join(said)


def test_two_commands_at_once_lose_nothing(own_state):
    """Concurrent commands share the sandbox's file without losing changes."""
    subprocess.run([*WB, "sandbox", "reset"], cwd=ROOT, check=True, capture_output=True)
    words = [*WB, "sandbox", "deposit", "--amount", "0.50", "-o", "json"]
    children = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(4)]
    for child in children:
        child.communicate(timeout=60)
    events = subprocess.run([*WB, "events", "list", "-o", "ndjson"], cwd=ROOT, check=True, capture_output=True)

    assert [child.returncode for child in children] == [0, 0, 0, 0]
    assert len(events.stdout.splitlines()) == 4


def test_a_close_of_a_log_prints_nothing_but_its_statement(own_state, tmp_path):
    """DuckDB, which reads the log, prints nothing when the process ends."""
    log = tmp_path / "events.ndjson"
    subprocess.run([*WB, "sequences", "run", "a-cardholders-month"], cwd=ROOT, check=True, capture_output=True)
    log.write_bytes(
        subprocess.run([*WB, "events", "list", "-o", "ndjson"], cwd=ROOT, check=True, capture_output=True).stdout
    )
    words = ["report", "close", "--month", "2026-01", "--out", str(tmp_path / "close"), str(log)]
    done = subprocess.run([*WB, *words], cwd=ROOT, check=True, capture_output=True, text=True)

    assert done.stderr.splitlines()[-1:] == ["Not signed off."]


def test_a_command_is_quick():
    """A command on the stored sandbox takes less than a second of processor time."""
    subprocess.run([*WB, "sandbox", "reset"], cwd=ROOT, check=True, capture_output=True)
    before = os.times()
    subprocess.run([*WB, "contracts", "list"], cwd=ROOT, check=True, capture_output=True)
    spent = os.times().children_user - before.children_user

    assert spent < 1


def test_an_interrupted_call_is_listed_as_unknown():
    """Ctrl-C during a call ends with 130. The call was sent once and is listed as unknown."""
    with closing(Sandbox()) as sandbox, sandbox.serve() as url:
        sandbox.add_fault("latency", of="simulate_authorization", seconds=20)
        card = sandbox.guide()["cards"]["active"][0]
        child = subprocess.Popen(
            [*WB, "transactions", "authorize", "--url", url, "--card-id", card, "--amount", "100", "--currency", "USD",
             "--merchant-name", "x", "--merchant-category-code", "5411"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + 30
        while not internals(sandbox).last_event() and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=30)
        created = sandbox.events("transaction.created")

    assert (child.returncode, out) == (130, "")
    assert f"unknown: POST authorization of 1.00 USD on card {card}" in said
    assert "Traceback" not in said
    assert len(created) == 1


def test_the_header_of_csv_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    """Names can come from the service, so escape sequences and formulas in a CSV header are escaped."""
    show([{"\x1b]0;title\x07id": 1, "=1+1": 2}], Output(output="csv"))

    assert capsys.readouterr().out.splitlines()[0] == r"\x1b]0;title\x07id,'=1+1"


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_what_is_taller_than_a_terminal_is_paged():
    """A table taller than the terminal goes through the pager. A shorter table does not."""
    for rows, paged in ((10, True), (300, False)):
        child = pexpect.spawn(
            sys.executable, ["-m", "workbench", "contracts", "list", "--full", "--fresh"], cwd=ROOT, timeout=60,
            dimensions=(rows, 100), env={**os.environ, "PAGER": "less"}, encoding="utf-8",
        )  # fmt: skip
        if paged:
            child.expect(":\x1b\\[K")  # the prompt of less
            assert child.isalive()
            child.send("q")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
