"""Random withdrawals for tests that compare with another library. The same seed gives the same withdrawals."""

import random
from dataclasses import dataclass
from typing import Any

from workbench.service.chains import eip55
from workbench.service.chains.values import derive_secret

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass
class Chance:
    """A source of random addresses, amounts, keys and withdrawals."""

    source: random.Random

    def address(self) -> str:
        return eip55("0x" + self.source.randbytes(20).hex())

    def secret(self) -> bytes:
        return derive_secret(self.source.randbytes(16), "test")

    def amount(self) -> int:
        return self.source.randrange(1, 1 << self.source.randrange(1, 257))

    def moment(self) -> int:
        return self.source.randrange(1_600_000_000, 2_000_000_000)

    def withdrawal(self) -> dict[str, Any]:
        return {
            "chain_id": self.source.choice([1, 137, 43113, 80002, 84532, 11155111]),
            "proxy": self.address(),
            "user": self.address(),
            "asset": self.address(),
            "amount": self.amount(),
            "recipient": self.address(),
            "nonce": self.source.randrange(1 << self.source.randrange(1, 257)),
            "salt": self.source.randbytes(32),
        }

    def call(self, version: int) -> dict[str, Any]:
        from workbench.service.chains import sign

        def signature() -> bytes:
            return sign(self.source.randbytes(32), self.secret())

        admins = self.source.randrange(1, 4) if version == 2 else 0
        return {
            "version": version,
            "proxy": self.address(),
            "asset": self.address(),
            "amount": self.amount(),
            "recipient": self.address(),
            "expires_at": self.moment(),
            "salt": self.source.randbytes(32),
            "signature": signature(),
            "admin_salts": tuple(self.source.randbytes(32) for _ in range(admins)),
            "admin_signatures": tuple(signature() for _ in range(admins)),
            "direct_transfer": self.source.random() < 0.5 if version == 2 else None,
        }


def chance(seed: int) -> Chance:
    return Chance(random.Random(seed))
