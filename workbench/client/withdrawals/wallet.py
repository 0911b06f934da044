"""Signatures, data for wallets (admin message, call data, transaction, parameters), and explanations of call data.

Signatures are masked in output and excluded from dumps and pickles.
"""

import json
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError
from workbench.base.frozen import frozen
from workbench.base.remedies import Remedy, declare
from workbench.base.schema.masks import DOTS
from workbench.base.system.files import write_file
from workbench.client.withdrawals.amounts import NativeUnits, amount_problems, in_both_units
from workbench.client.withdrawals.terms import Terms, sheet_of
from workbench.service import chains
from workbench.service.chains.values import BytesLike
from workbench.service.rendering import moment
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Sheet

declare(
    "reveal",
    python="call reveal() again",
    other="reveal it again",
)
declare(
    "assumption",
    python="assumptions(), {id}",
    other="assumption {id}",
)
declare(
    "wallet_file",
    python="to_json(path) writes it to a file for the wallet.",
    other="The wallet reads it as JSON.",
)
declare(
    "wallet_json",
    python="to_json() exports it for a wallet.",
    other="A wallet reads it as JSON.",
)

SHOWN_FOR = 60.0  # seconds for which a revealed value can be read


class NotSerializable:
    """Base class of objects that cannot be pickled or copied, and whose repr is masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return DOTS

    def __rich_repr__(self) -> Iterator[str]:
        yield repr(self)  # otherwise rich would show the items of a mapping or a list

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("a withdrawal's signature cannot be pickled or copied: it authorizes a transfer of funds")


class Secret(NotSerializable):
    """A signature and its salt, as bytes and as sent. Not an attrs class, because `attrs.asdict` would show both."""

    __slots__ = ("data", "data_text", "public_key", "salt", "salt_text")

    def __init__(self, *, data: bytes, salt: bytes, data_text: str, salt_text: str, public_key: bytes | None) -> None:
        self.data = data
        self.salt = salt
        self.data_text = data_text
        self.salt_text = salt_text
        self.public_key = public_key


class Revealed(NotSerializable):
    """A signature that is readable for one minute: `.data` and `.salt` as the service sent them. The repr is masked.

    It is not a string, so that cell output and shell history cannot store the signature.
    """

    __slots__ = ("_clock", "_secret", "_until")

    def __init__(self, secret: Secret, clock: Any) -> None:
        self._secret: Secret | None = secret
        self._clock = clock
        self._until = clock.monotonic() + SHOWN_FOR

    @property
    def data(self) -> str:
        """Signature as the service sent it."""
        return self._read().data_text

    @property
    def salt(self) -> str:
        """Salt as the service sent it."""
        return self._read().salt_text

    @property
    def seconds_left(self) -> int:
        """Seconds until the signature is discarded."""
        return 0 if self._secret is None else max(0, int(self._until - self._clock.monotonic()))

    def hide(self) -> None:
        """Discard the signature now."""
        self._secret = None

    def _read(self) -> Secret:
        if self._clock.monotonic() >= self._until:
            self.hide()
        if self._secret is None:
            raise UsageError(f"the {SHOWN_FOR:.0f} s for reading the signature have passed; {Remedy('reveal')}")
        return self._secret

    def __repr__(self) -> str:
        return f"<revealed signature, {self.seconds_left} s left: .data and .salt>"


class AdminSignature(NotSerializable):
    """A verified signature of an admin for a withdrawal. The repr is masked."""

    __slots__ = ("admin", "nonce", "salt", "signature")

    def __init__(self, *, admin: str, nonce: int, salt: bytes, signature: bytes) -> None:
        self.admin = admin
        self.nonce = nonce
        self.salt = salt
        self.signature = signature

    def __repr__(self) -> str:
        return f"<signature of admin {self.admin}, {DOTS}>"


class ForWallet(Shown):
    """Base class of JSON objects for a wallet."""

    __slots__ = ()

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the object as JSON for a wallet, and write it to a file if a path is given."""
        text = json.dumps(self, indent=2)
        if path is not None:
            write_file(Path(path), f"{text}\n".encode(), private=False)
        return text


class AdminMessage(dict[str, Any], ForWallet):
    """EIP-712 typed data for an admin's wallet to sign, as a dictionary of JSON values. It contains no secret."""

    def __init__(self, typed_data: Mapping[str, Any], *, admin: str, nonce: int, salt: bytes) -> None:
        super().__init__(typed_data)
        self.admin = admin
        self.nonce = nonce
        self.salt = salt

    @property
    def digest(self) -> bytes:
        """The 32-byte digest of the message, which the wallet signs."""
        return chains.digest(self)

    @hide_arguments
    def accept(self, signature: BytesLike) -> AdminSignature:
        """Verify the wallet's signature: 65 bytes, as hex or bytes, by this admin over this message.

        Raises:
            UsageError: The value is not a signature, is malleable, or is from another account or over another message.
        """
        signer = chains.recover(self.digest, signature)
        if not chains.same_address(signer, self.admin):
            text = (
                f"is not by the admin {self.admin} over this message: it recovers to {signer}. The wallet used "
                "another account or signed another message, for example with another nonce or salt"
            )
            raise UsageError([Problem("signature", "signer", text)], of="withdrawal")
        raw = chains.read_bytes(getattr(signature, "signature", signature), 65, "signature")
        return AdminSignature(admin=self.admin, nonce=self.nonce, salt=self.salt, signature=raw)

    def sheet(self) -> Sheet:
        """Return the message as a sheet."""
        domain, message = self["domain"], self["message"]
        assumed = Remedy("assumption", id="withdrawal_admin_message")
        return sheet_of(
            "message for the admin's wallet (EIP-712)",
            {
                "signed by": self.admin,
                "verified by contract": domain["verifyingContract"],
                "chain": str(chains.chain_of(domain["chainId"])),
                "token": message["asset"],
                "amount": f"{int(message['amount']):,} native units",
                "to": message["recipient"],
                "nonce": message["nonce"],
                "salt": domain["salt"],
                "digest": "0x" + self.digest.hex(),
            },
            notes=(
                f"The wallet should show these same values. {Remedy('wallet_file')}",
                f"The interface document does not describe the message that an admin signs: {assumed}.",
            ),
        )

    def __repr__(self) -> str:
        return f"<EIP-712 message for {self.admin}, digest 0x{self.digest.hex()}>"


def admin_message(terms: Terms, units: int, *, nonce: int, salt: BytesLike | None, admin: str | None) -> AdminMessage:
    """Return the message that an admin signs for a withdrawal."""
    signer = terms.admin if admin is None else admin
    raw = secrets.token_bytes(32) if salt is None else chains.read_bytes(salt, 32, "salt")
    if salt is not None and _is_key_of(signer, raw):
        text = (
            "is the private key of the admin. Never paste a private key here: a salt becomes public. Omit the "
            "salt to generate one"
        )
        raise UsageError([Problem("salt", "private-key", text)], of="withdrawal")
    typed_data = chains.withdraw_typed_data(
        chain_id=terms.contract.chain_id,
        proxy=terms.contract.proxy_address,
        user=signer,
        asset=terms.token.address,
        amount=units,
        recipient=terms.recipient,
        nonce=nonce,
        salt=raw,
    )
    return AdminMessage(typed_data, admin=signer, nonce=int(nonce), salt=raw)


def _is_key_of(signer: str, salt: bytes) -> bool:
    """Return whether a salt is the admin's private key, which has the same length."""
    try:
        return chains.same_address(chains.public_address(salt), signer)
    except ValueError:  # the text is not a valid key
        return False


class CallData(NotSerializable, str):
    """Call data as 0x hex text. It contains signatures, so its repr is masked; `print(…)` shows the text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<call data, {len(self) // 2 - 1:,} bytes, {DOTS}>"


class Transaction(NotSerializable, dict[str, Any], ForWallet):
    """A transaction for a wallet to send, as JSON values. The data contains signatures, so the repr is masked."""

    def sheet(self) -> Sheet:
        """Return the transaction as a sheet with masked signatures."""
        rows = {
            name: value if isinstance(value, str) and name != "data" else repr(value) for name, value in self.items()
        }
        notes = [str(Remedy("wallet_json"))]
        if "parameters" in self:
            notes.append(
                "The transaction is partial: the contract's call (on Solana withdrawSingleSignerCollateralAsset, on "
                "Stellar withdraw_assets, in public examples) takes these parameters: "
                f"{Remedy('assumption', id='withdrawal_ed25519_transaction')}."
            )
        return sheet_of("transaction", rows, notes=notes)

    def __repr__(self) -> str:
        return f"<transaction to {self['to']} on {chains.chain_of(int(self['chainId'], 0))}, data {DOTS}>"


class Parameters(NotSerializable, list[Any], ForWallet):
    """The arguments of an on-chain call, in order. They contain the signature, so the repr is masked."""

    def sheet(self) -> Sheet:
        """Return the arguments as a sheet with masked salt and signature."""
        rows: dict[str, object] = dict(zip(("proxy", "asset", "amount", "recipient", "expires at"), self, strict=False))
        masked = dict.fromkeys(("salt", "signature"), Cell((DOTS,), "private"))
        key = {"public key": self[7]} if len(self) > 7 else {}
        return sheet_of("parameters", {**rows, **masked, **key}, notes=(str(Remedy("wallet_json")),))

    def __repr__(self) -> str:
        return f"<{len(self)} parameters: {', '.join(map(repr, self[:4]))}, {self[4]}, {DOTS}>"


@frozen(kw_only=True)
class Explanation(Shown):
    """Plain-language explanation of call data. It contains the number of signatures, not the signatures.

    Attributes:
        expires_at: Expiry in Unix seconds.
        to: Recipient of the transaction. Bare call data has no recipient and no `chain` (None).
        differences: Differences from a withdrawal; None if the call was not compared with one.
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
        """Expiry time of the call."""
        try:
            return moment(datetime.fromtimestamp(self.expires_at, UTC))
        except (ValueError, OverflowError, OSError):
            return f"second {self.expires_at:,} of Unix time"

    @property
    def summary(self) -> str:
        """One-sentence summary of the call."""
        return (
            f"Takes {self.units} of the token {self.token} out of the contract {self.proxy} and sends them to "
            f"{self.recipient}, if executed before {self.until}."
        )

    def sheet(self) -> Sheet:
        """Return the explanation as a sheet."""
        signatures = "the service's signature; the contract's owner sends it"
        if self.version > 1:
            signatures = f"the service's signature, and {self.admin_signatures} by admins"
        notes: tuple[str, ...] = ()
        if self.differences is not None:
            notes = tuple(f"Do not send it: {difference}." for difference in self.differences)
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


def explain(data: object, *, decimals: int | None = None) -> Explanation:
    """Explain call data (hex text or bytes), or a transaction that contains it, in plain language.

    Args:
        decimals: The token's decimals, if known; then the amount is shown in tokens too.

    Raises:
        UsageError: The call data is damaged or belongs to another call.
    """
    if problems := list(amount_problems(NativeUnits(1), decimals)):
        raise UsageError(problems, of="explain")
    transaction: object = {"data": data} if isinstance(data, str | bytes) else data
    if not isinstance(transaction, Mapping) or not isinstance(transaction.get("data"), str | bytes):
        raise UsageError([Problem("data", "type", "must be call data, or a transaction with data")], of="explain")
    call = chains.read_call_data(transaction["data"])
    units = NativeUnits(call.amount)
    to, chain, number = transaction.get("to"), transaction.get("chainId"), number_of(transaction.get("chainId"))
    if chain is not None:
        chain = str(chains.chain_of(number)) if number is not None and 0 < number < 1 << 64 else "not a chain id"
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
        chain=chain,
    )


def number_of(value: Any) -> int | None:
    """Parse a whole number from an int, decimal text or 0x text. Return None for other values."""
    try:
        return int(value, 0) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        return None
