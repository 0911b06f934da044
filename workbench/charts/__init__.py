"""Draw charts of frames on matplotlib Axes and return the Axes, without changing global state."""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.charts.money import money_timeline_chart as money_timeline_chart
    from workbench.charts.money import waterfall_chart as waterfall_chart
    from workbench.charts.outcomes import collateral_chart as collateral_chart
    from workbench.charts.outcomes import declines_chart as declines_chart
    from workbench.charts.outcomes import deliveries_chart as deliveries_chart
    from workbench.charts.outcomes import funnel_chart as funnel_chart
    from workbench.charts.outcomes import status_time_chart as status_time_chart
    from workbench.charts.reports import applications_chart as applications_chart
    from workbench.charts.reports import approvals_chart as approvals_chart
    from workbench.charts.reports import balances_chart as balances_chart
    from workbench.charts.reports import cohorts_chart as cohorts_chart
    from workbench.charts.reports import disputes_chart as disputes_chart
    from workbench.charts.reports import liability_chart as liability_chart
    from workbench.charts.reports import monthly_changes_chart as monthly_changes_chart
    from workbench.charts.reports import posting_times_chart as posting_times_chart
    from workbench.charts.reports import spend_chart as spend_chart
    from workbench.charts.reports import spend_funnel_chart as spend_funnel_chart
    from workbench.charts.rewards import categories_chart as categories_chart
    from workbench.charts.rewards import merchants_chart as merchants_chart
    from workbench.charts.rewards import points_chart as points_chart
    from workbench.charts.rewards import points_per_dollar_chart as points_per_dollar_chart
    from workbench.charts.rewards import posting_chart as posting_chart
    from workbench.rendering.markup import state_diagram as state_diagram

_NAMES = {
    "applications_chart": "workbench.charts.reports",
    "approvals_chart": "workbench.charts.reports",
    "balances_chart": "workbench.charts.reports",
    "categories_chart": "workbench.charts.rewards",
    "cohorts_chart": "workbench.charts.reports",
    "collateral_chart": "workbench.charts.outcomes",
    "declines_chart": "workbench.charts.outcomes",
    "deliveries_chart": "workbench.charts.outcomes",
    "disputes_chart": "workbench.charts.reports",
    "funnel_chart": "workbench.charts.outcomes",
    "liability_chart": "workbench.charts.reports",
    "merchants_chart": "workbench.charts.rewards",
    "money_timeline_chart": "workbench.charts.money",
    "monthly_changes_chart": "workbench.charts.reports",
    "points_chart": "workbench.charts.rewards",
    "points_per_dollar_chart": "workbench.charts.rewards",
    "posting_chart": "workbench.charts.rewards",
    "posting_times_chart": "workbench.charts.reports",
    "spend_chart": "workbench.charts.reports",
    "spend_funnel_chart": "workbench.charts.reports",
    "state_diagram": "workbench.rendering.markup",
    "status_time_chart": "workbench.charts.outcomes",
    "waterfall_chart": "workbench.charts.money",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
