"""The learners of a class, what they did in which exercise, and the class's locks and notes, in one SQLite file."""

import csv
import hashlib
import hmac
import io
import json
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import attrs

from workbench.errors import InvalidRequest, visible
from workbench.rendering.values import guarded
from workbench.storage import Database

_APPLICATION = 0x57624331
_SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (code TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE entry (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, learner TEXT NOT NULL, kind TEXT NOT NULL, exercise TEXT NOT NULL,
    detail TEXT NOT NULL)
"""
_WORDS = (
    "amber", "apple", "aspen", "birch", "cedar", "cherry", "clover", "cobalt", "coral", "crane", "daisy", "dove",
    "ember", "falcon", "fern", "finch", "flint", "fox", "ginger", "hazel", "heron", "indigo", "iris", "ivory",
    "jasper", "juniper", "kiwi", "lark", "laurel", "lemon", "lilac", "linen", "lotus", "mango", "maple", "marble",
    "mint", "moss", "oak", "olive", "onyx", "opal", "orchid", "otter", "pearl", "pepper", "pine", "plum", "poppy",
    "quartz", "raven", "robin", "rose", "ruby", "saffron", "sage", "slate", "sparrow", "teal", "thyme", "tulip",
    "violet", "willow", "wren",
)  # fmt: skip
_PARTS = re.compile(r"(\d+)")
MAX_LEARNERS = 200
MAX_NAME = 80


@attrs.frozen
class Learner:
    """A learner. The code opens the learner's sandbox, so it is shown to that learner alone."""

    name: str
    code: str = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class ExerciseResult:
    """What a learner did in an exercise. `confirmed` tells whether the class server found the same by its own check."""

    exercise: str
    done: bool = False
    confirmed: bool = False
    tries: int = 0
    hints: int = 0
    minutes: float | None = None  # from the first try or hint until it was done, or until the last try
    last_problem: str = ""
    done_at: str | None = None


def read_roster(source: str | Path) -> list[str]:
    """Return the names of the learners: of the first column of a CSV file, or "Learner 1" and so on for a number.

    Raises:
        InvalidRequest: No such file, no names, a name that stands twice, or too many.
    """
    text = str(source)
    if text.isascii() and text.isdigit():
        names = [f"Learner {number}" for number in range(1, min(int(text), MAX_LEARNERS + 1) + 1)]
    else:
        try:
            content = Path(source).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"learners: cannot read {visible(text, 200)}: {error}", of="class") from None
        names = [row[0].strip() for row in csv.reader(io.StringIO(content)) if row and row[0].strip()]
        if names and names[0].lower() in ("name", "learner", "student", "id"):
            names = names[1:]
    twice = sorted({name for name in names if names.count(name) > 1})
    wrong = [name for name in names if len(name) > MAX_NAME or not name.isprintable()]
    if not names or len(names) > MAX_LEARNERS:
        raise InvalidRequest(f"learners: 1 to {MAX_LEARNERS} are needed, not {len(names)}", of="class")
    if twice or wrong:
        shown = ", ".join(visible(name, 40) for name in (*twice, *wrong)[:5])
        raise InvalidRequest(f"learners: names must be printable and stand once: {shown}", of="class")
    return names


class Results:
    """The file of a class. A server that is started again with the same file continues where it was.

    Args:
        path: The file; None keeps everything in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = Database(path, application=_APPLICATION, schema=_SCHEMA)
        if self._setting("secret") is None:
            self.set("secret", secrets.token_hex(32))
            self.set("trainer_key", secrets.token_urlsafe(24))

    # settings

    def _setting(self, name: str) -> str | None:
        rows = self._file.run("SELECT value FROM setting WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def get(self, name: str, default: Any = None) -> Any:
        """Return a setting of the class."""
        found = self._setting(name)
        return default if found is None else json.loads(found)

    def set(self, name: str, value: Any) -> None:
        """Keep a setting of the class."""
        with self._file.write() as connection:
            connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, json.dumps(value)))

    # learners

    def enroll(self, names: Iterable[str]) -> list[Learner]:
        """Add the learners who are not there yet, each with a code, and return all."""
        known = {learner.name for learner in self.learners()}
        with self._file.write() as connection:
            for name in names:
                if name not in known:
                    code = f"{secrets.choice(_WORDS)}-{10 + secrets.randbelow(90)}-{secrets.choice(_WORDS)}"
                    connection.execute("INSERT INTO learner VALUES (?, ?)", (code, name))
        return self.learners()

    def learners(self) -> list[Learner]:
        """Return the learners in order of their names, numbers by their value."""
        found = [Learner(name, code) for code, name in self._file.run("SELECT code, name FROM learner")]
        return sorted(
            found,
            key=lambda one: [(len(part), part) if part.isdecimal() else (0, part) for part in _PARTS.split(one.name)],
        )

    # what was done

    def add(self, learner: str, kind: str, exercise: str = "", **detail: Any) -> None:
        """Keep that a learner tried or finished an exercise, or saw a hint, or that the trainer did something."""
        with self._file.write() as connection:
            connection.execute(
                "INSERT INTO entry (at, learner, kind, exercise, detail) VALUES (?, ?, ?, ?, ?)",
                (time.time(), learner, kind, exercise, json.dumps(detail)),
            )

    def last(self) -> int:
        """Return the number of the last entry."""
        return int(self._file.run("SELECT coalesce(max(id), 0) FROM entry")[0][0])

    def entries(self, kind: str, learner: str) -> list[tuple[float, dict[str, Any]]]:
        """Return when something of a kind was entered for a learner, and its details, oldest first."""
        rows = self._file.run(
            "SELECT at, detail FROM entry WHERE kind = ? AND learner = ? ORDER BY id", (kind, learner)
        )
        return [(at, json.loads(detail)) for at, detail in rows]

    def progress(self) -> dict[str, dict[str, ExerciseResult]]:
        """Return the results by the learner's name and the exercise."""
        found: dict[str, dict[str, ExerciseResult]] = {learner.name: {} for learner in self.learners()}
        began: dict[tuple[str, str], float] = {}
        for at, learner, kind, exercise, text in self._file.run(
            "SELECT at, learner, kind, exercise, detail FROM entry WHERE exercise != '' ORDER BY id"
        ):
            detail = json.loads(text)
            row = found.setdefault(learner, {})
            if kind == "reset":
                row.pop(exercise, None)
                began.pop((learner, exercise), None)
                continue
            before = row.get(exercise, ExerciseResult(exercise=exercise))
            start = began.setdefault((learner, exercise), at)
            row[exercise] = _after(before, kind, detail, at, start)
        return found

    # what leaves the class

    def rows(self) -> list[dict[str, Any]]:
        """Return the results, one row for each learner and exercise that was tried."""
        return [{"learner": name, **attrs.asdict(one)} for name, row in self.progress().items() for one in row.values()]

    def export(self, form: str, seed: int, exercises: Iterable[str]) -> str:
        """Return the results as text.

        Args:
            form: "csv"; "json", with a signature; "nbgrader", columns of its grades file; "otter", a results file for each
                learner in one JSON object; or "html", a page with a certificate for each learner.
            seed: Seed of the class.
            exercises: Ids of all exercises.

        Raises:
            InvalidRequest: No such form.
        """
        if form == "json":
            return json.dumps(self.signed(seed), indent=1) + "\n"
        if form == "csv":
            columns = ("learner", *(field.name for field in attrs.fields(ExerciseResult)))
            return _csv(columns, self.rows())
        if form == "nbgrader":
            return _csv(_NBGRADER, self._grades(list(exercises)))
        progress = self.progress()
        if form == "otter":
            files = {
                name: {"tests": [_otter_test(one, row.get(one)) for one in exercises]} for name, row in progress.items()
            }
            return json.dumps(files, indent=1) + "\n"
        if form == "html":
            written = datetime.now(UTC).date().isoformat()
            pages = (self._certificate(name, row, list(exercises), written) for name, row in progress.items())
            return _PAGE.format(pages="\n".join(pages))
        raise InvalidRequest(f"form: must be csv, json, nbgrader, otter or html, not {visible(form, 40)!r}", of="class")

    def _grades(self, exercises: list[str]) -> Iterator[dict[str, Any]]:
        """Yield one row for each learner and exercise, as nbgrader's own export has them."""
        for name, row in self.progress().items():
            for exercise in exercises:
                one = row.get(exercise)
                score = float(one is not None and one.done)
                yield {
                    "assignment": exercise, "timestamp": one.done_at if one is not None else None, "student_id": name,
                    "raw_score": score, "late_submission_penalty": 0.0, "score": score, "max_score": 1.0,
                }  # fmt: skip

    def _certificate(self, name: str, row: Mapping[str, ExerciseResult], exercises: list[str], written: str) -> str:
        done = [one for one in row.values() if one.done]
        hints, minutes = sum(one.hints for one in done), sum(one.minutes or 0 for one in done)
        content = {"learner": name, "done": sorted(one.exercise for one in done), "written": written}
        return (
            f"<section><h1>{escape(name)}</h1><p>{len(done)} of {len(exercises)} exercises of the card issuing course, "
            f"in {minutes:.0f} minutes, with {hints} hints. {written}</p><ul>"
            + "".join(f"<li>{escape(one.exercise)}: {one.tries} tries</li>" for one in done)
            + f"</ul><p class='signature'>{self._signature(content)}</p></section>"
        )

    def signed(self, seed: int) -> dict[str, Any]:
        """Return all results as JSON values, with a signature over them."""
        content = {"written": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed, "results": self.rows()}
        return {**content, "signature": self._signature(content)}

    def verify(self, content: Mapping[str, Any]) -> bool:
        """Return whether results were written by this class and have not been changed since."""
        unsigned = {name: value for name, value in content.items() if name != "signature"}
        return hmac.compare_digest(self._signature(unsigned), str(content.get("signature")))

    def _signature(self, content: Mapping[str, Any]) -> str:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hmac.new(self.get("secret").encode(), text.encode(), hashlib.sha256).hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_NBGRADER = ("assignment", "timestamp", "student_id", "raw_score", "late_submission_penalty", "score", "max_score")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Certificates</title><style>
body {{ font: 14px/20px system-ui, sans-serif; margin: 0; }}
section {{ padding: 48px; border: 1px solid #566173; margin: 24px; break-after: page; }}
h1 {{ font-size: 28px; }} .signature {{ font: 10px/16px monospace; color: #566173; overflow-wrap: anywhere; }}
</style></head><body>
{pages}
</body></html>
"""


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns))
    writer.writeheader()
    writer.writerows(
        {name: guarded(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    )
    return out.getvalue()


def _otter_test(exercise: str, one: ExerciseResult | None) -> dict[str, Any]:
    done = one is not None and one.done
    return {
        "name": exercise, "score": float(done), "max_score": 1.0, "status": "passed" if done else "failed",
        "output": "" if one is None else one.last_problem,
    }  # fmt: skip


def _after(before: ExerciseResult, kind: str, detail: Mapping[str, Any], at: float, began: float) -> ExerciseResult:
    """Return the result after one more entry. What is done stays done, with its time and its tries."""
    if before.done:
        return attrs.evolve(before, confirmed=before.confirmed or bool(detail.get("confirmed")))
    if kind == "hint":
        return attrs.evolve(before, hints=max(before.hints, int(detail["number"])))
    minutes = round((at - began) / 60, 1)
    missing = detail["missing"]
    done_at = None if missing else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    return attrs.evolve(
        before, tries=before.tries + 1, done=not missing, minutes=minutes, done_at=done_at,
        last_problem=missing[0] if missing else "", confirmed=bool(detail.get("confirmed")),
    )  # fmt: skip
