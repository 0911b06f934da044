"""Call data read back into plain words, and compared with a withdrawal."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs

from workbench import chains
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.rendering import moment
from workbench.rendering.layout import Sheet
from workbench.withdrawals.amounts import NativeUnits, decimals_problem, in_both_units
from workbench.withdrawals.answers import CheckedAnswer
from workbench.withdrawals.sheets import Shown, sheet_of
from workbench.withdrawals.terms import Terms


@attrs.frozen(kw_only=True, repr=False)
class Explanation(Shown):
    """What call data does. It holds no signature, only their number.

    Attributes:
        expires_at: Unix seconds.
        to: The address a transaction is sent to; None for bare call data, as is `chain`.
        differences: How it differs from a withdrawal; None if it was not compared.
    """

    version: int
    proxy: str
    token: str
    units: NativeUnits
    recipient: str
    expires_at: int
    admin_signatures: int
    direct_transfer: bool | None
    amount_text: str
    to: str | None = None
    chain: str | None = None
    differences: tuple[str, ...] | None = None

    @property
    def until(self) -> str:
        """The time after which the call cannot be executed."""
        try:
            return moment(datetime.fromtimestamp(self.expires_at, UTC))
        except (ValueError, OverflowError, OSError):
            return f"second {self.expires_at:,} of Unix time"

    @property
    def summary(self) -> str:
        """What the call does, in one sentence."""
        return (
            f"Takes {self.units} of the token {self.token} out of the contract {self.proxy} and sends them to "
            f"{self.recipient}, if executed before {self.until}."
        )

    def sheet(self) -> Sheet:
        """Return the explanation as a sheet."""
        signatures = "the service's signature; the contract's owner sends it"
        if self.version > 1:
            signatures = f"the service's signature and {self.admin_signatures} of admins"
        notes: tuple[str, ...] = ()
        if self.differences is not None:
            notes = tuple(f"Do not send it: {one}." for one in self.differences)
            notes = notes or ("It matches this withdrawal in every value.",)
        return sheet_of(
            f"call of withdrawAsset, version {self.version}",
            {
                "sent to": self.to,
                "chain": self.chain,
                "from contract": self.proxy,
                "token": self.token,
                "amount": self.amount_text,
                "to": self.recipient,
                "until": self.until,
                "carries": signatures,
                "direct transfer": {None: None, True: "yes", False: "no"}[self.direct_transfer],
            },
            words=(self.summary,),
            notes=notes,
        )

    def __repr__(self) -> str:
        return f"<call of withdrawAsset, version {self.version}: {self.units} to {self.recipient}>"


@hide_arguments
def explain(data: Any, *, decimals: int | None = None) -> Explanation:
    """Explain call data (hex text or bytes), or a transaction that has it, in plain words.

    Args:
        decimals: The token's decimals, if known; then the amount is shown in tokens too.

    Raises:
        InvalidRequest: It is another call, or damaged.
    """
    problem = decimals_problem(decimals)
    if problem is not None:
        raise InvalidRequest([problem], of="explain")
    transaction: Any = {"data": data} if isinstance(data, str | bytes) else data
    if not isinstance(transaction, Mapping) or not isinstance(transaction.get("data"), str | bytes):
        raise InvalidRequest([Problem("data", "type", "must be call data, or a transaction with data")], of="explain")
    call = chains.read_call_data(transaction["data"])
    units = NativeUnits(call.amount)
    to, chain = transaction.get("to"), transaction.get("chainId")
    return Explanation(
        version=call.version,
        proxy=call.proxy,
        token=call.asset,
        units=units,
        recipient=call.recipient,
        expires_at=call.expires_at,
        admin_signatures=len(call.admin_signatures),
        direct_transfer=call.direct_transfer,
        amount_text=str(units) if decimals is None else in_both_units(units, decimals, None),
        to=to if isinstance(to, str) else None,
        chain=None if chain is None else _chain_text(chain),
    )


def explain_for(terms: Terms, answer: CheckedAnswer, data: Any) -> Explanation:
    """Explain call data, and list how it differs from a withdrawal."""
    explanation = explain(data, decimals=terms.decimals)
    differences = [
        *_differences(terms, answer, explanation),
        *(_envelope(terms, data) if isinstance(data, Mapping) else ()),
    ]
    text = explanation.amount_text
    if terms.decimals is not None:
        text = in_both_units(explanation.units, terms.decimals, terms.rate)
    return attrs.evolve(explanation, differences=tuple(differences), amount_text=text)


def _differences(terms: Terms, answer: CheckedAnswer, explanation: Explanation) -> Iterator[str]:
    contract, same = terms.contract, chains.same_address
    matches = {
        "contract": same(explanation.proxy, contract.proxy_address),
        "token": same(explanation.token, terms.token.address),
        "recipient": same(explanation.recipient, terms.recipient),
        "amount": answer.units is None or explanation.units == answer.units,
        "expiry": answer.expires_at_unix is None or explanation.expires_at == answer.expires_at_unix,
        "version": explanation.version == contract.contract_version,
    }
    return (f"the {what} is not that of this withdrawal" for what, match in matches.items() if not match)


def _envelope(terms: Terms, transaction: Mapping[str, Any]) -> Iterator[str]:
    controller = terms.contract.controller_address
    matches = {
        "it is not sent to the contract's controller": chains.same_address(str(transaction.get("to")), controller),
        "it is for another chain": _number(transaction.get("chainId")) == terms.contract.chain_id,
        "it also sends coins of the chain (value)": _number(transaction.get("value", 0)) == 0,
    }
    return (text for text, match in matches.items() if not match)


def _number(value: Any) -> int | None:
    try:
        return int(value, 0) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        return None


def _chain_text(value: Any) -> str:
    number = _number(value)
    return str(chains.chain_of(number)) if number is not None and 0 < number < 1 << 64 else "not a chain id"
