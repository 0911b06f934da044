"""`workbench chart …`: a chart of what the sandbox or a service holds, as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from workbench.errors import visible
from workbench.terminal.exits import DONE, say, usage_error
from workbench.terminal.where import Where, session

_WHERE = Where()
_ENDINGS = (".svg", ".png", ".pdf")


def _rewards(api: Any, users: tuple[str, ...]) -> Any:
    from workbench.tables.rewards import read

    if not users:
        users = tuple(user["id"] for user in api.guide()["rewards_users"] if not user.get("beyond_paging"))
    return read(api, users, progress=False)


def _transactions(api: Any, _: tuple[str, ...]) -> Any:
    return [event for event in api.inbox.events() if event.resource == "transaction"]


_DATA: dict[str, tuple[str, Callable[[Any, tuple[str, ...]], Any]]] = {
    "points": ("points_chart", _rewards),
    "categories": ("categories_chart", _rewards),
    "merchants": ("merchants_chart", _rewards),
    "points-per-dollar": ("points_per_dollar_chart", _rewards),
    "posting": ("posting_chart", _rewards),
    "collateral": ("collateral_chart", lambda api, _: api.list_contracts()),
    "declines": ("declines_chart", _transactions),
    "applications": ("funnel_chart", lambda api, _: api.inbox.events("user.updated")),
    "deliveries": ("deliveries_chart", lambda api, _: api.sandbox.deliveries()),
}
_Kind: Any = Literal[tuple(_DATA)]


def chart(kind: _Kind, *users: str, out: Path, where: Where = _WHERE) -> int:
    """Draw a chart into a file.

    Args:
        kind: What to draw.
        users: Ids of the users, for charts of rewards; the sandbox's own if omitted.
        out: File to write: .svg, .png or .pdf.
    """
    if out.suffix not in _ENDINGS:
        raise usage_error(
            f"--out: unsupported file extension {visible(out.suffix, 20)!r} (supported: {', '.join(_ENDINGS)})."
        )
    from workbench import charts

    name, read = _DATA[kind]
    with session(where) as api:
        axes = getattr(charts, name)(read(api, users))
    axes.figure.savefig(out, bbox_inches="tight")
    say(f"Wrote {visible(str(out), 200)}.")
    return DONE
