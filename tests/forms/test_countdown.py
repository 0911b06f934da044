"""A withdrawal's time runs on the page, and ends with the signature."""

from collections.abc import Callable

from tests.forms.conftest import state
from workbench import withdrawals
from workbench.client.session import Session
from workbench.client.withdrawals import usd
from workbench.screens.panel.background import Countdown


class Later:
    """Puts things off until they are asked for."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def __call__(self, seconds: float, act: Callable[[], None]) -> "Later":
        self.due.append(act)
        return self

    def cancel(self) -> None:
        """Put nothing off any more."""
        self.due.clear()


def test_it_counts_until_the_signature_has_expired(api: Session) -> None:
    """Each second says what is left; once it has expired, it says so and stops. The signature is never in it."""
    contract = api.list_contracts()[0]
    plan = withdrawals.plan(
        api, contract=contract, token=contract.tokens[0].address, amount=usd("1.00"),
        admin=contract.admin_addresses[0], to=contract.admin_addresses[1],
    )  # fmt: skip
    withdrawal = plan.sign()
    secret = withdrawal.reveal().data
    later = Later()

    shown = Countdown(withdrawal, later=later)
    at_first = shown.left.value
    api.sandbox.advance(minutes=2)
    later.due.pop()()
    then = shown.left.value
    api.sandbox.advance(minutes=20)
    later.due.pop()()

    assert "left" in at_first
    assert at_first != then
    assert "expired" in shown.left.value
    assert not shown.running
    assert [] == later.due
    assert secret not in state(shown.widget) + shown.html
