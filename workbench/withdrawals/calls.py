"""The call that withdraws, and what it says in plain words. What holds a signature prints masked."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from workbench import chains
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.interface.masks import DOTS
from workbench.rendering import moment
from workbench.rendering.layout import Cell, Sheet
from workbench.withdrawals.amounts import Native, decimals_problem, readings
from workbench.withdrawals.secret import NotSerializable
from workbench.withdrawals.sheets import Shown, sheet_of

if TYPE_CHECKING:
    from workbench.withdrawals.answers import Read
    from workbench.withdrawals.planning import Plan


class CallData(NotSerializable, str):
    """Call data as 0x hex text. It holds the signature, so it prints masked where nobody asked: `print(…)` shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<call data, {len(self) // 2 - 1:,} bytes, {DOTS}>"


class Transaction(NotSerializable, dict[str, Any], Shown):
    """A transaction for a wallet to send, ready as JSON. Its data holds the signature, so it prints masked."""

    def json(self) -> str:
        """Return it as JSON text, for a wallet; the signature stands in it."""
        return json.dumps(self, indent=2)

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        rows = {name: value for name, value in self.items() if name != "data"}
        return sheet_of("transaction", {**rows, "data": repr(self["data"])}, notes=("json() gives it to a wallet.",))

    def __repr__(self) -> str:
        return f"<transaction to {self['to']} on {chains.chain_of(int(self['chainId'], 0))}, data {DOTS}>"


class Parameters(NotSerializable, list[Any], Shown):
    """The arguments of an on-chain call, in order. They hold the signature, so they print masked."""

    def json(self) -> str:
        """Return them as JSON text; the signature stands in it."""
        return json.dumps(self, indent=2)

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        rows: dict[str, object] = dict(zip(("proxy", "asset", "amount", "recipient", "expires at"), self, strict=False))
        masked = dict.fromkeys(("salt", "signature"), Cell((DOTS,), "private"))
        key = {"public key": self[7]} if len(self) > 7 else {}
        return sheet_of("parameters", {**rows, **masked, **key}, notes=("json() gives them in this order.",))

    def __repr__(self) -> str:
        return f"<{len(self)} parameters: {', '.join(map(repr, self[:4]))}, {self[4]}, {DOTS}>"


@attrs.frozen(kw_only=True, repr=False)
class Explanation(Shown):
    """What call data says: no signature is in here, only how many there are."""

    version: int
    proxy: str
    token: str
    units: Native
    recipient: str
    expires_at: int  # unix seconds
    admin_signatures: int
    direct_transfer: bool | None
    reading: str
    to: str | None = None  # of a transaction: where it is sent
    chain: str | None = None
    differences: tuple[str, ...] | None = None  # None: it was not compared

    @property
    def until(self) -> str:
        """When the call cannot be carried out any more."""
        try:
            return moment(datetime.fromtimestamp(self.expires_at, UTC))
        except (ValueError, OverflowError, OSError):
            return f"second {self.expires_at:,} of unix time"

    @property
    def says(self) -> str:
        """What the call does, in one sentence."""
        return (
            f"Takes {self.units} of the token {self.token} out of the contract {self.proxy} and sends them to "
            f"{self.recipient}, if it is carried out before {self.until}."
        )

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        direct = {None: None, True: "yes", False: "no"}[self.direct_transfer]
        differences = self.differences
        return sheet_of(
            f"call of withdrawAsset, version {self.version}",
            {
                "sent to": self.to,
                "chain": self.chain,
                "from contract": self.proxy,
                "token": self.token,
                "amount": self.reading,
                "to": self.recipient,
                "until": self.until,
                "carries": f"the service's signature and {self.admin_signatures} of admins"
                if self.version > 1
                else "the service's signature; the contract's owner sends it",
                "direct transfer": direct,
            },
            words=(self.says,),
            notes=()
            if differences is None
            else tuple(f"Do not send it: {one}." for one in differences)
            or ("It is the same as this withdrawal in every value.",),
        )

    def __repr__(self) -> str:
        return f"<call of withdrawAsset, version {self.version}: {self.units} to {self.recipient}>"


@hide_arguments
def explain(data: Any, *, decimals: int | None = None) -> Explanation:
    """Read call data (hex text or bytes), or a transaction that has it, back into plain words.

    Raises:
        InvalidRequest: It is another call, or damaged.
    """
    problem = decimals_problem(decimals)
    if problem is not None:
        raise InvalidRequest([problem], of="explain")
    given: Any = {"data": data} if isinstance(data, str | bytes) else data
    if not isinstance(given, Mapping) or not isinstance(given.get("data"), str | bytes):
        raise InvalidRequest([Problem("data", "type", "is call data, or a transaction with data")], of="explain")
    call = chains.read_call_data(given["data"])
    units = Native(call.amount)
    to, chain = given.get("to"), given.get("chainId")
    return Explanation(
        version=call.version,
        proxy=call.proxy,
        token=call.asset,
        units=units,
        recipient=call.recipient,
        expires_at=call.expires_at,
        admin_signatures=len(call.admin_signatures),
        direct_transfer=call.direct_transfer,
        reading=readings(units, decimals, None) if decimals is not None else f"{units.units:,} native units",
        to=to if isinstance(to, str) else None,
        chain=None if chain is None else _chain(chain),
    )


def explained(plan: "Plan", read: "Read", said: Explanation, data: Any) -> Explanation:
    """Return an explanation with the words of a plan, and where it differs from what was planned and signed."""
    differences = list(_differences(plan, read, said))
    if isinstance(data, Mapping):
        differences += _envelope(plan, data)
    reading = readings(said.units, plan.decimals, plan.rate) if plan.decimals is not None else said.reading
    return attrs.evolve(said, differences=tuple(differences), reading=reading)


def _differences(plan: "Plan", read: "Read", said: Explanation) -> Sequence[str]:
    contract = plan.contract
    same = chains.same_address
    pairs = {
        "the contract": same(said.proxy, contract.proxy_address),
        "the token": same(said.token, plan.token.address),
        "the recipient": same(said.recipient, plan.recipient),
        "the amount": read.units is None or said.units == read.units,
        "the end": read.end is None or said.expires_at == read.end,
        "the version": said.version == contract.contract_version,
    }
    return [f"{what} is another than in this withdrawal" for what, fits in pairs.items() if not fits]


def _envelope(plan: "Plan", given: Mapping[str, Any]) -> Sequence[str]:
    fits = {
        "it is not sent to the contract's controller": chains.same_address(
            str(given.get("to")), plan.contract.controller_address
        ),
        "it is for another chain": _number(given.get("chainId")) == plan.contract.chain_id,
        "it sends coins of the chain along (value)": _number(given.get("value", 0)) == 0,
    }
    return [words for words, fit in fits.items() if not fit]


def _number(value: Any) -> int | None:
    try:
        return int(value, 0) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        return None


def _chain(value: Any) -> str:
    number = _number(value)
    return str(chains.chain_of(number)) if number is not None and 0 < number < 1 << 64 else "no chain number"
