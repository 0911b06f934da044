"""The admin's half on EVM chains: the message for the admin's own wallet, and the check of what the wallet gives back."""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import chains
from workbench.chains.values import BytesLike
from workbench.errors import InvalidRequest, Problem, hide_arguments
from workbench.interface.masks import DOTS
from workbench.rendering.layout import Sheet
from workbench.withdrawals.secret import NotSerializable
from workbench.withdrawals.sheets import Shown, sheet_of

if TYPE_CHECKING:
    from workbench.withdrawals.planning import Plan


class AdminSignature(NotSerializable):
    """An admin's signature that was checked: it is this admin's, over this withdrawal. It prints masked."""

    __slots__ = ("admin", "nonce", "salt", "signature")

    def __init__(self, *, admin: str, nonce: int, salt: bytes, signature: bytes) -> None:
        self.admin = admin
        self.nonce = nonce
        self.salt = salt
        self.signature = signature

    def __repr__(self) -> str:
        return f"<signature of admin {self.admin}, {DOTS}>"


class AdminMessage(dict[str, Any], Shown):
    """EIP-712 typed data that an admin's wallet signs: a dictionary, ready as JSON. Nothing in it is secret."""

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
        """Return it as JSON text, for any wallet (`eth_signTypedData_v4`)."""
        return json.dumps(self, indent=2)

    def save(self, path: str | Path) -> Path:
        """Write it to a file, as JSON, and give the file's path."""
        place = Path(path)
        place.write_text(self.json() + "\n", encoding="utf-8")
        return place

    @hide_arguments
    def accept(self, signature: BytesLike) -> AdminSignature:
        """Check what the wallet gave back: 65 bytes, as hex or bytes, made by this admin over exactly this message.

        Raises:
            InvalidRequest: It is no signature, the altered twin of one, of another account, or over another message.
        """
        __tracebackhide__ = True
        signer = chains.recover(self.digest, signature)
        if not chains.same_address(signer, self.admin):
            text = (
                f"is not of the admin {self.admin} over this message: it would be of {signer}. The wallet used another "
                "account, or signed another message (another nonce or salt, say)"
            )
            raise InvalidRequest([Problem("signature", "signer", text)], of="withdrawal")
        return AdminSignature(
            admin=self.admin, nonce=self.nonce, salt=self.salt, signature=chains.read_bytes(signature, 65, "signature")
        )

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
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
                "The wallet should show these same values. json() or save(path) gives it to the wallet.",
                "What an admin signs is outside the interface document: assumptions(), withdrawal_admin_message.",
            ),
        )

    def __repr__(self) -> str:
        return f"<EIP-712 message for {self.admin}, digest 0x{self.digest.hex()}>"


def admin_message(plan: "Plan", units: int, *, nonce: int, salt: BytesLike | None, admin: str | None) -> AdminMessage:
    """Build the message of an admin for a withdrawal."""
    signer = plan.admin if admin is None else admin
    raw = secrets.token_bytes(32) if salt is None else chains.read_bytes(salt, 32, "salt")
    if salt is not None:
        _refuse_key(raw, signer)
    typed_data = chains.withdraw_typed_data(
        chain_id=plan.contract.chain_id, proxy=plan.contract.proxy_address, user=signer, asset=plan.token.address,
        amount=units, recipient=plan.recipient, nonce=nonce, salt=raw,
    )  # fmt: skip
    return AdminMessage(typed_data, admin=signer, nonce=int(nonce), salt=raw)


def _refuse_key(salt: bytes, signer: str) -> None:
    """Refuse the one slip that a salt's look cannot show: the admin's own private key in its place."""
    try:
        same = chains.same_address(chains.public_address(salt), signer)
    except ValueError:  # out of the range of keys
        return
    if same:
        text = "is the private key of the admin. Never paste a private key here; a salt is made public. Leave it out"
        raise InvalidRequest([Problem("salt", "private-key", text)], of="withdrawal")
