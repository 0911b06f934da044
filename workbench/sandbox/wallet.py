"""A teaching wallet: it signs an admin's half of a withdrawal with a throw-away key of the sandbox. No real wallet's key."""

from collections.abc import Mapping
from typing import Any, Protocol

from workbench.chains import refuse_private_key


class Keeper(Protocol):
    """The control that keeps the key: an embedded sandbox, or the control of a served one."""

    def wallet_address(self, admin: str) -> Mapping[str, str]:
        """Return the address of an admin's teaching wallet."""

    def wallet_sign(self, admin: str, typed_data: Mapping[str, Any]) -> Mapping[str, str]:
        """Sign typed data as an admin."""


class TeachingWallet:
    """Stands for an admin's own wallet in lessons. `sign` takes EIP-712 typed data and gives the signature as 0x hex."""

    note = (
        "A teaching wallet of the sandbox. It holds a throw-away key made from the seed, never that of a real wallet."
    )

    def __init__(self, keeper: Keeper, admin: str) -> None:
        refuse_private_key(admin, "admin")
        self._keeper = keeper
        self.address = keeper.wallet_address(admin=admin)["address"]

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        """Sign EIP-712 typed data as the admin."""
        return self._keeper.wallet_sign(admin=self.address, typed_data=typed_data)["signature"]

    def __repr__(self) -> str:
        # refused while it was made, it has no address, and is printed by a traceback with locals
        return f"<teaching wallet {getattr(self, 'address', 'of nobody')}, sandbox only>"
