"""Results of a class as text: tables for other tools, and pages to print."""

import csv
import io
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from workbench.base.errors import UsageError, visible
from workbench.course.classroom.class_results import ExerciseResult, Results
from workbench.course.drills import DRILLS
from workbench.course.learner import EXERCISES
from workbench.service.rendering.text import guarded

FORMS = ("csv", "nbgrader", "summary", "certificates")
_COLUMNS = ("learner", *(field.name for field in attrs.fields(ExerciseResult)))
_NBGRADER = ("assignment", "timestamp", "student_id", "raw_score", "late_submission_penalty", "score", "max_score")
_PAGE = """<!doctype html>
<html lang="en" data-theme="light">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>{style}</head><body class="printed">
{parts}
</body></html>
"""
_Row = Mapping[str, ExerciseResult]


def export(results: Results, form: str, style: str = "") -> str:
    """Return the results of a class as text.

    Args:
        results: The results.
        form: "csv"; "nbgrader", columns of its grades file; or a page to print: "summary", or "certificates" with one
            for each learner.
        style: HTML with the style of a page.

    Raises:
        UsageError: The form is unknown.
    """
    progress = results.progress()
    if form == "csv":
        return _csv(_COLUMNS, results.rows())
    if form == "nbgrader":  # one row for each learner and exercise, as its own export has them
        grades = (
            (result.exercise, result.done_at, name, float(result.done), 0.0, float(result.done), 1.0)
            for name, row in progress.items()
            for result in _all(row)
        )
        return _csv(_NBGRADER, (dict(zip(_NBGRADER, grade, strict=True)) for grade in grades))
    today = datetime.now(UTC).date().isoformat()
    if form == "summary":
        return _PAGE.format(title="Class summary", style=style, parts=_summary(progress, today))
    if form == "certificates":
        parts = "\n".join(_certificate(name, row, today) for name, row in progress.items())
        return _PAGE.format(title="Certificates", style=style, parts=parts)
    raise UsageError(f"form: must be one of {', '.join(FORMS)}, not {visible(form, 40)!r}", of="class")


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns))
    writer.writeheader()
    writer.writerows(
        {name: guarded(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
    )
    return out.getvalue()


def _all(row: _Row) -> Iterator[ExerciseResult]:
    """Yield a learner's results in all exercises, tried or not."""
    return (row.get(exercise) or ExerciseResult(exercise=exercise) for exercise in EXERCISES)


def _summary(progress: Mapping[str, _Row], written: str) -> str:
    """Return the summary to print: a table by learner and a table by exercise."""
    learners = []
    for name, row in progress.items():
        done = [result for result in row.values() if result.done]
        last = next((result for result in reversed(tuple(row.values())) if not result.done), None)
        learners.append(
            (
                name,
                f"{sum(result.exercise in EXERCISES for result in done)} of {len(EXERCISES)}",
                sum(result.tries for result in row.values()),
                sum(result.hints for result in row.values()),
                f"{sum(result.minutes or 0 for result in done):.0f}",
                f"{last.exercise}: {last.last_problem}" if last and last.last_problem else "",
            )
        )
    tried = []
    for id_, exercise in EXERCISES.items():
        rows = [row[id_] for row in progress.values() if id_ in row]
        each = [row.minutes or 0 for row in rows if row.done]
        tried.append(
            (
                id_,
                exercise.title,
                f"{len(each)} of {len(progress)}",
                sum(row.tries for row in rows),
                sum(row.last_hint for row in rows),
                f"{median(each):.0f}" if each else "",
            )
        )
    heads = ("learner", "exercises done", "tries", "hints", "minutes", "open, with the last problem")
    about = ("exercise", "title", "done by", "tries", "last hint shown", "minutes (median)")
    return (
        f"<h1>Class summary</h1><p>{written}: {len(progress)} learners</p>{_table(heads, learners)}"
        f"<h2>Exercises</h2>{_table(about, tried)}"
    )


def _table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    def line(tag: str, cells: Iterable[Any]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(visible(str(cell), 200))}</{tag}>' for cell in cells)}</tr>"

    return f"<table><thead>{line('th', heads)}</thead><tbody>{''.join(line('td', row) for row in rows)}</tbody></table>"


def answers(style: str) -> str:
    """Return the answer key as a page: each exercise with its task and solution, each drill with a good answer."""
    parts = ["<h1>Answer key</h1><p>For trainers. Every code block runs after the cells of its notebook.</p>"]
    for exercise in EXERCISES.values():
        parts.append(
            f"<h2>{escape(exercise.id)}: {escape(exercise.title)}</h2><p>{escape(exercise.notebook)}. "
            f"{escape(exercise.task)}</p>"
        )
        parts.append(f"<pre>{escape(exercise.hints[-1].strip())}</pre>")
    for drill in DRILLS.values():
        parts.append(
            f"<h2>drill {escape(drill.name)}: {escape(drill.title)}</h2><p>{drill.minutes} minutes. "
            f"{escape(drill.described())}</p>"
        )
        parts.append(f"<p>A good answer: {escape(drill.answer)}</p>")
    return _PAGE.format(title="Answer key", style=style, parts="\n".join(parts))


def sheets(links: Mapping[str, str], style: str) -> str:
    """Return a handout page for each learner: how to join, where to get help, and the exercises to tick off.

    Args:
        links: The link of each learner, by name.
        style: HTML with the style of a page.
    """
    lessons: dict[str, list[str]] = {}
    for exercise in EXERCISES.values():
        lessons.setdefault(exercise.notebook, []).append(f"☐ {exercise.id}: {exercise.title}")
    course = _table(("notebook", "exercises"), ((name, "   ".join(titles)) for name, titles in lessons.items()))
    helps = _table(("in a cell", "what it does"), _HELPS)
    pages = (
        f"<section class='certificate'><h1>{escape(visible(name))}</h1>{_qr_code(link)}<p>The link has your code, "
        "which is yours alone. If your laptop has no workbench, open the link in a browser: its page shows how to "
        "install it. Join in a terminal, which then opens JupyterLab:</p>"
        f"<pre>workbench class join {escape(link)}</pre><p>or in the first cell of any notebook:</p>"
        f"<pre>import workbench as wb\nwb.course.join({escape(repr(link))})</pre>"
        f"<p>Then run the notebooks from their first cell. <code>workbench class leave</code> ends it.</p>"
        f"{helps}{course}</section>"
        for name, link in links.items()
    )
    return _PAGE.format(title="Join the class", style=style, parts="\n".join(pages))


def qr_path(text: str) -> tuple[int, str]:
    """Return the width of a QR code in modules, with its margin, and the SVG path of its dark modules."""
    import segno

    rows = list(segno.make_qr(text).matrix_iter(border=4))
    return len(rows), "".join(
        f"M{column} {row}h1v1h-1z" for row, modules in enumerate(rows) for column, dark in enumerate(modules) if dark
    )


def _qr_code(link: str) -> str:
    size, path = qr_path(link)
    return (
        f"<svg class='qr' role='img' aria-label='QR code of {escape(link)}' viewBox='0 0 {size} {size}'>"
        f"<path d='{path}'/></svg>"
    )


PLANS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("plans.toml").read_text(encoding="utf-8")
)
"""Half-day plans of the course by role: title, and rows of minutes, activity, and what to look for."""


def handout(role: str, style: str) -> str:
    """Return the plan of a role as a page for learners, with the exercises to tick off."""
    plan, minutes, rows = PLANS[role], 0, []
    for length, what, look_for in plan["rows"]:
        exercises = "   ".join(f"☐ {exercise.id}" for exercise in EXERCISES.values() if exercise.notebook == what)
        rows.append((f"{minutes // 60}:{minutes % 60:02}", f"{length} min", what, look_for, exercises))
        minutes += length
    table = _table(("from", "time", "what", "what to look for", "exercises"), rows)
    return _PAGE.format(title=escape(plan["title"]), style=style, parts=f"<h1>{escape(plan['title'])}</h1>{table}")


_HELPS = (
    ('wb.course.task("start-1")', "shows the task of an exercise"),
    ('wb.course.check("start-1")', "checks it, and says what is missing"),
    ('wb.course.hint("start-1")', "shows the next hint; the last one contains the code, and is counted"),
    ("wb.course.notes()", "shows the notes of your trainer"),
    ("wb.course.progress()", "shows what you have done"),
    ("api.sandbox.guide()", "returns cards, users and keys to work with"),
    ("api.sandbox.reset()", "resets your own sandbox, and no other"),
    ("wb.browse(api)", "shows all there is"),
)


def _certificate(name: str, row: _Row, written: str) -> str:
    done = [result for result in row.values() if result.done]
    count = sum(result.exercise in EXERCISES for result in done)
    hints, minutes = sum(result.hints for result in done), sum(result.minutes or 0 for result in done)
    titles = {exercise.id: exercise.title for exercise in EXERCISES.values()}
    items = (
        f"<li>{escape(titles.get(result.exercise, result.exercise))}: "
        f"{result.tries} {'try' if result.tries == 1 else 'tries'}</li>"
        for result in done
    )
    title = f"{count} of {len(EXERCISES)} exercises of the card issuing course"
    return (
        f"<section class='certificate'><h1>{escape(visible(name))}</h1><p>{title}, in {minutes:.0f} minutes, "
        f"with {hints} hints. {written}</p><ul>{''.join(items)}</ul></section>"
    )
