"""Write docs/assumptions.md from the declarations: `python docs/make_assumptions.py`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.make_interface import table
from workbench.base.schema.fields import Confidence
from workbench.service.interface.assumptions import ANY, BEHAVIORS, STATUS, Behavior, assumptions

PAGE = Path(__file__).parent / "assumptions.md"
MEANINGS = {
    Confidence.WIDELY: "several independent public clients agree",
    Confidence.LIVE: "a caller of a live service reported it",
    Confidence.ONCE: "one public source states it",
    Confidence.UNCONFIRMED: "chosen by the workbench, without a source",
}
INTRODUCTION = """# Assumptions

The interface document omits some names, required members, error bodies and events, and much of the service's behavior. This page, `wb.assumptions()` and `workbench docs assumptions` list what the workbench assumes instead. Forms and tables mark
an assumption with `~`, and `/openapi.json` with `x-assumed`. The header `workbench-assumed` of a sandbox's answer names the assumptions that
the answer depends on. [The interface page](interface.md) lists the assumptions about members of records and about errors.
"""
SETTINGS = """
The sandbox has two presets. `documented` follows the document literally; `observed` follows the behavior of live services:
`wb.connect(behavior="observed")`. To change a single value, use `wb.connect(behavior={"withdrawal_lifetime": 300})` or a profile.
"""


def value(x: Any) -> str:
    """Return a value of a setting."""
    return f"`{x!r}`"


def setting(row: Behavior) -> str:
    """Return the possible values of a behavior: those of both presets, and others."""
    differs = row.documented != row.observed
    others = [value(other) for other in row.others if other not in (ANY, STATUS) and not isinstance(other, bool)]
    if ANY in row.others:
        others = [", such as ".join(["another", *others])]
    if STATUS in row.others:
        others.append("another 4xx status" if "4" in f"{row.documented}{row.observed}" else "a 4xx status")
    if not others:
        return f" Default {value(row.documented)}" + (f" (observed: {value(row.observed)})." if differs else ".")
    presets = [f"{value(row.documented)} (default)", *([f"{value(row.observed)} (observed)"] if differs else [])]
    return f" Values: {', '.join([*presets, *others[:-1]])} or {others[-1]}."


def listed(rows: list[Behavior]) -> Iterator[str]:
    """Yield the assumptions, grouped by subject."""
    for where in dict.fromkeys(row.where for row in rows):
        yield f"\n### {where}\n"
        for row in (row for row in rows if row.where == where):
            chosen = "" if row.documented is ... else setting(row)
            yield f"- `{row.id}`: {row.says}.{chosen} *{str(row.confidence).capitalize()}*: {row.reason}."


def page() -> str:
    """Return the page."""
    settable = [row for row in BEHAVIORS.values() if row.documented is not ...]
    fixed = [row for row in BEHAVIORS.values() if row.documented is ...]
    parts = [INTRODUCTION, "## How well an assumption is known\n"]
    parts += table(("Confidence", "Meaning", "Assumptions"), counted())
    parts += ["\n## Settings\n" + SETTINGS, *listed(settable)]
    parts += ["\n## The same in both presets\n\nThese assumptions cannot be changed.\n", *listed(fixed)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def counted() -> Iterator[list[str]]:
    """Yield the levels of confidence, with the number of assumptions at each level."""
    known = assumptions()
    for level, meaning in MEANINGS.items():
        yield [level, meaning, str(sum(row.confidence == level for row in known))]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
