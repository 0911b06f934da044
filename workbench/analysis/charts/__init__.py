"""Draw charts of frames on matplotlib Axes and return the Axes. matplotlib's global state does not change."""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.charts.records import collateral_chart as collateral_chart
    from workbench.analysis.charts.records import deliveries_chart as deliveries_chart
    from workbench.analysis.charts.records import disputes_chart as disputes_chart
    from workbench.analysis.charts.records import funnel_chart as funnel_chart
    from workbench.analysis.charts.records import times_chart as times_chart
    from workbench.analysis.charts.rewards import liability_chart as liability_chart
    from workbench.analysis.charts.rewards import points_chart as points_chart
    from workbench.analysis.charts.rewards import rewards_chart as rewards_chart
    from workbench.analysis.charts.transactions import approvals_chart as approvals_chart
    from workbench.analysis.charts.transactions import cohorts_chart as cohorts_chart
    from workbench.analysis.charts.transactions import declines_chart as declines_chart
    from workbench.analysis.charts.transactions import spend_chart as spend_chart
    from workbench.service.rendering.markup import state_diagram as state_diagram

_NAMES = {
    "approvals_chart": "workbench.analysis.charts.transactions",
    "cohorts_chart": "workbench.analysis.charts.transactions",
    "collateral_chart": "workbench.analysis.charts.records",
    "declines_chart": "workbench.analysis.charts.transactions",
    "deliveries_chart": "workbench.analysis.charts.records",
    "disputes_chart": "workbench.analysis.charts.records",
    "funnel_chart": "workbench.analysis.charts.records",
    "liability_chart": "workbench.analysis.charts.rewards",
    "points_chart": "workbench.analysis.charts.rewards",
    "rewards_chart": "workbench.analysis.charts.rewards",
    "spend_chart": "workbench.analysis.charts.transactions",
    "state_diagram": "workbench.service.rendering.markup",
    "times_chart": "workbench.analysis.charts.records",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
