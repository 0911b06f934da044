"""Records to DataFrames that can be trusted: typed, exact, masked, with what is to be known of them in `attrs`.

`frame` makes tables, `save` exports them, `load_bodies` reads rows for bulk work, `read_rewards` and `read_events` read
at any size. Names are loaded when first used, since pandas takes more than a second.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    "Saved": "exports", "file_name": "exports", "save": "exports",
    "Body": "bodies", "load_bodies": "bodies", "typed": "bodies",
    "cumulated": "decimals", "floats": "decimals", "grouped": "decimals", "mean": "decimals", "multiplied": "decimals",
    "resampled": "decimals", "total": "decimals", "rewards_from_pages": "rewards_pages",
    "frame": "frames", "register": "frames",
}  # fmt: skip
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
