"""What the worlds of some drills need beside calls and controls, by the name that a task's file gives it.

Each function receives a client without faults, the sandbox, and the facts so far; it returns further facts. Those that
begin with `_` are not shown.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.course.evidence import Facts
from workbench.sandbox.contracts import example_bank

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox

SetUp = Callable[[Any, Any, Facts], Facts]


def double_bookings(_: object, sandbox: "Sandbox", facts: Facts) -> Facts:
    """A ledger in which two of the deliveries were booked twice."""
    events = {event.payload["body"]["id"]: event.payload for event in sandbox.events("transaction.completed")}
    rows = [events[transaction] for transaction in facts["bought"]]
    booked = [*rows[:2], rows[1], *rows[2:5], rows[4], *rows[5:]]
    ledger = [f"event {row['id']}: {row['body']['spend']['amount']} cents" for row in booked]
    twice = (rows[1], rows[4])
    cents = sum(row["body"]["spend"]["amount"] for row in twice)
    return {"ledger": ledger, "_twice": [row["id"] for row in twice], "_cents": cents}


def half_migration(client: Any, sandbox: "Sandbox", _: Facts) -> Facts:
    """Eight users with an account at Old Bank, five of them with one at New Bank, three of those without the old."""
    users = sandbox.guide()["users"]["approved"][2:10]
    old = {user: str(client.create_payment_account(**_account(user, "Old Bank")).id) for user in users}
    for number, user in enumerate(users[:5]):
        client.create_payment_account(**_account(user, "New Bank"))
        if number < 3:
            client.delete_payment_account(payment_account_id=old[user])
    left = [old[user] for user in users[3:]]
    return {"users_to_move": users, "example": _account(users[0], "New Bank"), "_old": left}


def _account(user: str, bank: str) -> Facts:
    account = example_bank("Ada", "Example", "000123456789", bank)
    return {"type": "externalFiatAccount", "user_id": user, "external_fiat_account": account}


def partner_ids(_: object, sandbox: "Sandbox", __: Facts) -> Facts:
    """The ids of a partner for twelve users, and a service that answers every third call with 429."""
    users = sandbox.guide()["users"]["approved"][6:18]
    sandbox.add_fault("status", of="update_user", status=429, probability=0.34, retry_after=0)
    return {"external_ids": {user: f"partner-{number:04}" for number, user in enumerate(users, 1)}}


SET_UPS: Mapping[str, SetUp] = {
    function.__name__: function for function in (double_bookings, half_migration, partner_ids)
}
"""Functions that a task's `set_up` may name."""
