"""The ABI of Solidity, as far as a withdrawal's call needs it, and strict: only the canonical encoding is read."""

from collections.abc import Sequence
from typing import Any

from workbench.chains.encodings import keccak256

_WORD = 32


def selector(signature: str) -> bytes:
    """Return the first four bytes of a call: those of the hash of the function's signature."""
    return keccak256(signature.encode())[:4]


def encode(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """Return the encoded arguments of a call."""
    head, tail = [], b""
    for kind, value in zip(types, values, strict=True):
        if kind == "bytes" or kind.endswith("[]"):
            head.append((_WORD * len(types) + len(tail)).to_bytes(_WORD))
            padded = bytes(value) + b"\0" * (-len(value) % _WORD) if kind == "bytes" else b""
            tail += len(value).to_bytes(_WORD) + (padded or encode([kind[:-2]] * len(value), value))
        elif kind == "address":
            head.append(bytes.fromhex(value[2:]).rjust(_WORD, b"\0"))
        else:
            head.append(value if kind == "bytes32" else int(value).to_bytes(_WORD))
    return b"".join(head) + tail


def decode(types: Sequence[str], data: bytes) -> list[Any]:
    """Return the arguments of a call.

    Raises:
        ValueError: They are not encoded exactly as `encode` does.
    """
    values, _ = _decode(types, memoryview(data))
    # each part was read from where the one before ended, so a wrong offset, length or padding shows here
    if encode(types, values) != data:
        raise ValueError("not encoded canonically")
    return values


def _decode(types: Sequence[str], data: memoryview) -> tuple[list[Any], int]:
    """Return the values and how many bytes they took."""
    values: list[Any] = []
    end = _WORD * len(types)
    for index, kind in enumerate(types):
        word = _slice(data, _WORD * index, _WORD)
        if kind == "bytes" or kind.endswith("[]"):  # then the word is the offset, which is compared and not followed
            size = int.from_bytes(_slice(data, end, _WORD))
            end += _WORD
            if kind == "bytes":
                values.append(_slice(data, end, size))
                end += size + -size % _WORD
            elif size > len(data) // _WORD:
                raise ValueError("a list longer than the call itself")
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


def _slice(data: memoryview, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise ValueError("an offset or a length beyond the end")
    return bytes(data[start : start + size])
