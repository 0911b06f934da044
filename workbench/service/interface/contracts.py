"""Collateral contracts of a tenant, and withdrawal signatures. Source: Endpoints 1 and 2."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from workbench.base.schema.fields import LIVE, PERSONAL, SECRET, WIDELY, Answer, Reason, about, record
from workbench.service.interface.formats import ACCOUNT_NUMBER, CHAIN_ADDRESS, DIGITS, ID, MOMENT, WALLET, Number
from workbench.service.interface.vocabulary import SignatureStatus

__all__ = [
    "IssuingContract",
    "WithdrawalSignature",
]
"""Names that `workbench.records` exports from this module: answers, event bodies, and their enums."""


@record
class ListContracts:
    """Request for the tenant's contracts. Source: Endpoints 1."""


@record
class Token(Answer):
    """A token that a collateral contract accepts. Source: Resources, "IssuingContract", token entry."""

    address: str = about("Address of the token", WALLET)
    balance: str | None = about(
        "Amount of the token in the contract",
        unit="whole tokens, as a decimal number",
        default=None,
        assumed=Reason(
            "the document states no unit; live answers have whole tokens as text, such as 1250.50",
            LIVE,
            "meaning",
        ),
    )
    exchange_rate: Decimal | None = about("Exchange rate of the token", unit="USD a token", default=None)
    advance_rate: Decimal | None = about(
        "Share of the token's value that is advanced",
        unit="percent",
        default=None,
        assumed=Reason("the document states no unit; live answers have 50 and 100", LIVE, "meaning"),
    )


@record
class AccountDetails(Answer):
    """A virtual account that receives transfers. Source: Resources, "IssuingContract", AccountDetails."""

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


_NAMES = "the document does not name the query parameters"
NAME = Reason(_NAMES, WIDELY)
NEEDED = Reason(f"{_NAMES} or say which are required", WIDELY)
NOT_THERE = Reason("not in the document", LIVE)


@record
class SignWithdrawal:
    """Request for a signature that authorizes a withdrawal. Source: Endpoints 2."""

    chain_id: int | None = about(
        "Chain id of the contract, as a base-10 number", minimum=1, default=None, assumed=NEEDED
    )
    token: str = about("Address of the token to withdraw", CHAIN_ADDRESS, assumed=NEEDED)
    amount: str = about(
        "Amount to withdraw",
        DIGITS,
        unit="native token units if is_amount_native, else cents",
        assumed=Reason(f"{_NAMES} or say that the amount is sent as text", WIDELY),
    )
    admin_address: str = about("Address of the contract admin who withdraws", CHAIN_ADDRESS, assumed=NAME)
    recipient_address: str = about("Address of the recipient", CHAIN_ADDRESS, assumed=NAME)
    is_amount_native: bool = about(
        "Whether the amount is in the token's native units (True) or in cents (False)",
        otherwise=False,
        assumed=Reason(f"{NAME}; an omitted flag means cents, so the workbench requires the flag", WIDELY),
    )
    collateral_contract_id: str | None = about(
        "Id of the collateral contract, if several match",
        ID,
        default=None,
        wire="rainCollateralContractId",
        assumed=NAME,
    )


@record
class Signature(Answer):
    """The service's signature. Source: Resources, "Withdrawal signature result"."""

    data: str | None = about(
        "The signature",
        default=None,
        privacy=SECRET,
        assumed=Reason(
            "0x hex of 65 bytes (EVM), base64 of 64 bytes (Solana), hex of 64 bytes (Stellar); the document shows no "
            "encoding",
            WIDELY,
            "meaning",
        ),
    )
    salt: str | None = about(
        "The salt of the signed message",
        default=None,
        privacy=SECRET,
        assumed=Reason("base64 of 32 bytes; the document shows no encoding", WIDELY, "meaning"),
    )


@record
class WithdrawalSignature(Answer):
    """Result of a signature request. Source: Resources, "Withdrawal signature result".

    Undocumented members contain parts of the signature, so `extra` is secret in this record.
    """

    status: SignatureStatus | str = about("`ready` if the signature is available", needed=False, default="")
    signature: Signature | None = about("The signature, when ready", default=None)
    expires_at: datetime | None = about("When the signature expires", MOMENT, default=None)
    retry_after: int | None = about(
        "Delay before the request is repeated, if pending",
        unit="seconds",
        default=None,
        assumed=Reason("the document shows no status other than ready; pending comes with this delay", WIDELY),
    )
    sender: str | None = about("Address that sends the transaction", default=None, assumed=NOT_THERE)
    chain_id: str | None = about("Chain id as hex text", default=None, assumed=NOT_THERE)
    parameters: tuple[Any, ...] = about(
        "Positional arguments of the on-chain call; the amount is in native units",
        default=(),
        privacy=SECRET,
        assumed=NOT_THERE,
    )
