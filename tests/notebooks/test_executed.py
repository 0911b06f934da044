"""The executed notebooks: no error, equal outputs in each run, no private value, and no network."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import workbench as wb
from tests.canaries.notebooks import plant
from tests.canaries.planted import found
from tests.notebooks.reading import COURSE, IDS, NOTEBOOKS, Executed, execute, numbers_not_shown, offline
from workbench.course.classroom import ClassServer
from workbench.course.task_files import EXERCISES

pytestmark = pytest.mark.notebook

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
_TWICE = ("01",)  # the other notebooks run twice in `make soak`
Run = Callable[[Path], Executed]


def run(path: Path, folder: Path, **variables: str) -> Executed:
    """Run all cells of a notebook, in which planted people replace the made-up ones."""
    return execute(plant(path, folder)[0], folder, **variables)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs each notebook once."""
    return cache(lambda path: run(path, tmp_path_factory.mktemp(path.stem)))


@pytest.fixture(scope="module")
def private() -> tuple[str, ...]:
    """Return the values that no output may contain: emails and account numbers of the world, and keys."""
    with wb.connect(seed=7) as api:
        people = [*api.sandbox.records("user"), *api.sandbox.records("owner")]
        accounts = [one["members"]["external_fiat_account"] for one in api.sandbox.records("payment_account")]
        onramps = [
            account["account_number"]
            for contract in api.sandbox.records("contract")
            for account in (contract.get("onramp") or {}).values()
        ]
        keys = api.sandbox.guide()["api_keys"].values()
    return (
        *onramps, *keys, *(one["email"] for one in people),
        *(one["account_number"] for one in accounts),
    )  # fmt: skip


@each
def test_runs_to_the_end(path: Path, ran: Run) -> None:
    """All cells run without an error."""
    assert () == ran(path).errors


@each
def test_shows_nothing_private(path: Path, ran: Run, private: tuple[str, ...], tmp_path: Path) -> None:
    """Outputs, widget state and stored files contain no private value; the history only planted values."""
    executed = ran(path)
    shown = f"{executed.outputs} {executed.widgets} {executed.kept}"

    assert len(private) > 50
    assert [] == [value for value in private if value in shown]
    assert [] == found(shown)
    assert set(found(executed.history)) <= set(plant(path, tmp_path)[1])


@pytest.mark.parametrize("path", COURSE, ids=IDS[: len(COURSE)])
def test_leaves_the_exercises_to_the_reader(path: Path, ran: Run) -> None:
    """The notebook's own cells solve none of its exercises."""
    assert "○ not done" in ran(path).outputs
    assert "The sandbox received everything" not in ran(path).outputs


_OF_THE_FIELD = {
    "05": ["000123456"],  # a cell uses this number before the planted people exist
    "06": ["25"],  # minimum percentage that an owner holds
    "08": ["100"],  # maximum items per page
    "11": ["1,000,000", "100"],  # native units per token, and cents per dollar
}


@each
def test_numbers_of_the_text_are_those_of_the_cells(path: Path, ran: Run) -> None:
    """Each number in a text is in the code or output of a cell of the same section."""
    sections = [(text, code) for text, code in ran(path).sections if "Key points" not in text]
    sections = [(text, code) for text, code in sections if "In practice" not in text]
    missing = [number for text, code in sections for number in numbers_not_shown(text, code)]

    assert _OF_THE_FIELD.get(path.stem[:2], []) == missing


@pytest.mark.parametrize(
    "text, missing",
    [
        ("It holds 45.90 USD.", []),
        ("It holds 45.91 USD.", ["45.91"]),
        ("4,590 cents, see notebook 12.", []),
        ("9.", ["9"]),
    ],
)
def test_a_number_that_no_cell_shows_is_found(text: str, missing: list[str]) -> None:
    assert missing == numbers_not_shown(text, "amount = 4_590")


@each
def test_needs_no_network(path: Path, ran: Run) -> None:
    """No cell tries to reach another machine."""
    assert "" == ran(path).strays


def test_no_network_beyond_this_machine_is_one(tmp_path: Path) -> None:
    """Python in the notebooks' environment cannot connect to another machine, and the attempt is recorded."""
    offline(tmp_path)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "STRAYS": str(tmp_path / "strays")}
    code = "import socket; socket.create_connection(('192.0.2.1', 80))"
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)

    assert "no network in this test" in done.stderr
    assert "192.0.2.1" in (tmp_path / "strays").read_text()


@each
def test_reads_without_widgets(path: Path, ran: Run) -> None:
    """Each widget has static HTML, for viewers without widgets."""
    assert () == ran(path).bare


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem[:2] in _TWICE else pytest.mark.soak) for path in NOTEBOOKS],
    ids=IDS,
)
def test_same_bytes_twice(path: Path, ran: Run, tmp_path: Path) -> None:
    """Two runs of a notebook, in processes with different hashes, give the same outputs."""
    assert ran(path).outputs == run(path, tmp_path).outputs


@pytest.mark.soak
@pytest.mark.parametrize("path", COURSE, ids=IDS[: len(COURSE)])
def test_runs_in_a_class(path: Path, tmp_path: Path) -> None:
    """With WORKBENCH_CLASS, the cells run in the learner's class sandbox, and the class records each exercise."""
    server = ClassServer(["Ann"], tmp_path / "class")
    with server.serve() as url:
        executed = run(path, tmp_path, WORKBENCH_CLASS=f"{url}/{server.learners[0].code}")
        results = server.board()["learners"][0]["results"]
    server.close()

    assert () == executed.errors
    assert {one.name for one in EXERCISES.values() if one.notebook == path.stem} == set(results)
    assert not any(one["done"] for one in results.values())
