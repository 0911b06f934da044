"""A class without its HTTP server: learners with their sandboxes, checks, the trainer's actions, and the board."""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs

from workbench.base.errors import WorkbenchError
from workbench.course.checks import SandboxEvidence
from workbench.course.classroom.actions import ACTIONS, EVENTS, note_of
from workbench.course.classroom.class_results import ExerciseResult, Learner, Results, minutes_since
from workbench.course.classroom.exports import export
from workbench.course.classroom.learner_sandboxes import LearnerSandboxes
from workbench.course.drills import DRILLS
from workbench.course.learner import EXERCISES
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import perform
from workbench.sandbox.server import App

DEFAULT_SEED = 7  # of the notebooks
MAX_WRONG_CODES = 30  # a minute, of one address; further ones are answered with 429. A right code always passes.
_ADDRESSES = 1_000  # whose wrong codes are counted
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, WorkbenchError)
"""Errors of a learner's sandbox whose content is not what was expected."""
STUCK_TRIES = 3
STUCK_MINUTES = 10
_DRILLS = "drills"
TITLES: Mapping[str, Mapping[str, Any]] = {
    **{
        exercise.id: {
            "id": exercise.id,
            "title": exercise.title,
            "lesson": exercise.notebook,
        }
        for exercise in EXERCISES.values()
    },
    **{
        f"drill-{drill.name}": {"id": f"drill-{drill.name}", "title": drill.title, "lesson": _DRILLS}
        for drill in DRILLS.values()
    },
}
"""Exercises and drills that learners report on, by id."""


class ClassState:
    """State of a class: learners, their results, and the trainer's actions.

    Args:
        names: Names of the learners, added to those in the folder.
        folder: Folder for all state; a server restarted with it continues. None stores everything in memory.
        seed: Seed of all sandboxes, which the notebooks expect.
    """

    def __init__(self, names: Sequence[str] = (), folder: Path | None = None, *, seed: int | None = None) -> None:
        self._folder = folder
        self.results = Results(None if folder is None else folder / "class.db")
        self.results.enroll(names)
        self.seed: int = self.results.get("seed") or seed or DEFAULT_SEED
        self.results.set("seed", self.seed)
        self.trainer_key: str = self.results.get("trainer_key")
        self.url = ""
        self._local = True
        self._by_code: dict[str, LearnerSandboxes] = {}
        self._by_name: dict[str, LearnerSandboxes] = {}
        self._read_learners()
        self._wrong_codes: OrderedDict[str, deque[float]] = OrderedDict()  # times by address
        self._connected: dict[str, float] = {}
        self._paused = bool(self.results.get("paused", False))

    def close(self) -> None:
        """Close all files."""
        for place in self._by_code.values():
            place.close()
        self.results.close()

    @property
    def learners(self) -> list[Learner]:
        """Learners with their codes; give each code only to its learner."""
        return [place.learner for place in self._by_name.values()]

    def enroll(self, name: str) -> Learner:
        """Add a learner while the class is served, and return the learner with the code.

        Raises:
            UsageError: The name is invalid or taken.
        """
        self.results.enroll_late(name)
        self._read_learners()
        return self._by_name[name.strip()].learner

    def _read_learners(self) -> None:
        """Read the learners from the file, to which `class add` may add some while the class is served."""
        learners = self.results.learners()
        for enrolled in learners:
            if enrolled.code not in self._by_code:
                self._by_code[enrolled.code] = LearnerSandboxes(enrolled, self._make_app, self._folder)
        self._by_name = {learner.name: self._by_code[learner.code] for learner in learners}

    def _make_app(self, learner: Learner, prefix: str) -> App:
        """Create or open a learner's sandbox.

        If other machines can reach the class, webhooks never go to this machine; a process of the learner fetches them.
        """
        environment: Any = prefix.removeprefix("/") or "sandbox"
        path = None if self._folder is None else self._folder / f"{learner.code}-{environment}.db"
        sandbox = Sandbox(self.seed, environment, path=path, random_keys=True)
        relay = None if self._local else self._by_code[learner.code].relay.post
        return sandbox._http_app(f"{self.url}/{learner.code}{prefix}", self._local, relay=relay)

    def _count_wrong_code(self, address: str) -> bool:
        """Count a wrong code from an address; return whether it sent too many in the last minute."""
        times = self._wrong_codes.setdefault(address, deque(maxlen=MAX_WRONG_CODES))
        self._wrong_codes.move_to_end(address)
        if len(self._wrong_codes) > _ADDRESSES:
            self._wrong_codes.popitem(last=False)
        often = len(times) == MAX_WRONG_CODES and times[0] > time.time() - 60
        times.append(time.time())
        return often

    def check(self, learner: str, exercise: str) -> list[str]:
        """Return what is missing in an exercise, by what the learner's sandbox received, stored and delivered."""
        place = self._by_name[learner]
        inbox = SimpleNamespace(stored=place.fetched)
        try:
            return list(EXERCISES[exercise].check(SandboxEvidence(SimpleNamespace(sandbox=place.sandbox, inbox=inbox))))
        except _UNREADABLE as error:
            return [
                (
                    f"the sandbox does not hold what the exercise needs ({type(error).__name__}): reset it, and repeat "
                    "the exercise."
                )
            ]

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> dict[str, Any]:
        """Run an action for learners; a failure for one does not affect the others.

        Args:
            learners: Their names.
            action: "note" (text), "drill" (drill), "event" (event), "lock" and "unlock" (lesson), "pause" and "resume"
                for all, "enroll" (name), or a control of the sandbox, such as "add_fault"; `actions.ACTIONS`
                lists those of the board.
            arguments: Arguments of the action.

        Returns:
            `done`, the results of controls by name, and `failed`, the reasons by name.

        Raises:
            WorkbenchError: It failed for all.
        """
        if action in ("pause", "resume"):
            self._paused = action == "pause"
            self.results.set("paused", self._paused)
            learners = ()
        if action == "enroll":
            learner = self.enroll(arguments["name"])
            return {"done": {learner.name: self.results.link(learner, self.url)}, "failed": {}}
        done: dict[str, Any] = {}
        failed: dict[str, WorkbenchError] = {}
        for name in learners:
            try:
                done[name] = self._act_for(name, action, arguments)
                self.results.add(name, "action", action=action)
            except WorkbenchError as error:
                failed[name] = error
        if failed and not done:
            raise next(iter(failed.values()))
        return {"done": done, "failed": {name: str(error) for name, error in failed.items()}}

    def _act_for(self, name: str, action: str, arguments: Mapping[str, Any]) -> Any:
        text = note_of(action, arguments)
        if text is not None:
            return self.results.add(name, "note", text=text)
        if action in ("lock", "unlock"):
            lessons = set(self._locked(name))
            lessons = lessons | {arguments["lesson"]} if action == "lock" else lessons - {arguments["lesson"]}
            return self.results.set(f"locked:{name}", sorted(lessons))
        if action == "event":
            EVENTS[arguments["event"]](self._by_name[name].sandbox)
            return None
        return to_json(perform(self._by_name[name].sandbox, action, arguments))

    def _locked(self, name: str) -> list[str]:
        locked: list[str] = self.results.get(f"locked:{name}", [])
        return locked

    def board(self) -> dict[str, Any]:
        """Return the board as JSON values: exercises, and for each learner the results and whether they are stuck."""
        now = datetime.now(UTC)
        self._read_learners()
        progress = self.results.progress()
        rows = [self._row(name, progress.get(name, {}), now) for name in self._by_name]
        begun = {exercise for row in rows for exercise in row["results"]}
        shown = [title for title in TITLES.values() if title["lesson"] != _DRILLS or title["id"] in begun]
        actions = [attrs.asdict(action) for action in ACTIONS.values()]
        minute = now.timestamp() - 60
        wrong = {address: sum(at > minute for at in list(times)) for address, times in list(self._wrong_codes.items())}
        return {
            "entry": self.results.last(),
            "exercises": shown,
            "learners": rows,
            "actions": actions,
            "paused": self._paused,
            "wrong_codes": dict(Counter({address: count for address, count in wrong.items() if count}).most_common(5)),
        }

    def _row(self, name: str, results: Mapping[str, ExerciseResult], now: datetime) -> dict[str, Any]:
        done = [result for result in results.values() if result.done]
        seen = self._connected.get(name) or self._by_name[name].last_used
        return {
            "learner": name,
            "seen": None if seen is None else round(now.timestamp() - seen),
            "locked": self._locked(name),
            "done": sum(result.exercise in EXERCISES for result in done),
            "tries": sum(result.tries for result in results.values()),
            "hints": sum(result.hints for result in results.values()),
            "minutes": round(sum(result.minutes or 0 for result in done), 1),
            "stuck": [result.exercise for result in results.values() if _is_stuck(result, now)],
            "results": {
                result.exercise: attrs.asdict(result) | ({} if result.done else {"minutes": minutes_since(result, now)})
                for result in results.values()
            },
        }

    def export(self, form: str, style: str = "") -> str:
        """Return the results as text; see `exports.export`.

        Args:
            form: csv, nbgrader, summary or certificates.
            style: HTML with the style of a page.
        """
        return export(self.results, form, style)


def _is_stuck(result: ExerciseResult, now: datetime) -> bool:
    late = result.tries > 0 and minutes_since(result, now) >= STUCK_MINUTES
    return not result.done and (result.tries >= STUCK_TRIES or late)
