"""Withdrawal signatures. Source: Resources, "Withdrawal signature result"; Endpoints 2."""

from datetime import datetime
from typing import Any

from workbench.interface.fields import LIVE, SECRET, WIDELY, Answer, Reason, about, record
from workbench.interface.rules import CHAIN_ADDRESS, DIGITS, ID, MOMENT, SignatureStatus

_NAMES = "the names of the query parameters are not shown"
NAME = Reason(_NAMES, WIDELY)
NEEDED = Reason(f"{_NAMES}; which of them are required is not shown either", WIDELY)
NOT_THERE = Reason("not in the document", LIVE)


@record
class SignWithdrawal:
    """Ask for a signature that authorizes a withdrawal. Source: Endpoints 2."""

    chain_id: int | None = about(
        "Chain id of the contract, as a base-10 number", minimum=1, default=None, assumed=NEEDED
    )
    token: str = about("Address of the token the withdrawal is made in", CHAIN_ADDRESS, assumed=NEEDED)
    amount: str = about(
        "Amount of token withdrawn, as digits",
        DIGITS,
        unit="native token units where is_amount_native, else cents",
        assumed=Reason(f"{_NAMES}, nor that the amount travels as text", WIDELY),
    )
    admin_address: str = about(
        "Address making the withdrawal; it is an admin of the contract", CHAIN_ADDRESS, assumed=NAME
    )
    recipient_address: str = about("Address the withdrawal is sent to", CHAIN_ADDRESS, assumed=NAME)
    is_amount_native: bool = about(
        "Whether the amount is in the token's native units (True) or in cents (False)",
        otherwise=False,
        assumed=Reason(f"{NAME}; where it is left out the service reads cents, so here it has to be said", WIDELY),
    )
    collateral_contract_id: str | None = about(
        "Id of the collateral contract to use, where several fit",
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
            "its encoding is not shown: 0x hex of 65 bytes (EVM), base64 of 64 (Solana), hex of 64 (Stellar)",
            WIDELY,
            "meaning",
        ),
    )
    salt: str | None = about(
        "The salt of the signed message",
        default=None,
        privacy=SECRET,
        assumed=Reason("its encoding is not shown: base64 of 32 bytes", WIDELY, "meaning"),
    )


@record
class WithdrawalSignature(Answer):
    """Result of a request for a signature. Source: Resources, "Withdrawal signature result".

    Members beyond those documented carry parts of the signature, so `extra` counts as secret here.
    """

    status: SignatureStatus | str = about("`ready` when the signature is available", needed=False, default="")
    signature: Signature | None = about("The signature, when ready", default=None)
    expires_at: datetime | None = about("When the signature expires", MOMENT, default=None)
    retry_after: int | None = about(
        "When to ask again while pending",
        unit="seconds",
        default=None,
        assumed=Reason("values of status other than ready are not shown; pending carries it", WIDELY),
    )
    sender: str | None = about("Address that sends the transaction", default=None, assumed=NOT_THERE)
    chain_id: str | None = about("Chain id as hex text", default=None, assumed=NOT_THERE)
    parameters: tuple[Any, ...] = about(
        "Positional arguments of the on-chain call; its amount is in native units",
        default=(),
        privacy=SECRET,
        assumed=NOT_THERE,
    )
