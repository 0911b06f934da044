"""What the example applications do with events: they keep books of what each transaction posted."""

import os
import sqlite3
from contextlib import closing

import workbench as wb
from workbench.service.interface.events import Event

PATH = os.environ.get("INBOX", "events.db")
inbox = wb.Inbox(PATH, keys=[os.environ["WORKBENCH_WEBHOOK_KEY"]])


@inbox.on("transaction.completed", name="ledger", atomic=True)
def record(event: Event, db: sqlite3.Connection) -> None:
    """Record what a settlement posted or a refund gave back, exactly once for each event, in whatever order they
    arrive.
    """
    db.execute("CREATE TABLE IF NOT EXISTS ledger(event_id TEXT PRIMARY KEY, transaction_id TEXT, cents INTEGER)")
    db.execute("INSERT INTO ledger VALUES (?, ?, ?)", (event.id, event.body.id, event.body.spend.amount))


def books() -> dict[str, int]:
    """Return what each transaction posted, in cents."""
    query = "SELECT transaction_id, sum(cents) FROM ledger GROUP BY transaction_id"
    with closing(sqlite3.connect(PATH)) as db:
        exists = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'ledger'").fetchone()
        return dict(db.execute(query)) if exists else {}
