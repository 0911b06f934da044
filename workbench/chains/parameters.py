"""The positional arguments of a withdrawal's on-chain call, as the service's answer carries them, and its encodings.

assumed: `parameters`, and how each chain writes a salt and a signature, are reported from live calls; the document names
only `data` and `salt`. In the one sample seen sender and recipient are the same address, so that the fourth place is the
recipient's is taken from the EVM call.
"""

import base64
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from workbench.chains.addresses import sound
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.families import Family, chain_of, exact_chain_id
from workbench.chains.numbers import unix_seconds, unsigned
from workbench.errors import hide_arguments

SIGNATURE_LENGTH = {Family.EVM: 65, Family.SOLANA: 64, Family.STELLAR: 64}
_NAMES = ("proxy", "asset", "amount", "recipient", "expiresAt", "salt", "signature", "publicKey")
_DIGITS = re.compile(r"[1-9][0-9]{0,77}")


def _masked(value: object) -> str:
    return "•••"


@attrs.frozen(kw_only=True)
class WithdrawParameters:
    """The arguments of a withdrawal's call, read. Salt and signature print masked."""

    chain_id: int
    proxy: str
    asset: str
    amount: int  # native units, even when cents were asked
    recipient: str
    expires_at: int  # unix seconds
    salt: bytes = attrs.field(repr=_masked)
    signature: bytes = attrs.field(repr=_masked)
    public_key: bytes | None = None  # Ed25519 chains, where the answer gives it


@hide_arguments
def write_signature(chain_id: int, signature: bytes) -> str:
    """Write a signature as the service does for a chain: EVM 0x hex, Solana base64, Stellar plain hex."""
    family = chain_of(chain_id).family
    raw = octets(signature, SIGNATURE_LENGTH[family], "signature")
    if family is Family.SOLANA:
        return base64.b64encode(raw).decode()
    return ("0x" if family is Family.EVM else "") + raw.hex()


@hide_arguments
def read_signature(chain_id: int, text: Octets) -> bytes:
    """Read a signature of a chain, in whichever form it is written."""
    return octets(text, SIGNATURE_LENGTH[chain_of(chain_id).family], "signature")


@hide_arguments
def write_salt(salt: bytes) -> str:
    """Write a salt as the service does, in base64."""
    return base64.b64encode(octets(salt, 32, "salt")).decode()


@hide_arguments
def withdraw_parameters(
    *,
    chain_id: int,
    proxy: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: Octets,
    signature: Octets,
    public_key: Octets | None = None,
) -> list[Any]:
    """List the arguments in the order and the forms of the service's `parameters`, ready as JSON.

    The public key in hex is the eighth and is given on Ed25519 chains.
    """
    number = exact_chain_id(chain_id)
    parameters: list[Any] = [
        _address(proxy, number, "proxy"),
        _address(asset, number, "asset"),
        str(unsigned(amount, "amount", minimum=1)),
        _address(recipient, number, "recipient"),
        unix_seconds(expires_at, "expiresAt"),
        list(octets(salt, 32, "salt")),
        write_signature(number, read_signature(number, signature)),
    ]
    if public_key is not None:
        if chain_of(number).family is Family.EVM:
            raise invalid("publicKey", "family", "is for Solana and Stellar; an EVM signature recovers to its address")
        parameters.append(octets(public_key, 32, "publicKey").hex())
    return parameters


@hide_arguments
def read_parameters(chain_id: int, parameters: object) -> WithdrawParameters:
    """Read the service's `parameters`, each place checked.

    Raises:
        InvalidRequest: There are not seven or eight, or one does not have the form of its place.
    """
    number = exact_chain_id(chain_id)
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes) or len(parameters) not in (7, 8):
        raise invalid("parameters", "length", f"is a list of {', '.join(_NAMES[:7])}, and publicKey where there is one")
    proxy, asset, amount, recipient, expires_at, salt, signature, *key = parameters
    if isinstance(amount, str):
        if not _DIGITS.fullmatch(amount):
            raise invalid("parameters[2]", "pattern", "is an amount in native units: digits only")
        amount = int(amount)
    if isinstance(expires_at, str) and _DIGITS.fullmatch(expires_at):
        expires_at = int(expires_at)
    return WithdrawParameters(
        chain_id=number,
        proxy=_address(proxy, number, "parameters[0]"),
        asset=_address(asset, number, "parameters[1]"),
        amount=unsigned(amount, "parameters[2]", minimum=1),
        recipient=_address(recipient, number, "parameters[3]"),
        expires_at=unix_seconds(expires_at, "parameters[4]"),
        salt=octets(salt, 32, "parameters[5]"),
        signature=octets(signature, SIGNATURE_LENGTH[chain_of(number).family], "parameters[6]"),
        public_key=octets(key[0], 32, "parameters[7]") if key else None,
    )


def _address(value: object, chain_id: int, path: str) -> str:
    return sound(value, chain_of(chain_id).family, path)
