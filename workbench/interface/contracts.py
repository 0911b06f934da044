"""Collateral contracts of a tenant. Source: Resources, "IssuingContract"; Endpoints 1."""

from decimal import Decimal

from workbench.interface.fields import LIVE, PERSONAL, SECRET, Answer, Reason, about, record
from workbench.interface.rules import ACCOUNT_NUMBER, ID, WALLET, Number


@record
class ListContracts:
    """Ask for the tenant's contracts. Source: Endpoints 1."""


@record
class Token(Answer):
    """A token that a contract accepts. Source: Resources, "IssuingContract", token entry."""

    address: str = about("Address of the token", WALLET)
    balance: str | None = about(
        "Amount of the token in the contract",
        unit="whole tokens, as decimal text",
        default=None,
        assumed=Reason(
            "the unit of the balance is not shown; live answers carry whole-token text such as 1250.50", LIVE, "meaning"
        ),
    )
    exchange_rate: Decimal | None = about("Exchange rate of the token", unit="USD a token", default=None)
    advance_rate: Decimal | None = about(
        "Share of the token's value that is advanced",
        unit="percent",
        default=None,
        assumed=Reason("the unit of the rate is not shown; live answers carry 50 and 100", LIVE, "meaning"),
    )


@record
class AccountDetails(Answer):
    """A virtual account that a transfer goes to. Source: Resources, "IssuingContract", AccountDetails."""

    beneficiary_name: str = about("Name of the beneficiary", format="name", privacy=PERSONAL)
    beneficiary_address: str = about("Address of the beneficiary", privacy=PERSONAL)
    account_number: str = about("Account number", ACCOUNT_NUMBER, privacy=SECRET)
    routing_number: str = about("Routing number of the bank")
    beneficiary_bank_name: str | None = about("Name of the bank", default=None)
    beneficiary_bank_address: str | None = about("Address of the bank", default=None)


@record
class Onramp(Answer):
    """Virtual accounts for onramping, by rail. Source: Resources, "IssuingContract"."""

    ach: AccountDetails | None = about("Account for ACH transfers", default=None)
    rtp: AccountDetails | None = about("Account for real-time payments", default=None)
    wire: AccountDetails | None = about("Account for wires", default=None)


@record
class IssuingContract(Answer):
    """A collateral contract. Source: Resources, "IssuingContract"."""

    id: str = about("Id of the contract", ID)
    chain_id: int = about("Chain the contract is deployed on, as a base-10 number")
    program_address: str | None = about(
        "Address of the contract program (exclusive to Solana)", WALLET, default=None, nullable=True
    )
    controller_address: str = about("Address of the contract controller", WALLET)
    proxy_address: str = about("Address of the contract", WALLET)
    deposit_address: str | None = about("Address to deposit funds to", WALLET, default=None)
    admin_addresses: tuple[str, ...] = about(
        "Admin wallets: for V1 EVM contracts the on-chain owner, for V2 EVM contracts several admins",
        WALLET,
        default=(),
    )
    tokens: tuple[Token, ...] = about("Tokens the contract accepts")
    contract_version: Number = about("Version of the contract")
    onramp: Onramp | None = about("Virtual account information for onramping", default=None)
