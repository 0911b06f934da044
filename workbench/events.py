"""Events: logs of webhook events read from files, and sample events to test handlers with.

wb.events.read("events.ndjson").frame(of="transaction.completed")
wb.events.sample("user.updated", application_status="approved")
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.tables.event_logs import read as read
    from workbench.webhooks.verify import sample as sample

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
