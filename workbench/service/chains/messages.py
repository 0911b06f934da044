"""EIP-712 typed data and its digest, and the message that is signed for a withdrawal on EVM chains, Solana and Stellar.

Typed data supports structs, arrays and the atomic types. A value that does not fit its type exactly is rejected, never
padded or truncated. Source: EIP-712.

assumed: withdrawal_admin_message, withdrawal_service_half, withdrawal_solana_message, withdrawal_stellar_message. The
interface document does not describe the signed messages. The admin's EVM message is widely seen. The service's EVM
message and the Solana hash come from public integration examples. The message signed on Stellar is not public.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from workbench.base.errors import UsageError
from workbench.service.chains.addresses import Family, chain_of, require_address, require_evm_address
from workbench.service.chains.values import (
    BytesLike,
    base58_decode,
    invalid,
    keccak256,
    read_bytes,
    read_unix_seconds,
    read_unsigned,
    strkey_decode,
)

DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}

_Types = dict[str, dict[str, str]]  # types of each struct's members, by struct and member name

_ARRAY = r"(.+)\[(\d{0,9})\]"
_ARRAYS = r"(?:\[\d{0,9}\])*"
_NAME = r"[A-Za-z_$][A-Za-z0-9_$]*"
_SIZED = r"(?:bytes|u?int)[1-9]\d{0,2}"
_DECIMAL = r"-?(?:0|[1-9][0-9]{0,77})"
_HEX_NUMBER = r"0x[0-9a-fA-F]{1,64}"
_HEX = r"0x(?:[0-9a-fA-F]{2})*"
_ADDRESS = r"0x[0-9a-fA-F]{40}"
_ATOMIC = frozenset(
    ("address", "bool", "string", "bytes", *(f"bytes{size}" for size in range(1, 33)),
     *(f"{sign}{size}" for sign in ("uint", "int") for size in range(8, 257, 8)))
)  # fmt: skip
_MAX_DEPTH = 32
_MAX_TYPES = 64


def digest(typed_data: Mapping[str, Any]) -> bytes:
    """Return the 32-byte digest of typed data, which is what a wallet signs.

    Raises:
        UsageError: A member is missing, unknown, or does not fit its type exactly.
    """
    try:
        return _digest(typed_data)
    except UsageError as error:  # the paths in this error must keep the spelling of the caller's JSON
        raise UsageError(error.problems, as_given=True) from None


def _digest(typed_data: Mapping[str, Any]) -> bytes:
    try:
        declared, primary, domain = typed_data["types"], typed_data["primaryType"], typed_data["domain"]
    except (KeyError, TypeError):
        raise invalid("", "required", "typed data needs types, primaryType, domain and message") from None
    if not isinstance(declared, Mapping) or not isinstance(domain, Mapping) or not isinstance(primary, str):
        raise invalid("", "type", "types and domain of typed data must be objects, and primaryType text")
    own = [{"name": name, "type": kind} for name, kind in DOMAIN_FIELDS.items() if name in domain]
    types = _checked({"EIP712Domain": own, **declared})
    signed = b"\x19\x01" + encoded("EIP712Domain", domain, types, "domain")
    if primary != "EIP712Domain":
        if primary not in types:
            raise invalid("primaryType", "unknown", "is not among the types")
        signed += encoded(primary, typed_data.get("message"), types, "message")
    return keccak256(signed)


def encode_type(name: str, types: Mapping[str, Mapping[str, str]]) -> str:
    """Return the EIP-712 encoding of a struct type: first the type itself, then the referenced types sorted by name."""
    structs: set[str] = set()
    waiting = [name]
    while waiting:
        known = waiting.pop()
        if known not in structs:
            structs.add(known)
            waiting += [base for kind in types[known].values() if (base := kind.partition("[")[0]) in types]
    order = (name, *sorted(structs - {name}))
    return "".join(
        f"{struct}({','.join(f'{kind} {member}' for member, kind in types[struct].items())})" for struct in order
    )


def _checked(declared: Mapping[str, Any]) -> _Types:
    """Validate the declared types, and return the members of each type."""
    if len(declared) > _MAX_TYPES:
        raise invalid("types", "maximum", f"has more than {_MAX_TYPES} types")
    types: _Types = {}
    for name, members in declared.items():
        try:
            pairs = [(member["name"], member["type"]) for member in members]
        except (TypeError, KeyError):
            raise invalid("types", "type", "must be lists of members with a name and a type") from None
        if not all(isinstance(text, str) for text in (name, *(text for pair in pairs for text in pair))):
            raise invalid("types", "type", "names and types of members must be text")
        if not all(re.fullmatch(_NAME, text) for text in (name, *(member for member, _ in pairs))):
            raise invalid("types", "pattern", "names of types and members must be identifiers")
        types[name] = dict(pairs)
        if len(types[name]) != len(pairs) or name in _ATOMIC or re.fullmatch(_SIZED, name):
            raise invalid(
                "types", "unique", "must declare each member once, and no type with the name of a built-in EIP-712 type"
            )
    for kind in {kind for members in types.values() for kind in members.values()}:
        base = kind.partition("[")[0]
        if len(kind) > 256:
            raise invalid("types", "type", "has a member whose type has over 256 characters")
        if (base not in types and base not in _ATOMIC) or not re.fullmatch(_ARRAYS, kind[len(base) :]):
            raise invalid("types", "type", "has a member of a type that neither EIP-712 nor this message declares")
    if any(DOMAIN_FIELDS.get(name) != kind for name, kind in types["EIP712Domain"].items()):
        raise invalid("types.EIP712Domain", "unknown", "has an undefined member, or a member of the wrong type")
    return types


def encoded(kind: str, value: Any, types: _Types, path: str, depth: int = 0) -> bytes:
    """Return the 32-byte EIP-712 encoding of a value with a validated type."""
    if depth > _MAX_DEPTH:
        raise invalid(path, "depth", f"is nested more than {_MAX_DEPTH} levels deep")
    if kind in types:
        members = types[kind]
        if not isinstance(value, Mapping):
            raise invalid(path, "type", "must be an object")
        if missing := [name for name in members if name not in value]:
            raise invalid(f"{path}.{min(missing)}", "required", "is missing")
        if len(value) != len(members):
            raise invalid(path, "unknown", f"has {len(value) - len(members)} members that its type does not declare")
        fields = (encoded(inner, value[name], types, f"{path}.{name}", depth + 1) for name, inner in members.items())
        return _hash_struct(kind, types, fields)
    if array := re.fullmatch(_ARRAY, kind):
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise invalid(path, "type", "must be a list")
        if array[2] and len(value) != int(array[2]):
            raise invalid(path, "length", f"has {len(value)} items; {int(array[2])} are needed")
        return keccak256(
            b"".join(encoded(array[1], item, types, f"{path}[{i}]", depth + 1) for i, item in enumerate(value))
        )
    if kind == "address":
        if not isinstance(value, str) or not re.fullmatch(_ADDRESS, value):
            raise invalid(path, "type", "must be an EVM address: 0x and 40 hex digits")
        return bytes.fromhex(value[2:]).rjust(32, b"\0")
    if kind == "bool":
        if not isinstance(value, bool):
            raise invalid(path, "type", "must be true or false")
        return int(value).to_bytes(32)
    if kind == "string":
        try:
            return keccak256(value.encode())
        except (AttributeError, UnicodeEncodeError):
            raise invalid(path, "type", "must be text that UTF-8 can encode") from None
    return _encode_bytes(kind, value, path) if kind.startswith("bytes") else _encode_number(kind, value, path)


def _hash_struct(name: str, types: _Types, fields: Iterable[bytes]) -> bytes:
    return keccak256(keccak256(encode_type(name, types).encode()) + b"".join(fields))


def _encode_number(kind: str, value: object, path: str) -> bytes:
    signed, size = kind[0] == "i", int(kind.lstrip("uint"))
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
    if isinstance(value, str) and re.fullmatch(_DECIMAL, value):  # wallets write large numbers as texts
        number = int(value)
    # wallet libraries write chainId as a hexadecimal text
    elif isinstance(value, str) and re.fullmatch(_HEX_NUMBER, value):
        number = int(value, 16)
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        number = int(value.__index__())
    else:
        raise invalid(path, "type", "must be a whole number, as an int, or as decimal or 0x hex text")
    if not low <= number <= high:
        raise invalid(path, "range", f"does not fit into {kind}")
    return number.to_bytes(32, signed=signed)


def _encode_bytes(kind: str, value: object, path: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, str) and re.fullmatch(_HEX, value):
        raw = bytes.fromhex(value[2:])
    else:
        raise invalid(path, "type", "must be bytes, or hex text that begins with 0x")
    if kind == "bytes":
        return keccak256(raw)
    if len(raw) != int(kind[5:]):
        raise invalid(path, "length", f"has {len(raw)} bytes; {kind[5:]} are needed")
    return raw.ljust(32, b"\0")


_ADMIN_FIELDS = {"user": "address", "asset": "address", "amount": "uint256", "recipient": "address", "nonce": "uint256"}
_SERVICE_FIELDS = {"user": "address", "collateral": "address", **_ADMIN_FIELDS, "expiresAt": "uint256"}
_SOLANA_CHAIN_ID = 900  # assumed: public examples sign with 900 on the test networks as well


def withdraw_typed_data(
    *, chain_id: int, proxy: str, user: str, asset: str, amount: int, recipient: str, nonce: int, salt: BytesLike
) -> dict[str, Any]:
    """Return the message that an admin of an EVM contract signs, as JSON values for any wallet.

    Args:
        proxy: The contract's proxyAddress, which is the verifying contract.
        user: Address of the admin who signs.
        amount: Amount in the token's native units.
        nonce: Value of the proxy's `adminNonce()`.
        salt: 32 random bytes chosen by the admin, as bytes, hex or base64. The service's salt is a different value.
    """
    message = {"user": user, "asset": asset, "amount": amount, "recipient": recipient, "nonce": nonce}
    return _typed_data("Collateral", chain_id, ("proxy", proxy), salt, _ADMIN_FIELDS, message)


def coordinator_typed_data(
    *,
    chain_id: int,
    controller: str,
    user: str,
    collateral: str,
    asset: str,
    amount: int,
    recipient: str,
    nonce: int,
    expires_at: int | datetime,
    salt: BytesLike,
) -> dict[str, Any]:
    """Return the message that the service signs for an EVM contract.

    Args:
        controller: The contract's controllerAddress, which is the verifying contract.
        user: Address of the admin for whom the withdrawal was requested.
        collateral: The contract's proxyAddress.
        amount: Amount in the token's native units.
        nonce: Value of the proxy's `adminNonce()`.
        expires_at: Expiry in Unix seconds, or as an aware datetime.
        salt: The service's salt from its answer.
    """
    message = {
        "user": user,
        "collateral": collateral,
        "asset": asset,
        "amount": amount,
        "recipient": recipient,
        "nonce": nonce,
        "expiresAt": read_unix_seconds(expires_at, "expiresAt"),
    }
    # The verifying contract is assumed: coordinator_verifying_contract
    return _typed_data("Coordinator", chain_id, ("controller", controller), salt, _SERVICE_FIELDS, message)


def _typed_data(
    name: str,
    chain_id: int,
    verifier: tuple[str, str],
    salt: BytesLike,
    fields: Mapping[str, str],
    values: dict[str, Any],
) -> dict[str, Any]:
    chain = chain_of(chain_id)
    if chain.family is not Family.EVM:
        raise invalid("chainId", "family", f"is {chain}; typed data is for EVM chains")
    domain = {
        "name": name,
        "version": "2",
        "chainId": chain.id,
        "verifyingContract": require_evm_address(verifier[1], path=verifier[0]),
        "salt": "0x" + read_bytes(salt, 32, "salt").hex(),
    }
    message = {
        field: require_evm_address(values[field], field)
        if kind == "address"
        # Written as text, because JSON parsers of wallets lose digits of numbers beyond 2**53.
        else str(read_unsigned(values[field], field, minimum=1 if field == "amount" else 0))
        for field, kind in fields.items()
    }
    types = {
        struct: [{"name": field, "type": kind} for field, kind in members.items()]
        for struct, members in (("EIP712Domain", DOMAIN_FIELDS), ("Withdraw", fields))
    }
    return {"types": types, "primaryType": "Withdraw", "domain": domain, "message": message}


def solana_message(
    *,
    chain_id: int,
    controller: str,
    proxy: str,
    user: str,
    asset: str,
    amount: int,
    recipient: str,
    nonce: int,
    expires_at: int | datetime,
    salt: BytesLike,
) -> bytes:
    """Return the 32 bytes that the service signs for a Solana contract. Arguments mean the same as for EVM contracts.

    The message is EIP-712 over packed values. Addresses have 32 bytes, and integers are big-endian in the width that
    Solana programs use.
    assumed: withdrawal_solana_message
    """
    if chain_of(chain_id).family is not Family.SOLANA:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Solana chain")
    types = {"EIP712Domain": DOMAIN_FIELDS, "Withdraw": _SERVICE_FIELDS}
    domain = (
        keccak256(b"Coordinator"),
        keccak256(b"2"),
        _SOLANA_CHAIN_ID.to_bytes(8),
        _solana_key(controller, "controller"),
        read_bytes(salt, 32, "salt"),
    )
    message = (
        _solana_key(user, "user"),
        _solana_key(proxy, "proxy"),
        _solana_key(asset, "asset"),
        read_unsigned(amount, "amount", bits=64, minimum=1).to_bytes(8),
        _solana_key(recipient, "recipient"),
        read_unsigned(nonce, "nonce", bits=32).to_bytes(4),
        read_unix_seconds(expires_at, "expiresAt").to_bytes(8),
    )
    return keccak256(
        b"\x19\x01" + _hash_struct("EIP712Domain", types, domain) + _hash_struct("Withdraw", types, message)
    )


def stellar_message(
    *,
    chain_id: int,
    proxy: str,
    user: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: BytesLike,
) -> bytes:
    """Return the 32 bytes that the sandbox signs for a Stellar contract.

    Real signatures sign another message, which is not public.
    """
    if chain_of(chain_id).family is not Family.STELLAR:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Stellar chain")
    # assumed: SHA-256, the hash of Stellar networks, over chain, parties, numbers (big-endian as in XDR) and salt.
    return hashlib.sha256(
        b"Coordinator:Withdraw"
        + chain_id.to_bytes(8)
        + _stellar_key(proxy, "proxy")
        + _stellar_key(user, "user")
        + _stellar_key(asset, "asset")
        + read_unsigned(amount, "amount", bits=127, minimum=1).to_bytes(16)
        + _stellar_key(recipient, "recipient")
        + read_unix_seconds(expires_at, "expiresAt").to_bytes(8)
        + read_bytes(salt, 32, "salt")
    ).digest()


def _solana_key(address: str, path: str) -> bytes:
    return base58_decode(require_address(address, Family.SOLANA, path))


def _stellar_key(address: str, path: str) -> bytes:
    kind, payload = strkey_decode(require_address(address, Family.STELLAR, path))
    return kind.encode() + payload
