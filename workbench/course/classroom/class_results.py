"""Learners, exercise results, locks and notes of a class, in one SQLite file."""

import json
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.system.database import Database

_APPLICATION = 0x57624331
_SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (code TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, learner TEXT NOT NULL, kind TEXT NOT NULL, exercise TEXT NOT NULL,
    detail TEXT NOT NULL)
"""
_WORDS = tuple(Path(__file__).with_name("words.txt").read_text(encoding="ascii").split())
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that looks like another
_PARTS = re.compile(r"(\d+)")
_JOINERS = re.compile(r"(?<=\S)[\u200c\u200d\ufe0e\ufe0f](?=\S|$)")  # inside Persian and Indic names, and emoji
_NAMES = frozenset({"name", "names", "learner", "student", "id", "teilnehmer", "nom", "nombre", "nome"})
_PARTS_OF_NAMES = ("first name", "first_name", "firstname", "given name", "vorname", "prénom", "last name", "last_name",
                   "lastname", "surname", "family name", "nachname")  # fmt: skip
"""Names of columns with a part of a name, in the order in which the parts are joined."""
MAX_LEARNERS = 200
MAX_NAME = 80
FINGERPRINT_DIGITS = 32  # of a link: 128 bits, which nobody finds another certificate for


@attrs.frozen
class Learner:
    """A learner. The code gives access to the learner's sandbox, so only that learner sees it."""

    name: str
    code: str = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class ExerciseResult:
    """Result of a learner in an exercise.

    Attributes:
        done: Whether the class server's check found it done.
    """

    exercise: str
    done: bool = False
    tries: int = 0
    hints: int = 0
    last_hint: bool = False  # whether the hint was shown that contains the code
    minutes: float | None = None  # of work from the task, the first try or hint until it was done, or the last try
    last_problem: str = ""
    begun_at: str | None = None
    begun_active: float = 0.0  # seconds that the learner had worked by then
    done_at: str | None = None


def read_roster(source: str | Path) -> list[str]:
    """Return the names of the learners: of a file of any program, or "Learner 1" and so on for a number.

    The names are in the first column, or in those that are called first and last name.

    Raises:
        UsageError: The file cannot be read, or has no names, duplicate names or too many names.
    """
    text = str(source)
    if text.isascii() and text.isdigit():
        names = [f"Learner {number}" for number in range(1, min(int(text), MAX_LEARNERS + 1) + 1)]
    else:
        from workbench.analysis.tables.read_table import read_table  # needs pandas, the rest of a class does not

        rows = [[str(cell).strip() for cell in row] for row in read_table(Path(source), header=0).fillna("").to_numpy()]
        head = [cell.casefold() for cell in rows[0]] if rows else []
        is_head = bool({*head} & (_NAMES | {*_PARTS_OF_NAMES}))
        parts = [number for part in _PARTS_OF_NAMES for number, cell in enumerate(head) if cell == part]
        lines = rows[is_head:]
        names = [" ".join(filter(None, (line[column] for column in parts or [0]))) for line in lines]
        names = [name for name in names if name]
    if not names or len(names) > MAX_LEARNERS:
        raise UsageError(f"learners: 1 to {MAX_LEARNERS} are needed, not {len(names)}", of="class")
    _check_names(names)
    return names


def _check_names(names: Sequence[str]) -> None:
    counts = Counter(names)
    for number, name in enumerate(names, 1):
        shown = f"learners: name {number}, {visible(name, 40)!r}"
        if counts[name] > 1:
            raise UsageError(f"{shown}, occurs {counts[name]} times; add what tells them apart", of="class")
        if not name or len(name) > MAX_NAME or not _JOINERS.sub("", name).isprintable():
            raise UsageError(f"{shown}: 1 to {MAX_NAME} printable characters", of="class")


def _letters(count: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(count))


class Results:
    """Results file of a class. A restarted server continues with the same file.

    Args:
        path: The file; None stores everything in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = Database(path, application=_APPLICATION, schema=_SCHEMA)
        self._progress: dict[str, dict[str, ExerciseResult]] = {}  # of the entries up to the last that was read
        self._read = 0
        self._reading = threading.Lock()
        if self.get("trainer_key") is None:
            self.set("trainer_key", secrets.token_urlsafe(24))

    # settings

    def get(self, name: str, default: object = None) -> Any:
        """Return a setting of the class."""
        rows = self._file.run("SELECT value FROM setting WHERE name = ?", (name,))
        return strict_json.stored(rows[0][0]) if rows else default

    def set(self, name: str, value: object) -> None:
        """Store a setting of the class."""
        with self._file.write() as connection:
            connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, json.dumps(value)))

    # learners

    def enroll(self, names: Iterable[str]) -> list[Learner]:
        """Add new learners, each with a code, and return all learners."""
        known = {learner.name for learner in self.learners()}
        with self._file.write() as connection:
            for name in names:
                if name not in known:
                    code = "-".join((secrets.choice(_WORDS), _letters(4), _letters(4)))
                    connection.execute("INSERT INTO learner VALUES (?, ?)", (code, name))
        return self.learners()

    def link(self, learner: Learner, url: str = "") -> str:
        """Return the link by which a learner joins: the code, and the fingerprint of a self-signed certificate.

        Args:
            learner: The learner.
            url: URL of the class (default: that of its last start).
        """
        fingerprint = str(self.get("fingerprint", ""))[:FINGERPRINT_DIGITS]
        return f"{url or self.get('url', 'URL')}/{learner.code}{'#' if fingerprint else ''}{fingerprint}"

    def enroll_late(self, name: str) -> Learner:
        """Add one learner, and return the learner with the code.

        Raises:
            UsageError: The name is invalid or taken, or the class is full.
        """
        present = [learner.name for learner in self.learners()]
        _check_names([*present, str(name).strip()])
        if len(present) == MAX_LEARNERS:
            raise UsageError(f"learners: at most {MAX_LEARNERS}", of="class")
        return next(learner for learner in self.enroll([str(name).strip()]) if learner.name == str(name).strip())

    def learners(self) -> list[Learner]:
        """Return the learners sorted by name, with numbers in numeric order."""
        enrolled = [Learner(name, code) for code, name in self._file.run("SELECT code, name FROM learner")]
        return sorted(
            enrolled,
            key=lambda learner: [
                (len(part), part) if part.isdecimal() else (0, part) for part in _PARTS.split(learner.name)
            ],
        )

    # what was done

    def add(self, learner: str, kind: str, exercise: str = "", **detail: Any) -> bool:
        """Store that a learner tried or finished an exercise or saw a hint, or an action of the trainer.

        Entries that change no result are not stored: another start, a hint shown before, a check after the solution or
        of what nobody tried. Return whether it was stored.
        """
        if kind == "check" and not (detail.get("tried", True) or detail.get("confirmed")):
            return False
        known = self.progress().get(learner, {}).get(exercise) if exercise else None
        if known is not None and (
            kind == "start" or known.done or (kind == "hint" and int(detail["number"]) <= known.hints)
        ):
            return False
        with self._file.write() as connection:
            connection.execute(
                "INSERT INTO entry (at, learner, kind, exercise, detail) VALUES (?, ?, ?, ?, ?)",
                (time.time(), learner, kind, exercise, json.dumps(detail)),
            )
        return True

    def keys(self, prefix: str) -> list[str]:
        """Return the names of the settings that begin with a prefix."""
        rows = self._file.run("SELECT name FROM setting WHERE substr(name, 1, ?) = ?", (len(prefix), prefix))
        return [name for (name,) in rows]

    def active(self, learner: str) -> float:
        """Return the seconds that a learner had worked at the last entry."""
        rows = self._file.run("SELECT detail FROM entry WHERE learner = ? ORDER BY id DESC LIMIT 50", (learner,))
        return max((float(strict_json.stored(detail).get("active", 0)) for (detail,) in rows), default=0.0)

    def count(self, learner: str) -> int:
        """Return the number of entries of a learner."""
        return int(self._file.run("SELECT count(*) FROM entry WHERE learner = ?", (learner,))[0][0])

    def last(self) -> int:
        """Return the number of the last entry."""
        return int(self._file.run("SELECT coalesce(max(id), 0) FROM entry")[0][0])

    def entries(self, kind: str, learner: str) -> list[tuple[float, dict[str, Any]]]:
        """Return time and details of a learner's entries of a kind, oldest first."""
        rows = self._file.run(
            "SELECT at, detail FROM entry WHERE kind = ? AND learner = ? ORDER BY id", (kind, learner)
        )
        return [(at, strict_json.stored(detail)) for at, detail in rows]

    def progress(self) -> dict[str, dict[str, ExerciseResult]]:
        """Return the results by learner's name and exercise."""
        with self._reading:
            for number, at, learner, kind, exercise, text in self._file.run(
                "SELECT id, at, learner, kind, exercise, detail FROM entry WHERE id > ? AND exercise != '' ORDER BY id",
                (self._read,),
            ):
                row = self._progress.setdefault(learner, {})
                row[exercise] = _after(row.get(exercise), exercise, kind, strict_json.stored(text), at)
                self._read = number
            return {learner.name: dict(self._progress.get(learner.name, {})) for learner in self.learners()}

    # what leaves the class

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each learner and exercise that was tried."""
        return [
            {"learner": name, **attrs.asdict(result)}
            for name, row in self.progress().items()
            for result in row.values()
        ]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _after(
    before: ExerciseResult | None, exercise: str, kind: str, detail: Mapping[str, Any], at: float
) -> ExerciseResult:
    """Return the result after one more entry. A done exercise stays done, with its time and tries."""
    now, active = datetime.fromtimestamp(at, UTC), float(detail.get("active", 0))
    if before is None:
        begun_at = now.isoformat(timespec="seconds")
        before = ExerciseResult(exercise=exercise, begun_at=begun_at, begun_active=active)
    if before.done:
        return before
    if kind == "hint":
        hints = max(before.hints, int(detail["number"]))
        return attrs.evolve(before, hints=hints, last_hint=before.last_hint or bool(detail.get("last")))
    if kind != "check":
        return before
    missing, done = detail["missing"], bool(detail.get("confirmed"))
    return attrs.evolve(
        before,
        tries=before.tries + 1,
        done=done,
        minutes=minutes_of(before, active),
        done_at=now.isoformat(timespec="seconds") if done else None,
        last_problem=missing[0] if missing else "",
    )


def minutes_of(result: ExerciseResult, active: float) -> float:
    """Return the minutes that a learner worked since an exercise was begun, by the seconds worked so far."""
    return round(max(active - result.begun_active, 0) / 60, 1)
