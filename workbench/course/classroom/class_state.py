"""A class without its HTTP server: the learners with their sandboxes, tasks, the trainer's actions, and the board."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError, not_allowed
from workbench.base.system.seconds import monotonic
from workbench.course.classroom.actions import ACTIONS, EVENTS, MAX_NOTE, push
from workbench.course.classroom.class_results import Learner, Results
from workbench.course.classroom.learner_sandboxes import PRODUCTION, LearnerSandboxes
from workbench.course.desk import Act, Desk, TaskResult
from workbench.course.evidence import absorb, all_records, digest
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
_DRILLS = "drills"


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
        self._connected: dict[str, float] = dict(self.results.get("joined", {}))
        self._traffic: dict[tuple[str, str], tuple[str, float]] = {}  # drills with live traffic, by learner and place
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
        self.results.enroll_late(name)
        self._read_learners()
        return self._by_name[name.strip()].learner

    def _read_learners(self) -> None:
        """Read the learners from the file. `course add` may have added learners while the class is served."""
        with self._reading:
            learners = self.results.learners()
            for enrolled in learners:
                if enrolled.code not in self._by_code:
                    active = float(self.results.get(f"active:{enrolled.name}", 0))
                    place = LearnerSandboxes(enrolled, self._make_app, self._folder, active)
                    place.begun = dict(self.results.get(f"begun:{enrolled.name}", {}))
                    self._by_code[enrolled.code] = place
            self._by_name = {learner.name: self._by_code[learner.code] for learner in learners}

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
        self.results.set(f"begun:{learner}", sandboxes.begun)
        return place

    def _desk(self, learner: str, place: str) -> Desk:
        """Return a learner's tasks in a place."""
        sandboxes = self._by_name[learner]
        return Desk(
            tasks=self.tasks,
            sandbox=lambda environment: sandboxes.sandbox(place + PRODUCTION * (environment == "production")),
            store=self.results,
            attempts=f"attempt\n{learner}\n{place}\n",
            results=f"result\n{learner}\n",
            active=sandboxes.active,
            fetched=sandboxes.fetched(place),
        )

    def do(self, learner: str, place: str, act: Act) -> dict[str, Any]:
        """Perform a learner's action on a task, and return the answer to the learner.

        Raises:
            WorkbenchError: The action is not possible.
        """
        sandboxes = self._by_name[learner]
        with sandboxes.busy:
            told = self._desk(learner, place).do(act)
            self.results.set(f"active:{learner}", round(sandboxes.active, 1))
        if act.kind == "start" and self.tasks[act.task].traffic:
            self._traffic[learner, place] = (act.task, monotonic())
        return told

    def play(self, learner: str, place: str) -> None:
        """Make the purchases of live traffic that are due in a place."""
        name, _ = self._traffic[learner, place]
        with self._by_name[learner].busy:
            if not self._desk(learner, place).play(name):
                self._traffic.pop((learner, place), None)

    # actions of the trainer

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> dict[str, Any]:
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
            WorkbenchError: The action failed for all learners.
        """
        if self.disk_full:
            raise UsageError(DISK_FULL[:1].lower() + DISK_FULL[1:], of="class")
        if action in _FOR_CLASS:
            return {"done": self._act_for_class(action, **arguments), "failed": {}}
        done: dict[str, Any] = {}
        failed: dict[str, WorkbenchError] = {}
        for name in learners:
            try:
                done[name] = self._act_for(name, action, arguments)
            except WorkbenchError as error:
                failed[name] = error
        if failed and not done:
            raise next(iter(failed.values()))
        if action in ("add_fault", "clear_faults") and set(learners) == set(self._by_name):
            rules = [*self.results.get("rules", []), arguments] if action == "add_fault" else []
            self.results.set("rules", rules)  # the rules also apply to sandboxes and learners that are added later
        return {"done": done, "failed": {name: str(error) for name, error in failed.items()}}

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

    def _act_for(self, name: str, action: str, arguments: Mapping[str, Any]) -> Any:
        if action == "note":
            return self.results.add_note(name, str(arguments["text"])[:MAX_NOTE])
        if action == "event" and arguments["event"] not in EVENTS:
            raise UsageError([not_allowed("event", arguments["event"], EVENTS)], of="class")
        sandboxes = self._by_name[name]
        places = (sandboxes.places or [""]) if action in _EVERYWHERE else [sandboxes.current]
        with sandboxes.busy:
            results = [self._act_in(name, place, action, arguments) for place in places]
        if self._folder is not None:
            sandboxes.close_unused()
        return results[-1]

    def _act_in(self, name: str, place: str, action: str, arguments: Mapping[str, Any]) -> Any:
        """Run an action in one sandbox. Tasks do not count the changes as the learner's changes."""
        sandbox, prefix = self._by_name[name].sandbox(place), f"attempt\n{name}\n{place}\n"
        before = {id_: digest(record) for id_, record in all_records(sandbox).items()}
        last_event = internals(sandbox).last_event()
        result = None
        if action == "event":
            push(sandbox, arguments["event"])
        else:
            result = to_json(perform(sandbox, action, arguments))
        for task, state in self.results.all(prefix).items():
            if state["world"] == internals(sandbox).world_id():
                absorb(state, sandbox, before, last_event)
                self.results.set(f"{prefix}{task}", state)
        return result

    @property
    def locked(self) -> list[str]:
        """Names of the locked lessons."""
        lessons: list[str] = self.results.get("locked", [])
        return lessons

    # the board

    def board(self) -> dict[str, Any]:
        """Return the board as JSON values: the tasks, and each learner's results and whether the learner is stuck."""
        self._read_learners()
        progress = self.results.progress()
        rows = [self._row(name, progress.get(name, {})) for name in self._by_name]
        begun = {task for row in rows for task in row["results"]}
        titles = [_title(task) for task in self.tasks.values()]
        return {
            "version": self.results.version(),
            "tasks": [title for title in titles if title["lesson"] != _DRILLS or title["id"] in begun],
            "learners": rows,
            "actions": ACTIONS,
            "locked": self.locked,
            "paused": self._paused,
            "disk_full": self.disk_full,
            "wrong_codes": dict(self.wrong_codes().most_common(5)),
        }

    def _row(self, name: str, results: Mapping[str, TaskResult]) -> dict[str, Any]:
        sandboxes = self._by_name[name]
        done = [result for result in results.values() if result.done]
        seen = self._connected.get(name)
        return {
            "learner": name,
            "seen": None if seen is None else round(time.time() - seen),
            "places": [{"name": place, "at": round(at)} for place, (_, at) in sandboxes.begun.items()],
            "done": sum(result.task in self.tasks and not self.tasks[result.task].minutes for result in done),
            "tries": sum(result.tries for result in results.values()),
            "hints": sum(result.hints for result in results.values()),
            "minutes": round(sum(result.minutes or 0 for result in done), 1),
            "stuck": [result.task for result in results.values() if _is_stuck(result, sandboxes.active)],
            "results": {task: _result(result, sandboxes.active) for task, result in results.items()},
        }


def _title(task: Task) -> dict[str, Any]:
    return {"id": task.name, "title": task.title, "lesson": task.notebook or _DRILLS}


def _result(result: TaskResult, active: float) -> dict[str, Any]:
    return attrs.asdict(result if result.done else attrs.evolve(result, minutes=result.minutes_by(active)))


def _is_stuck(result: TaskResult, active: float) -> bool:
    late = result.tries > 0 and result.minutes_by(active) >= STUCK_MINUTES
    return not result.done and (result.tries >= STUCK_TRIES or late)
