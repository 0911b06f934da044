"""A class without its HTTP server: the learners with their sandboxes, tasks, the trainer's actions, and the board."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError
from workbench.base.system.seconds import monotonic
from workbench.course.classroom.actions import ACTIONS, CHOICES, MAX_NOTE, push
from workbench.course.classroom.class_results import Learner, Results
from workbench.course.classroom.learner_sandboxes import PRODUCTION, LearnerSandboxes
from workbench.course.desk import Act, Desk, TaskResult
from workbench.course.evidence import Facts, Record, absorb, mark
from workbench.course.task_files import DRILLS, EXERCISES, Task, read_file
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import perform
from workbench.sandbox.internals import internals
from workbench.sandbox.server import App

SEED = 7  # random seed of the notebooks
MAX_WRONG_CODES = 30  # per minute and address; more are answered with 429, but a correct code always passes
MIN_FREE = 64 * 2**20  # minimum free bytes on the disk, below which the server refuses changes
DISK_FULL = "The disk of the class server is full: nothing was changed. Your trainer sees this, too"
_EVERYWHERE = frozenset({"add_fault", "clear_faults", "advance"})
"""Actions for all sandboxes of a learner; other actions apply to the sandbox that the learner used last."""
_FOR_CLASS = frozenset({"lock", "unlock", "pause", "resume", "enroll"})
STUCK_TRIES = 3
STUCK_MINUTES = 10


class ClassState:
    """State of a class: learners, their results, and the trainer's actions.

    Args:
        names: Names of learners, who are added to the learners in the folder.
        folder: Folder for all state. A restarted server continues with this folder. None stores everything in memory.
            Task files in its folder `tasks` are added to the tasks of the course.

    Attributes:
        say: Function that shows a message to the trainer in the server's terminal.
    """

    def __init__(self, names: Sequence[str] = (), folder: Path | None = None) -> None:
        self._folder = folder
        own = [] if folder is None else [read_file(path) for path in sorted((folder / "tasks").glob("*.toml"))]
        self.tasks: Mapping[str, Task] = {**EXERCISES, **DRILLS, **{task.name: task for task in own}}
        self.results = Results(None if folder is None else folder / "class.db")
        self.results.enroll(names)
        self.trainer_key: str = self.results.get("trainer_key")
        self.url = ""
        self.say: Callable[[str], object] = lambda text: None
        self._was_full = False
        self._local = True
        self._by_code: dict[str, LearnerSandboxes] = {}
        self._by_name: dict[str, LearnerSandboxes] = {}
        self._reading = threading.Lock()
        self._read_learners()
        self._wrong_codes: Counter[str] = Counter()  # number in the current minute, by address
        self._minute_ends = 0.0
        self._paused = bool(self.results.get("paused", False))

    def close(self) -> None:
        """Close all files."""
        for place in self._by_code.values():
            place.close()
        self.results.close()

    @property
    def learners(self) -> list[Learner]:
        """Return the learners with their codes. A learner may see only their own code."""
        return [place.learner for place in self._by_name.values()]

    @property
    def disk_full(self) -> bool:
        """Whether the disk of the folder is too full for changes. `say` is called when that changes."""
        is_full = self._folder is not None and shutil.disk_usage(self._folder).free < MIN_FREE
        if is_full != self._was_full:
            self._was_full = is_full
            self.say(DISK_FULL if is_full else "The disk of the class server has free space again")
        return is_full

    def enroll(self, name: str) -> Learner:
        """Add a learner to a class that is served, and return the learner with the code.

        Raises:
            UsageError: The name is invalid or taken.
        """
        learner = self.results.enroll_late(name)
        self._read_learners()
        return learner

    def _read_learners(self) -> None:
        """Read the learners from the file. `course add` may have added learners while the class is served."""
        with self._reading:
            learners = self.results.learners()
            for enrolled in learners:
                if enrolled.code not in self._by_code:
                    work = self.results.get(f"work\n{enrolled.name}", ())
                    self._by_code[enrolled.code] = LearnerSandboxes(enrolled, self._make_app, self._folder, work)
            self._by_name = {learner.name: self._by_code[learner.code] for learner in learners}

    def store_work(self, sandboxes: LearnerSandboxes) -> None:
        """Store what a restarted server needs to know of a learner's work, in addition to attempts and results."""
        sandboxes.stored = sandboxes.used
        self.results.set(f"work\n{sandboxes.learner.name}", sandboxes.work)

    def _make_app(self, learner: Learner, address: str, file: str) -> App:
        """Create or open a learner's sandbox. A new sandbox gets the fault rules that were set for all learners.

        If other machines can reach the class, webhooks are never delivered to this machine; a process of the learner
        fetches them.
        """
        environment: Any = "production" if address.endswith(PRODUCTION) else "sandbox"
        path = None if self._folder is None else self._folder / file
        is_new = path is None or not path.exists()
        sandbox = Sandbox(SEED, environment, path=path, random_keys=True)
        for rule in self.results.get("rules", []) if is_new else ():
            perform(sandbox, "add_fault", rule)
        relay = None if self._local else self._by_code[learner.code].relay.post
        url = f"{self.url}/{learner.code}/{address.removeprefix('/')}".rstrip("/")
        return internals(sandbox).http_app(url, self._local, relay=relay)

    def wrong_codes(self) -> Counter[str]:
        """Return the counters of wrong codes in this minute, by address. Callers count in them."""
        if self._minute_ends < monotonic():
            self._minute_ends, self._wrong_codes = monotonic() + 60, Counter()
        return self._wrong_codes

    # tasks

    def begin(self, learner: str, name: str) -> str:
        """Restart a learner's notebook or drill, and return its place."""
        sandboxes = self._by_name[learner]
        place = sandboxes.begin(name)
        self.store_work(sandboxes)
        return place

    def _desk(self, sandboxes: LearnerSandboxes, place: str) -> Desk:
        """Return a learner's tasks in a place."""
        return Desk(
            tasks=self.tasks,
            sandbox=lambda environment: sandboxes.sandbox(place + PRODUCTION * (environment == "production")),
            store=self.results,
            attempts=_attempts(sandboxes.learner.name, place),
            results=f"result\n{sandboxes.learner.name}\n",
            active=sandboxes.active,
        )

    def do(self, learner: str, place: str, act: Act) -> Facts:
        """Perform a learner's action on a task, and return the answer to the learner.

        Raises:
            WorkbenchError: The action is not possible.
        """
        sandboxes = self._by_name[learner]
        with sandboxes.busy:
            reply = self._desk(sandboxes, place).do(act)
            self.store_work(sandboxes)
            if act.kind == "start" and self.tasks[act.task].traffic:
                sandboxes.traffic[place] = act.task
        return reply

    def play(self, sandboxes: LearnerSandboxes, place: str) -> None:
        """Make the purchases of live traffic that are due in a place."""
        with sandboxes.busy:
            if place in sandboxes.traffic and not self._desk(sandboxes, place).play(sandboxes.traffic[place]):
                del sandboxes.traffic[place]

    # actions of the trainer

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> Facts:
        """Run an action for learners. A failure for one learner does not affect the others.

        Args:
            learners: Names of the learners.
            action: "note" (text), "event" (event), for the class "lock", "unlock" (lesson), "pause", "resume" and
                "enroll" (name), or a control of the sandbox, such as "add_fault". `actions.ACTIONS` lists the board's
                actions.
            arguments: Arguments of the action.

        Returns:
            `done`, with the results of controls by learner, and `failed`, with the reasons by learner.

        Raises:
            UsageError: The disk is full.
        """
        if self.disk_full:
            raise UsageError(DISK_FULL, of="class")
        if action in _FOR_CLASS:
            return {"done": self._act_for_class(action, **arguments), "failed": {}}
        done: Facts = {}
        failed: Facts = {}
        for name in learners:
            try:
                done[name] = self._act_for(name, action, arguments)
            except WorkbenchError as error:
                failed[name] = str(error)
        if action in ("add_fault", "clear_faults") and done.keys() == self._by_name.keys():
            rules = [*self.results.get("rules", []), arguments] if action == "add_fault" else []
            self.results.set("rules", rules)  # the rules also apply to sandboxes and learners that are added later
        return {"done": done, "failed": failed}

    def _act_for_class(self, action: str, lesson: str = "", name: str = "") -> dict[str, str]:
        match action:
            case "lock":
                self.results.set("locked", sorted({*self.locked, lesson}))
            case "unlock":
                self.results.set("locked", [locked for locked in self.locked if locked != lesson])
            case "enroll":
                learner = self.enroll(name)
                return {learner.name: self.results.link(learner, self.url)}
            case _:
                self._paused = action == "pause"
                self.results.set("paused", self._paused)
        return {}

    def _act_for(self, name: str, action: str, arguments: Record) -> Any:
        if action == "note":
            return self.results.add_note(name, str(arguments["text"])[:MAX_NOTE])
        sandboxes = self._by_name[name]
        places = sandboxes.places if action in _EVERYWHERE else [sandboxes.current]
        with sandboxes.busy:
            results = [self._act_in(name, place, action, arguments) for place in places]
        sandboxes.close_unused()
        return results[-1]

    def _act_in(self, name: str, place: str, action: str, arguments: Record) -> Any:
        """Run an action in one sandbox. Tasks do not count the changes as the learner's changes."""
        sandbox, prefix = self._by_name[name].sandbox(place), _attempts(name, place)
        before, result = mark(sandbox), None
        if action == "event":
            push(sandbox, arguments["event"])
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

    # the board

    def board(self) -> Facts:
        """Return the board as JSON values: the tasks, and each learner's results and whether the learner is stuck."""
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
            "places": [{"name": place, "at": round(at)} for place, (_, at) in sandboxes.begun.items()],
            "done": sum(result.done and task not in DRILLS for task, result in results.items()),
            "stuck": [task for task, result in now.items() if _is_stuck(result)],
            "results": {task: attrs.asdict(result) for task, result in now.items()},
        }


def _attempts(name: str, place: str) -> str:
    """Return the prefix of the names of a learner's attempts in a place."""
    return f"attempt\n{name}\n{place}\n"


def _is_stuck(result: TaskResult) -> bool:
    is_late = result.tries > 0 and (result.minutes or 0) >= STUCK_MINUTES
    return not result.done and (result.tries >= STUCK_TRIES or is_late)
