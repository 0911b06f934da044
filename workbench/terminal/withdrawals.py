"""`workbench withdrawals …`: plan and verify withdrawals, and prepare wallet messages from files.

`sign` is the operation. Order of the files: plan > plan.json, sign --from plan.json > signed.json, typed-data >
message.json, then the wallet's signature, then transaction > transaction.json.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.schema import strict_json
from workbench.client import withdrawals
from workbench.client.session import sandbox_of
from workbench.client.withdrawals.amounts import Cents
from workbench.service.interface.table import Operations
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, REFUSED, say, usage_error
from workbench.terminal.inputs import input_bytes, input_text
from workbench.terminal.output import Output
from workbench.terminal.where import Address, Hex, Text, Units, Usd, Uuid, Where, Whole, session

if TYPE_CHECKING:
    from workbench.client.session import Session

_MAX_FILE = 1_000_000
_Plan = Annotated[Path, Parameter(help="Output of `withdrawals plan -o json`.")]
_Signed = Annotated[Path, Parameter(help="Output of `withdrawals sign --from PLAN --reveal -o json`.")]


@Parameter(name="*", group=Group("Withdrawal", sort_key=2))
@frozen(kw_only=True)
class Terms:
    """Values of a withdrawal that no request or response of the service contains.

    Attributes:
        decimals: Decimals of the token, if known. In a sandbox, the default is the token's value.
        allow: The last 8 characters of the recipient's address, to override a problem that can be overridden.
        nonce: Nonce of the contract, which is the value of adminNonce() on EVM chains. In a sandbox, the default is the
            chain's value.
    """

    decimals: Whole | None = None
    allow: Text | None = None
    nonce: Whole | None = None


@command
def plan(
    api: "Session",
    /,
    *,
    contract: Annotated[Uuid, Parameter(help="Id of the contract.")],
    token: Annotated[Address, Parameter(help="Address of the token.")],
    admin: Annotated[Address, Parameter(help="Address of the contract admin who makes the withdrawal.")],
    to: Annotated[Address, Parameter(help="Address of the recipient.")],
    amount: Annotated[Usd | None, Parameter(help="Amount in dollars and cents, such as 25.00.")] = None,
    native_units: Annotated[Units | None, Parameter(help="Amount in native units, such as 25000000.")] = None,
    terms: Terms = Terms(),
    how: Output = Output(),
) -> Any:
    """Check a withdrawal completely before any request is sent. With -o json, print the request for `sign --from`."""
    if (amount is None) == (native_units is None):
        raise usage_error("Pass --amount in dollars and cents, or --native-units.")
    units = withdrawals.native_units(native_units) if native_units is not None else withdrawals.usd(amount or "")
    decimals = terms.decimals if terms.decimals is not None else _published(api, contract, token).get("decimals")
    planned = withdrawals.plan(
        api, contract, token=token, amount=units, admin=admin, to=to, decimals=decimals, allow=terms.allow
    )
    for warning in planned.warnings:
        say(f"Warning: {warning}.")
    return planned.request if how.output != "table" or how.fields else str(planned)


@command
def verify(
    api: "Session",
    plan: _Plan,
    signed: _Signed,
    /,
    *,
    signer: Annotated[
        Address | None,
        Parameter(help="Address or public key of the service's signer; default in a sandbox: the sandbox's signer."),
    ] = None,
    terms: Terms = Terms(),
) -> int:
    """Verify the service's signature for this withdrawal. Exit code 3 if it does not match."""
    withdrawal, published = _withdrawal(api, plan, signed, terms)
    fits = withdrawal.verify(signer or published.get("signer"), nonce=_nonce(terms, published))
    print(f"{withdrawal.summary}\n{withdrawal.countdown()}")
    for note in withdrawal.notes:
        say(f"Note: {note}.")
    say("The signature is valid." if fits else "The signature does not match this withdrawal.", error=not fits)
    return DONE if fits else REFUSED


@command
def typed_data(
    api: "Session",
    plan: _Plan,
    signed: _Signed,
    /,
    *,
    salt: Annotated[Hex | None, Parameter(help="32 bytes chosen by the admin, as hex; default: random.")] = None,
    admin: Annotated[Address | None, Parameter(help="Admin who signs; default: the plan's admin.")] = None,
    terms: Terms = Terms(),
) -> None:
    """Print the EIP-712 message for an admin's wallet to sign, as JSON. The message contains no secret."""
    withdrawal, published = _withdrawal(api, plan, signed, terms)
    nonce = _nonce(terms, published)
    if nonce is None:
        raise usage_error("--nonce is required. Pass the value of the contract's adminNonce().")
    message = withdrawal.typed_data(nonce=nonce, salt=salt, admin=admin)
    say(str(message))
    print(message.to_json())


@command
def transaction(
    api: "Session",
    plan: _Plan,
    signed: _Signed,
    /,
    *,
    message: tuple[Path, ...] = (),
    signature: tuple[Path, ...] = (),
    direct_transfer: Annotated[bool | None, Parameter(negative="--no-direct-transfer")] = None,
    terms: Terms = Terms(),
    how: Output = Output(),
) -> Any:
    """Build the transaction that a wallet sends. Its signatures are masked; --reveal prints the complete JSON.

    Args:
        message: File with the output of `withdrawals typed-data`, one for each admin.
        signature: File with the wallet's signature, as hex or as JSON with `signature`. Pass the files in the order of
            the messages.
        direct_transfer: Argument of contracts of version 2. Its meaning depends on the contract.
    """
    if len(message) != len(signature):
        raise usage_error("Pass one --signature for each --message.")
    withdrawal, published = _withdrawal(api, plan, signed, terms)
    halves = [_half(withdrawal, asked, answer) for asked, answer in zip(message, signature, strict=True)]
    if halves and direct_transfer is None and withdrawal.plan.contract.contract_version == 2:
        raise usage_error("--direct-transfer or --no-direct-transfer is required for a contract of version 2.")
    nonce = None if halves else _nonce(terms, published)
    built = withdrawal.transaction(*halves, direct_transfer=direct_transfer, nonce=nonce)
    return built.to_json() if how.reveal else str(built)


def _half(withdrawal: Any, message: Path, signature: Path) -> Any:
    """Return the admin's half of a withdrawal: the message together with the wallet's signature."""
    asked, answer = _read(message), input_text(signature, _MAX_FILE)
    answer = strict_json.loads(answer.encode())["signature"] if answer.startswith("{") else answer
    typed = withdrawal.typed_data(
        nonce=int(asked["message"]["nonce"]), salt=asked["domain"]["salt"], admin=asked["message"]["user"]
    )
    return typed.accept(answer)


@command
def explain(
    transaction: Annotated[Path, Parameter(help="File with a transaction as JSON, or call data as hex.")],
    /,
    *,
    plan: Annotated[Path | None, Parameter(help="Plan to compare with; requires --signed.")] = None,
    signed: Annotated[Path | None, Parameter(help="Answer of the service to compare with.")] = None,
    terms: Terms = Terms(),
    where: Where = Where(),
) -> int:
    """Explain the effect of a transaction or call data. Exit code 3 if it differs from the plan."""
    text = input_text(transaction, _MAX_FILE)
    data = _read(transaction) if text.startswith("{") else text
    if plan is None or signed is None:
        print(withdrawals.explain(data, decimals=terms.decimals))
        return DONE
    with session(where) as api:
        withdrawal, _ = _withdrawal(api, plan, signed, terms)
        explanation = withdrawal.explain(data)
        print(explanation)
    return REFUSED if explanation.differences else DONE


def _withdrawal(api: "Session", plan: Path, signed: Path, terms: Terms) -> tuple[Any, dict[str, Any]]:
    """Rebuild a withdrawal from its plan and signed answer; also return the contract data that a sandbox publishes."""
    request, mistyped, unknown = api.converter.read_request(Operations.sign_withdrawal, _read(plan), {})
    if mistyped or unknown or request.collateral_contract_id is None:
        raise usage_error(f"{visible(str(plan), 200)} is not the output of `withdrawals plan -o json`.")
    number = int(request.amount)
    published = _published(api, request.collateral_contract_id, request.token)
    planned = withdrawals.plan(
        api,
        request.collateral_contract_id,
        token=request.token,
        admin=request.admin_address,
        to=request.recipient_address,
        amount=withdrawals.native_units(number) if request.is_amount_native else Cents(number),
        decimals=terms.decimals if terms.decimals is not None else published.get("decimals"),
        allow=terms.allow,
    )
    return planned.answered(api.converter.read_answer(Operations.sign_withdrawal, _read(signed))), published


def _published(api: "Session", contract_id: str, token: str) -> dict[str, Any]:
    """Return what a sandbox publishes: signer, nonce and the token's decimals; empty for a real service."""
    rows = api.sandbox.guide()["contracts"] if sandbox_of(api) is not None else ()
    row = next((row for row in rows if row["id"] == contract_id), {"tokens": ()})
    of_token: dict[str, Any] = next(
        (listed for listed in row["tokens"] if listed["address"].lower() == token.lower()), {}
    )
    return {**of_token, **row}


def _nonce(terms: Terms, published: dict[str, Any]) -> int | None:
    return terms.nonce if terms.nonce is not None else published.get("nonce")


def _read(path: Path) -> dict[str, Any]:
    try:
        parsed = strict_json.loads(input_bytes(path, _MAX_FILE))
    except strict_json.NotJson as error:
        raise usage_error(f"{visible(str(path), 200)} is not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise usage_error(f"{visible(str(path), 200)} is not a JSON object.")
    return parsed
