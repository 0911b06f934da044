"""Records to DataFrames that can be trusted: typed, exact, masked, with what is to be known of them in `attrs`.

`frame` makes tables, `save` exports them, `load_bodies` reads rows for bulk work, `read_rewards` and `read_events` read
at any size. Names are loaded when first used, since pandas takes more than a second.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    "Body": "bodies", "load_bodies": "bodies", "typed": "bodies",
    "ClusterRewards": "cluster",
    "contract_totals": "contracts", "contract_values": "contracts",
    "added": "decimals", "cumulated": "decimals", "divided": "decimals", "floats": "decimals", "grouped": "decimals",
    "mean": "decimals", "multiplied": "decimals", "quantile": "decimals", "resampled": "decimals", "subtracted": "decimals",
    "total": "decimals",
    "describe": "described",
    "Events": "event_logs", "read_events": "event_logs",
    "Saved": "exports", "file_name": "exports", "save": "exports",
    "frame": "frames", "register": "frames",
    "micro_deposits": "histories", "reasons": "histories", "status_history": "histories", "time_in_status": "histories",
    "Progress": "progress",
    "Rewards": "reads", "read_rewards": "reads",
    "rewards_from_pages": "rewards_frames",
}  # fmt: skip
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
