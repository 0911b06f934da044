"""The call that withdraws: its data on an EVM chain, and its arguments as the service's `parameters` carry them.

assumed: the EVM function and its arguments are outside the interface document; version 2 is widely seen, version 1 takes
the first seven arguments. `parameters`, and the encoding of salt and signature on each chain, are reported from live calls;
the document names only `data` and `salt`. In the one sample seen, sender and recipient are the same address; that the
fourth argument is the recipient is taken from the EVM call.
"""

import base64
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from workbench.chains import abi
from workbench.chains.addresses import eip55, require_address, require_evm_address
from workbench.chains.families import Family, chain_of, exact_chain_id
from workbench.chains.signatures import canonical_signature
from workbench.chains.values import BytesLike, invalid, read_bytes, read_unix_seconds, read_unsigned, refuse_private_key
from workbench.errors import hide_arguments

_VERSION_2 = (
    "address", "address", "uint256", "address", "uint256", "bytes32", "bytes", "bytes32[]", "bytes[]", "bool",
)  # fmt: skip
_TYPES: dict[int, Sequence[str]] = {1: _VERSION_2[:7], 2: _VERSION_2}
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_SIGNATURE_LENGTH = {Family.EVM: 65, Family.SOLANA: 64, Family.STELLAR: 64}
_NAMES = ("proxy", "asset", "amount", "recipient", "expiresAt", "salt", "signature", "publicKey")
_DIGITS = re.compile(r"[1-9][0-9]{0,77}")


def _masked(value: object) -> str:
    """Return what stands for a secret member in a repr."""
    return "•••"


@attrs.frozen(kw_only=True)
class WithdrawCall:
    """A withdrawal as decoded from call data. Salts and signatures print masked.

    Attributes:
        amount: In native units.
        expires_at: Unix seconds.
        direct_transfer: None in version 1, which has no such argument.
    """

    version: int
    proxy: str
    asset: str
    amount: int
    recipient: str
    expires_at: int
    salt: bytes = attrs.field(repr=_masked)
    signature: bytes = attrs.field(repr=_masked)
    admin_salts: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    admin_signatures: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    direct_transfer: bool | None = None


def function_signature(version: int) -> str:
    """Return the Solidity signature of the function for a contract version."""
    return f"withdrawAsset({','.join(_TYPES[_version(version)])})"


@hide_arguments
def withdraw_call_data(
    *, version: int, proxy: str, asset: str, amount: int, recipient: str, expires_at: int | datetime, salt: BytesLike,
    signature: BytesLike, admin_salts: Sequence[BytesLike] = (), admin_signatures: Sequence[BytesLike] = (),
    direct_transfer: bool | None = None,
) -> str:  # fmt: skip
    """Return the data of the transaction that withdraws, as 0x hex.

    Args:
        version: The contract's version, 1 or 2.
        amount: In the token's native units.
        expires_at: Unix seconds or an aware datetime, as the service signed it.
        salt: The service's, as in its answer; so is `signature`.
        admin_salts: Version 2: one for each admin who signed, in the order of `admin_signatures`.
        direct_transfer: Required by version 2; its meaning depends on the contract.
    """
    values: list[object] = [
        require_evm_address(proxy, "proxy"),
        require_evm_address(asset, "asset"),
        read_unsigned(amount, "amount", minimum=1),
        require_evm_address(recipient, "recipient"),
        read_unix_seconds(expires_at, "expiresAt"),
        read_bytes(salt, 32, "salt"),
        canonical_signature(signature),
    ]
    if _version(version) == 2:
        values += _admin_arguments(admin_salts, admin_signatures, direct_transfer)
    elif len(admin_salts) or len(admin_signatures) or direct_transfer is not None:
        text = "is 1, whose call takes no admin salts, admin signatures or directTransfer"
        raise invalid("version", "version", text)
    return "0x" + (abi.selector(function_signature(version)) + abi.encode(_TYPES[_version(version)], values)).hex()


def _admin_arguments(
    salts: Sequence[BytesLike], signatures: Sequence[BytesLike], direct_transfer: object
) -> list[object]:
    if isinstance(salts, str | bytes) or isinstance(signatures, str | bytes):
        raise invalid("adminSignatures", "type", "and adminSalts must be lists, even for one admin")
    if not signatures or len(salts) != len(signatures):
        text = "needs one signature and one salt for each admin who signed, at least one"
        raise invalid("adminSignatures", "length", text)
    if not isinstance(direct_transfer, bool):
        raise invalid("directTransfer", "required", "must be True or False; version 2 of the call needs it")
    return [
        [read_bytes(salt, 32, f"adminSalts[{index}]") for index, salt in enumerate(salts)],
        [canonical_signature(signature, f"adminSignatures[{index}]") for index, signature in enumerate(signatures)],
        direct_transfer,
    ]


@hide_arguments
def read_call_data(data: str | bytes) -> WithdrawCall:
    """Decode the call data of a withdrawal.

    Raises:
        InvalidRequest: It is another call, or not encoded canonically.
    """
    refuse_private_key(data, "data")
    if isinstance(data, str):
        if not _HEX.fullmatch(data):
            raise invalid("data", "type", "must be hex text that begins with 0x")
        data = bytes.fromhex(data[2:])
    version = next((known for known in _TYPES if data[:4] == abi.selector(function_signature(known))), None)
    if version is None:
        raise invalid("data", "selector", "is not a call of withdrawAsset in version 1 or 2")
    try:
        values = abi.decode(_TYPES[version], data[4:])
    except ValueError as error:
        raise invalid("data", "encoding", f"is damaged: {error}") from None
    proxy, asset, amount, recipient, expires_at, salt, signature, *admins = values
    salts, signatures, direct_transfer = admins or ((), (), None)
    return WithdrawCall(
        version=version, proxy=eip55(proxy), asset=eip55(asset), amount=amount, recipient=eip55(recipient),
        expires_at=expires_at, salt=salt, signature=signature, admin_salts=tuple(salts),
        admin_signatures=tuple(signatures), direct_transfer=direct_transfer,
    )  # fmt: skip


def _version(version: object) -> int:
    for known in _TYPES:
        if version == known and not isinstance(version, bool):  # the service sends a JSON number, which may read as 2.0
            return known
    raise invalid("version", "version", "must be 1 or 2; the call of other contract versions is not known")


@attrs.frozen(kw_only=True)
class WithdrawParameters:
    """A withdrawal as stated in the service's `parameters`. Salt and signature print masked.

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
    salt: bytes = attrs.field(repr=_masked)
    signature: bytes = attrs.field(repr=_masked)
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
    """Read the service's `parameters` into `WithdrawParameters`.

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
