"""A command prints the values that the corresponding function returns for the same sandbox."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import workbench
from workbench.base.schema.strict_json import loads, printable
from workbench.sandbox.controls import CONTROLS
from workbench.service.rendering.data import json_values
from workbench.terminal.sandbox import NOT_COMMANDS
from workbench.terminal.where import kept_path


@pytest.fixture
def api(wb) -> Iterator[Any]:
    """A session on the commands' sandbox, after a purchase with a refund."""
    wb("sequences", "run", "refund-full")
    with workbench.connect(path=kept_path(), journal=kept_path().with_name("journal-sandbox.db")) as api:
        yield api


def user(api: Any) -> str:
    return str(api.sandbox.guide()["users"]["approved"][0])


def card(api: Any) -> str:
    return str(api.sandbox.guide()["cards"]["active"][0])


def tasks(_: Any) -> Any:
    from workbench.course.task_files import TASKS

    return [task.row for task in TASKS.values()]


NO_ARGUMENTS = [
    name
    for name, row in CONTROLS.items()
    if not row.changes
    and all(p.default is not p.empty for p in row.signature.parameters.values() if p.name != "self")
    and name not in {*NOT_COMMANDS, "requests"}
]
"""Commands of controls that change nothing and need no argument. The command itself counts as a request."""
SAME: dict[str, tuple[Callable[[Any], list[str]], Callable[[Any], Any]]] = {
    "contracts list": (lambda _: [], lambda api: api.list_contracts()),
    "rewards list": (
        lambda api: ["--user-id", user(api), "--limit", "50"],
        lambda api: list(api.list_rewards_activity(user_id=user(api), limit=50).items),
    ),
    "events list": (lambda _: [], lambda api: api.inbox.events()),
    "sandbox balance": (lambda api: [card(api)], lambda api: api.sandbox.balance(card(api))),
    "sandbox state": (lambda api: [card(api)], lambda api: api.sandbox.state(card(api))),
    "sandbox records": (lambda _: ["transaction"], lambda api: api.sandbox.records("transaction")),
    "docs assumptions": (lambda _: [], lambda _: list(workbench.assumptions())),
    "course tasks": (lambda _: [], tasks),
    **{
        f"sandbox {name.replace('_', '-')}": (lambda _: [], lambda api, name=name: getattr(api.sandbox, name)())
        for name in NO_ARGUMENTS
    },
}
"""Command, its arguments, and the value that the called function returns."""


@pytest.mark.slow
@pytest.mark.parametrize("command", SAME)
def test_a_command_says_what_its_function_returns(wb, api, command):
    """All members of records, events, balances, deliveries and assumptions are equal."""
    arguments, call = SAME[command]
    ended = wb(*command.split(), *arguments(api), "-o", "json")

    assert ended.code == 0
    assert loads(ended.out.encode()) == loads(printable(json_values(call(api))).encode())


def test_rewards_have_the_same_numbers(wb, api):
    """Rows, cents and points are equal for a complete read of the activity."""
    frame = workbench.rewards.fetch(api, user(api), progress=False).frame()
    rows = loads(wb("rewards", "read", user(api), "-o", "json").out.encode())

    assert len(rows) == len(frame)
    assert sum(row.get("transactionAmountCents", 0) for row in rows) == frame["transaction_amount_cents"].sum()
    assert sum(Decimal(str(row.get("points", 0))) for row in rows) == frame["points"].sum()


def test_a_run_of_a_sequence_has_the_same_steps(wb, api):
    """Names, outcomes and amounts of the steps are equal, each on a new sandbox."""
    rows = loads(wb("sequences", "run", "refund-full", "--fresh", "-o", "json").out.encode())
    with workbench.connect(seed=1) as fresh:
        run = workbench.sequences.run(fresh, workbench.sequences.catalogue["refund-full"], progress=False)

    assert [(row["step"], row["outcome"], row.get("amount")) for row in rows] == [
        (row.step, row.outcome, row.amount) for row in run.rows()
    ]
