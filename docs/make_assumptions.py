"""Write docs/assumptions.md from the declarations: `python docs/make_assumptions.py`."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from docs.make_interface import table
from workbench.base.schema.fields import Confidence
from workbench.service.interface.assumptions import ANY, BEHAVIORS, STATUS, Assumption, Behavior, assumptions
from workbench.service.interface.table import OPERATIONS

PAGE = Path(__file__).parent / "assumptions.md"
MEANINGS = {
    Confidence.WIDELY: "several independent public clients of this interface agree",
    Confidence.LIVE: "somebody reported it from calls of a live service",
    Confidence.ONCE: "one public source has it",
    Confidence.UNCONFIRMED: "chosen for the workbench alone",
}
INTRODUCTION = """# Assumptions

The interface document leaves things open: names, required members, error bodies, events, and much of how the service behaves. What
the workbench assumes there is listed on this page, in `wb.assumptions()` and by `workbench docs assumptions`. An assumption is marked
where it applies, too: `~` in forms and tables, `x-assumed` in `/openapi.json`, and each answer of the sandbox names those it
rests on in the header `workbench-assumed`.

This page is written by `python docs/make_assumptions.py`; a test compares it with the code.
"""
BEHAVIOR = """
The sandbox has two behaviors. `documented` follows the letter of the document wherever it says anything; `observed` follows what
live services were seen to do. `wb.connect(behavior="observed")` chooses one, and where the table shows values,
`wb.connect(behavior={"withdrawal_lifetime": 300})` or a profile changes one of them. *As said*: both act as the third column says.
"""


def value(x: Any) -> str:
    """Return a value of a setting."""
    return "*as said*" if x is ... else f"`{x!r}`"


def behavior_row(row: Behavior) -> list[str]:
    """Return the row of a behavior, with both values side by side."""
    others = ", ".join({ANY: "another", STATUS: "a status"}.get(str(other)) or value(other) for other in row.others)
    cells = [row.says, value(row.documented), value(row.observed), others or "–", row.confidence, row.reason]
    return [f"`{row.id}`", row.where, *cells]


def rows(listed: Iterable[Assumption]) -> Iterator[list[str]]:
    """Yield the rows of assumptions about declarations; those with one reason in one place share a row."""

    def alike(one: Assumption) -> tuple[str, ...]:
        return one.where, one.reason, one.confidence, one.change.partition(".")[0]

    for _, group in groupby(sorted(listed, key=alike), key=alike):
        held = list(group)
        change = (
            held[0].change
            if len(held) == 1
            else held[0].change.replace(held[0].id, f"{held[0].id.partition('.')[0]}.…")
        )
        values = "<br>".join(one.value for one in held)
        yield [held[0].where, values, held[0].confidence, held[0].reason, change]


def page() -> str:
    """Return the page."""
    columns = ("Where", "What is assumed", "Known", "Why", "Change")
    others = [one for one in assumptions() if one.id not in BEHAVIORS]
    members = [one for one in others if one.where[:1].isupper() and " " not in one.where]
    failures = [one for one in others if one.where in OPERATIONS]
    answers = [one for one in others if one not in members and one not in failures]
    parts = [INTRODUCTION, "## How well an assumption is known\n"]
    parts += table(("Known", "Meaning", "Assumptions"), counted())
    parts += ["\n## Behavior\n" + BEHAVIOR]
    parts += table(
        ("Name", "Where", "What is assumed", "`documented`", "`observed`", "Can be", "Known", "Why"),
        map(behavior_row, BEHAVIORS.values()),
    )
    for title, listed in (("Members of records", members), ("Failures", failures), ("Answers", answers)):
        parts += [f"\n## {title}\n", *table(columns, rows(listed))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def counted() -> Iterator[list[str]]:
    """Yield the levels of confidence, with the number of assumptions of each."""
    listed = assumptions()
    for level, meaning in MEANINGS.items():
        yield [level, meaning, str(sum(one.confidence == level for one in listed))]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
