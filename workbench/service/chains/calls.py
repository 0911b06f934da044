"""The withdrawal call: call data on EVM chains, and arguments in the service's `parameters`.

assumed: withdrawal_call. The interface document does not describe the EVM function and its arguments. Version 2 is
widely seen, and version 1 takes the first seven arguments. `parameters`, and the encoding of salt and signature on each
chain, are reported from live calls. The document names only `data` and `salt`. In the only known sample, sender and
recipient are the same address, so the recipient's position (the fourth argument) is inferred from the EVM call.
"""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import attrs

from workbench.base.frozen import frozen
from workbench.service.chains.addresses import Family, chain_of, family_of, require_address
from workbench.service.chains.messages import encoded
from workbench.service.chains.values import (
    BytesLike,
    canonical_signature,
    eip55,
    invalid,
    keccak256,
    read_bytes,
    read_unix_seconds,
    read_unsigned,
    refuse_private_key,
)

_WORD = 32


def selector(signature: str) -> bytes:
    """Return the first four bytes of the function signature's hash, with which the call data begins."""
    return keccak256(signature.encode())[:4]


def abi_encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """ABI-encode the arguments of a call. `types` are Solidity types, such as `address` or `bytes32[]`."""
    head, tail = [], b""
    for kind, value in zip(types, values, strict=True):
        if kind == "bytes" or kind.endswith("[]"):
            head.append((_WORD * len(types) + len(tail)).to_bytes(_WORD))
            padded = bytes(value) + b"\0" * (-len(value) % _WORD) if kind == "bytes" else b""
            tail += len(value).to_bytes(_WORD) + (padded or abi_encode([kind[:-2]] * len(value), value))
        else:
            head.append(encoded(kind, value, {}, kind))
    return b"".join(head) + tail


def abi_decode(types: Sequence[str], data: bytes) -> list[Any]:
    """Decode the ABI-encoded arguments of a call.

    Raises:
        ValueError: The data differs from the canonical encoding that `abi_encode` returns.
    """
    values, _ = _decode(types, memoryview(data))
    # The encoding has no gaps, so encoding the values again detects wrong offsets, lengths, padding and truncation.
    if abi_encode(types, values) != data:
        raise ValueError("not encoded canonically")
    return values


def _decode(types: Sequence[str], data: memoryview) -> tuple[list[Any], int]:
    """Return the decoded values and the number of bytes read."""
    values: list[Any] = []
    end = _WORD * len(types)
    for index, kind in enumerate(types):
        word = bytes(data[_WORD * index : _WORD * (index + 1)]).ljust(_WORD)
        # the word is an offset, which is not followed here; `abi_decode` checks it by encoding the values again
        if kind == "bytes" or kind.endswith("[]"):
            size = int.from_bytes(data[end : end + _WORD])
            end += _WORD
            if size > len(data):
                raise ValueError("a length exceeds the size of the call data")
            if kind == "bytes":
                values.append(bytes(data[end : end + size]))
                end += size + -size % _WORD
            else:
                items, used = _decode([kind[:-2]] * size, data[end:])
                values.append(items)
                end += used
        elif kind == "address":
            values.append("0x" + word[12:].hex())
        elif kind == "bytes32":
            values.append(word)
        else:
            number = int.from_bytes(word)
            values.append(number == 1 if kind == "bool" else number)
    return values, end


_ARGUMENTS = {
    "proxy": "address", "asset": "address", "amount": "uint256", "recipient": "address", "expires_at": "uint256",
    "salt": "bytes32", "signature": "bytes",
    "admin_salts": "bytes32[]", "admin_signatures": "bytes[]", "direct_transfer": "bool",
}  # fmt: skip
_TYPES: dict[int, Sequence[str]] = {1: tuple(_ARGUMENTS.values())[:7], 2: tuple(_ARGUMENTS.values())}
_HEX = r"0x(?:[0-9a-fA-F]{2})*"
_SIGNATURE_LENGTH = {Family.EVM: 65, Family.SOLANA: 64, Family.STELLAR: 64}
_NAMES = ("proxy", "asset", "amount", "recipient", "expiresAt", "salt", "signature", "publicKey")
_DIGITS = r"[1-9][0-9]{0,77}"


def _masked(value: object) -> str:
    """Return the text that a repr shows in place of a secret value."""
    return "•••"


@frozen(kw_only=True)
class _Withdraw:
    proxy: str
    asset: str
    amount: int
    recipient: str
    expires_at: int
    salt: bytes = attrs.field(repr=_masked)
    signature: bytes = attrs.field(repr=_masked)


@frozen(kw_only=True)
class WithdrawCall(_Withdraw):
    """A withdrawal decoded from call data. Salts and signatures are masked in the repr.

    Attributes:
        amount: Amount in the token's native units.
        expires_at: Expiry in Unix seconds.
        direct_transfer: None in version 1, which does not take this argument.
    """

    version: int
    admin_salts: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    admin_signatures: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    direct_transfer: bool | None = None


@frozen(kw_only=True)
class WithdrawParameters(_Withdraw):
    """A withdrawal read from the service's `parameters`. Salt and signature are masked in the repr.

    Attributes:
        amount: Amount in the token's native units, even if the request was in cents.
        expires_at: Expiry in Unix seconds.
        public_key: Public key on Ed25519 chains, if the answer contains the key.
    """

    chain_id: int
    public_key: bytes | None = None


def function_signature(version: int) -> str:
    """Return the Solidity signature of the function for a contract version."""
    return f"withdrawAsset({','.join(_TYPES[_version(version)])})"


def withdraw_call_data(
    *,
    version: int,
    proxy: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: BytesLike,
    signature: BytesLike,
    admin_salts: Sequence[BytesLike] = (),
    admin_signatures: Sequence[BytesLike] = (),
    direct_transfer: bool | None = None,
) -> str:
    """Return the data of the withdrawal transaction, as 0x hex.

    Args:
        version: The contract's version, 1 or 2.
        amount: Amount in the token's native units.
        expires_at: Expiry that the service signed, in Unix seconds or as an aware datetime.
        salt: Salt from the service's answer. `signature` is from the answer too.
        admin_salts: One salt for each admin who signed, in the order of `admin_signatures` (version 2 only).
        direct_transfer: Argument that version 2 requires. Its meaning depends on the contract.
    """
    values = _exact(Family.EVM, (proxy, asset, amount, recipient, expires_at, salt, signature), _NAMES)
    values[6] = canonical_signature(values[6])
    version = _version(version)
    if version == 2:
        values += _admin_arguments(admin_salts, admin_signatures, direct_transfer)
    elif len(admin_salts) or len(admin_signatures) or direct_transfer is not None:
        text = "is 1, whose call takes no admin salts, admin signatures or directTransfer"
        raise invalid("version", "version", text)
    return "0x" + (selector(function_signature(version)) + abi_encode(_TYPES[version], values)).hex()


def _exact(family: Family, values: Sequence[object], paths: Iterable[str]) -> list[Any]:
    """Validate and return the seven arguments that each version of the withdrawal takes."""
    address, amount = partial(require_address, family=family), partial(read_unsigned, minimum=1)
    salt, signature = partial(read_bytes, length=32), partial(read_bytes, length=_SIGNATURE_LENGTH[family])
    readers: tuple[Any, ...] = (address, address, amount, address, read_unix_seconds, salt, signature)
    return [read(value, path=path) for read, value, path in zip(readers, values, paths, strict=False)]


def _admin_arguments(
    salts: Sequence[BytesLike], signatures: Sequence[BytesLike], direct_transfer: object
) -> list[object]:
    if isinstance(salts, str | bytes) or isinstance(signatures, str | bytes):
        raise invalid("adminSignatures", "type", "and adminSalts must be lists, even for one admin")
    if not signatures or len(salts) != len(signatures):
        text = "needs one signature and one salt for each admin who signed, at least one"
        raise invalid("adminSignatures", "length", text)
    if not isinstance(direct_transfer, bool):
        raise invalid("directTransfer", "required", "must be true or false; version 2 of the call needs it")
    return [
        [read_bytes(salt, 32, f"adminSalts[{index}]") for index, salt in enumerate(salts)],
        [canonical_signature(signature, f"adminSignatures[{index}]") for index, signature in enumerate(signatures)],
        direct_transfer,
    ]


def read_call_data(data: str | bytes) -> WithdrawCall:
    """Decode the call data of a withdrawal.

    Raises:
        UsageError: The data is a different call, or is not encoded canonically.
    """
    refuse_private_key(data, "data")
    if isinstance(data, str):
        if not re.fullmatch(_HEX, data):
            raise invalid("data", "type", "must be hex text that begins with 0x")
        data = bytes.fromhex(data[2:])
    version = next((known for known in _TYPES if data[:4] == selector(function_signature(known))), None)
    if version is None:
        raise invalid("data", "selector", "is not a call of withdrawAsset in version 1 or 2")
    try:
        values = abi_decode(_TYPES[version], data[4:])
    except ValueError as error:
        raise invalid("data", "encoding", f"is damaged: {error}") from None
    read: dict[str, Callable[[Any], Any]] = {"address": eip55, "bytes32[]": tuple, "bytes[]": tuple}
    fields = {
        name: read[kind](value) if kind in read else value
        for (name, kind), value in zip(_ARGUMENTS.items(), values, strict=False)
    }
    return WithdrawCall(version=version, **fields)


def _version(version: object) -> int:
    for known in _TYPES:
        if version == known and not isinstance(version, bool):  # the service sends a JSON number here, such as 2.0
            return known
    raise invalid("version", "version", "must be 1 or 2; the call of other contract versions is unknown")


def write_signature(chain_id: int, signature: bytes) -> str:
    """Return a signature in the service's format: 0x hex on EVM chains, base64 on Solana, plain hex on Stellar."""
    family = family_of(chain_id)
    raw = read_bytes(signature, _SIGNATURE_LENGTH[family], "signature")
    if family is Family.SOLANA:
        return base64.b64encode(raw).decode()
    return ("0x" if family is Family.EVM else "") + raw.hex()


def read_signature(chain_id: int, text: BytesLike) -> bytes:
    """Return the bytes of a signature on a chain, which may have any format that `read_bytes` accepts."""
    return read_bytes(text, _SIGNATURE_LENGTH[family_of(chain_id)], "signature")


def write_salt(salt: bytes) -> str:
    """Return a salt in the service's format, which is base64."""
    return base64.b64encode(read_bytes(salt, 32, "salt")).decode()


def withdraw_parameters(
    *,
    chain_id: int,
    proxy: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: BytesLike,
    signature: BytesLike,
    public_key: BytesLike | None = None,
) -> list[Any]:
    """Return the arguments in the order and encoding of the service's `parameters`, as JSON values.

    On Ed25519 chains the eighth argument is the public key in hex.
    """
    family = family_of(chain_id)
    parameters = _exact(family, (proxy, asset, amount, recipient, expires_at, salt, signature), _NAMES)
    parameters[2], parameters[5] = str(parameters[2]), list(parameters[5])
    parameters[6] = write_signature(chain_id, parameters[6])
    if public_key is not None:
        if family is Family.EVM:
            raise invalid("publicKey", "family", "is for Solana and Stellar; an EVM signature recovers to its address")
        parameters.append(read_bytes(public_key, 32, "publicKey").hex())
    return parameters


def read_parameters(chain_id: int, parameters: object) -> WithdrawParameters:
    """Parse the service's `parameters` into `WithdrawParameters`.

    Raises:
        UsageError: The number of parameters is not seven or eight, or a parameter is invalid.
    """
    chain = chain_of(chain_id)
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes) or len(parameters) not in (7, 8):
        raise invalid("parameters", "length", "must be a list of " + ", ".join(_NAMES) + " (publicKey optional)")
    given, key = list(parameters[:7]), parameters[7:]
    for place in (2, 4):  # amount and expiry are numbers, but may be written as text
        if isinstance(given[place], str):
            if not re.fullmatch(_DIGITS, given[place]):
                raise invalid(f"parameters[{place}]", "pattern", "must be a whole number: digits only")
            given[place] = int(given[place])
    values = _exact(chain.family, given, (f"parameters[{place}]" for place in range(7)))
    return WithdrawParameters(
        chain_id=chain.id,
        public_key=read_bytes(key[0], 32, "parameters[7]") if key else None,
        **dict(zip(_ARGUMENTS, values, strict=False)),
    )
