"""EIP-712 typed data: what a wallet shows before it signs, and the digest that is signed.

General over structs, arrays and the atomic types, and strict: a value that does not fit its type exactly is refused, never
padded or cut. The types are compiled once and kept, since most messages share theirs. Source: EIP-712.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from workbench.chains.byte_forms import invalid
from workbench.chains.hashes import keccak256
from workbench.errors import hide_arguments

DOMAIN_FIELDS = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
    "salt": "bytes32",
}

_Declared = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
_Encoder = Callable[[Any, str, int], bytes]  # value, where it stands, how deep: 32 bytes

_ARRAY = re.compile(r"(.+)\[(\d{0,9})\]")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SIZED = re.compile(r"(bytes|u?int)([1-9]\d{0,2})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,77})")
_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_DEEPEST = 32
_MOST_TYPES = 64


@hide_arguments
def digest(typed_data: Mapping[str, Any]) -> bytes:
    """Return the 32 bytes that are signed for typed data.

    Raises:
        InvalidRequest: Something in it is missing, unknown, or does not fit its type exactly.
    """
    try:
        types, primary, domain = typed_data["types"], typed_data["primaryType"], typed_data["domain"]
    except (KeyError, TypeError):
        raise invalid("", "required", "typed data has types, primaryType, domain and message") from None
    if not isinstance(types, Mapping) or not isinstance(domain, Mapping) or not isinstance(primary, str):
        raise invalid("", "type", "types and domain of typed data are objects, and primaryType is text")
    declared = _declared(types)
    if "EIP712Domain" not in types:
        declared += (("EIP712Domain", tuple((n, k) for n, k in DOMAIN_FIELDS.items() if n in domain)),)
    encoders = _compiled(declared)
    signed = b"\x19\x01" + encoders["EIP712Domain"](domain, "domain", 0)
    if primary != "EIP712Domain":
        if primary not in encoders:
            raise invalid("primaryType", "unknown", "is not among the types")
        signed += encoders[primary](typed_data.get("message"), "message", 0)
    return keccak256(signed)


def encode_type(name: str, types: Mapping[str, Sequence[Mapping[str, str]]]) -> str:
    """Write a struct type and those it refers to, as EIP-712 hashes them: itself first, the rest by name."""
    return _written(name, dict(_declared(types)))


def _declared(types: Mapping[str, Any]) -> _Declared:
    """Put the types into a form that can be a key."""
    try:
        return tuple(
            [(name, tuple([(member["name"], member["type"]) for member in members])) for name, members in types.items()]
        )
    except (TypeError, KeyError):
        raise invalid("types", "type", "each type is a list of members with a name and a type") from None


def _compiled(declared: _Declared) -> dict[str, _Encoder]:
    try:
        return _compile(declared)
    except TypeError:  # not hashable
        raise invalid("types", "type", "names and types of members are text") from None


@lru_cache(maxsize=64)
def _compile(declared: _Declared) -> dict[str, _Encoder]:
    """Check the types and make an encoder for each."""
    types = dict(declared)
    if len(types) > _MOST_TYPES:
        raise invalid("types", "maximum", f"has more than {_MOST_TYPES} types")
    for name, members in declared:
        _check(name, members)
    if any(DOMAIN_FIELDS.get(name) != kind for name, kind in types["EIP712Domain"]):
        raise invalid("types.EIP712Domain", "unknown", "has a member that EIP-712 does not know, or of another type")
    encoders: dict[str, _Encoder] = {}
    for name, members in declared:
        fields = tuple((member, _encoder(kind, types, encoders)) for member, kind in members)
        encoders[name] = _struct(keccak256(_written(name, types).encode()), fields)
    return encoders


def _check(name: object, members: tuple[tuple[object, object], ...]) -> None:
    names = [member for member, _ in members]
    if not all(isinstance(text, str) and _NAME.fullmatch(text) for text in (name, *names)):
        raise invalid("types", "pattern", "names of types and members are identifiers")
    if len(set(names)) != len(names) or name in _ATOMIC or _SIZED.fullmatch(str(name)):
        raise invalid("types", "unique", "a member is declared once, and a type is not named like one of EIP-712's own")
    if not all(isinstance(kind, str) and len(kind) <= 256 for _, kind in members):
        raise invalid("types", "type", "the type of a member is text of at most 256 characters")


def _written(name: str, types: Mapping[str, tuple[tuple[str, str], ...]]) -> str:
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        known = waiting.pop()
        if known not in found:
            found[known] = None
            waiting += [base for _, kind in types[known] if (base := kind.partition("[")[0]) in types]
    order = (name, *sorted(found.keys() - {name}))
    return "".join(f"{known}({','.join(f'{kind} {member}' for member, kind in types[known])})" for known in order)


def _encoder(kind: str, types: Mapping[str, Any], encoders: Mapping[str, _Encoder]) -> _Encoder:
    if kind in types:
        # looked up late: a type may refer to itself
        return lambda value, path, depth: encoders[kind](value, path, depth)
    if kind in _ATOMIC:
        return _ATOMIC[kind]
    if array := _ARRAY.fullmatch(kind):
        return _array(_encoder(array[1], types, encoders), int(array[2]) if array[2] else None)
    sized = _SIZED.fullmatch(kind)
    size = int(sized[2]) if sized else 0
    if sized and sized[1] == "bytes" and size <= 32:
        return _fixed_bytes(size)
    if sized and sized[1] != "bytes" and size % 8 == 0 and size <= 256:
        return _number(kind, size, signed=sized[1] == "int")
    raise invalid("types", "type", "has a member of a type that neither EIP-712 nor this message declares")


def _struct(type_hash: bytes, fields: tuple[tuple[str, _Encoder], ...]) -> _Encoder:
    known = {name for name, _ in fields}

    def encode(value: Any, path: str, depth: int) -> bytes:
        if depth > _DEEPEST:
            raise invalid(path, "depth", f"is nested more than {_DEEPEST} levels deep")
        if not isinstance(value, Mapping):
            raise invalid(path, "type", "is an object")
        if missing := [name for name in known if name not in value]:
            raise invalid(f"{path}.{min(missing)}", "required", "is missing")
        if len(value) != len(known):
            raise invalid(path, "unknown", f"has {len(value) - len(known)} members that its type does not declare")
        words = [encoder(value[name], f"{path}.{name}", depth + 1) for name, encoder in fields]
        return keccak256(type_hash + b"".join(words))

    return encode


def _array(item: _Encoder, size: int | None) -> _Encoder:
    def encode(value: Any, path: str, depth: int) -> bytes:
        if depth > _DEEPEST:
            raise invalid(path, "depth", f"is nested more than {_DEEPEST} levels deep")
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
            raise invalid(path, "type", "is a list")
        if size is not None and len(value) != size:
            raise invalid(path, "length", f"has {len(value)} items; {size} are needed")
        return keccak256(b"".join([item(one, f"{path}[{index}]", depth + 1) for index, one in enumerate(value)]))

    return encode


def _number(kind: str, size: int, *, signed: bool) -> _Encoder:
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)

    def encode(value: Any, path: str, depth: int) -> bytes:
        if isinstance(value, str) and _DECIMAL.fullmatch(value):  # as wallets' JSON writes large ones
            number = int(value)
        elif not isinstance(value, bool) and hasattr(value, "__index__"):
            number = int(value.__index__())
        else:
            raise invalid(path, "type", "is a whole number, as an int or as decimal text")
        if not low <= number <= high:
            raise invalid(path, "range", f"does not fit into {kind}")
        return number.to_bytes(32, signed=signed)

    return encode


def _fixed_bytes(size: int) -> _Encoder:
    def encode(value: Any, path: str, depth: int) -> bytes:
        raw = _bytes(value, path)
        if len(raw) != size:
            raise invalid(path, "length", f"has {len(raw)} bytes; {size} are needed")
        return raw.ljust(32, b"\0")

    return encode


def _bytes(value: Any, path: str) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str) and _HEX.fullmatch(value):
        return bytes.fromhex(value[2:])
    raise invalid(path, "type", "is bytes, or hex text that begins with 0x")


def _string(value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, str):
        raise invalid(path, "type", "is text")
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise invalid(path, "type", "is text that UTF-8 cannot write") from None
    return _short(raw) if len(raw) <= 32 else keccak256(raw)


@lru_cache(maxsize=64)
def _short(text: bytes) -> bytes:
    """Hash a short text, such as the name and version of every domain, once."""
    return keccak256(text)


def _bool(value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, bool):
        raise invalid(path, "type", "is true or false")
    return int(value).to_bytes(32)


def _address(value: Any, path: str, depth: int) -> bytes:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise invalid(path, "type", "is an EVM address: 0x and 40 hex digits")
    return bytes(12) + bytes.fromhex(value[2:])


def _dynamic_bytes(value: Any, path: str, depth: int) -> bytes:
    return keccak256(_bytes(value, path))


_ATOMIC: dict[str, _Encoder] = {"address": _address, "bool": _bool, "string": _string, "bytes": _dynamic_bytes}
