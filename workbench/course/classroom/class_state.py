"""A class without its HTTP server: the learners with their sandboxes, tasks, the trainer's actions, and the board."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError
from workbench.base.system import toml
from workbench.base.system.seconds import monotonic
from workbench.course.attempt import Attempt, run
from workbench.course.classroom.class_results import Learner, Results
from workbench.course.classroom.learner_sandboxes import Environment, LearnerSandboxes
from workbench.course.evidence import Facts, Record, absorb, mark, operator
from workbench.course.task_files import DRILLS, EXERCISES, Task, read_file
from workbench.course.task_result import TaskResult
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import perform
from workbench.sandbox.faults import OF_ANSWERS, OF_DELIVERIES
from workbench.sandbox.internals import internals
from workbench.sandbox.server import App
from workbench.service.interface.table import OPERATIONS

SEED = 7  # random seed that the notebooks use, too
MAX_WRONG_CODES = 30  # per minute and address; more are answered with 429, but a correct code always passes
MIN_FREE = 64 * 2**20  # minimum free bytes on the disk, below which the server refuses changes
DISK_FULL = "The disk of the class server is full: nothing was changed. Your trainer sees this, too"
_EVERYWHERE = frozenset({"add_fault", "clear_faults", "advance"})
"""Actions for all sandboxes of a learner; other actions apply to the sandbox that the learner used last."""
MAX_NOTE = 2_000
_FILE = toml.load(Path(__file__).with_name("actions.toml"))
EVENTS: Mapping[str, Sequence[Record]] = _FILE["event"]
"""Steps that cause an event, by the event's label."""
LESSONS = tuple(dict.fromkeys(exercise.notebook for exercise in EXERCISES.values()))
ACTIONS: Mapping[str, Record] = _FILE["action"]
"""Actions of the board by name; `act` also accepts sandbox controls that are not on the board."""
CHOICES: Mapping[str, Sequence[str]] = {
    "events": tuple(EVENTS),
    "lessons": LESSONS,
    "faults": tuple(dict.fromkeys((*OF_ANSWERS, *OF_DELIVERIES))),
    "operations": ("", *OPERATIONS),
}
"""Lists of choices for the fields of actions, by the name of the list."""
STUCK_TRIES = 3
STUCK_MINUTES = 10


class ClassState:
    """State of a class: learners, their results, and the trainer's actions.

    Args:
        names: Names of learners, who are added to the learners in the folder.
        folder: Folder for all state. A restarted server continues with this folder. Task files in its folder `tasks`
            are added to the tasks of the course.

    Attributes:
        say: Function that shows a message to the trainer in the server's terminal.
    """

    url = ""
    _was_full = False
    _local = True
    _minute_ends = 0.0

    def __init__(self, names: Sequence[str], folder: Path) -> None:
        self._folder = folder
        own = map(read_file, sorted((folder / "tasks").glob("*.toml")))
        self.tasks: Mapping[str, Task] = {**EXERCISES, **DRILLS, **{task.name: task for task in own}}
        self.results = Results(folder / "class.db")
        self.results.enroll(names)
        self.trainer_key: str = self.results.get("trainer_key")
        self.say: Callable[[str], object] = lambda text: None
        self._by_code: dict[str, LearnerSandboxes] = {}
        self._reading = threading.Lock()
        self._acting = threading.Lock()
        self._read_learners()
        self._paused = bool(self.results.get("paused", False))

    def close(self) -> None:
        """Close the sandboxes of all learners and the file of the results."""
        for sandboxes in self._by_code.values():
            sandboxes.close()
        self.results.close()

    @property
    def learners(self) -> list[Learner]:
        """Return the learners with their codes. A learner may see only their own code."""
        return [sandboxes.learner for sandboxes in self._by_name.values()]

    @property
    def disk_full(self) -> bool:
        """Whether the disk of the folder is too full for changes. The trainer sees a message when this changes."""
        is_full = shutil.disk_usage(self._folder).free < MIN_FREE
        if is_full != self._was_full:
            self._was_full = is_full
            self.say(DISK_FULL if is_full else "The disk of the class server has free space again")
        return is_full

    def _read_learners(self) -> None:
        """Read the learners from the file. `course add` may have added learners while the class is served."""
        with self._reading:
            learners = self.results.learners()
            for enrolled in learners:
                if enrolled.code not in self._by_code:
                    work = self.results.get(f"work\n{enrolled.name}", ({}, 0, 0))
                    self._by_code[enrolled.code] = LearnerSandboxes(enrolled, self._make_app, self._folder, work)
            self._by_name = {learner.name: self._by_code[learner.code] for learner in learners}

    def store_work(self, sandboxes: LearnerSandboxes) -> None:
        """Store the learner's starts and time of work, so that a restarted server continues with them."""
        sandboxes.stored = sandboxes.used
        self.results.set(f"work\n{sandboxes.learner.name}", sandboxes.work)

    def _make_app(self, sandboxes: LearnerSandboxes, place: str, environment: Environment, file: str) -> App:
        """Create or open a learner's sandbox. A new sandbox gets the fault rules that were set for all learners.

        If other machines can reach the class, this server delivers no webhooks itself; a process on the learner's
        machine fetches them.
        """
        path = self._folder / file
        is_new = not path.exists()
        sandbox = Sandbox(SEED, environment, path=path, random_keys=True)
        for rule in self.results.get("rules", []) if is_new else ():
            perform(sandbox, "add_fault", rule)
        relay = None if self._local else sandboxes.relay.post
        parts = (self.url, sandboxes.learner.code, place, "production" if environment == "production" else "")
        return internals(sandbox).http_app("/".join(filter(None, parts)), self._local, relay=relay)

    def wrong_codes(self) -> Counter[str]:
        """Return the number of wrong codes in this minute by address. Callers increment the numbers."""
        if self._minute_ends < monotonic():
            self._minute_ends, self._wrong_codes = monotonic() + 60, Counter[str]()
        return self._wrong_codes

    def _attempt(self, sandboxes: LearnerSandboxes, place: str, name: str) -> Attempt:
        """Return a learner's attempt at a task in one run of a notebook or drill (`place`)."""
        return Attempt(
            task=self.tasks[name],
            sandbox_in=partial(sandboxes.sandbox, place),
            store=self.results,
            attempts=_attempts(sandboxes, place),
            results=f"result\n{sandboxes.learner.name}\n",
            active=sandboxes.active,
        )

    def play(self, sandboxes: LearnerSandboxes, place: str) -> None:
        """Make the purchases of live traffic that are due in one run of a drill (`place`)."""
        with sandboxes.busy:
            if place in sandboxes.traffic and not self._attempt(sandboxes, place, sandboxes.traffic[place]).play():
                del sandboxes.traffic[place]

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> Facts:
        """Run an action for learners. A failure for one learner does not affect the others.

        Args:
            learners: Names of the learners.
            action: "note" (with `text`), "event" (with `event`), or a control of the sandbox, such as "add_fault"; for
                the entire class "lock" and "unlock" (with `lesson`), "pause", "resume", and "enroll" (with `name`).
                `ACTIONS` lists the board's actions.
            arguments: Arguments of the action.

        Returns:
            `done`, with the result for each learner by name, and `failed`, with the reason for each other learner.

        Raises:
            UsageError: The disk is full, or a learner cannot be enrolled.
        """
        if self.disk_full:
            raise UsageError(DISK_FULL, of="class")
        with self._acting:  # an action changes the stored locks and rules
            if ACTIONS.get(action, {}).get("for_all"):
                return {"done": self._act_for_class(action, **arguments), "failed": {}}
            done: Facts = {}
            failed: Facts = {}
            for name in learners:
                try:
                    done[name] = self._act_for(self._by_name[name], action, arguments)
                except WorkbenchError as error:
                    failed[name] = str(error)
            if action in ("add_fault", "clear_faults") and done.keys() == self._by_name.keys():
                rules = [*self.results.get("rules", []), arguments] if action == "add_fault" else []
                self.results.set("rules", rules)  # sandboxes and learners that are added later get the rules, too
            return {"done": done, "failed": failed}

    def _act_for_class(self, action: str, lesson: str = "", name: str = "") -> dict[str, str]:
        match action:
            case "lock" | "unlock":
                locked = {*self.locked, lesson} if action == "lock" else {*self.locked} - {lesson}
                self.results.set("locked", sorted(locked))
            case "enroll":
                learner = self.results.enroll_late(name)
                self._read_learners()
                return {learner.name: self.results.link(learner)}
            case _:
                self._paused = action == "pause"
                self.results.set("paused", self._paused)
        return {}

    def _act_for(self, sandboxes: LearnerSandboxes, action: str, arguments: Record) -> Any:
        if action == "note":
            return self.results.add_note(sandboxes.learner.name, str(arguments["text"])[:MAX_NOTE])
        places = sandboxes.places if action in _EVERYWHERE else [sandboxes.current]
        with sandboxes.busy:
            results = [self._act_in(sandboxes, place, action, arguments) for place in places]
        sandboxes.close_unused()
        return results[-1]

    def _act_in(self, sandboxes: LearnerSandboxes, place: str, action: str, arguments: Record) -> Any:
        """Run an action in one sandbox. Tasks do not count the changes as the learner's changes."""
        sandbox, prefix = sandboxes.sandbox(place), _attempts(sandboxes, place)
        before, result = mark(sandbox), None
        if action == "event":
            _push(sandbox, arguments["event"])
        else:
            result = to_json(perform(sandbox, action, arguments))
        for task, state in self.results.all(prefix).items():
            if state["world"] == internals(sandbox).world_id():
                absorb(state, sandbox, before)
                self.results.set(f"{prefix}{task}", state)
        return result

    @property
    def locked(self) -> Any:
        """Names of the locked lessons."""
        return self.results.get("locked", [])

    def board(self) -> Facts:
        """Return the board as JSON values: tasks, actions, and a row with the results of each learner."""
        self._read_learners()
        rows = [self._row(name, results) for name, results in self.results.progress().items()]
        begun = {task for row in rows for task in row["results"]}
        tasks = [task for task in self.tasks.values() if task.kind != "drill" or task.name in begun]
        return {
            "tasks": [{"id": task.name, "title": task.title, "lesson": task.notebook or "drills"} for task in tasks],
            "learners": rows,
            "actions": ACTIONS,
            "choices": CHOICES,
            "locked": self.locked,
            "paused": self._paused,
            "disk_full": self.disk_full,
            "wrong_codes": dict(self.wrong_codes().most_common(5)),
        }

    def _row(self, name: str, results: Mapping[str, TaskResult]) -> Facts:
        sandboxes = self._by_name[name]
        now = {
            task: result if result.done else attrs.evolve(result, minutes=result.minutes_by(sandboxes.active))
            for task, result in results.items()
        }
        return {
            "learner": name,
            "seen": round(time.time() - sandboxes.used) if sandboxes.used else None,
            "places": {place: round(at) for place, (_, at) in sandboxes.begun.items()},
            "done": sum(result.done and task not in DRILLS for task, result in results.items()),
            "stuck": [task for task, result in now.items() if _is_stuck(result)],
            "results": {task: attrs.asdict(result) for task, result in now.items()},
        }


def _attempts(sandboxes: LearnerSandboxes, place: str) -> str:
    """Return the prefix of the names of a learner's stored attempts in one run of a notebook or drill (`place`)."""
    return f"attempt\n{sandboxes.learner.name}\n{place}\n"


def _is_stuck(result: TaskResult) -> bool:
    is_late = result.tries > 0 and (result.minutes or 0) >= STUCK_MINUTES
    return not result.done and (result.tries >= STUCK_TRIES or is_late)


def _push(sandbox: Sandbox, event: str) -> None:
    """Cause an event in a sandbox.

    Raises:
        UsageError: The sandbox has no record for the event.
    """
    names = dict(sandbox.guide())
    with operator(sandbox) as client:
        for step in EVENTS[event]:
            try:
                names |= run(client, sandbox, names, step)
            except LookupError as error:
                raise UsageError(f"this sandbox no longer has a record for {error}", of="class") from None
