"""The call that withdraws on an EVM chain, sent to the contract's controllerAddress, in Solidity's ABI.

assumed: the function and its arguments are outside the interface document; version 2 is widely seen, version 1 takes the
first seven arguments.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import attrs

from workbench.chains import abi
from workbench.chains.addresses import eip55, require_evm_address
from workbench.chains.private_keys import refuse_private_key
from workbench.chains.signatures import canonical_signature
from workbench.chains.values import BytesLike, invalid, read_bytes, read_unix_seconds, read_unsigned
from workbench.errors import hide_arguments

_VERSION_2 = (
    "address", "address", "uint256", "address", "uint256", "bytes32", "bytes", "bytes32[]", "bytes[]", "bool",
)  # fmt: skip
_TYPES: dict[int, Sequence[str]] = {1: _VERSION_2[:7], 2: _VERSION_2}
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def masked(value: object) -> str:
    """Return what stands for a secret member in a repr."""
    return "•••"


@attrs.frozen(kw_only=True)
class WithdrawCall:
    """The arguments of a withdrawal's call data. Salts and signatures print masked.

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
    salt: bytes = attrs.field(repr=masked)
    signature: bytes = attrs.field(repr=masked)
    admin_salts: tuple[bytes, ...] = attrs.field(default=(), repr=masked)
    admin_signatures: tuple[bytes, ...] = attrs.field(default=(), repr=masked)
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
    """Return the arguments of a withdrawal's call data.

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
