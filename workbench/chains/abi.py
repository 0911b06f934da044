"""The ABI of Solidity, as far as a withdrawal's call needs it, and strict.

Reading takes each part from where the one before it ended, so no byte is read twice; what was read is then written again
and has to give the same bytes. So a wrong offset, a wrong length, dirty padding or anything after the end is refused.
"""

from collections.abc import Sequence
from typing import Any

from workbench.chains.hashes import keccak256

_WORD = 32


def selector(signature: str) -> bytes:
    """Return the first four bytes of a call: those of the hash of the function's signature."""
    return keccak256(signature.encode())[:4]


def encode(kinds: Sequence[str], values: Sequence[Any]) -> bytes:
    """Write the arguments of a call."""
    head, tail = [], b""
    for kind, value in zip(kinds, values, strict=True):
        if _dynamic(kind):
            head.append((_WORD * len(kinds) + len(tail)).to_bytes(_WORD))
            tail += _tail(kind, value)
        else:
            head.append(_static(kind, value))
    return b"".join(head) + tail


def decode(kinds: Sequence[str], data: bytes) -> list[Any]:
    """Read the arguments of a call.

    Raises:
        ValueError: They are not exactly what `encode` writes.
    """
    values, _ = _decode(kinds, memoryview(data))
    if encode(kinds, values) != data:
        raise ValueError("not in the one form in which it is written")
    return values


def _decode(kinds: Sequence[str], data: memoryview) -> tuple[list[Any], int]:
    """Return the values and how many bytes they took."""
    values = []
    end = _WORD * len(kinds)
    for index, kind in enumerate(kinds):
        word = _slice(data, _WORD * index, _WORD)
        if _dynamic(kind):  # then the word is the offset, which is not followed but has to be the one written again
            value, size = _read_tail(kind, data[end:])
            end += size
        else:
            value = _read_static(kind, word)
        values.append(value)
    return values, end


def _dynamic(kind: str) -> bool:
    return kind == "bytes" or kind.endswith("[]")


def _static(kind: str, value: Any) -> bytes:
    if kind == "address":
        return bytes.fromhex(value[2:]).rjust(_WORD, b"\0")
    if kind == "bytes32":
        return bytes(value)
    if kind in {"uint256", "bool"}:
        return int(value).to_bytes(_WORD)
    raise ValueError(f"the type {kind} is not one of a withdrawal")


def _tail(kind: str, value: Any) -> bytes:
    size = len(value).to_bytes(_WORD)
    if kind == "bytes":
        return size + bytes(value) + b"\0" * (-len(value) % _WORD)
    return size + encode([kind[:-2]] * len(value), value)


def _read_static(kind: str, word: bytes) -> Any:
    if kind == "address":
        return "0x" + word[12:].hex()
    if kind == "bytes32":
        return word
    number = int.from_bytes(word)
    return number if kind == "uint256" else number == 1


def _read_tail(kind: str, data: memoryview) -> tuple[Any, int]:
    size = int.from_bytes(_slice(data, 0, _WORD))
    if kind == "bytes":
        return _slice(data, _WORD, size), _WORD + size + -size % _WORD
    if size > len(data) // _WORD:
        raise ValueError("a list longer than the call itself")
    values, end = _decode([kind[:-2]] * size, data[_WORD:])
    return values, _WORD + end


def _slice(data: memoryview, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise ValueError("an offset or a length beyond the end")
    return bytes(data[start : start + size])
