"""EIP-712 typed data: what a wallet shows before it signs, and the digest that is signed.

General over structs, arrays and the atomic types, and strict: a value that does not fit its type exactly is refused, never
padded or cut. Source: EIP-712.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.chains.encodings import keccak256
from workbench.chains.values import invalid
from workbench.errors import hide_arguments

DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}

_Types = dict[str, dict[str, str]]  # the types of a struct's members

_ARRAY = re.compile(r"(.+)\[(\d{0,9})\]")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SIZED = re.compile(r"(bytes|u?int)([1-9]\d{0,2})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,77})")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ATOMIC = frozenset({"address", "bool", "string", "bytes"})
_MAX_DEPTH = 32
_MAX_TYPES = 64


@hide_arguments
def digest(typed_data: Mapping[str, Any]) -> bytes:
    """Return the 32 bytes that are signed for typed data.

    Raises:
        InvalidRequest: Something in it is missing, unknown, or does not fit its type exactly.
    """
    try:
        declared, primary, domain = typed_data["types"], typed_data["primaryType"], typed_data["domain"]
    except (KeyError, TypeError):
        raise invalid("", "required", "typed data needs types, primaryType, domain and message") from None
    if not isinstance(declared, Mapping) or not isinstance(domain, Mapping) or not isinstance(primary, str):
        raise invalid("", "type", "types and domain of typed data must be objects, and primaryType text")
    own = [{"name": name, "type": kind} for name, kind in DOMAIN_FIELDS.items() if name in domain]
    types = _checked({"EIP712Domain": own, **declared})
    signed = b"\x19\x01" + _encode("EIP712Domain", domain, types, "domain")
    if primary != "EIP712Domain":
        if primary not in types:
            raise invalid("primaryType", "unknown", "is not among the types")
        signed += _encode(primary, typed_data.get("message"), types, "message")
    return keccak256(signed)


def encode_type(name: str, types: Mapping[str, Mapping[str, str]]) -> str:
    """Return a struct type and those it refers to, as EIP-712 hashes them: itself first, the rest by name."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        known = waiting.pop()
        if known not in found:
            found.add(known)
            waiting += [base for kind in types[known].values() if (base := kind.partition("[")[0]) in types]
    order = (name, *sorted(found - {name}))
    return "".join(f"{one}({','.join(f'{kind} {member}' for member, kind in types[one].items())})" for one in order)


def _checked(declared: Mapping[str, Any]) -> _Types:
    """Check the declared types, and return the members of each."""
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
        if not all(_NAME.fullmatch(text) for text in (name, *(member for member, _ in pairs))):
            raise invalid("types", "pattern", "names of types and members must be identifiers")
        types[name] = dict(pairs)
        if len(types[name]) != len(pairs) or name in _ATOMIC or _SIZED.fullmatch(name):
            raise invalid("types", "unique", "must declare a member once, and no type named like one of EIP-712's own")
    for kind in {kind for members in types.values() for kind in members.values()}:
        _check_kind(kind, types)
    if any(DOMAIN_FIELDS.get(name) != kind for name, kind in types["EIP712Domain"].items()):
        raise invalid("types.EIP712Domain", "unknown", "has a member that EIP-712 does not know, or of another type")
    return types


def _check_kind(kind: str, types: _Types) -> None:
    if len(kind) > 256:
        raise invalid("types", "type", "has a member whose type has over 256 characters")
    while array := _ARRAY.fullmatch(kind):
        kind = array[1]
    sized = _SIZED.fullmatch(kind)
    size = int(sized[2]) if sized else 0
    fits = sized and (size <= 32 if sized[1] == "bytes" else size % 8 == 0 and size <= 256)
    if not fits and kind not in types and kind not in _ATOMIC:
        raise invalid("types", "type", "has a member of a type that neither EIP-712 nor this message declares")


def _encode(kind: str, value: Any, types: _Types, path: str, depth: int = 0) -> bytes:
    """Return the 32 bytes of a value; its type was checked before."""
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
        words = [_encode(inner, value[name], types, f"{path}.{name}", depth + 1) for name, inner in members.items()]
        return keccak256(keccak256(encode_type(kind, types).encode()) + b"".join(words))
    if array := _ARRAY.fullmatch(kind):
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise invalid(path, "type", "must be a list")
        if array[2] and len(value) != int(array[2]):
            raise invalid(path, "length", f"has {len(value)} items; {int(array[2])} are needed")
        return keccak256(
            b"".join(_encode(array[1], one, types, f"{path}[{i}]", depth + 1) for i, one in enumerate(value))
        )
    if kind == "address":
        if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
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


def _encode_number(kind: str, value: Any, path: str) -> bytes:
    signed, size = kind[0] == "i", int(kind.lstrip("uint"))
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):  # as wallets' JSON writes large ones
        number = int(value)
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        number = int(value.__index__())
    else:
        raise invalid(path, "type", "must be a whole number, as an int or as decimal text")
    if not low <= number <= high:
        raise invalid(path, "range", f"does not fit into {kind}")
    return number.to_bytes(32, signed=signed)


def _encode_bytes(kind: str, value: Any, path: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, str) and _HEX.fullmatch(value):
        raw = bytes.fromhex(value[2:])
    else:
        raise invalid(path, "type", "must be bytes, or hex text that begins with 0x")
    if kind == "bytes":
        return keccak256(raw)
    if len(raw) != int(kind[5:]):
        raise invalid(path, "length", f"has {len(raw)} bytes; {kind[5:]} are needed")
    return raw.ljust(32, b"\0")
