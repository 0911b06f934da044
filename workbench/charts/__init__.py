"""What people would rather look at: functions on frames that draw, return the Axes and leave nothing behind.

Names are loaded when first used, since matplotlib takes more than a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.charts.applications import funnel_chart as funnel_chart
    from workbench.charts.applications import status_time_chart as status_time_chart
    from workbench.charts.collateral import collateral_chart as collateral_chart
    from workbench.charts.money import waterfall_chart as waterfall_chart
    from workbench.charts.outcomes import declines_chart as declines_chart
    from workbench.charts.outcomes import deliveries_chart as deliveries_chart
    from workbench.charts.points import points_chart as points_chart
    from workbench.charts.points import posting_chart as posting_chart
    from workbench.charts.spending import categories_chart as categories_chart
    from workbench.charts.spending import merchants_chart as merchants_chart
    from workbench.charts.spending import points_per_dollar_chart as points_per_dollar_chart
    from workbench.charts.timeline import money_timeline_chart as money_timeline_chart

_WHERE = {
    "categories_chart": "spending", "collateral_chart": "collateral", "declines_chart": "outcomes",
    "deliveries_chart": "outcomes", "funnel_chart": "applications", "merchants_chart": "spending",
    "money_timeline_chart": "timeline", "points_chart": "points", "points_per_dollar_chart": "spending",
    "posting_chart": "points", "status_time_chart": "applications", "waterfall_chart": "money",
}  # fmt: skip
__all__ = sorted(_WHERE)


if not TYPE_CHECKING:  # a checker sees the names above, and no others

    def __getattr__(name: str) -> Any:
        where = _WHERE.get(name)
        if where is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
