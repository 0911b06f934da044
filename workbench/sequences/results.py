"""Running a sequence, and what came of it."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs

from workbench import rendering
from workbench.bulk.thread_pool import Interrupted
from workbench.errors import Problem, WorkbenchError, hide_arguments
from workbench.interface import walk
from workbench.interface.rules import UUID, Full
from workbench.progress import Progress, progress_callback
from workbench.sequences import audit
from workbench.sequences.ledger import Ledger
from workbench.sequences.play import Ask, Done, Player
from workbench.sequences.steps import InvalidSequence, Sequence
from workbench.sequences.toml_form import dumps
from workbench.sequences.venues import venue_of


class Run:
    """A sequence that was run: `ok`, `verdict`, the steps with their answers and events, the ledger, the hash."""

    def __init__(self, player: Player, began: datetime) -> None:
        self.sequence = player.sequence
        self.values = dict(player.values)
        self.steps: tuple[Done, ...] = tuple(
            player.done[one.name] for one in self.sequence.steps if one.name in player.done
        )
        self.began = began
        self.differences = player.differences()
        self._ledger = player.ledger
        self._venue = player.venue

    def __getitem__(self, name: str) -> Done:
        for one in self.steps:
            if one.step.name == name:
                return one
        raise KeyError(name)

    def ledger(self) -> Ledger:
        """Return the money's double-entry books."""
        return self._ledger

    @property
    def ok(self) -> bool:
        """Whether every step was played and came to what was expected, and the money agrees with the sandbox's."""
        return (
            not self.differences and len(self.steps) == len(self.sequence.steps) and all(one.ok for one in self.steps)
        )

    @property
    def failures(self) -> tuple[Done, ...]:
        """Return the steps that came to something else."""
        return tuple(one for one in self.steps if not one.ok)

    @property
    def verdict(self) -> str:
        """Say in words what came of it: each failed step with what was expected and what came."""
        if self.ok:
            many = len(self.steps)
            return f"{self.sequence.name}: {many} step{'s' if many != 1 else ''}, all as expected"
        lines = [f"{self.sequence.name}: {len(self.steps)} of {len(self.sequence.steps)} steps played"]
        for one in self.failures:
            lines += [f"  {one.step.name} ({one.step.do}) {miss}" for miss in one.misses]
            if not one.misses:
                lines.append(f"  {one.step.name} ({one.step.do}) ended {one.end}, a refusal was expected")
        lines += [f"  money: {said}" for said in self.differences]
        unplayed = len(self.sequence.steps) - len(self.steps)
        if unplayed:
            lines.append(
                f"  {unplayed} step{'s were' if unplayed != 1 else ' was'} not played: an outcome before is unknown"
            )
        return "\n".join(lines)

    def events(self, name: str | None = None) -> list[Mapping[str, Any]]:
        """Return the events of one step, or of the whole run, as wire members in the order they came."""
        if not self.steps:
            return []
        first, last = (
            (self.steps[0].before, self.steps[-1].after) if name is None else (self[name].before, self[name].after)
        )
        return list(self._venue.events(first)[: last - first])

    @property
    def hash(self) -> str:
        """A digest of the file, the parameters and all that came, ids and times aside: equal for equal seed and file."""
        return digest(self)

    def rows(self) -> list["StepRow"]:
        """Return the run as rows, one per step; private values are left out."""
        return [_row(0, number, one) for number, one in enumerate(self.steps, 1)]

    @property
    def row_type(self) -> type["StepRow"]:
        """What a row is, for `frame`."""
        return StepRow

    def _repr_html_(self) -> str:
        return rendering.html_table([_shown(row) for row in self.rows()]) + rendering.html(self._summary())

    def _summary(self) -> dict[str, Any]:
        moved = ", ".join(f"{name} {rendering.money(cents)}" for name, cents in self._ledger.total().items() if cents)
        return {"sequence": self.sequence.name, "verdict": self.verdict, "money": moved or "nothing moved"}

    def __str__(self) -> str:
        return "\n".join((rendering.table([_shown(row) for row in self.rows()]), rendering.plain(self._summary())))

    def __repr__(self) -> str:
        return f"<run of {self.sequence.name}: {'ok' if self.ok else 'not ok'}, {len(self.steps)} steps>"


@attrs.frozen(kw_only=True)
class StepRow:
    """One step of a run, as a row of a table. `amount` is in cents."""

    run: int
    number: int
    step: str
    do: str
    end: str
    ok: bool
    at: datetime
    amount: int | None
    status: str | None
    transaction_id: str | None
    events: int
    said: str | None


def _row(run: int, number: int, one: Done) -> StepRow:
    status = walk_member(one.answer, "status") or walk_member(one.answer, "application_status")
    transaction = walk_member(one.answer, "transaction_id") or one.arguments.get("transaction_id")
    return StepRow(
        run=run,
        number=number,
        step=one.step.name,
        do=one.step.do,
        end=one.end,
        ok=one.ok,
        at=one.at,
        amount=_amount(one.arguments),
        status=_text(status),
        transaction_id=_text(transaction),
        events=one.after - one.before,
        said="; ".join(str(miss) for miss in one.misses) or (str(one.error) if one.error else None),
    )


def _shown(row: StepRow) -> dict[str, Any]:
    """A row as people read it: money in words, what is empty left out."""
    return {
        "step": row.step,
        "do": row.do,
        "end": row.end,
        "amount": "" if row.amount is None else rendering.money(row.amount),
        "status": row.status or "",
        "events": row.events,
        "": row.said or "",
    }


def walk_member(value: Any, name: str) -> Any:
    """Return a member of a record or mapping, or None."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _amount(arguments: Mapping[str, Any]) -> int | None:
    for name in ("amount", "new_amount"):
        value = arguments.get(name)
        if type(value) is int:
            return value
    return None


# the digest


def digest(run: Run) -> str:
    """Return the SHA-256 of a run in a form that holds no id and no time of its own, only their order."""
    names: dict[str, str] = {}
    told = {
        "sequence": dumps(run.sequence),
        "steps": [
            {
                "name": one.step.name,
                "end": one.end,
                "after": (one.at - run.began).total_seconds(),
                "answer": _canonical(_wire(one.answer), names, run.began),
                "error": [getattr(one.error, "status", None), getattr(one.error, "error", None)] if one.error else None,
                "misses": len(one.misses),
            }
            for one in run.steps
        ],
        "events": [_canonical(event, names, run.began) for event in run.events()],
        "ledger": [[one.step, one.source, one.target, one.amount, one.says] for one in run.ledger().entries],
        "ok": run.ok,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _wire(value: Any) -> Any:
    if walk.is_record(value):
        return {one.wire: _wire(getattr(value, one.name)) for one in walk.members(type(value))}
    if isinstance(value, tuple | list):
        return [_wire(one) for one in value]
    return value


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")


def _canonical(value: Any, names: dict[str, str], began: datetime) -> Any:
    match value:
        case str():
            text = UUID.sub(lambda found: names.setdefault(found[0], f"id-{len(names) + 1}"), str(value))
            return _TIME.sub(lambda found: f"+{(datetime.fromisoformat(found[0]) - began).total_seconds():.3f}", text)
        case datetime():
            return f"+{(value - began).total_seconds():.3f}"
        case Mapping():
            return {str(key): _canonical(one, names, began) for key, one in value.items()}
        case list() | tuple():
            return [_canonical(one, names, began) for one in value]
        case Decimal() | Full() | timedelta() | date():
            return str(value)
    return value


# the drivers


@hide_arguments
def prepared(sequence: Sequence, api: Any, values: Mapping[str, Any]) -> Player:
    """Check a sequence and its parameters as a whole, and give the player of it.

    Raises:
        InvalidSequence: Anything is wrong; nothing was sent.
        WrongEnvironment: The place is a production service.
    """
    found = audit.problems(sequence, values)
    if found:
        raise InvalidSequence(found, sequence.name)
    return Player(sequence, venue_of(api), values)


@hide_arguments
def run(sequence: Sequence, api: Any, **values: Any) -> Run:
    """Run a sequence and give what came of it.

    Args:
        sequence: From Python, a file (`sequences.load`) or the catalogue.
        api: A session, a client with a sandbox of its own, or a `Sandbox` (then straight on its `handle`).
        values: The parameters it declares.

    Raises:
        InvalidSequence: Names, types, references or limits are wrong; all of them are listed, nothing was sent.
        WrongEnvironment: `api` is a production service.
        Interrupted: By Ctrl-C; `.result` is the run as far as it came.
    """
    player = prepared(sequence, api, values)
    del values  # a traceback that prints locals shows no private value
    began = player.venue.now()
    many = len(sequence.steps)
    if many >= LONG:
        progress, show = Progress(total=many, unit="steps", label=sequence.name), progress_callback(True)

        def watch(_: Done) -> None:
            progress.done = len(player.done)
            progress.ended = progress.done == many
            show(progress)

        player.watch = watch
    try:
        drive(player)
    except KeyboardInterrupt:
        raise Interrupted(Run(player, began)) from None
    return Run(player, began)


LONG = 200  # steps of which progress is shown


def drive(player: Player) -> None:
    """Play all that is left."""
    game = player.steps()
    call = player.venue.call
    came: Any = None
    try:
        while True:
            ask = game.send(came)
            came = None if ask is None else answered(call, ask)
    except StopIteration:
        return


def answered(call: Callable[[str, Mapping[str, Any]], Any], ask: Ask) -> Any:
    """Make one call; give its answer, or the error it raised."""
    try:
        return call(ask.operation, ask.given())
    except WorkbenchError as error:
        return error


async def run_async(sequence: Sequence, api: Any, **values: Any) -> Run:
    """Run a sequence with an asynchronous client; else as `run`."""
    held = [values]
    del values  # a traceback that prints locals shows no private value
    player = prepared(sequence, api, held.pop())
    began = player.venue.now()
    game = player.steps()
    came: Any = None
    try:
        while True:
            ask = game.send(came)
            if ask is None:
                came = None
                continue
            try:
                came = await getattr(api, ask.operation)(**ask.given())
            except WorkbenchError as error:
                came = error
    except StopIteration:
        return Run(player, began)


class Stage:
    """A sequence played step by step: look, change what comes, go on.

    `next()` plays one step; `change(step, **arguments)` changes one that was not played; `run()` plays the rest.
    """

    def __init__(self, sequence: Sequence, api: Any, **values: Any) -> None:
        held = [values]
        del values
        self._player = prepared(sequence, api, held.pop())
        self._began = self._player.venue.now()
        self._game = self._player.steps()
        self._over = False

    @property
    def left(self) -> tuple[str, ...]:
        """Names of the steps that were not played."""
        return tuple(one.name for one in self._player.sequence.steps if one.name not in self._player.done)

    def change(self, step: str, **arguments: Any) -> None:
        """Change arguments of a step that was not played yet.

        Raises:
            InvalidSequence: The step was played, or its arguments are wrong; nothing was changed.
        """
        sequence = self._player.sequence
        one = sequence[step]
        changed = attrs.evolve(one, arguments={**one.arguments, **arguments})
        steps = tuple(changed if each.name == step else each for each in sequence.steps)
        found = list(audit.problems(attrs.evolve(sequence, steps=steps)))
        if step not in self.left:
            found.insert(0, Problem(step, "played", "was played already"))
        if found:
            raise InvalidSequence(tuple(found), sequence.name)
        self._player.change(step, **arguments)

    def next(self) -> Done | None:
        """Play one step and give what came of it; None when none is left."""
        before = len(self._player.done)
        came: Any = None
        while not self._over:
            try:
                ask = self._game.send(came)
            except StopIteration:
                self._over = True
                break
            if ask is None:
                break
            came = answered(self._player.venue.call, ask)
        played = list(self._player.done.values())
        return played[before] if len(played) > before else None

    def run(self) -> Run:
        """Play the rest and give the run."""
        while self.next() is not None:
            pass
        return self.result

    @property
    def result(self) -> Run:
        """What came of it so far."""
        return Run(self._player, self._began)
