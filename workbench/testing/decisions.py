"""Decisions of a universe, the lines of its story, and broken invariants.

Every decision has a name, such as "call simulate_refund 1", and a number. The number 0 means that nothing goes wrong.
The nonzero decisions suffice to rerun the universe and to make it smaller.
"""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

import attrs

Numbers = Mapping[str, int]
"""Chosen numbers by decision, or counts by what happened."""


@attrs.define
class Decisions:
    """Decisions of a universe by name.

    Args:
        seed: Seed of the random decisions. With None, no decision is random.
        fixed: Number of each decision by name, if `seed` is None; 0 for any other decision.
    """

    seed: str | None = None
    fixed: Mapping[str, int] = {}
    taken: dict[str, int] = attrs.field(factory=dict)
    scale: float = 1.0  # factor for fault probabilities, which depends on the seed

    def __attrs_post_init__(self) -> None:
        if self.seed is not None:
            self.scale = (0.4, 1.0, 1.0, 2.5)[hashlib.blake2b(self.seed.encode(), digest_size=1).digest()[0] % 4]

    def choose(self, name: str, options: int, probability: float) -> int:
        """Return a decision's number, below `options`. A random number differs from 0 with the scaled probability."""
        number = self.fixed.get(name, 0) % options
        if self.seed is not None:
            drawn = hashlib.blake2b(name.encode(), key=self.seed.encode()[:64], digest_size=8).digest()
            likely = int.from_bytes(drawn[:4], "big") < probability * self.scale * 2**32
            number = 1 + int.from_bytes(drawn[4:], "big") % (options - 1) if likely else 0
        if number:
            self.taken[name] = number
        return number


@attrs.frozen
class Moment:
    """A line of the story: seconds since the start, topic (such as "call" or "crash"), and description."""

    at: float
    kind: str
    text: str

    def __str__(self) -> str:
        days, time = int(self.at // 86_400), f"{datetime.fromtimestamp(self.at, UTC):%H:%M:%S.%f}"[:-3]
        return f"{f'{days}d ' if days else ''}{time}  {self.kind:<8} {self.text}"


@attrs.frozen
class Breach:
    """A broken invariant and its evidence."""

    invariant: str
    found: str
