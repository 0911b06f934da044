"""Results of a class as tables for other tools, and pages to print."""

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import UsageError, visible
from workbench.base.system import toml
from workbench.course.classroom.class_results import Results
from workbench.course.desk import TaskResult
from workbench.course.display import marked
from workbench.course.task_files import DRILLS, EXERCISES, TASKS
from workbench.service.rendering.elements import Markup, element, html_page, table
from workbench.service.rendering.text import guarded

FORMS = ("csv", "certificates")
_COLUMNS = ("learner", *(field.name for field in attrs.fields(TaskResult)))
_Row = Mapping[str, TaskResult]
PLANS: Mapping[str, Mapping[str, Any]] = toml.load(Path(__file__).with_name("plans.toml"))
"""Plans of a class by name: title, and rows of minutes, activity, and what to look for."""
_KEPT: Mapping[str, Any] = toml.load(Path(__file__).with_name("handout.toml"))
"""Terms, steps of a payment and commands of the handout that a learner keeps."""


def export(results: Results, form: str, style: str = "") -> str:
    """Return the results of a class as text.

    Args:
        results: The results.
        form: "csv", or "certificates", a page to print with one for each learner who has done something.
        style: HTML with the style of a page.

    Raises:
        UsageError: The form is unknown.
    """
    progress = results.progress()
    if form == "csv":
        rows = ({"learner": name, **attrs.asdict(result)} for name, row in progress.items() for result in row.values())
        return _csv(_COLUMNS, rows)
    if form == "certificates":
        trainer, today = str(results.get("trainer", "")), datetime.now(UTC).date().isoformat()
        pages = (_certificate(name, row, trainer, today) for name, row in progress.items() if _done(row))
        return _printed("Certificates", style, "\n".join(pages) or "<p>Nobody has done a task yet.</p>")
    raise UsageError(f"form: must be one of {', '.join(FORMS)}, not {visible(form, 40)!r}", of="class")


def _printed(title: str, style: str, parts: str) -> str:
    return html_page(title, Markup(parts), head=Markup(style), theme="light", class_="printed")


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns))
    writer.writeheader()
    for row in rows:
        writer.writerow({name: guarded(value) if isinstance(value, str) else value for name, value in row.items()})
    return out.getvalue()


def _done(row: _Row) -> list[TaskResult]:
    return [result for result in row.values() if result.done]


def _table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    cells = ([Markup(marked(escape(visible(str(cell), 400)))) for cell in row] for row in rows)
    return table(cells, heads)


def _certificate(name: str, row: _Row, trainer: str, written: str) -> str:
    done = [task for name, task in TASKS.items() if name in row and row[name].done]
    exercises = [task.title for task in done if task.notebook]
    drills = [task.title for task in done if not task.notebook]
    also = f" and {len(drills)} drill{'s' * (len(drills) > 1)}" if drills else ""
    items = "".join(f"<li>{escape(title)}</li>" for title in (*exercises, *(f"Drill: {title}" for title in drills)))
    signed = (
        f"<p class='signed'>{escape(visible(trainer))}<br><span class='small'>Trainer</span></p>" if trainer else ""
    )
    return (
        f"<section class='certificate'><p class='small'>Card issuing course</p><h1>Certificate</h1>"
        f"<p class='holder'>{escape(name)}</p><p>has done {len(exercises)} of {len(EXERCISES)} exercises"
        f"{also}, each checked by a sandbox:</p>"
        f"<ul>{items}</ul><p>{written}</p>{signed}</section>"
    )


def answers(style: str) -> str:
    """Return the answer key as a page: each task with its solution."""
    parts = ["<h1>Answer key</h1><p>For trainers. Every code block runs after the cells of its notebook.</p>"]
    for task in (*EXERCISES.values(), *DRILLS.values()):
        where = task.notebook or f"drill, {task.minutes} minutes"
        parts.append(f"<h2>{escape(task.name)}: {escape(task.title)}</h2><p>{where}. {marked(escape(task.task))}</p>")
        parts += [f"<p>{marked(escape(task.debrief))}</p>"] * bool(task.debrief)
        parts.append(f"<pre>{escape(task.answer.strip())}</pre>")
    return _printed("Answer key", style, "\n".join(parts))


def sheets(links: Mapping[str, str], style: str) -> str:
    """Return a page for each learner: how to join, and where to get help.

    Args:
        links: The link of each learner, by name.
        style: HTML with the style of a page.
    """
    helps = _table(("in a cell", "what it does"), _KEPT["commands"])
    pages = (
        f"<section class='sheet'><h1>{escape(name)}</h1>{_qr_code(link)}<p>The link has your code, "
        "which is yours alone. If your laptop has no workbench, open the link in a browser: its page shows how to "
        "install it. Join in a terminal, which then opens JupyterLab:</p>"
        f"<pre>workbench course join {escape(link)}</pre><p>or in the first cell of any notebook:</p>"
        f"<pre>import workbench as wb\nwb.course.join({escape(repr(link))})</pre>"
        f"<p>Then run the notebooks from their first cell. <code>workbench course leave</code> ends it.</p>"
        f"{helps}</section>"
        for name, link in links.items()
    )
    return _printed("Join the class", style, "\n".join(pages))


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


def plan(name: str, style: str) -> str:
    """Return a plan as a page, with the exercises to tick off."""
    chosen, rows = PLANS[name], []
    minutes = 60 * chosen.get("start", 0)
    for length, what, look_for in chosen["rows"]:
        exercises = "   ".join(f"☐ {exercise.name}" for exercise in EXERCISES.values() if exercise.notebook == what)
        rows.append((f"{minutes // 60}:{minutes % 60:02}", f"{length}\u202fmin", what, look_for, exercises))
        minutes += length
    days = _table(("from", "time", "what", "what to look for", "exercises"), rows)
    return _printed(chosen["title"], style, f"{element('h1', chosen['title'])}{days}")


def handout(style: str) -> str:
    """Return the page that a learner keeps: the life of a payment, terms, commands, and the exercises."""
    steps = "".join(f"<li><b>{escape(what)}</b><br>{escape(then)}</li>" for what, then in _KEPT["payment"])
    lessons: dict[str, list[str]] = {}
    for exercise in EXERCISES.values():
        lessons.setdefault(exercise.notebook, []).append(exercise.title)
    course = ((name, "   ".join(f"☐ {title}" for title in titles)) for name, titles in lessons.items())
    parts = (
        f"<h1>Card issuing, to keep</h1><ol class='steps'>{steps}</ol>"
        f"<h2>Terms</h2>{_table(('term', 'what it is'), _KEPT['terms'])}"
        f"<h2>In a cell</h2>{_table(('call', 'what it does'), _KEPT['commands'])}"
        f"<h2>Notebooks</h2>{_table(('notebook', 'exercises'), course)}"
    )
    return _printed("Handout", style, parts)
