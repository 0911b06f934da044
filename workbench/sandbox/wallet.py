"""A teaching wallet: it signs an admin's half of a withdrawal with a throw-away key of the sandbox. No real wallet's key."""

from collections.abc import Callable, Mapping
from typing import Any


class TeachingWallet:
    """Stands for an admin's own wallet in lessons. `sign` takes EIP-712 typed data and gives the signature as 0x hex."""

    note = (
        "A teaching wallet of the sandbox. It holds a throw-away key made from the seed, never that of a real wallet."
    )

    def __init__(self, sign: Callable[[str, Mapping[str, Any]], Mapping[str, str]], address: str) -> None:
        self._sign = sign
        self.address = address

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        """Sign EIP-712 typed data as the admin."""
        return self._sign(self.address, typed_data)["signature"]

    def __repr__(self) -> str:
        return f"<teaching wallet {self.address}, sandbox only>"
