"""Export the results of a class as CSV, and fill the templates in `pages.html` to make pages for printing."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import attrs

from workbench.base.errors import visible
from workbench.base.system import toml
from workbench.course.classroom.class_results import Results
from workbench.course.classroom.pages import part, style
from workbench.course.display import marked
from workbench.course.evidence import Record
from workbench.course.task_files import DRILLS, EXERCISES, TASKS
from workbench.service.rendering.data import csv_text
from workbench.service.rendering.elements import Markup, element, html_page, joined, table

PLANS: Mapping[str, Record] = toml.load(Path(__file__).with_name("plans.toml"))
"""Plans of a class by name: title, and rows of minutes, activity, and what to look for."""


def results_table(results: Results) -> str:
    """Return the results of a class as CSV."""
    columns = attrs.filters.exclude("begun_active")  # this column is used only to compute `minutes`
    rows = [
        {"learner": learner, **attrs.asdict(result, filter=columns)}
        for learner, row in results.progress().items()
        for result in row.values()
    ]
    return csv_text(rows)


def _page(title: str, *parts: Markup, head: str = "") -> str:
    return html_page(title, *parts, head=Markup(head or f"<style>{style()}</style>"), theme="light", class_="printed")


def _text(text: object) -> Markup:
    return Markup(marked(joined([visible(str(text), 2_000)])))


def certificates(results: Results, head: str = "") -> str:
    """Return a page to print, with a certificate for each learner who has done a task.

    Args:
        results: The results.
        head: HTML that links the style sheet; by default, the page contains the style sheet.
    """
    pages = []
    for name, row in results.progress().items():
        done = [element("li", task.title) for task in TASKS.values() if task.name in row and row[task.name].done]
        if done:
            page = part(
                "certificate",
                name=name,
                titles=joined(done),
                date=datetime.now(UTC).date(),
                trainer=visible(results.get("trainer", "")),
            )
            pages.append(page)
    return _page("Certificates", *pages or [element("p", "Nobody has done a task yet.")], head=head)


def answers() -> str:
    """Return the answer key as a page: each exercise and drill with its solution."""
    parts = [part("answers")]
    for task in (*EXERCISES.values(), *DRILLS.values()):
        about = part(
            "answer",
            name=task.name,
            title=task.title,
            where=task.notebook or f"drill, {task.minutes} minutes",
            task=_text(task.task),
            debrief=_text(task.debrief),
            answer=task.answer.strip(),
        )
        parts.append(about)
    return _page("Answer key", *parts)


def sheets(links: Mapping[str, str]) -> str:
    """Return a page for each learner that explains how to join and where to get help.

    Args:
        links: The link of each learner, by name.
    """
    commands = part("commands")
    pages = [
        part("sheet", name=name, link=link, text=repr(link), picture=qr_code(link), commands=commands)
        for name, link in links.items()
    ]
    return _page("Join the class", *pages)


def qr_code(text: str) -> str:
    """Return the QR code of a text as an SVG image in a data URI."""
    import segno

    return segno.make_qr(text).svg_data_uri(border=4, omitsize=True)


def plan(name: str) -> str:
    """Return a course plan as a page, with the exercises to tick off."""
    chosen, rows, minutes = PLANS[name], [], 0
    for length, what, look_for in chosen["rows"]:
        exercises = "   ".join(f"☐ {exercise.name}" for exercise in EXERCISES.values() if exercise.notebook == what)
        rows.append((f"{minutes // 60}:{minutes % 60:02}", f"{length}\u202fmin", what, look_for, exercises))
        minutes += length
    cells = ([_text(cell) for cell in row] for row in rows)
    days = table(cells, ("from", "time", "what", "what to look for", "exercises"))
    return _page(chosen["title"], part("plan", title=chosen["title"], rows=days))


def handout() -> str:
    """Return the page for learners to keep: the life of a payment, terms, and commands."""
    return _page("Handout", part("handout", commands=part("commands")))
