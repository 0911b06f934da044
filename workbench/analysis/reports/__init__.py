"""Reports on events, transactions and rewards: approvals, spend, balances, cohorts, and event logs of any size."""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.reports.activity import approvals as approvals
    from workbench.analysis.reports.activity import cohorts as cohorts
    from workbench.analysis.reports.activity import declines as declines
    from workbench.analysis.reports.activity import monthly_changes as monthly_changes
    from workbench.analysis.reports.activity import posting_times as posting_times
    from workbench.analysis.reports.activity import spend as spend
    from workbench.analysis.reports.activity import spend_funnel as spend_funnel
    from workbench.analysis.reports.balances import contract_values as contract_values
    from workbench.analysis.reports.balances import liability as liability
    from workbench.analysis.reports.balances import outstanding as outstanding
    from workbench.analysis.reports.balances import record_balances as record_balances
    from workbench.analysis.reports.balances import status_history as status_history
    from workbench.analysis.reports.balances import time_in_status as time_in_status
    from workbench.analysis.reports.data_checks import anomalies as anomalies
    from workbench.analysis.reports.explanations import explain as explain
    from workbench.analysis.reports.posting_rows import postings as postings
    from workbench.analysis.reports.posting_rows import roll_forward as roll_forward
    from workbench.analysis.reports.reconciliation import reconcile as reconcile
    from workbench.analysis.reports.record_counts import applications as applications
    from workbench.analysis.reports.record_counts import deliveries as deliveries
    from workbench.analysis.reports.record_counts import disputes as disputes
    from workbench.analysis.reports.transaction_rows import transactions as transactions

_NAMES = {
    "anomalies": "workbench.analysis.reports.data_checks",
    "applications": "workbench.analysis.reports.record_counts",
    "approvals": "workbench.analysis.reports.activity",
    "cohorts": "workbench.analysis.reports.activity",
    "contract_values": "workbench.analysis.reports.balances",
    "declines": "workbench.analysis.reports.activity",
    "deliveries": "workbench.analysis.reports.record_counts",
    "disputes": "workbench.analysis.reports.record_counts",
    "explain": "workbench.analysis.reports.explanations",
    "liability": "workbench.analysis.reports.balances",
    "monthly_changes": "workbench.analysis.reports.activity",
    "outstanding": "workbench.analysis.reports.balances",
    "posting_times": "workbench.analysis.reports.activity",
    "postings": "workbench.analysis.reports.posting_rows",
    "reconcile": "workbench.analysis.reports.reconciliation",
    "record_balances": "workbench.analysis.reports.balances",
    "roll_forward": "workbench.analysis.reports.posting_rows",
    "spend": "workbench.analysis.reports.activity",
    "spend_funnel": "workbench.analysis.reports.activity",
    "status_history": "workbench.analysis.reports.balances",
    "time_in_status": "workbench.analysis.reports.balances",
    "transactions": "workbench.analysis.reports.transaction_rows",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
