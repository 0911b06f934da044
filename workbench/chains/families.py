"""Chains by their id, and the three families of addresses.

Chain ids of Solana and Stellar are the service's own (widely known, not in the interface document); any other id is
treated as an EVM chain.
"""

import operator
from enum import StrEnum

import attrs

from workbench.chains.values import invalid


class Family(StrEnum):
    """The form of a chain's addresses."""

    EVM = "EVM"
    SOLANA = "Solana"
    STELLAR = "Stellar"


@attrs.frozen(kw_only=True)
class Chain:
    """A chain: its id at the service, its name and family; `test` is None for an unknown chain."""

    id: int
    name: str
    family: Family
    test: bool | None

    def __str__(self) -> str:
        return f"{self.name} (chain {self.id})" if self.test is not None else self.name


_KNOWN = {
    number: Chain(id=number, name=name, family=family, test=test)
    for number, name, family, test in (
        (900, "Solana", Family.SOLANA, False),  # assumed: not in the document
        (901, "Solana devnet", Family.SOLANA, True),  # assumed: which of 901 and 902 is which test net
        (902, "Solana testnet", Family.SOLANA, True),  # assumed
        (1500, "Stellar", Family.STELLAR, False),  # assumed: not in the document
        (1501, "Stellar testnet", Family.STELLAR, True),  # assumed
        (1, "Ethereum", Family.EVM, False),
        (10, "OP Mainnet", Family.EVM, False),
        (56, "BNB Smart Chain", Family.EVM, False),
        (100, "Gnosis", Family.EVM, False),
        (137, "Polygon", Family.EVM, False),
        (8453, "Base", Family.EVM, False),
        (42161, "Arbitrum One", Family.EVM, False),
        (43114, "Avalanche C-Chain", Family.EVM, False),
        (43113, "Avalanche Fuji", Family.EVM, True),
        (80002, "Polygon Amoy", Family.EVM, True),
        (84532, "Base Sepolia", Family.EVM, True),
        (11155111, "Ethereum Sepolia", Family.EVM, True),
    )
}


def exact_chain_id(value: object, path: str = "chainId") -> int:
    """Read a chain id: a positive int. True (which is 1, the Ethereum main net), text and floats are refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise invalid(path, "type", "must be an int, such as 84532")
    number = operator.index(value)
    if number < 1:
        raise invalid(path, "minimum", "must be at least 1")
    if number >> 64:
        raise invalid(path, "maximum", "is too large for a chain id")
    return number


def chain_of(chain_id: int) -> Chain:
    """Return a chain by its id; an unknown one is an EVM chain named by its id."""
    number = exact_chain_id(chain_id)
    return _KNOWN.get(number) or Chain(id=number, name=f"EVM chain {number}", family=Family.EVM, test=None)


def family_of(chain_id: int) -> Family:
    """Return the family of a chain's addresses."""
    return chain_of(chain_id).family
