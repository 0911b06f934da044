"""Run a sequence: in one call, awaited, step by step, or many times, optionally with its progress in a file."""

import os
import threading
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, overload

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError
from workbench.base.system.locks import locked
from workbench.base.system.progress import Progress, ProgressCallback, progress_callback
from workbench.base.system.thread_pool import Interrupted, ThreadPool
from workbench.client.calls.base import BaseClient, context_of
from workbench.client.calls.client import AsyncClient, Client
from workbench.runs.bulk.plan import rows_of
from workbench.runs.bulk.rows import raw_bodies
from workbench.runs.sequences import reading
from workbench.runs.sequences.player import Player, StepResult, Target, at_once
from workbench.runs.sequences.runs import Record, Run, Runs
from workbench.runs.sequences.sequence import InvalidSequence, Sequence
from workbench.sandbox import Sandbox
from workbench.service.interface.table import Async

Resolved = Mapping[str, Literal["done", "not_sent"]]
LONG = 200  # minimum number of steps or runs for which a progress line appears
MAX_RUNS = 200_000


def prepared(api: object, sequence: Sequence, values: Mapping[str, Any]) -> Player:
    """Validate a sequence and its parameters, and return its player.

    Raises:
        InvalidSequence: The sequence or a parameter is invalid; nothing was sent.
        WrongEnvironment: `api` is a production service, or lacks what the sequence needs.
    """
    reading.check(sequence, values)
    player = Player(sequence, Target(api, sequence), values)
    if isinstance(api, BaseClient):  # a sandbox has no journal
        context_of(api).note("sequence", sequence.name)
    return player


@overload
def run(
    api: AsyncClient,
    sequence: Sequence,
    *,
    path: str | os.PathLike[str] | None = None,
    resolved: Resolved | None = None,
    progress: bool | ProgressCallback = True,
    **values: object,
) -> Coroutine[Any, Any, Run]: ...
@overload
def run(
    api: Client | Sandbox,
    sequence: Sequence,
    *,
    path: str | os.PathLike[str] | None = None,
    resolved: Resolved | None = None,
    progress: bool | ProgressCallback = True,
    **values: object,
) -> Run: ...
@hide_arguments
def run(
    api: object,
    sequence: Sequence,
    *,
    path: str | os.PathLike[str] | None = None,
    resolved: Resolved | None = None,
    progress: bool | ProgressCallback = True,
    **values: object,
) -> Any:
    """Run a sequence on a session, a client or a sandbox; its parameters are keyword arguments.

    Return a `Run`; with an async client, await it. With `path`, each step is recorded in a file before it is sent and
    after its answer. If the run is killed, the same call resumes it without repeating completed steps. The outcome of a
    step that was in flight is unknown, and the run stops there until `resolved` states the outcome.

    Args:
        api: A session, a client, or a `Sandbox`.
        sequence: A sequence written in Python, read from a file (`sequences.read_toml`), or from the catalogue.
        path: New file, or the file of an earlier run of the same sequence and parameters. It contains names, outcomes,
            ids and amounts, and only a keyed digest of the parameters.
        resolved: Outcome of unknown steps of the file: "done", or "not_sent" to run them again.
        progress: Whether to show a progress line for 200 steps or more, or a function that is called with a `Progress`.
        values: The parameters that the sequence declares.

    Raises:
        InvalidSequence: Names, types, references or limits are wrong, or the file belongs to another run. All problems
            are listed; nothing was sent.
        WrongEnvironment: `api` is a production service, or the sequence needs another behavior, team or example.
        UsageError: `resolved` is given without `path`, or names a step with a known outcome.
        Interrupted: Ctrl-C stopped the run; `.result` is the run so far.
        FileBusy: Another process has the file of the run open.
    """
    if resolved and path is None:
        raise UsageError("resolved requires path, the file of a run", of="sequences.run")
    played = _played(prepared(api, sequence, values), values, path, resolved or {}, progress)
    return played if isinstance(api, Async) else at_once(played)


@hide_arguments
async def _played(
    player: Player,
    values: Mapping[str, Any],
    path: str | os.PathLike[str] | None,
    resolved: Resolved,
    progress: bool | ProgressCallback,
) -> Run:
    sequence = player.sequence
    many = len(sequence.steps)
    show = progress_callback(progress if many >= LONG or callable(progress) else False)
    report = Progress(total=many, unit="steps", label=sequence.name)

    def update() -> None:
        report.done = len(player.results)
        report.ended = report.done == many
        show(report)

    with ExitStack() as stack:
        if path is not None:
            opened = locked(Path(path), lambda: Record(Path(path), sequence, values, player.started))
            record = stack.enter_context(opened)
            record.restore(player, resolved)
            player.record = record.put
        update()
        try:
            for step in player.pending():
                await player.play_async(step)
                update()
        except KeyboardInterrupt:
            raise Interrupted(Run(player)) from None
        return Run(player)


class Stepper:
    """A run of a sequence, step by step.

    `next()` runs one step, `change(step, **arguments)` changes the arguments of a later step, and `run()` runs the
    remaining steps.

    Args:
        api: A session or a synchronous client, or a `Sandbox`.
        sequence: See `run`.
        values: The parameters that the sequence declares.

    Raises:
        InvalidSequence: The sequence or a parameter is invalid. Nothing was sent.
        WrongEnvironment: `api` is a production service, or the sequence needs another behavior, team or example.
    """

    @hide_arguments
    def __init__(self, api: object, sequence: Sequence, **values: object) -> None:
        self._player = prepared(api, sequence, values)
        self._pending = self._player.pending()

    @property
    def left(self) -> tuple[str, ...]:
        """Names of the steps that have not run yet."""
        return tuple(step.name for step in self._player.sequence.steps if step.name not in self._player.results)

    @hide_arguments
    def change(self, step: str, **arguments: object) -> None:
        """Change arguments of a remaining step.

        Raises:
            InvalidSequence: The step has already run or does not exist, or the arguments are wrong.
        """
        sequence = self._player.sequence
        if step not in self.left:
            raise InvalidSequence((Problem(step, "state", "has already run, or does not exist"),), sequence.name)
        changed = attrs.evolve(sequence[step], arguments={**sequence[step].arguments, **arguments})
        steps = tuple(changed if existing.name == step else existing for existing in sequence.steps)
        changed_sequence = attrs.evolve(sequence, steps=steps)
        reading.check(changed_sequence)
        self._player.sequence = changed_sequence

    def next(self) -> StepResult | None:
        """Run the next step and return its result; None if none remains.

        Raises:
            UsageError: The session or client is asynchronous.
        """
        step = next(self._pending, None)
        return None if step is None else self._player.play(step)

    def run(self) -> Run:
        """Run the remaining steps and return the run."""
        while self.next() is not None:
            pass
        return self.result

    @property
    def result(self) -> Run:
        """The run so far."""
        return Run(self._player)


@hide_arguments
def run_many(
    api: object,
    sequence: Sequence,
    rows: Iterable[Mapping[str, Any]] | Any = None,
    *,
    times: int = 1,
    workers: int = 1,
    resume: Runs | None = None,
    **values: object,
) -> Runs:
    """Run a sequence once per row, or several times, with up to `workers` runs at the same time.

    After Ctrl-C, no more runs start, and the runs in progress are finished. After any other exception, such as a signal
    timeout, nothing more is sent, the calls in flight are awaited, and the exception propagates.

    Args:
        sequence: See `run`.
        api: See `run`.
        rows: Mappings of parameters, a DataFrame, the path of a CSV, JSON, XLSX or Parquet file, or None for one row of
            `values`. Empty cells are omitted; the cells of a file are converted to the types of the parameters.
        times: Number of runs of each row.
        workers: Concurrent runs. With 1, the order and therefore the hash are reproducible.
        resume: The `.result` of the `Interrupted` error of an earlier call, to make only the remaining runs.
        values: Parameters that all rows share.

    Raises:
        InvalidSequence: The sequence or a row is invalid. The error lists all problems with their row, and nothing was
            sent.
        UsageError: There are more than 200,000 runs, or `times` is not positive. Nothing was sent.
        Interrupted: Ctrl-C stopped the call; `.result` has the completed runs.
    """
    parameters = {parameter.name: parameter for parameter in sequence.parameters}
    if isinstance(rows, str | os.PathLike):
        rows = [
            {name: parameters[name].read(cell) if name in parameters else cell for name, cell in row.items()}
            for row in raw_bodies(Path(rows))
        ]
    parameters_of_rows = [{**values, **row} for row in ([{}] if rows is None else rows_of(rows, sequence.name))]
    problems_found = [
        Problem(f"row {number}: {problem.path}" if rows is not None else problem.path, problem.rule, problem.message)
        for number, row in enumerate(parameters_of_rows, 1)
        for problem in (reading.problems(sequence, row) if number == 1 else reading.problems_of_values(sequence, row))
    ]
    if problems_found:
        raise InvalidSequence(tuple(problems_found), sequence.name)
    if not 1 <= times <= MAX_RUNS // max(1, len(parameters_of_rows)):
        raise UsageError(f"times must be at least 1, and times × rows at most {MAX_RUNS:,}", of="run_many")
    todo = [row for row in parameters_of_rows for _ in range(times)]
    earlier = _checked(resume, sequence, todo)
    target = Target(api, sequence)
    numbers = range(len(earlier), len(todo))
    done: dict[int, Run] = {}
    halted = threading.Event()  # when set, no run starts a further step

    def play(number: int) -> None:
        player = Player(sequence, target, todo[number], check_balances=False)
        for step in player.pending():
            if halted.is_set():
                return
            player.play(step)
        done[number] = Run(player)

    def played() -> Runs:
        """Return the runs in the order of their rows, up to the first incomplete one."""
        return Runs((*earlier, *(done[number] for number in takewhile(done.__contains__, numbers))))

    pool = ThreadPool(play, numbers, workers, "sequence", halt=halted.set)
    progress = Progress(total=len(todo), unit="runs", label=sequence.name)
    show = progress_callback(len(todo) >= LONG)

    def report() -> None:
        progress.done = len(earlier) + len(done)
        show(progress)

    try:
        pool.run(report)
    except KeyboardInterrupt:
        raise Interrupted(played()) from None
    progress.ended = True
    report()
    return played()


def _checked(earlier: Runs | None, sequence: Sequence, todo: list[dict[str, Any]]) -> Runs:
    """Return the runs of an interrupted call. Raise InvalidSequence if the call had other arguments."""
    if earlier is None:
        return Runs()
    same = len(earlier) <= len(todo) and all(run.sequence == sequence for run in earlier)
    pairs = zip(earlier, todo, strict=False)
    if not same or any(sequence.values.get(name) != value for sequence, row in pairs for name, value in row.items()):
        problem = Problem("resume", "changed", "belongs to a call with other arguments")
        raise InvalidSequence((problem,), sequence.name)
    return earlier
