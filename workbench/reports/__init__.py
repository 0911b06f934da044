"""Reports on events, transactions and rewards: approvals, spend, balances, cohorts, and event logs of any size."""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.reports.activity import approvals as approvals
    from workbench.reports.activity import cohorts as cohorts
    from workbench.reports.activity import declines as declines
    from workbench.reports.activity import monthly_changes as monthly_changes
    from workbench.reports.activity import posting_times as posting_times
    from workbench.reports.activity import spend as spend
    from workbench.reports.activity import spend_funnel as spend_funnel
    from workbench.reports.balances import contract_values as contract_values
    from workbench.reports.balances import liability as liability
    from workbench.reports.balances import outstanding as outstanding
    from workbench.reports.balances import record_balances as record_balances
    from workbench.reports.balances import status_history as status_history
    from workbench.reports.balances import time_in_status as time_in_status
    from workbench.reports.data_checks import anomalies as anomalies
    from workbench.reports.explanations import explain as explain
    from workbench.reports.posting_rows import postings as postings
    from workbench.reports.posting_rows import roll_forward as roll_forward
    from workbench.reports.reconciliation import reconcile as reconcile
    from workbench.reports.record_counts import applications as applications
    from workbench.reports.record_counts import deliveries as deliveries
    from workbench.reports.record_counts import disputes as disputes
    from workbench.reports.transaction_rows import transactions as transactions

_NAMES = {
    "anomalies": "workbench.reports.data_checks",
    "applications": "workbench.reports.record_counts",
    "approvals": "workbench.reports.activity",
    "cohorts": "workbench.reports.activity",
    "contract_values": "workbench.reports.balances",
    "declines": "workbench.reports.activity",
    "deliveries": "workbench.reports.record_counts",
    "disputes": "workbench.reports.record_counts",
    "explain": "workbench.reports.explanations",
    "liability": "workbench.reports.balances",
    "monthly_changes": "workbench.reports.activity",
    "outstanding": "workbench.reports.balances",
    "posting_times": "workbench.reports.activity",
    "postings": "workbench.reports.posting_rows",
    "reconcile": "workbench.reports.reconciliation",
    "record_balances": "workbench.reports.balances",
    "roll_forward": "workbench.reports.posting_rows",
    "spend": "workbench.reports.activity",
    "spend_funnel": "workbench.reports.activity",
    "status_history": "workbench.reports.balances",
    "time_in_status": "workbench.reports.balances",
    "transactions": "workbench.reports.transaction_rows",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
