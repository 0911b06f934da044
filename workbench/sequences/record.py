"""Runs that survive: each step is recorded before it leaves and after its end, so a killed run goes on where it was.

The file holds names, ends, ids and amounts, and a digest of the parameters; never the parameters themselves.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from workbench.client.journal_file import installation_secret
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.interface import walk
from workbench.interface.fields import Privacy
from workbench.interface.rules import FULL
from workbench.interface.table import OPERATIONS
from workbench.progress import Progress, ProgressCallback, progress_callback
from workbench.sequences.expectations import Mismatch
from workbench.sequences.play import Done, Player
from workbench.sequences.running import LONG, Run, drive, prepared, walk_member
from workbench.sequences.steps import InvalidSequence, Ref, Sequence, Step, references
from workbench.sequences.toml_form import dumps
from workbench.storage import Database, FileLock

APPLICATION = 0x57425351  # "WBSQ"
SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), sequence TEXT NOT NULL, began TEXT NOT NULL, given TEXT NOT NULL);
CREATE TABLE step (name TEXT PRIMARY KEY, state TEXT NOT NULL, at TEXT NOT NULL, before INTEGER NOT NULL,
  after INTEGER NOT NULL, arguments TEXT NOT NULL, answer TEXT NOT NULL, misses TEXT NOT NULL)
"""


@hide_arguments
def run_kept(
    sequence: Sequence,
    api: Any,
    path: str | os.PathLike[str],
    *,
    resolved: Mapping[str, Literal["done", "not sent"]] | None = None,
    progress: bool | ProgressCallback = True,
    **values: Any,
) -> Run:
    """Run a sequence with its state in a file, or go on with the run that the file holds.

    What was done is never sent again. A step that was in the air when the run was killed is unknown, and the run stops
    there until `resolved` says how it ended.

    Args:
        path: A new file, or that of an earlier run of the same sequence and parameters.
        progress: Whether to show how far a long run is; or a function that is called with a `Progress`. What it
            raises ends the run there, and the same call goes on.
        resolved: How steps that are unknown ended: "done", or "not sent", which plays them again.
        values: The parameters, given anew; the file holds a digest of them alone.

    Raises:
        InvalidSequence: The sequence is wrong, or is not the one of the file; nothing was sent.
        FileBusy: Another process holds the run.
    """
    player = prepared(sequence, api, values)
    with FileLock(Path(path)), _Record(Path(path), sequence, values, player.venue.now()) as record:
        record.restore(player, resolved or {})
        player.before = lambda step, arguments: record.sending(
            step, arguments, player.venue.now(), player.venue.cursor()
        )
        many = len(sequence.steps)
        shown = Progress(total=many, unit="steps", label=sequence.name)
        show = progress_callback(progress if many >= LONG or progress is not True else False)

        def report() -> None:
            shown.done = len(player.done)
            shown.ended = shown.done == many
            show(shown)

        def ended(done: Done) -> None:
            record.ended(done, _wanted(sequence))
            report()

        player.watch = ended
        report()
        drive(player)
        for done in player.done.values():
            record.ended(done, _wanted(sequence))
        return Run(player, record.began)


def _wanted(sequence: Sequence) -> frozenset[str]:
    """The reference paths that later steps read."""
    found: set[str] = set()
    for one in sequence.steps:
        parts = (one.arguments, one.expect.state, one.expect.result, [event.where for event in one.expect.events])
        found.update(each.path for each in references(parts) if isinstance(each, Ref))
    return frozenset(found)


class _Record:
    """The file of one run."""

    def __init__(self, path: Path, sequence: Sequence, values: Mapping[str, Any], now: datetime) -> None:
        self._file = Database(path, application=APPLICATION, schema=SCHEMA)
        text = dumps(sequence)
        found = self._file.run("SELECT sequence, began, given FROM run")
        if not found:
            salt = os.urandom(16).hex()
            with self._file.write() as connection:
                connection.execute(
                    "INSERT INTO run VALUES (1, ?, ?, ?)", (text, now.isoformat(), salt + _digest(salt, values))
                )
            self.began = now
            return
        kept, began, given = found[0]
        self.began = datetime.fromisoformat(began)
        problems = []
        if kept != text:
            problems.append(Problem("sequence", "changed", "is not the one this file was begun with"))
        if given[32:] != _digest(given[:32], values):
            problems.append(Problem("parameters", "changed", "are not those this file was begun with"))
        if problems:
            self._file.close()
            raise InvalidSequence(tuple(problems), sequence.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def restore(self, player: Player, resolved: Mapping[str, str]) -> None:
        """Put what the file knows into the player."""
        rows = {row[0]: row[1:] for row in self._file.run("SELECT * FROM step")}
        for name in resolved:
            if name not in rows or rows[name][0] not in ("sending", "unknown"):
                raise InvalidRequest(f"step {name!r} is not unknown, so there is nothing to resolve", of="run_kept")
        for step in player.sequence.steps:
            row = rows.get(step.name)
            if row is None:
                continue
            state, at, before, after, arguments, answer, misses = row
            said = resolved.get(step.name)
            if said == "not sent" or state in ("not sent", "blocked"):
                continue
            end = said or ("unknown" if state == "sending" else state)
            told = () if said else tuple(Mismatch(*one) for one in json.loads(misses))
            if end == "unknown" and not told:
                told = (Mismatch("end", "done", "unknown: the run was killed while the call was in the air"),)
            player.done[step.name] = Done(
                step, end, datetime.fromisoformat(at), _revived(arguments), json.loads(answer), None, before, after, told
            )  # fmt: skip

    def sending(self, step: Step, arguments: Mapping[str, Any], at: datetime, cursor: int) -> None:
        """Record that a step leaves, before it does."""
        self._put(step.name, "sending", at, cursor, cursor, _open(step, arguments), None, ())

    def ended(self, done: Done, wanted: frozenset[str]) -> None:
        """Record how a step ended: its ids and amounts, and what later steps refer to."""
        arguments = _open(done.step, done.arguments)
        answer = None if done.answer is None else _kept(done, wanted)
        self._put(done.step.name, done.end, done.at, done.before, done.after, arguments, answer, done.misses)

    def _put(
        self, name: str, state: str, at: datetime, before: int, after: int, arguments: Mapping[str, Any], answer: Any,
        misses: tuple[Mismatch, ...],
    ) -> None:  # fmt: skip
        told = [[one.what, one.expected, one.came] for one in misses]
        with self._file.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    state,
                    at.isoformat(),
                    before,
                    after,
                    json.dumps(arguments),
                    json.dumps(answer),
                    json.dumps(told),
                ),
            )


def _digest(salt: str, values: Mapping[str, Any]) -> str:
    """Return what tells the same parameters again, keyed by the installation: without its secret none can be guessed."""
    told = json.dumps(dict(sorted(values.items())), default=str)
    return hmac.new(installation_secret(), f"{salt}\0{told}".encode(), hashlib.sha256).hexdigest()


def _open(step: Step, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are nobody's secret, FULL written as a word."""
    operation = OPERATIONS.get(step.do)
    names = (
        {one.name for one in walk.members(operation.request) if one.about.privacy is Privacy.OPEN}
        if operation is not None
        else {"transaction_id", "card_id", "amount"}
    )
    return {
        name: "FULL" if value is FULL else value
        for name, value in arguments.items()
        if name in names and (value is FULL or isinstance(value, str | int))
    }


def _revived(text: str) -> dict[str, Any]:
    return {name: FULL if value == "FULL" else value for name, value in json.loads(text).items()}


def _kept(done: Done, wanted: frozenset[str]) -> dict[str, Any]:
    private = set()
    operation = OPERATIONS.get(done.step.do)
    if operation is not None and not operation.many:
        private = {one.name for one in walk.members(operation.answer) if one.about.privacy is not Privacy.OPEN}
    names = {path.split(".")[1] for path in wanted if path.split(".")[0] == done.step.name and "." in path}
    kept = {}
    for name in sorted((names | {"transaction_id", "status"}) - private):
        value = walk_member(done.answer, name)
        if isinstance(value, str | int | bool):
            kept[name] = str(value) if isinstance(value, str) else value
    return kept
