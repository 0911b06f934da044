"""A year of rewards, summed exactly and drawn."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workbench.demo.cast import Cast, first
from workbench.demo.stage import Stage
from workbench.rendering.layout import Cell


def _by_month(frame: Any) -> dict[str, dict[str, Decimal]]:
    months: dict[str, dict[str, Decimal]] = {}
    dated = frame[frame["created_at"].notna() & frame["points"].notna()].sort_values("created_at")
    for at, points, kind in zip(dated["created_at"], dated["points"], dated["type"], strict=True):
        month = months.setdefault(f"{at:%Y-%m}", {})
        month[kind] = month.get(kind, Decimal(0)) + points
    return months


def rewards(stage: Stage, cast: Cast) -> None:
    """Read a user's rewards, sum them exactly, draw them."""
    from workbench import charts
    from workbench.tables.rewards import read

    stage.chapter("A year of rewards, summed exactly and drawn")
    user = first(cast.guide["rewards_users"])
    stage.say(
        "The interface gives no total and no cursor, so pages are read with an overlap until an empty one, and the "
        "frame says whether it is complete. Points are decimals from the wire to the sum: not one float on the way."
    )
    stage.call(f'rewards = wb.rewards.read(api, "{user}")')
    found = read(cast.api, user, progress=False)
    frame = found.frame()
    stage.gap()
    _bars(stage, _by_month(frame))
    stage.gap()
    sums = {f"points {kind}": frame[frame["type"] == kind]["points"].sum() for kind in ("earned", "redeemed")}
    stage.facts(
        {
            "items read": f"{found.rows:,}",
            "complete": found.complete,
            **{name: format(points.normalize(), ",f") for name, points in sums.items()},
        }
    )
    stage.call('wb.charts.points_chart(rewards, by="month")')
    picture = cast.out / "rewards.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure = charts.points_chart(found, by="month", size=(9, 5)).get_figure(root=True)
    assert figure is not None
    figure.savefig(picture, facecolor="white", dpi=144)
    stage.note(f"Drawn into {picture}")


def _bars(stage: Stage, months: Mapping[str, Mapping[str, Decimal]]) -> None:
    kinds = ("earned", "redeemed")
    most = {kind: max((month.get(kind, Decimal(0)) for month in months.values()), default=Decimal(0)) for kind in kinds}

    def drawn(kind: str, month: Mapping[str, Decimal]) -> tuple[Cell, str]:
        points = month.get(kind, Decimal(0))
        return Cell((f"{points.normalize():,f}",), "number"), "█" * int(
            (points * 22 / (most[kind] or 1)).to_integral_value()
        )

    stage.grid(
        ("month", "earned", "", "redeemed", ""),
        [(name, *drawn("earned", month), *drawn("redeemed", month)) for name, month in months.items()],
    )
