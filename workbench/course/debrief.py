"""Debrief of a drill: timeline, actions, and a good answer."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from workbench.base.errors import visible
from workbench.course.drills import Drill
from workbench.course.incidents import Facts
from workbench.course.learner import Display
from workbench.service.rendering import money
from workbench.service.rendering.text import Cell, Grid

CHECK = "check: "


def now() -> str:
    """Return the current time as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def seconds_between(began: str, ended: str) -> int:
    """Return the seconds between two times."""
    return round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())


def minutes_taken(facts: Facts) -> str:
    """Return the duration of a solved drill as text."""
    minutes = round(seconds_between(facts["started_at"], facts["solved_at"]) / 60)
    return "less than a minute" if not minutes else f"{minutes} minute{'s' * (minutes > 1)}"


def debrief(drill: Drill, facts: Facts, api: object, missing: Sequence[str]) -> Display:
    """Return the timeline since the drill began (actions, live traffic, checks), followed by a good answer."""
    solved = f"Solved after {minutes_taken(facts)}" if "solved_at" in facts else "Not solved"
    checks = sum(look[-1].startswith(CHECK) for look in facts["looks"])
    notes = (
        f"{solved}, with {checks} check{'s' * (checks != 1)}; {drill.minutes} minutes are planned.",
        *([] if "solved_at" in facts else [f"Still missing: {what}" for what in missing[:5]]),
        f"A good answer: {drill.answer}",
    )
    rows = tuple(_timeline(drill, facts, api))
    title, columns = f"Drill {drill.name}: what was done", ("time", "who", "what", "status")
    return Display(Grid(title=title, columns=columns, rows=rows, total=len(rows), notes=notes))


def _timeline(drill: Drill, facts: Facts, api: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield requests, and events without a request, which happened by the time of the next observation."""
    happened = [happening for happening in api.sandbox.timeline() if happening.lane in ("request", "event")]
    caused = {happening.request_id for happening in happened if happening.lane == "request"} - {None}
    looks, traffic, accepted = facts["looks"], drill.traffic, 0
    done = looks[0][1]
    for seconds, count, delivered, did in [
        *looks,
        [seconds_between(facts["started_at"], now()), len(happened), 0, ""],
    ]:

        def row(what: str, status: object = "", live: bool = False, at: int = seconds) -> tuple[Cell, ...]:
            time, who = Cell((f"{at // 60}:{at % 60:02}",), "number"), Cell(("traffic" if live else "you",))
            return time, who, Cell((visible(what, 120),)), Cell((visible(str(status)),))

        for entry in happened[done:count]:
            if entry.lane == "request":
                body = entry.record.body or {}
                bought = (body.get("merchantName"), body.get("amount"))
                yield row(_what(entry.record), entry.record.status, bought == (traffic["merchant"], traffic["cents"]))
            elif entry.request_id not in caused:
                yield row(f"{entry.title} {entry.subject[:8]}", entry.status, entry.subject in facts["live"])
        done = max(done, count)
        if delivered > accepted:
            yield row(f"{delivered - accepted} deliveries accepted")
            accepted = delivered
        if did:
            yield row(did)


def _what(happening: Any) -> str:
    """Summarize a request: its operation, amount and subject."""
    body = happening.body or {}
    amount = body.get("amount", body.get("newAmount"))
    ids = [part[:8] for part in str(happening.path or "").split("/") if part.count("-") == 4]
    shown = money(amount) if isinstance(amount, int) else ""
    parts = (happening.operation or happening.method, shown, body.get("merchantName"), *ids)
    return " ".join(str(word) for word in parts if word)
