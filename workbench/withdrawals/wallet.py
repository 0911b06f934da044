"""What goes to a wallet: the admin's message, call data, the transaction, parameters. What holds a signature prints masked."""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import chains
from workbench.chains.values import BytesLike
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.interface.masks import DOTS
from workbench.rendering.layout import Cell, Sheet
from workbench.withdrawals.answers import NotSerializable
from workbench.withdrawals.sheets import Shown, sheet_of
from workbench.withdrawals.terms import Terms


class AdminSignature(NotSerializable):
    """A checked signature of an admin over a withdrawal. It prints masked."""

    __slots__ = ("admin", "nonce", "salt", "signature")

    def __init__(self, *, admin: str, nonce: int, salt: bytes, signature: bytes) -> None:
        self.admin = admin
        self.nonce = nonce
        self.salt = salt
        self.signature = signature

    def __repr__(self) -> str:
        return f"<signature of admin {self.admin}, {DOTS}>"


class AdminMessage(dict[str, Any], Shown):
    """EIP-712 typed data for an admin's wallet to sign: a dictionary, ready as JSON. It holds no secret."""

    def __init__(self, typed_data: Mapping[str, Any], *, admin: str, nonce: int, salt: bytes) -> None:
        super().__init__(typed_data)
        self.admin = admin
        self.nonce = nonce
        self.salt = salt

    @property
    def digest(self) -> bytes:
        """The 32 bytes that are signed."""
        return chains.digest(self)

    def json(self) -> str:
        """Return the message as JSON text, for any wallet (`eth_signTypedData_v4`)."""
        return json.dumps(self, indent=2)

    def save(self, path: str | Path) -> Path:
        """Write the message to a file as JSON, and return the file's path."""
        file = Path(path)
        file.write_text(self.json() + "\n", encoding="utf-8")
        return file

    @hide_arguments
    def accept(self, signature: BytesLike) -> AdminSignature:
        """Check the wallet's signature: 65 bytes, as hex or bytes, by this admin over exactly this message.

        Raises:
            InvalidRequest: It is not a signature, is malleable, or is by another account or over another message.
        """
        signer = chains.recover(self.digest, signature)
        if not chains.same_address(signer, self.admin):
            text = (
                f"is not by the admin {self.admin} over this message: it recovers to {signer}. The wallet used another "
                "account, or signed another message (another nonce or salt, for example)"
            )
            raise InvalidRequest([Problem("signature", "signer", text)], of="withdrawal")
        raw = chains.read_bytes(signature, 65, "signature")
        return AdminSignature(admin=self.admin, nonce=self.nonce, salt=self.salt, signature=raw)

    def sheet(self) -> Sheet:
        """Return the message as a sheet."""
        domain, message = self["domain"], self["message"]
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
                "The wallet should show these same values. json() or save(path) exports it for the wallet.",
                "What an admin signs is outside the interface document: assumptions(), withdrawal_admin_message.",
            ),
        )

    def __repr__(self) -> str:
        return f"<EIP-712 message for {self.admin}, digest 0x{self.digest.hex()}>"


def admin_message(terms: Terms, units: int, *, nonce: int, salt: BytesLike | None, admin: str | None) -> AdminMessage:
    """Return the message that an admin signs for a withdrawal."""
    signer = terms.admin if admin is None else admin
    raw = secrets.token_bytes(32) if salt is None else chains.read_bytes(salt, 32, "salt")
    if salt is not None:
        _refuse_key_as_salt(raw, signer)
    typed_data = chains.withdraw_typed_data(
        chain_id=terms.contract.chain_id, proxy=terms.contract.proxy_address, user=signer, asset=terms.token.address,
        amount=units, recipient=terms.recipient, nonce=nonce, salt=raw,
    )  # fmt: skip
    return AdminMessage(typed_data, admin=signer, nonce=int(nonce), salt=raw)


def _refuse_key_as_salt(salt: bytes, signer: str) -> None:
    """Refuse the admin's own private key, which has the form of a salt."""
    try:
        same = chains.same_address(chains.public_address(salt), signer)
    except ValueError:  # out of the range of keys
        return
    if same:
        text = "is the private key of the admin. Never paste a private key here; a salt becomes public. Leave it out"
        raise InvalidRequest([Problem("salt", "private-key", text)], of="withdrawal")


class CallData(NotSerializable, str):
    """Call data as 0x hex text. It holds the signature, so its repr is masked; `print(…)` shows it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<call data, {len(self) // 2 - 1:,} bytes, {DOTS}>"


class Transaction(NotSerializable, dict[str, Any], Shown):
    """A transaction for a wallet to send, ready as JSON. Its data holds the signature, so it prints masked."""

    def json(self) -> str:
        """Return the transaction as JSON text, for a wallet; the signature is in it."""
        return json.dumps(self, indent=2)

    def sheet(self) -> Sheet:
        """Return the transaction as a sheet, its data masked."""
        return sheet_of("transaction", {**self, "data": repr(self["data"])}, notes=("json() exports it for a wallet.",))

    def __repr__(self) -> str:
        return f"<transaction to {self['to']} on {chains.chain_of(int(self['chainId'], 0))}, data {DOTS}>"


class Parameters(NotSerializable, list[Any], Shown):
    """The arguments of an on-chain call, in order. They hold the signature, so they print masked."""

    def json(self) -> str:
        """Return the arguments as JSON text; the signature is in it."""
        return json.dumps(self, indent=2)

    def sheet(self) -> Sheet:
        """Return the arguments as a sheet, salt and signature masked."""
        rows: dict[str, object] = dict(zip(("proxy", "asset", "amount", "recipient", "expires at"), self, strict=False))
        masked = dict.fromkeys(("salt", "signature"), Cell((DOTS,), "private"))
        key = {"public key": self[7]} if len(self) > 7 else {}
        return sheet_of("parameters", {**rows, **masked, **key}, notes=("json() exports them in this order.",))

    def __repr__(self) -> str:
        return f"<{len(self)} parameters: {', '.join(map(repr, self[:4]))}, {self[4]}, {DOTS}>"
