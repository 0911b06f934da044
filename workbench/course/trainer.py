"""Trainer's board of a class in a notebook: a table, optionally live, and the trainer's actions."""

import getpass
import os
import threading
from typing import Any
from urllib.parse import urlsplit

import httpx

from workbench.base.errors import NotSent, Problem, UsageError, WrongEnvironment, visible
from workbench.base.system.certificates import trusted
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid

_STATES = {True: ("✓", "status:done"), False: ("○", "status:planned")}
_IDLE = 60  # seconds


class Board(Shown):
    """A snapshot of the board: learners, their results, who is stuck, and their last problem.

    Attributes:
        data: The board as JSON values from the server: `exercises`, `learners` and `actions`.
    """

    def __init__(self, url: str, trainer_key: str, ca_file: str | None = None) -> None:
        none_kept = httpx.Limits(max_keepalive_connections=0)  # nobody closes a board
        self._http = httpx.Client(
            base_url=f"{url}/board",
            headers={"trainer-key": trainer_key},
            trust_env=False,
            limits=none_kept,
            verify=trusted(ca_file),
        )
        self._shown: Any = None
        self.refresh()

    def refresh(self) -> "Board":
        """Read the board again."""
        self.data: dict[str, Any] = self._exchange("GET", "data")
        return self

    def sheet(self) -> Grid:
        """Return the board as a table."""
        return _grid(self.data)

    __repr__ = Shown.__str__

    def act(self, action: str, learners: str | list[str] = "all", **arguments: object) -> dict[str, Any]:
        """Run an action for learners: `act("note", "Ann", text="Look at the guide")`; return `done` and `failed`.

        Args:
            action: "note", "drill", "event", "add_fault", "clear_faults", "advance", "lock", "unlock" or "reset", as on
                the board's page, or another control of the sandbox.
            learners: "all", a name, or a list of names.
            arguments: Arguments of the action; `data["actions"]` lists them.

        Raises:
            UsageError: The class refused the action.
        """
        named = learners if learners == "all" or isinstance(learners, list) else [learners]
        content = {"learners": named, "action": action, "arguments": arguments}
        answer: dict[str, Any] = self._exchange("POST", "act", content)
        self.refresh()
        return answer

    def live(self, seconds: float = 1.0) -> None:
        """Show the board in a notebook and update it, until `stop()` or the end of the kernel.

        Args:
            seconds: Interval between updates.
        """
        from IPython.display import display

        self.stop()
        self._shown = threading.Event()
        handle = display(self, display_id=True)  # type: ignore[no-untyped-call]
        threading.Thread(target=self._watch, args=(handle, self._shown, seconds), daemon=True).start()

    def _watch(self, handle: Any, stopped: threading.Event, seconds: float) -> None:
        while not stopped.wait(seconds):
            before = self.sheet()
            try:
                self.refresh()
            except NotSent:  # the server is started again, perhaps
                continue
            except WrongEnvironment:
                return
            if self.sheet() != before:
                handle.update(self)

    def stop(self) -> None:
        """Stop `live`; the last table stays visible."""
        if self._shown is not None:
            self._shown.set()

    def _exchange(self, method: str, path: str, content: object = None) -> Any:
        try:
            answer = self._http.request(method, path, json=content)
        except httpx.HTTPError as error:
            raise NotSent(f"The class server does not answer ({type(error).__name__}).") from None
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise UsageError(visible(str(answer.json().get("message"))), of="course.board")
        if answer.status_code != httpx.codes.OK:
            reason = f"this is not its trainer's key ({answer.status_code})"
            raise WrongEnvironment(f"No class is served at this address, or {reason}.")
        return answer.json()


def board(api: Any, trainer_key: str | None = None, *, ca_file: str | os.PathLike[str] | None = None) -> Board:
    """Return the trainer's board of a class: results, who is stuck, and actions for one or all.

    Args:
        api: A session in the class, or the URL of the class.
        trainer_key: The key printed by the class server; default: WORKBENCH_TRAINER_KEY, otherwise a prompt.
        ca_file: Certificate to trust; default: that of the session, or WORKBENCH_CLASS_CA.

    Raises:
        NotSent: Connection refused.
        WrongEnvironment: The URL is not a class server, or the key is wrong.
    """
    session = None if isinstance(api, str) else api
    url = urlsplit(api if session is None else session.sandbox._url)
    key = trainer_key or os.environ.get("WORKBENCH_TRAINER_KEY") or getpass.getpass("Trainer key: ")
    if not key.isascii():
        raise UsageError([Problem("trainer_key", "format", "contains characters that a key cannot have")], of="board")
    authority = ca_file or (session and session._ca_file) or os.environ.get("WORKBENCH_CLASS_CA")
    return Board(f"{url.scheme}://{url.netloc}", key, None if authority is None else str(authority))


def _grid(board: dict[str, Any]) -> Grid:
    exercises = [exercise["id"] for exercise in board["exercises"]]
    rows = tuple(_row(learner, exercises) for learner in board["learners"])
    stuck = [visible(learner["learner"], 40) for learner in board["learners"] if learner["stuck"]]
    done = sum(learner["done"] for learner in board["learners"])
    count = sum(exercise["scored"] for exercise in board["exercises"])
    return Grid(
        title=f"Class board: {done} of {len(rows) * count} exercises done",
        columns=("learner", "is", "done", "tries", "hints", "minutes", "stuck at", "last problem", *exercises),
        rows=rows,
        total=len(rows),
        notes=(f"Stuck: {', '.join(stuck)}.",) if stuck else (),
    )


def _row(learner: dict[str, Any], exercises: list[str]) -> tuple[Cell, ...]:
    results = learner["results"]
    seen = "not joined" if learner["seen"] is None else "idle" if learner["seen"] > _IDLE else "working"
    numbers = (learner["done"], learner["tries"], learner["hints"], round(learner["minutes"]))
    return (
        Cell((visible(learner["learner"]),)),
        Cell((seen,)),
        *(Cell((str(number),), "number") for number in numbers),
        Cell((", ".join(learner["stuck"]),), "status:denied" if learner["stuck"] else "text"),
        Cell((visible(last_problem(learner), 200),)),
        *(_state(results.get(each), each in learner["stuck"]) for each in exercises),
    )


def last_problem(learner: dict[str, Any]) -> str:
    """Return a learner's unfinished exercise, preferably one where they are stuck, with its last problem."""
    open_ = [
        each
        for each in learner["results"].values()
        if not each["done"] and not each["reported"] and each["last_problem"]
    ]
    exercise = next((each for each in open_ if each["exercise"] in learner["stuck"]), open_[-1] if open_ else None)
    return "" if exercise is None else f"{exercise['exercise']}: {exercise['last_problem']}"


def _state(result: dict[str, Any] | None, stuck: bool) -> Cell:
    if result is None:
        return Cell(("",))
    glyph, role = ("!", "status:denied") if stuck else _STATES[result["done"]]
    glyph = "⚑" if result["reported"] else glyph
    hints = f" {result['hints']}{'H' if result['last_hint'] else 'h'}" if result["hints"] else ""
    return Cell((f"{glyph} {result['tries']}{hints}",), role)
