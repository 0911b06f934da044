"""Charts: functions of frames that draw on matplotlib Axes, return them, and change no global state."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.charts.amounts import categories_chart as categories_chart
    from workbench.charts.amounts import merchants_chart as merchants_chart
    from workbench.charts.amounts import money_timeline_chart as money_timeline_chart
    from workbench.charts.amounts import points_chart as points_chart
    from workbench.charts.amounts import points_per_dollar_chart as points_per_dollar_chart
    from workbench.charts.amounts import posting_chart as posting_chart
    from workbench.charts.amounts import waterfall_chart as waterfall_chart
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
    from workbench.charts.reports import endpoints_chart as endpoints_chart
    from workbench.charts.reports import liability_chart as liability_chart
    from workbench.charts.reports import movers_chart as movers_chart
    from workbench.charts.reports import posting_times_chart as posting_times_chart
    from workbench.charts.reports import spend_chart as spend_chart
    from workbench.charts.reports import spend_funnel_chart as spend_funnel_chart
    from workbench.rendering.markup import state_diagram as state_diagram

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
