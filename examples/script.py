"""Print the collateral of each contract, and make, settle and refund a purchase: `python examples/script.py`.

Without a profile, the script uses an embedded sandbox. With `WORKBENCH_PROFILE`, it only reads the contracts of a real
service.
"""

import os
import sys

import workbench as wb


def collateral(api: wb.Session) -> None:
    """Print the tokens of each contract."""
    for contract in api.list_contracts():
        for token in contract.tokens:
            print(f"contract {contract.id} on chain {contract.chain_id}: {token.balance} of {token.address}")


def refund_half(api: wb.Session, cents: int) -> None:
    """Make a purchase, settle it, and refund half of the amount."""
    card = api.sandbox.guide()["cards"]["active"][0]
    purchase = api.simulate_authorization(
        card_id=card, amount=cents, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    api.sandbox.settle(purchase.transaction_id)
    api.simulate_refund(transaction_id=purchase.transaction_id, amount=cents // 2)
    print(f"bought for {cents / 100:.2f} USD, refunded {cents // 2 / 100:.2f} USD")


def main() -> int:
    """Return 0 if all calls are done, and otherwise the exit code for the outcome of the last call."""
    profile = os.environ.get("WORKBENCH_PROFILE")
    with wb.connect(profile, path=None if profile else os.environ.get("SANDBOX")) as api:
        try:
            collateral(api)
            if not profile:
                refund_half(api, 4_590)
        except wb.OutcomeUnknown as error:
            print(f"The outcome of call {error.attempt.id} is unknown: look at its evidence before you repeat it.")
            return 4
        except wb.ApiError as error:
            print(f"The service refused: {error.message} ({error.status}).")
            return 3
        except (wb.NotSent, wb.InvalidRequest) as error:
            print(f"Nothing was sent: {error}")
            return 6
    return 0


if __name__ == "__main__":
    sys.exit(main())
