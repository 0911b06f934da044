"""The positional arguments of a withdrawal's on-chain call, as the service's answer carries them, and their encodings.

assumed: `parameters`, and the encoding of salt and signature on each chain, are reported from live calls; the interface
document names only `data` and `salt`. In the one sample seen, sender and recipient are the same address; that the fourth
argument is the recipient is taken from the EVM call.
"""

import base64
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from workbench.chains.addresses import require_address
from workbench.chains.calls import masked
from workbench.chains.families import Family, chain_of, exact_chain_id
from workbench.chains.values import BytesLike, invalid, read_bytes, read_unix_seconds, read_unsigned
from workbench.errors import hide_arguments

_SIGNATURE_LENGTH = {Family.EVM: 65, Family.SOLANA: 64, Family.STELLAR: 64}
_NAMES = ("proxy", "asset", "amount", "recipient", "expiresAt", "salt", "signature", "publicKey")
_DIGITS = re.compile(r"[1-9][0-9]{0,77}")


@attrs.frozen(kw_only=True)
class WithdrawParameters:
    """The arguments of a withdrawal's call. Salt and signature print masked.

    Attributes:
        amount: In native units, also where cents were requested.
        expires_at: Unix seconds.
        public_key: On Ed25519 chains, where the answer has it.
    """

    chain_id: int
    proxy: str
    asset: str
    amount: int
    recipient: str
    expires_at: int
    salt: bytes = attrs.field(repr=masked)
    signature: bytes = attrs.field(repr=masked)
    public_key: bytes | None = None


@hide_arguments
def write_signature(chain_id: int, signature: bytes) -> str:
    """Return a signature in the service's form for a chain: EVM 0x hex, Solana base64, Stellar plain hex."""
    family = chain_of(chain_id).family
    raw = read_bytes(signature, _SIGNATURE_LENGTH[family], "signature")
    if family is Family.SOLANA:
        return base64.b64encode(raw).decode()
    return ("0x" if family is Family.EVM else "") + raw.hex()


@hide_arguments
def read_signature(chain_id: int, text: BytesLike) -> bytes:
    """Read a signature of a chain from any form that `read_bytes` takes."""
    return read_bytes(text, _SIGNATURE_LENGTH[chain_of(chain_id).family], "signature")


@hide_arguments
def write_salt(salt: bytes) -> str:
    """Return a salt in the service's form, base64."""
    return base64.b64encode(read_bytes(salt, 32, "salt")).decode()


@hide_arguments
def withdraw_parameters(
    *, chain_id: int, proxy: str, asset: str, amount: int, recipient: str, expires_at: int | datetime, salt: BytesLike,
    signature: BytesLike, public_key: BytesLike | None = None,
) -> list[Any]:  # fmt: skip
    """Return the arguments in the order and encoding of the service's `parameters`, ready as JSON.

    On Ed25519 chains the public key in hex is the eighth.
    """
    number = exact_chain_id(chain_id)
    parameters: list[Any] = [
        _address(proxy, number, "proxy"),
        _address(asset, number, "asset"),
        str(read_unsigned(amount, "amount", minimum=1)),
        _address(recipient, number, "recipient"),
        read_unix_seconds(expires_at, "expiresAt"),
        list(read_bytes(salt, 32, "salt")),
        write_signature(number, read_signature(number, signature)),
    ]
    if public_key is not None:
        if chain_of(number).family is Family.EVM:
            raise invalid("publicKey", "family", "is for Solana and Stellar; an EVM signature recovers to its address")
        parameters.append(read_bytes(public_key, 32, "publicKey").hex())
    return parameters


@hide_arguments
def read_parameters(chain_id: int, parameters: object) -> WithdrawParameters:
    """Read the service's `parameters`.

    Raises:
        InvalidRequest: There are not seven or eight, or one is not valid.
    """
    number = exact_chain_id(chain_id)
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes) or len(parameters) not in (7, 8):
        raise invalid("parameters", "length", "must be a list of " + ", ".join(_NAMES) + " (publicKey optional)")
    proxy, asset, amount, recipient, expires_at, salt, signature, *key = parameters
    if isinstance(amount, str):
        if not _DIGITS.fullmatch(amount):
            raise invalid("parameters[2]", "pattern", "must be an amount in native units: digits only")
        amount = int(amount)
    if isinstance(expires_at, str) and _DIGITS.fullmatch(expires_at):
        expires_at = int(expires_at)
    return WithdrawParameters(
        chain_id=number,
        proxy=_address(proxy, number, "parameters[0]"),
        asset=_address(asset, number, "parameters[1]"),
        amount=read_unsigned(amount, "parameters[2]", minimum=1),
        recipient=_address(recipient, number, "parameters[3]"),
        expires_at=read_unix_seconds(expires_at, "parameters[4]"),
        salt=read_bytes(salt, 32, "parameters[5]"),
        signature=read_bytes(signature, _SIGNATURE_LENGTH[chain_of(number).family], "parameters[6]"),
        public_key=read_bytes(key[0], 32, "parameters[7]") if key else None,
    )


def _address(value: object, chain_id: int, path: str) -> str:
    return require_address(value, chain_of(chain_id).family, path)
