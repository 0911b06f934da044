"""Webhook events: read events from log files, and make sample events to test handlers.

wb.events.read_log("events.ndjson").frame(of="transaction.completed")
wb.events.sample("user.updated", application_status="approved")
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.reports.event_logs import read_log as read_log
    from workbench.client.webhooks.verify import sample as sample

_NAMES = {
    "read_log": "workbench.analysis.reports.event_logs",
    "sample": "workbench.client.webhooks.verify",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
