"""The file of a run: each step is recorded before it is sent and after its answer, so that a killed run can be resumed.

It holds names, outcomes, ids and amounts, and a digest of the parameters; never the parameters themselves.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from workbench.client.effects import Outcome
from workbench.client.state import installation_secret
from workbench.errors import InvalidRequest, Problem, UnusableFile
from workbench.interface import walk
from workbench.interface.fields import Privacy
from workbench.interface.rules import FULL
from workbench.interface.table import OPERATIONS
from workbench.sequences.player import BLOCKED, Mismatch, Player, StepResult
from workbench.sequences.sequence import Sequence
from workbench.sequences.steps import InvalidSequence, Ref, Step
from workbench.storage import Database

APPLICATION = 0x57425351  # "WBSQ"
SCHEMA = """
CREATE TABLE run (id INTEGER PRIMARY KEY CHECK (id = 1), sequence TEXT NOT NULL, began TEXT NOT NULL, given TEXT NOT NULL);
CREATE TABLE step (name TEXT PRIMARY KEY, state TEXT NOT NULL, at TEXT NOT NULL, before INTEGER NOT NULL,
  after INTEGER NOT NULL, arguments TEXT NOT NULL, answer TEXT NOT NULL, misses TEXT NOT NULL)
"""


class Record:
    """The results of one run so far, in its file.

    Raises:
        InvalidSequence: The file holds a run of another sequence, or with other parameters.
    """

    def __init__(self, path: Path, sequence: Sequence, values: Mapping[str, Any], now: datetime) -> None:
        self.started = now
        self._file = Database(path, application=APPLICATION, schema=SCHEMA, checked=["run", "step"])
        if self._file.damaged("run") or self._file.damaged("step"):
            self._file.close()
            raise UnusableFile(f"{path}: records of the run are damaged; file left unchanged.")
        self._read_later = _read_later(sequence)
        text = sequence.to_toml()
        found = self._file.run("SELECT sequence, began, given FROM run")
        if not found:
            salt = os.urandom(16).hex()
            with self._file.write() as connection:
                connection.execute(
                    "INSERT INTO run VALUES (1, ?, ?, ?)", (text, now.isoformat(), salt + _digest(salt, values))
                )
            return
        earlier, started, given = found[0]
        self.started = datetime.fromisoformat(started)
        problems = []
        if earlier != text:
            problems.append(Problem("sequence", "changed", "is not the one this file was started with"))
        if given[32:] != _digest(given[:32], values):
            problems.append(Problem("parameters", "changed", "are not those this file was started with"))
        if problems:
            self._file.close()
            raise InvalidSequence(tuple(problems), sequence.name)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def restore(self, player: Player, resolved: Mapping[str, str]) -> None:
        """Restore the results of the file in a player, with those that a person resolved.

        Raises:
            InvalidRequest: A resolved step is not unknown, or its outcome is another one.
        """
        rows = {name: row for name, *row in self._file.run("SELECT * FROM step")}
        for name, outcome in resolved.items():
            if name not in rows or rows[name][0] not in (Outcome.SENDING, Outcome.UNKNOWN):
                raise InvalidRequest(
                    f"step {name!r} is not unknown, so there is nothing to resolve", of="sequences.run"
                )
            if outcome not in (Outcome.DONE, Outcome.NOT_SENT):
                raise InvalidRequest(f'step {name!r} can be resolved as "done" or "not_sent"', of="sequences.run")
        player.started = self.started
        player.restore(
            self._result(step, resolved.get(step.name), *rows[step.name])
            for step in player.sequence.steps
            if step.name in rows and (resolved.get(step.name) or rows[step.name][0]) not in (Outcome.NOT_SENT, BLOCKED)
        )

    def _result(
        self, step: Step, resolved: str | None, state: str, at: str, before: int, after: int, arguments: str, answer: str,
        mismatches: str,
    ) -> StepResult:  # fmt: skip
        outcome = resolved or (Outcome.UNKNOWN.value if state == Outcome.SENDING else state)
        found = () if resolved else tuple(Mismatch(*one) for one in json.loads(mismatches))
        if outcome == Outcome.UNKNOWN and not found:
            found = (Mismatch("outcome", "done", "unknown: the run was killed while the call was in flight"),)
        given = {name: FULL if value == "FULL" else value for name, value in json.loads(arguments).items()}
        return StepResult(
            step, outcome, datetime.fromisoformat(at), given, json.loads(answer), None, before, after, found
        )

    def put(self, result: StepResult) -> None:
        """Record a step that is about to be sent, or its result: its ids and amounts, and what later steps refer to."""
        mismatches = [attrs.astuple(one) for one in result.mismatches]
        answer = None if result.answer is None else self._open_answer(result)
        arguments = _open_arguments(result.step, result.arguments)
        row = (
            result.step.name, result.outcome, result.at.isoformat(), result.before, result.after, json.dumps(arguments),
            json.dumps(answer), json.dumps(mismatches),
        )  # fmt: skip
        with self._file.write() as connection:
            connection.execute("INSERT OR REPLACE INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _open_answer(self, result: StepResult) -> dict[str, Any]:
        """Return the members of an answer that later steps refer to, private ones left out."""
        private = set()
        operation = OPERATIONS.get(result.step.do)
        if operation is not None and not operation.many:
            private = {one.name for one in walk.members(operation.answer) if one.about.privacy is not Privacy.OPEN}
        names = self._read_later.get(result.step.name, set()) | {"transaction_id", "status"}
        values = {name: walk.get_path(result.answer, name) for name in sorted(names - private)}
        return {
            name: str(value) if isinstance(value, str) else value
            for name, value in values.items()
            if isinstance(value, str | int)
        }


def _read_later(sequence: Sequence) -> dict[str, set[str]]:
    """Return the members that references read, by the name of their step."""
    found: dict[str, set[str]] = {}
    for reference in (one for step in sequence.steps for one in step.references() if isinstance(one, Ref)):
        if reference.attribute:
            found.setdefault(reference.step, set()).add(reference.attribute.partition(".")[0])
    return found


def _digest(salt: str, values: Mapping[str, Any]) -> str:
    """Return a digest of parameters, keyed by the installation: without its secret none can be guessed."""
    text = json.dumps(dict(sorted(values.items())), default=str)
    return hmac.new(installation_secret(), f"{salt}\0{text}".encode(), hashlib.sha256).hexdigest()


def _open_arguments(step: Step, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not private, FULL as a word."""
    operation = OPERATIONS.get(step.do)
    names = {"transaction_id", "card_id", "amount"}
    if operation is not None:
        names = {one.name for one in walk.members(operation.request) if one.about.privacy is Privacy.OPEN}
    return {
        name: "FULL" if value is FULL else value
        for name, value in arguments.items()
        if name in names and (value is FULL or isinstance(value, str | int))
    }
