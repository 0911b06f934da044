"""The events that all calls caused."""

from typing import Any

from workbench import rendering
from workbench.demo.cast import Cast
from workbench.demo.stage import Money, Stage
from workbench.interface.events import Event


def event_lines(stage: Stage, cast: Cast, listed: Any) -> None:
    """List events: what, how it stands, how much, by what it was caused."""
    rows = []
    for one in listed:
        event = cast.api.converter.structure(one["event"], Event)
        spend = getattr(event.body, "spend", None)
        status = getattr(spend or event.body, "status", None) or getattr(event.body, "application_status", None)
        amount = getattr(spend, "amount", None)
        rows.append(
            (
                event.kind,
                f"status:{status}" if status else "",
                "" if amount is None else Money(amount),
                rendering.label(one["cause"]),
            )
        )
    stage.grid(("event", "status", "amount", "caused by"), rows)


def events(stage: Stage, cast: Cast) -> None:
    """List the events that all calls caused."""
    stage.chapter("The webhook events that all this caused")
    events = cast.api.sandbox.events()
    event_lines(stage, cast, events)
    stage.gap()
    stage.note("Amounts are in cents on the wire. Each event came with an id; the inbox keeps each one once.")
