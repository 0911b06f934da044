"""Controls of a sandbox: actions that the interface does not offer.

A control is declared once, as a method of one of these modules (`declaration.control`). `CONTROLS` maps names to
controls for the server, commands, sequences and documentation. Arguments are JSON values; most results are records.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.base.arguments import hide_arguments
from workbench.base.errors import nearest
from workbench.sandbox import chain
from workbench.sandbox.context import control_error, not_found, python_name
from workbench.sandbox.controls.creation import CreationControls
from workbench.sandbox.controls.declaration import Control
from workbench.sandbox.controls.lifecycles import LifecycleControls
from workbench.sandbox.controls.reading import ReadingControls
from workbench.sandbox.controls.state import StateControls
from workbench.sandbox.controls.webhooks import WebhookControls
from workbench.sandbox.store import Members
from workbench.service.interface.table import OPERATIONS


class Controls(ReadingControls, CreationControls, LifecycleControls, StateControls, WebhookControls):
    """All controls, as methods of a sandbox."""

    @hide_arguments
    def wallet(self, admin: str) -> chain.TeachingWallet:
        """Return the teaching wallet of a contract admin. The wallet's seeded key never leaves the sandbox.

        Raises:
            ApiError: The address does not belong to a teaching wallet.
        """
        return chain.TeachingWallet(self, admin)

    if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name

        def __getattr__(self, name: str) -> Any:
            if name in OPERATIONS:
                raise AttributeError(f"{name} is an operation, not a control: api.{name}(…)")
            public = [] if name.startswith("_") else [*map(python_name, CONTROLS), "clock", "cards", "create", "wallet"]
            raise AttributeError(f"a sandbox has no control {name!r}{nearest(name, public)}")

    @property
    def create(self) -> "Create":
        """Create tenants, keys, users, companies, cards, contracts and payment routes."""
        return Create(self)

    @property
    def cards(self) -> "Cards":
        """Activate, lock, unlock and cancel cards."""
        return Cards(self)


class _Group:
    """Group of controls, such as `sandbox.create`."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"sandbox.{type(self).__name__.lower()} has no control {name!r}{nearest(name, vars(self))}"
        )


class Create(_Group):
    """Controls that create records: `sandbox.create.user(status="denied")`."""

    def __init__(self, sandbox: Controls) -> None:
        self.tenant = sandbox._create_tenant
        self.key = sandbox._create_key
        self.user = sandbox._create_user
        self.company = sandbox._create_company
        self.card = sandbox._create_card
        self.contract = sandbox._create_contract
        self.payment_route = sandbox._create_payment_route


class Cards(_Group):
    """Controls that change a card's status: `sandbox.cards.lock(card_id)`."""

    def __init__(self, sandbox: Controls) -> None:
        self.activate = sandbox._activate_card
        self.lock = sandbox._lock_card
        self.unlock = sandbox._unlock_card
        self.cancel = sandbox._cancel_card


CONTROLS: Mapping[str, Control] = {
    method.control.name: method.control
    for group in Controls.__mro__
    for method in vars(group).values()
    if hasattr(method, "control")
}
"""The controls by name."""


def perform(sandbox: Controls, name: str, arguments: Members) -> Any:
    """Run a control by name with JSON arguments.

    Raises:
        ApiError: The control is unknown, an argument is invalid, or the state does not allow the control.
    """
    row = CONTROLS.get(name)
    if row is None:
        raise control_error(name, not_found("Control"))
    return getattr(sandbox, row.method.__name__)(**arguments)
