"""Draw charts of frames on matplotlib Axes and return the Axes, without changing global state."""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.charts.money import money_timeline_chart as money_timeline_chart
    from workbench.analysis.charts.money import waterfall_chart as waterfall_chart
    from workbench.analysis.charts.outcomes import collateral_chart as collateral_chart
    from workbench.analysis.charts.outcomes import declines_chart as declines_chart
    from workbench.analysis.charts.outcomes import deliveries_chart as deliveries_chart
    from workbench.analysis.charts.outcomes import funnel_chart as funnel_chart
    from workbench.analysis.charts.outcomes import status_time_chart as status_time_chart
    from workbench.analysis.charts.reports import applications_chart as applications_chart
    from workbench.analysis.charts.reports import approvals_chart as approvals_chart
    from workbench.analysis.charts.reports import balances_chart as balances_chart
    from workbench.analysis.charts.reports import cohorts_chart as cohorts_chart
    from workbench.analysis.charts.reports import disputes_chart as disputes_chart
    from workbench.analysis.charts.reports import liability_chart as liability_chart
    from workbench.analysis.charts.reports import monthly_changes_chart as monthly_changes_chart
    from workbench.analysis.charts.reports import posting_times_chart as posting_times_chart
    from workbench.analysis.charts.reports import spend_chart as spend_chart
    from workbench.analysis.charts.reports import spend_funnel_chart as spend_funnel_chart
    from workbench.analysis.charts.rewards import categories_chart as categories_chart
    from workbench.analysis.charts.rewards import merchants_chart as merchants_chart
    from workbench.analysis.charts.rewards import points_chart as points_chart
    from workbench.analysis.charts.rewards import points_per_dollar_chart as points_per_dollar_chart
    from workbench.analysis.charts.rewards import posting_chart as posting_chart
    from workbench.service.rendering.markup import state_diagram as state_diagram

_NAMES = {
    "applications_chart": "workbench.analysis.charts.reports",
    "approvals_chart": "workbench.analysis.charts.reports",
    "balances_chart": "workbench.analysis.charts.reports",
    "categories_chart": "workbench.analysis.charts.rewards",
    "cohorts_chart": "workbench.analysis.charts.reports",
    "collateral_chart": "workbench.analysis.charts.outcomes",
    "declines_chart": "workbench.analysis.charts.outcomes",
    "deliveries_chart": "workbench.analysis.charts.outcomes",
    "disputes_chart": "workbench.analysis.charts.reports",
    "funnel_chart": "workbench.analysis.charts.outcomes",
    "liability_chart": "workbench.analysis.charts.reports",
    "merchants_chart": "workbench.analysis.charts.rewards",
    "money_timeline_chart": "workbench.analysis.charts.money",
    "monthly_changes_chart": "workbench.analysis.charts.reports",
    "points_chart": "workbench.analysis.charts.rewards",
    "points_per_dollar_chart": "workbench.analysis.charts.rewards",
    "posting_chart": "workbench.analysis.charts.rewards",
    "posting_times_chart": "workbench.analysis.charts.reports",
    "spend_chart": "workbench.analysis.charts.reports",
    "spend_funnel_chart": "workbench.analysis.charts.reports",
    "state_diagram": "workbench.service.rendering.markup",
    "status_time_chart": "workbench.analysis.charts.outcomes",
    "waterfall_chart": "workbench.analysis.charts.money",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
