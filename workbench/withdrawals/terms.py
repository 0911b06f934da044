"""The terms of a withdrawal: who takes how much of which token, from which contract, to where."""

from decimal import Decimal

import attrs

from workbench import chains
from workbench.interface.contracts import IssuingContract, Token
from workbench.interface.withdrawals import SignWithdrawal
from workbench.withdrawals.amounts import Amount, Cents, in_both_units, in_sentence


@attrs.define(eq=False, repr=False)
class Terms:
    """The terms of a withdrawal; before they are checked, any value may be a wrong one."""

    contract: IssuingContract
    token_address: str
    amount: Amount
    admin: str
    recipient: str
    decimals: int | None

    @property
    def token(self) -> Token:
        """The token of the contract."""
        found = self.listed_token
        assert found is not None  # checked
        return found

    @property
    def listed_token(self) -> Token | None:
        """The token, if the contract has it."""
        tokens = self.contract.tokens or ()
        return next((token for token in tokens if same_address(token.address, self.token_address)), None)

    @property
    def chain(self) -> chains.Chain:
        """The chain of the contract."""
        return chains.chain_of(self.contract.chain_id)

    @property
    def rate(self) -> Decimal | None:
        """The token's exchange rate in USD, if the contract states a valid one."""
        rate = None if self.listed_token is None else self.listed_token.exchange_rate
        return rate if rate is not None and rate.is_finite() and rate > 0 else None

    @property
    def amount_text(self) -> str:
        """The amount in dollars and in native units, as far as each is known."""
        return in_both_units(self.amount, self.decimals, self.rate)

    @property
    def summary(self) -> str:
        """What is planned, in one sentence."""
        return (
            f"{self.admin} takes {in_sentence(self.amount, self.decimals, self.rate)} of the token {self.token.address} out "
            f"of the contract {self.contract.proxy_address} on {self.chain} and sends them to {self.recipient}."
        )

    @property
    def number(self) -> str:
        """The number that is sent as the amount: cents or native units."""
        return str(self.amount.cents if isinstance(self.amount, Cents) else self.amount.units)

    @property
    def request(self) -> SignWithdrawal:
        """The request to the service."""
        return SignWithdrawal(
            chain_id=self.contract.chain_id,
            token=self.token.address,
            amount=self.number,
            admin_address=self.admin,
            recipient_address=self.recipient,
            is_amount_native=not isinstance(self.amount, Cents),
            collateral_contract_id=self.contract.id,
        )


def same_address(a: object, b: object) -> bool:
    """Return whether two values are the same address; anything but text is not."""
    return isinstance(a, str) and isinstance(b, str) and chains.same_address(a, b)
