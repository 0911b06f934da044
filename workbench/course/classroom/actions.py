"""Trainer actions as a table, from which the board builds its inputs and the server runs them."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from workbench.base.errors import UsageError
from workbench.client.calls.client import Client
from workbench.course.task_files import DRILLS, EXERCISES
from workbench.sandbox import Sandbox
from workbench.sandbox.faults import OF_ANSWERS, OF_DELIVERIES
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import DeclineReasonText

_PURCHASE: Mapping[str, Any] = {"currency": "USD", "merchant_name": "Example Market", "merchant_category_code": "5411"}
MAX_NOTE = 2_000


@attrs.frozen
class Field:
    """An argument of an action: name, label, and type: "text", "number", or a list of choices."""

    name: str
    label: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    value: str = ""


@attrs.frozen
class Action:
    """An action of the board with its label and arguments; by default the sandbox control of the same name.

    Attributes:
        for_all: Whether it applies to the class, not to single learners.
        final: Whether it is irreversible, so that the board asks for confirmation.
    """

    name: str
    label: str
    fields: tuple[Field, ...] = ()
    for_all: bool = False
    final: bool = False


def _purchase(
    sandbox: Sandbox, *, settle: bool = False, refund: bool = False, decline: DeclineReasonText | None = None
) -> None:
    card = sandbox.guide()["cards"]["active"][0]
    with Client(
        base_url=sandbox.base_url,
        api_key=sandbox.full_key,
        transport=internals(sandbox).direct(faults=False),
        journal=False,
    ) as client:
        authorized = client.simulate_authorization(card_id=card, amount=1250, decline_reason=decline, **_PURCHASE)
        if settle or refund:
            sandbox.settle(authorized.transaction_id)
        if refund:
            client.simulate_refund(transaction_id=authorized.transaction_id, amount=1250)


def _first(sandbox: Sandbox, kind: str, status: str) -> str:
    ids = sandbox.guide()[kind].get(status, ())
    if not ids:
        raise UsageError(f"there is none of {kind} that is {status} in this sandbox any more", of="class")
    return str(ids[0])


def _again(sandbox: Sandbox) -> None:
    delivered = sandbox.deliveries()
    if not delivered:
        raise UsageError("this sandbox has delivered no event yet: no endpoint is registered", of="class")
    sandbox.resend(delivered[-1].event_id)


def _last_card(sandbox: Sandbox) -> str:
    """Return the last active card, which no exercise uses."""
    return str(sandbox.guide()["cards"]["active"][-1])


EVENTS: Mapping[str, Callable[[Sandbox], Any]] = {
    "a purchase of 12.50 USD (transaction.created)": _purchase,
    "a declined purchase (transaction.created)": lambda learner: _purchase(learner, decline="card_locked"),
    "a settled purchase (transaction.completed)": lambda learner: _purchase(learner, settle=True),
    "a refund (transaction.completed)": lambda learner: _purchase(learner, refund=True),
    "a micro deposit of 0.45 USD (microDeposit.received)": lambda learner: learner.deposit(amount="0.45"),
    "an approved application (user.updated)": lambda learner: learner.review(
        _first(learner, "users", "pending"), "approved"
    ),
    "a denied application (user.updated)": lambda learner: learner.review(
        _first(learner, "users", "manualReview"), "denied"
    ),
    "a new user (user.updated)": lambda learner: learner.create.user(),
    "a card activated (card.updated)": lambda learner: learner.cards.activate(_first(learner, "cards", "notActivated")),
    "a card locked (card.updated)": lambda learner: learner.cards.lock(_last_card(learner)),
    "the last event, delivered again": _again,
}
"""Events by their label on the board, with the function that sends them in a sandbox."""


LESSONS = tuple(dict.fromkeys(exercise.notebook for exercise in EXERCISES.values()))
ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action("note", "Send a note", (Field("text", "Note"),)),
        Action("drill", "Announce a drill", (Field("drill", "Drill", "choice", tuple(DRILLS)),)),
        Action("event", "Push an event", (Field("event", "Event", "choice", tuple(EVENTS)),), final=True),
        Action(
            "add_fault",
            "Inject a fault",
            (
                Field("kind", "Fault", "choice", tuple(dict.fromkeys((*OF_ANSWERS, *OF_DELIVERIES)))),
                Field("of", "Operation (all if empty)", "choice", ("", *OPERATIONS)),
                Field("times", "Times", "number", value="1"),
            ),
        ),
        Action("clear_faults", "Remove all faults"),
        Action(
            "advance",
            "Move the clock",
            (Field("days", "Days", "number", value="1"), Field("hours", "Hours", "number")),
            final=True,
        ),
        Action("lock", "Lock a lesson", (Field("lesson", "Lesson", "choice", LESSONS),)),
        Action("unlock", "Open a lesson", (Field("lesson", "Lesson", "choice", LESSONS),)),
        Action("reset", "Reset the sandbox", final=True),
        Action("pause", "Pause the class", for_all=True),
        Action("resume", "End the pause", for_all=True),
        Action("enroll", "Add a learner", (Field("name", "Name"),), for_all=True),
    )
}
"""Actions of the board; `act` accepts the sandbox's other controls as well."""


def note_of(action: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the text of an action that is a note; None for other actions."""
    if action == "note":
        return str(arguments["text"])[:MAX_NOTE]
    if action == "drill":
        drill = DRILLS[arguments["drill"]]
        lines = f'wb.course.begin("{drill.name}"); api = wb.connect(seed=7); wb.course.task("{drill.name}")'
        return f"Drill, {drill.minutes} minutes: {drill.title}. Start it in a new cell: {lines}"
    return None
