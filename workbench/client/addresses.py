"""Addresses in a request: mistyped ones are refused, those without a checksum are warned of."""

import re
from collections.abc import Iterator
from typing import Any

from workbench import chains
from workbench.errors import InvalidRequest, Problem
from workbench.interface.rules import CHAIN_ADDRESS, EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET
from workbench.interface.walk import is_record, members

_PATTERNS = {str(rule.pattern) for rule in (CHAIN_ADDRESS, EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET)}


def address_problems(request: Any) -> tuple[Problem, ...]:
    """Return the addresses of a request with a wrong checksum, of another chain's family, or of zero bytes.

    What breaks the interface's own pattern is left to its rules.
    """
    return tuple(
        problem for path, name, value, chain in _addresses(request, "") for problem in _check(path, name, value, chain)
    )


def address_warnings(request: Any) -> tuple[Problem, ...]:
    """Return the addresses of a request in which a mistyped character cannot be detected."""
    return tuple(
        Problem(path, "no_checksum", "has no checksum, so a mistyped character cannot be detected")
        for path, _, value, _ in _addresses(request, "")
        if not chains.has_checksum(value)
    )


def _addresses(record: Any, prefix: str) -> Iterator[tuple[str, str, str, int | None]]:
    """Yield the wire path, the name, the value and the chain of each address."""
    chain = getattr(record, "chain_id", None)
    for one in members(type(record)):
        value, path = getattr(record, one.name), prefix + one.wire
        pattern = str(one.about.rule.pattern)
        for item in value if isinstance(value, list | tuple) else (value,):
            if is_record(item):
                yield from _addresses(item, f"{path}.")
            elif isinstance(item, str) and pattern in _PATTERNS and re.fullmatch(pattern, item):
                yield path, one.name, item, chain if type(chain) is int else None


def _check(path: str, name: str, value: str, chain: int | None) -> Iterator[Problem]:
    try:
        found = chains.address_problems(value, chain)
    except InvalidRequest:  # the chain id breaks a rule of its own
        found = chains.address_problems(value)
    texts = [str(problem) for problem in found]
    if not texts and name != "token" and chains.is_zero_address(value):  # on Solana the native token may be written so
        texts = ["is the zero address, which nobody holds"]
    for text in texts:
        yield Problem(path, "unverified_address", f"{text}; allowing(unverified_address=True) sends it")
