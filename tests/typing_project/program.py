"""A card program of somebody else, which installs the workbench and checks its own code strictly."""

from collections.abc import Iterator, Mapping
from typing import assert_never, assert_type

import workbench as wb
from workbench.records import (
    ApplicationStatus,
    CardUpdated,
    DeclineReason,
    Event,
    EventApplicationStatus,
    MicroDepositReceived,
    SimulatedTransaction,
    TransactionChanged,
    TransactionStatus,
    User,
    UserUpdated,
)
from workbench.service.interface.people import Address


class Program:
    """Purchases and cardholders by id."""

    def __init__(self, api: wb.Client, inbox: wb.Inbox) -> None:
        self.api = api
        self.cents: dict[str, int] = {}
        self.approved: set[str] = set()
        inbox.on("transaction.completed")(self.completed)

        @inbox.on("user.updated")
        def updated(event: Event) -> bool:
            return self.book(event)

        self.updated = updated

    def completed(self, event: Event) -> None:
        """Book a purchase."""
        if isinstance(event.body, TransactionChanged) and event.body.spend is not None:
            self.cents[event.body.id] = event.body.spend.amount or 0

    def book(self, event: Event) -> bool:
        """Book an event by its kind; a checker says if a kind is missing."""
        body = event.body
        match body:
            case UserUpdated(id=user_id, application_status=status):
                if status == EventApplicationStatus.APPROVED:
                    self.approved.add(user_id)
                return True
            case TransactionChanged():
                self.completed(event)
                return True
            case MicroDepositReceived() | CardUpdated():
                return False
            case Mapping():  # the body of a kind that this version of the workbench does not know
                return False
            case _:
                assert_never(body)

    def purchases(self, card_id: str, amounts: tuple[int, ...]) -> Iterator[str]:
        """Authorize purchases and yield those that were not declined."""
        for cents in amounts:
            made = self.api.simulate_authorization(
                card_id=card_id, amount=cents, currency="USD", merchant_name="Shop", merchant_category_code="5411",
                decline_reason=DeclineReason.CARD_LOCKED if cents > 10_000 else None,
            )  # fmt: skip
            assert_type(made, SimulatedTransaction)
            if made.status == TransactionStatus.AUTHORIZED:
                yield made.transaction_id

    def move(self, user_id: str) -> str:
        """Change an address, and return the status of the application."""
        user: User = self.api.update_user(
            user_id=user_id,
            address=Address(line1="1 Main St", city="Springfield", region="IL", postal_code="62701", country_code="US"),
        )
        return "" if user.application_status in (None, ApplicationStatus.DENIED) else str(user.application_status)


def refused(api: wb.Client) -> str:
    """What a checker must refuse, and what is caught."""
    try:
        api.simulate_refund(transaction_id="x", amount="10")  # type: ignore[arg-type]
    except wb.InvalidRequest as error:
        return error.problems[0].message
    except wb.ApiError as error:
        assert_type(error.status, int)
    return ""


def main() -> None:
    """Run on an embedded sandbox."""
    with wb.connect(seed=7) as api:
        program = Program(api, api.inbox)
        card = api.sandbox.guide()["cards"]["active"][0]
        print(len(list(program.purchases(card, (1250, 900)))), sorted(program.approved))


if __name__ == "__main__":
    main()
