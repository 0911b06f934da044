"""A killed run is resumed from its file. Completed steps are not repeated, and the step in flight is unknown."""

import multiprocessing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.sequences.parametrized import application
from workbench.base.errors import FileBusy, UnusableFile, UsageError
from workbench.base.system.locks import FileLock
from workbench.client.session import connect
from workbench.runs.sequences import InvalidSequence, Sequence, catalogue, run
from workbench.runs.sequences.reading import from_toml
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals

SECRET = "Planted-canary"
STORY = catalogue["refund-down-to-zero"]


class Killed(BaseException):
    """An exception that simulates a kill."""


class Dying:
    """A session that is killed at its n-th call: before the call, or after its effect and before the answer."""

    environment = "sandbox"

    def __init__(self, api: Any, at: int, after: bool) -> None:
        self._api, self._left, self._after = api, at, after
        self.sandbox = api.sandbox

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._api, name)

        def dying(**arguments: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Killed
            try:
                return call(**arguments)
            finally:
                if self._left == 0:
                    raise Killed

        return dying


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_killed_run_is_resumed_without_doing_anything_twice(tmp_path: Path, at: int, after: bool) -> None:
    """The step in flight is unknown until a person resolves it. The remaining steps then run."""
    api, path = connect(seed=3), tmp_path / "run"
    card = api.sandbox.guide()["cards"]["active"][0]
    begun = api.sandbox.balance(card)
    with pytest.raises(Killed):
        run(Dying(api, at, after), STORY, path=path)
    done_before = internals(api.sandbox).last_event()
    stopped = run(api, STORY, path=path)

    assert not stopped.ok
    assert [one.outcome for one in stopped.steps][-1] == "unknown"
    assert internals(api.sandbox).last_event() == done_before
    name = stopped.steps[-1].step.name
    if after and name == "authorize":
        whole = run(api, STORY, path=path, resolved={name: "done"})
        assert whole["settle"].outcome == "blocked"  # without a response the id is unknown, and none may be invented
        return
    done = after and name != "too much"  # the service refuses "too much", so that call may be sent again
    whole = run(api, STORY, path=path, resolved={name: "done" if done else "not_sent"})
    assert whole.ledger().total() == {"available": 0, "held": 0, "posted": 2500, "refunded": 2500}
    balance = api.sandbox.balance(card)
    assert balance.posted - begun.posted == 2500
    assert balance.refunded - begun.refunded == 2500


def test_a_finished_run_is_read_back_and_nothing_is_sent(tmp_path: Path) -> None:
    """The run that is read back has the same verdict and ledger."""
    api, path = connect(seed=3), tmp_path / "run"
    first = run(api, STORY, path=path)
    events = internals(api.sandbox).last_event()
    second = run(api, STORY, path=path)

    assert first.ok, first.verdict
    assert second.ok, second.verdict
    assert internals(api.sandbox).last_event() == events
    assert second.ledger().rows() == first.ledger().rows()


def test_other_parameters_or_another_sequence_are_noticed(tmp_path: Path) -> None:
    """The run is refused, and nothing is sent."""
    sandbox, path = Sandbox(seed=3), tmp_path / "run"
    run(sandbox, STORY, path=path)

    with pytest.raises(InvalidSequence, match="parameters differ from the run in"):
        run(sandbox, STORY, path=path, amount=7)
    with pytest.raises(InvalidSequence, match="sequence differs from the run in"):
        run(sandbox, catalogue["refund-full"], path=path)


def test_only_unknown_steps_can_be_resolved(tmp_path: Path) -> None:
    """A step with a known outcome, or an unknown name, is refused."""
    sandbox, path = Sandbox(seed=3), tmp_path / "run"
    run(sandbox, STORY, path=path)

    with pytest.raises(UsageError, match="has no unknown outcome"):
        run(sandbox, STORY, path=path, resolved={"settle": "done"})


def test_the_file_of_another_program_is_left_unchanged(tmp_path: Path) -> None:
    """The run is refused before it starts."""
    path = tmp_path / "run"
    path.write_bytes(b"not ours at all" * 20)

    with pytest.raises(UnusableFile):
        run(Sandbox(seed=3), STORY, path=path)
    assert path.read_bytes() == b"not ours at all" * 20


def _hold(path: str, ready: Any, done: Any) -> None:
    with FileLock(Path(path)):
        ready.set()
        done.wait(30)


@pytest.mark.slow
def test_two_processes_cannot_share_a_run(tmp_path: Path) -> None:
    """The error names the first process. After the first process has ended, the second one can run."""
    spawn = multiprocessing.get_context("spawn")
    ready, done = spawn.Event(), spawn.Event()
    path = tmp_path / "run"
    holder = spawn.Process(target=_hold, args=(str(path), ready, done))
    holder.start()
    assert ready.wait(30)
    with pytest.raises(FileBusy, match=rf"held by process {holder.pid} on"):
        run(Sandbox(seed=3), STORY, path=path)
    holder.kill()
    holder.join()

    assert run(Sandbox(seed=3), STORY, path=path).ok


def test_no_private_value_reaches_the_file(tmp_path: Path) -> None:
    """The file of a run contains no private value of the parameters."""
    sequence = application(catalogue["application-approved"]["apply"].arguments)
    person = {one.name: SECRET for one in sequence.parameters if one.type == "text"}
    person |= {"birth_date": date(1990, 2, 1), "email": "planted@example.com", "national_id": "000123456"}
    person |= {"ip_address": "203.0.113.77", "phone_number": "5550100"}
    made = run(
        Sandbox(seed=3), sequence, path=tmp_path / "run", **{k: v for k, v in person.items() if k in _names(sequence)}
    )
    text = b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert made.ok, made.verdict
    assert [one for one in (SECRET, "planted@example.com", "000123456", "203.0.113.77") if one.encode() in text] == []


def _names(sequence: Sequence) -> set[str]:
    return {one.name for one in sequence.parameters}


def test_a_huge_number_is_a_problem_of_the_file() -> None:
    """A number with more digits than Python parses is reported as a problem, not as an error of Python."""
    with pytest.raises(InvalidSequence, match="too many digits"):
        from_toml(f"number = {'9' * 5_000}")
