"""EIP-712 typed data: what a wallet shows before it signs, and the digest that is signed.

General over structs, arrays and the atomic types, and strict: a value that does not fit its type exactly is refused, never
padded or cut. Source: EIP-712.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
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

_Members = tuple[tuple[str, str], ...]  # name and type of each member
_Types = tuple[tuple[str, _Members], ...]  # hashable: checked once

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
        types, primary, domain = typed_data["types"], typed_data["primaryType"], typed_data["domain"]
    except (KeyError, TypeError):
        raise invalid("", "required", "typed data needs types, primaryType, domain and message") from None
    if not isinstance(types, Mapping) or not isinstance(domain, Mapping) or not isinstance(primary, str):
        raise invalid("", "type", "types and domain of typed data must be objects, and primaryType text")
    declared = _declared(types)
    if "EIP712Domain" not in types:
        declared += (("EIP712Domain", tuple((n, k) for n, k in DOMAIN_FIELDS.items() if n in domain)),)
    try:
        structs = _checked(declared)
    except TypeError:  # not hashable, so not text
        raise invalid("types", "type", "names and types of members must be text") from None
    signed = b"\x19\x01" + _encode("EIP712Domain", domain, structs, "domain", 0)
    if primary != "EIP712Domain":
        if primary not in structs:
            raise invalid("primaryType", "unknown", "is not among the types")
        signed += _encode(primary, typed_data.get("message"), structs, "message", 0)
    return keccak256(signed)


def encode_type(name: str, types: Mapping[str, Sequence[Mapping[str, str]]]) -> str:
    """Return a struct type and those it refers to, as EIP-712 hashes them: itself first, the rest by name."""
    return _type_text(name, dict(_declared(types)))


def _declared(types: Mapping[str, Any]) -> _Types:
    try:
        return tuple([(name, tuple([(m["name"], m["type"]) for m in members])) for name, members in types.items()])
    except (TypeError, KeyError):
        raise invalid("types", "type", "must be lists of members with a name and a type") from None


_Structs = dict[str, tuple[bytes, _Members]]  # the hash of the type, and its members


@lru_cache(maxsize=64)
def _checked(declared: _Types) -> _Structs:
    """Check the declared types, and hash each."""
    types = dict(declared)
    if len(types) > _MAX_TYPES:
        raise invalid("types", "maximum", f"has more than {_MAX_TYPES} types")
    for name, members in declared:
        names = [member for member, _ in members]
        if not all(isinstance(text, str) for text in (name, *names, *(kind for _, kind in members))):
            raise invalid("types", "type", "names and types of members must be text")
        if not all(_NAME.fullmatch(text) for text in (name, *names)):
            raise invalid("types", "pattern", "names of types and members must be identifiers")
        if len(set(names)) != len(names) or name in _ATOMIC or _SIZED.fullmatch(name):
            raise invalid("types", "unique", "must declare a member once, and no type named like one of EIP-712's own")
        for _, kind in members:
            _check_kind(kind, types)
    if any(DOMAIN_FIELDS.get(name) != kind for name, kind in types["EIP712Domain"]):
        raise invalid("types.EIP712Domain", "unknown", "has a member that EIP-712 does not know, or of another type")
    return {name: (keccak256(_type_text(name, types).encode()), members) for name, members in declared}


def _check_kind(kind: str, types: Mapping[str, Any]) -> None:
    if len(kind) > 256:
        raise invalid("types", "type", "has a member whose type has over 256 characters")
    while array := _ARRAY.fullmatch(kind):
        kind = array[1]
    sized = _SIZED.fullmatch(kind)
    size = int(sized[2]) if sized else 0
    fits = sized and (size <= 32 if sized[1] == "bytes" else size % 8 == 0 and size <= 256)
    if not fits and kind not in types and kind not in _ATOMIC:
        raise invalid("types", "type", "has a member of a type that neither EIP-712 nor this message declares")


def _type_text(name: str, types: Mapping[str, _Members]) -> str:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        known = waiting.pop()
        if known not in found:
            found.add(known)
            waiting += [base for _, kind in types[known] if (base := kind.partition("[")[0]) in types]
    order = (name, *sorted(found - {name}))
    return "".join(f"{known}({','.join(f'{kind} {member}' for member, kind in types[known])})" for known in order)


def _encode(kind: str, value: Any, structs: _Structs, path: str, depth: int) -> bytes:
    """Return the 32 bytes of a value; its type was checked before."""
    if kind in structs:
        return _encode_struct(structs[kind], value, structs, path, depth)
    if kind == "address":
        if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
            raise invalid(path, "type", "must be an EVM address: 0x and 40 hex digits")
        return bytes.fromhex(value[2:]).rjust(32, b"\0")
    if kind.endswith("]") and (array := _ARRAY.fullmatch(kind)):
        if depth > _MAX_DEPTH:
            raise invalid(path, "depth", f"is nested more than {_MAX_DEPTH} levels deep")
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise invalid(path, "type", "must be a list")
        if array[2] and len(value) != int(array[2]):
            raise invalid(path, "length", f"has {len(value)} items; {int(array[2])} are needed")
        words = [_encode(array[1], item, structs, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        return keccak256(b"".join(words))
    if kind == "bool":
        if not isinstance(value, bool):
            raise invalid(path, "type", "must be true or false")
        return int(value).to_bytes(32)
    if kind == "string":
        text = _utf8(value, path)
        return _hash_short(text) if len(text) <= 32 else keccak256(text)
    if kind.startswith("bytes"):
        return _encode_bytes(kind, value, path)
    return _encode_number(kind, value, path)


def _encode_struct(struct: tuple[bytes, _Members], value: Any, structs: _Structs, path: str, depth: int) -> bytes:
    type_hash, members = struct
    if depth > _MAX_DEPTH:
        raise invalid(path, "depth", f"is nested more than {_MAX_DEPTH} levels deep")
    if not isinstance(value, Mapping):
        raise invalid(path, "type", "must be an object")
    if missing := [name for name, _ in members if name not in value]:
        raise invalid(f"{path}.{min(missing)}", "required", "is missing")
    if len(value) != len(members):
        raise invalid(path, "unknown", f"has {len(value) - len(members)} members that its type does not declare")
    words = [_encode(kind, value[name], structs, f"{path}.{name}", depth + 1) for name, kind in members]
    return keccak256(type_hash + b"".join(words))


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


@lru_cache(maxsize=64)
def _hash_short(text: bytes) -> bytes:
    """Return the hash of a short text, such as the name and version of every domain."""
    return keccak256(text)


def _utf8(value: Any, path: str) -> bytes:
    if not isinstance(value, str):
        raise invalid(path, "type", "must be text")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise invalid(path, "type", "must be text that UTF-8 can encode") from None
