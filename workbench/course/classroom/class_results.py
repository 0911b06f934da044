"""SQLite file of a class, with its learners, settings, attempts, results and notes."""

import json
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.system.database import Database
from workbench.course.task_result import TaskResult

_APPLICATION = 0x57624331
_SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (code TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE)
"""
_WORDS = tuple(Path(__file__).with_name("words.txt").read_text(encoding="ascii").split())
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # the set leaves out characters that look alike
# not printable, but parts of Persian and Indic names and of emoji: joiners and variation selectors
_JOINERS = re.compile(r"(?<=\S)[\u200c\u200d\ufe0e\ufe0f](?=\S|$)")
_NAMES = frozenset({"name", "names", "learner", "student", "id", "teilnehmer", "nom", "nombre", "nome"})
_PARTS_OF_NAMES = ("first name", "first_name", "firstname", "given name", "vorname", "prénom", "last name", "last_name",
                   "lastname", "surname", "family name", "nachname")  # fmt: skip
"""Roster columns that contain a part of a name, in the order in which the parts are joined."""
MAX_LEARNERS = 200
MAX_NAME = 80
# hexadecimal digits of the fingerprint in a link: 128 bits, too many to forge a certificate that matches
FINGERPRINT_DIGITS = 32


@attrs.frozen
class Learner:
    """A learner. The code gives access to the learner's sandbox, so only that learner may see the code."""

    name: str
    code: str = attrs.field(repr=False)


def read_roster(source: str | Path) -> list[str]:
    """Return the names of learners from a table file, such as CSV or XLSX. For a number, return "Learner 1" and so on.

    The columns for first and last name are joined. If the file has neither, its first column contains the names.

    Raises:
        UsageError: The file cannot be read, or has no names, duplicate names or too many names.
    """
    text = str(source)
    if text.isascii() and text.isdigit():
        names = [f"Learner {number}" for number in range(1, min(int(text), MAX_LEARNERS + 1) + 1)]
    else:
        # imported here because the import loads pandas, which the rest of a class does not need
        from workbench.analysis.tables.read_table import read_table

        rows = [[str(cell).strip() for cell in row] for row in read_table(Path(source), header=0).fillna("").to_numpy()]
        head = [cell.casefold() for cell in rows[0]] if rows else []
        columns = [head.index(part) for part in _PARTS_OF_NAMES if part in head]
        lines = rows[bool(_NAMES & {*head} or columns) :]
        names = [name for line in lines if (name := " ".join(line[column] for column in columns or [0]).strip())]
    _check_names(names)
    return names


def _check_names(names: Sequence[str]) -> None:
    if not names or len(names) > MAX_LEARNERS:
        raise UsageError(f"learners: 1 to {MAX_LEARNERS} are needed, not {len(names)}", of="class")
    for number, name in enumerate(names, 1):
        if name in names[: number - 1]:
            problem = "occurs twice; add an initial or a number to one of the two"
        elif not name or len(name) > MAX_NAME or not _JOINERS.sub("", name).isprintable():
            problem = f"must have 1 to {MAX_NAME} printable characters"
        else:
            continue
        raise UsageError(f"learners: name {number}, {visible(name, 40)!r}: {problem}", of="class")


class Results:
    """Results file of a class. A restarted server continues with this file.

    The parts of the names of attempts, results and notes are separated by line breaks, which no learner's name
    contains.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = Database(path, application=_APPLICATION, schema=_SCHEMA)
        if self.get("trainer_key") is None:
            self.set("trainer_key", secrets.token_urlsafe(24))

    def get(self, name: str, default: object = None) -> Any:
        """Return the value of a setting of the class; `default` if it was never set."""
        rows = self._file.run("SELECT value FROM setting WHERE name = ?", (name,))
        return strict_json.stored(rows[0][0]) if rows else default

    def set(self, name: str, value: object) -> None:
        """Store a setting of the class as JSON."""
        with self._file.write() as connection:
            connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, json.dumps(value)))

    def all(self, beginning: str) -> dict[str, Any]:
        """Return the settings whose names begin with `beginning`, by the rest of the name, in order of name."""
        query = "SELECT substr(name, ?), value FROM setting WHERE name > ? AND name < ? ORDER BY name"
        rows = self._file.run(query, (len(beginning) + 1, beginning, f"{beginning}\U0010ffff"))
        return {name: strict_json.stored(value) for name, value in rows}

    def enroll(self, names: Iterable[str]) -> list[Learner]:
        """Add a learner with a code for each new name, and return all learners."""
        with self._file.write() as connection:
            for name in names:
                letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
                code = f"{secrets.choice(_WORDS)}-{letters[:4]}-{letters[4:]}"
                connection.execute("INSERT INTO learner VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (code, name))
        return self.learners()

    def link(self, learner: Learner, url: str = "") -> str:
        """Return the link with which a learner joins: URL, code, and the fingerprint of a self-signed certificate.

        Args:
            learner: The learner.
            url: URL of the class (default: the URL of its last start).
        """
        fingerprint = self.get("fingerprint")
        return f"{url or self.get('url', 'URL')}/{learner.code}{f'#{fingerprint}' if fingerprint else ''}"

    def enroll_late(self, name: str) -> Learner:
        """Add a learner who is not on the roster, and return the learner with the code.

        Raises:
            UsageError: The name is invalid or taken, or the class is full.
        """
        name = str(name).strip()
        _check_names([*(learner.name for learner in self.learners()), name])
        # by name, because another process may add learners at the same time
        return {learner.name: learner for learner in self.enroll([name])}[name]

    def learners(self) -> list[Learner]:
        """Return the learners in the order of the roster."""
        return [Learner(*row) for row in self._file.run("SELECT name, code FROM learner ORDER BY rowid")]

    def progress(self) -> dict[str, dict[str, TaskResult]]:
        """Return the results by learner's name and task, with the learners in the order of the roster."""
        results: dict[str, dict[str, TaskResult]] = {learner.name: {} for learner in self.learners()}
        for name, content in self.all("result\n").items():
            learner, _, task = name.rpartition("\n")
            results[learner][task] = TaskResult(**content)
        return results

    def add_note(self, learner: str, text: str) -> None:
        """Store a trainer's note for a learner."""
        self.set(f"note\n{learner}\n{time.time_ns()}", text)

    def notes(self, learner: str) -> list[str]:
        """Return the notes for a learner, oldest first."""
        return [*self.all(f"note\n{learner}\n").values()]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
