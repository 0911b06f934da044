"""The call that withdraws on an EVM chain, sent to the contract's controllerAddress.

assumed: the function and its arguments are outside the document; version 2 is widely seen, version 1 takes the first seven.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import attrs

from workbench.chains import abi
from workbench.chains.addresses import eip55, evm_address
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.numbers import unix_seconds, unsigned
from workbench.chains.private_keys import refuse_private_key
from workbench.chains.signatures import canonical
from workbench.errors import hide_arguments

_ARGUMENTS = {
    "collateralProxy": "address",
    "asset": "address",
    "amount": "uint256",
    "recipient": "address",
    "expiresAt": "uint256",
    "salt": "bytes32",
    "signature": "bytes",
    "adminSalts": "bytes32[]",
    "adminSignatures": "bytes[]",
    "directTransfer": "bool",
}
_KINDS = {1: tuple(_ARGUMENTS.values())[:7], 2: tuple(_ARGUMENTS.values())}
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def _masked(value: object) -> str:
    return "•••"


@attrs.frozen(kw_only=True)
class WithdrawCall:
    """What a withdrawal's call data says. Salts and signatures print masked."""

    version: int
    proxy: str
    asset: str
    amount: int  # native units
    recipient: str
    expires_at: int  # unix seconds
    salt: bytes = attrs.field(repr=_masked)
    signature: bytes = attrs.field(repr=_masked)
    admin_salts: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    admin_signatures: tuple[bytes, ...] = attrs.field(default=(), repr=_masked)
    direct_transfer: bool | None = None  # None: version 1, which has no such argument


def signature_of(version: int) -> str:
    """Write the function's signature for a contract version."""
    return f"withdrawAsset({','.join(_KINDS[_version(version)])})"


@hide_arguments
def withdraw_call_data(
    *,
    version: int,
    proxy: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: Octets,
    signature: Octets,
    admin_salts: Sequence[Octets] = (),
    admin_signatures: Sequence[Octets] = (),
    direct_transfer: bool | None = None,
) -> str:
    """Write the data of the transaction that withdraws, as 0x hex.

    `amount` is in the token's native units; `expires_at` in unix seconds or an aware datetime, as the service signed it;
    `salt` and `signature` are the service's, as in its answer. Version 2 needs besides one salt and one signature for
    every admin who signed, in the same order, and `direct_transfer`, whose meaning is up to the contract.
    """
    values: list[object] = [
        evm_address(proxy, "proxy"),
        evm_address(asset, "asset"),
        unsigned(amount, "amount", minimum=1),
        evm_address(recipient, "recipient"),
        unix_seconds(expires_at, "expiresAt"),
        octets(salt, 32, "salt"),
        canonical(signature),
    ]
    if _version(version) == 1:
        if len(admin_salts) or len(admin_signatures) or direct_transfer is not None:
            raise invalid(
                "version", "version", "is 1, whose call takes no admin salts, admin signatures or directTransfer"
            )
    else:
        values += _admins(admin_salts, admin_signatures, direct_transfer)
    return "0x" + (abi.selector(signature_of(version)) + abi.encode(_KINDS[_version(version)], values)).hex()


def _admins(salts: Sequence[Octets], signatures: Sequence[Octets], direct_transfer: object) -> list[object]:
    if isinstance(salts, str | bytes) or isinstance(signatures, str | bytes):
        raise invalid("adminSignatures", "type", "and adminSalts are lists, even for one admin")
    if not signatures or len(salts) != len(signatures):
        raise invalid(
            "adminSignatures", "length", "needs one signature and one salt for each admin who signed, at least one"
        )
    if not isinstance(direct_transfer, bool):
        raise invalid("directTransfer", "required", "is True or False; version 2 of the call needs it")
    return [
        [octets(salt, 32, f"adminSalts[{index}]") for index, salt in enumerate(salts)],
        [canonical(signature, f"adminSignatures[{index}]") for index, signature in enumerate(signatures)],
        direct_transfer,
    ]


@hide_arguments
def read_call_data(data: str | bytes) -> WithdrawCall:
    """Read a withdrawal's call data back.

    Raises:
        InvalidRequest: It is another call, or not exactly in the one form in which this one is written.
    """
    refuse_private_key(data, "data")
    if isinstance(data, str):
        if not _HEX.fullmatch(data):
            raise invalid("data", "type", "is hex text that begins with 0x")
        data = bytes.fromhex(data[2:])
    version = next((known for known in _KINDS if data[:4] == abi.selector(signature_of(known))), None)
    if version is None:
        raise invalid("data", "selector", "is not a call of withdrawAsset in version 1 or 2")
    try:
        proxy, asset, amount, recipient, expires_at, salt, signature, *admins = abi.decode(_KINDS[version], data[4:])
    except ValueError as error:
        raise invalid("data", "encoding", f"is damaged: {error}") from None
    salts, signatures, direct_transfer = admins or ((), (), None)
    return WithdrawCall(
        version=version,
        proxy=eip55(proxy),
        asset=eip55(asset),
        amount=amount,
        recipient=eip55(recipient),
        expires_at=expires_at,
        salt=salt,
        signature=signature,
        admin_salts=tuple(salts),
        admin_signatures=tuple(signatures),
        direct_transfer=direct_transfer,
    )


def _version(version: object) -> int:
    for known in _KINDS:
        if version == known and not isinstance(version, bool):  # the service gives a number, which may read as 2.0
            return known
    raise invalid("version", "version", "is 1 or 2; the call of other contract versions is not known")
